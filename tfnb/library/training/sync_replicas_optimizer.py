"""``tf.train.SyncReplicasOptimizer``: one update from the gradients of several workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.collections import GraphKeys
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import colocate_with, control_dependencies, device, name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.control_flow import group
from tfnb.library.queues.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from tfnb.library.queues.queues import FIFOQueue
from tfnb.library.training.optimizer import Optimizer
from tfnb.library.training.queue_runner import QueueRunner
from tfnb.library.variables.variables import (
    Variable,
    global_variables,
    report_uninitialized_variables,
)
from tfnb.ops.array.constant_ops import fill
from tfnb.ops.control.control_flow_ops import no_op
from tfnb.ops.state.state_ops import assign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import TensorLike, TensorResult, VariableLike

EXPORTS = {"train": ["SyncReplicasOptimizer"]}


class SyncReplicasOptimizer(Optimizer):
    """An optimizer that averages the gradients of several workers before it changes variables.

    Workers add their gradients to accumulators and wait for a token. The chief's queue runner takes
    the means, applies them and adds tokens, each with the new global step; gradients of an older
    step are dropped.

    Args:
      opt: the optimizer that applies the means.
      replicas_to_aggregate: the number of gradients for an update.
      total_num_replicas: the number of workers; ``replicas_to_aggregate`` if not given.
      variable_averages: an ExponentialMovingAverage to update, or None.
      variables_to_average: the variables whose averages are kept.
      use_locking: whether updates lock.
      name: of the scope.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Sequence[Any] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = (
            replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        )
        self._tokens_per_step = max(self._total_num_replicas, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: VariableLike = None
        self._sync_token_queue: FIFOQueue | None = None
        self._chief_queue_runner: QueueRunner | None = None
        self.local_step_init_op: Any = None
        self.ready_for_local_init_op: Any = None
        self.chief_init_op: Operation | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return the gradients of the inner optimizer."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: VariableLike | None = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Return the op that a worker runs: it adds its gradients and waits for a token.

        Args:
          grads_and_vars: the result of :meth:`compute_gradients`.
          global_step: a variable that counts updates.
          name: of the scope.
          skip_gradients_aggregation: as in the inner optimizer.

        Raises:
          ValueError: there is nothing to apply, or no global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        with colocate_with(no_op()):
            local_step: TensorLike = Variable(
                initial_value=0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            return self._apply(pairs, local_step, global_step)

    def _apply(
        self, pairs: list[tuple[Any, Any]], local_step: TensorLike, global_step: VariableLike
    ) -> TensorResult:
        added, means, accumulators = [], [], []
        for gradient, variable in pairs:
            with device(variable.device):
                if gradient is None:
                    means.append((None, variable))
                    continue
                shared = f"{variable.name}/grad_accum"
                shape = variable.get_shape()
                accumulator: ConditionalAccumulator | SparseConditionalAccumulator
                if isinstance(gradient, Tensor):
                    accumulator = ConditionalAccumulator(gradient.dtype, shape, shared)
                    added.append(accumulator.apply_grad(gradient, local_step))
                    mean = accumulator.take_grad(self._replicas_to_aggregate)
                elif isinstance(gradient, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(gradient.dtype, (), shared)
                    added.append(accumulator.apply_indexed_slices_grad(gradient, local_step))
                    mean = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
                else:
                    raise ValueError("Unknown grad type!")
                means.append((mean, variable))
                accumulators.append((accumulator, variable.device))
        with device(global_step.device), name_scope(""):
            update = self._opt.apply_gradients(means, global_step)
            queue = self._sync_token_queue = FIFOQueue(
                -1,
                global_step.dtype.base_dtype,
                shapes=(),
                name="sync_token_q",
                shared_name="sync_token_q",
            )
            with control_dependencies(added):
                token = queue.dequeue()
            train_op = assign(local_step, token)
            with control_dependencies([update]):
                sync = queue.enqueue_many((fill([self._tokens_per_step], global_step),))
            if self._variable_averages is not None:
                with control_dependencies([sync]):
                    sync = self._variable_averages.apply(self._variables_to_average)
            self._chief_queue_runner = QueueRunner(queue, [sync])
        init_ops = [self.local_step_init_op]
        for accumulator, where in accumulators:
            with device(where):
                init_ops.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        self.chief_init_op = group(*init_ops)
        self._gradients_applied = True
        return train_op

    def get_chief_queue_runner(self) -> QueueRunner:
        """Return the queue runner of the chief, which applies the means and adds tokens.

        Raises:
          ValueError: :meth:`apply_gradients` was not called.
        """
        if self._chief_queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """Return the op that the chief runs at the beginning, which adds the first tokens.

        Args:
          num_tokens: the number of tokens; ``replicas_to_aggregate`` if -1.

        Raises:
          ValueError: :meth:`apply_gradients` was not called, or the tokens are too few for the
            first update.
        """
        if self._sync_token_queue is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._sync_token_queue.enqueue_many((fill([num_tokens], self._global_step),))

    def get_slot(self, *args: Any, **kwargs: Any) -> VariableLike:
        """Return the slot of the inner optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Return the slot names of the inner optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        """Return the variables of the inner optimizer."""
        return self._opt.variables()

    def make_session_run_hook(
        self, is_chief: bool, num_tokens: int = -1
    ) -> _SyncReplicasOptimizerHook:
        """Return the hook with which a monitored session starts with the right tokens.

        Args:
          is_chief: whether the worker is the one that applies updates.
          num_tokens: as for :meth:`get_init_tokens_op`.
        """
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook:
    """A hook that initializes the local step, and on the chief starts the queue runner."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens
        self._init_op: Operation | None = None
        self._init_tokens_op: Operation | None = None

    def begin(self) -> None:
        """Build the ops to run later, while the graph can still be changed."""
        optimizer = self._optimizer
        if not optimizer._gradients_applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using "
                             "the hook.")  # fmt: skip
        if self._is_chief:
            self._init_op = optimizer.chief_init_op
            self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens)
        else:
            self._init_op = optimizer.local_step_init_op

    def after_create_session(self, session: SessionLike, coord: Any) -> None:
        """Initialize; on the chief, add the first tokens and start the threads."""
        session.run(self._init_op)
        if self._is_chief:
            session.run(self._init_tokens_op)
            self._optimizer.get_chief_queue_runner().create_threads(
                session, coord=coord, daemon=True, start=True
            )

    def before_run(self, run_context: Any) -> None:
        """Add nothing to a step."""

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Do nothing after a step."""

    def end(self, session: SessionLike) -> None:
        """Do nothing at the end."""
