"""Backpropagation: from ``ys`` back through the graph, one gradient function after another.

The operations between ``xs`` and ``ys`` are visited in reverse order. An operation is visited when
the gradients from all consumers of its outputs have arrived. They are summed, and the operation's
gradient function turns them into gradients of its inputs.

State of one :class:`Backprop`:

* ``_grads``: for each operation reached, per output, a list of the gradients that have arrived;
  once they are summed, their sum;
* ``_pending``: for each operation between, the number of its uses without a gradient so far;
* ``_queue``: the operations that are ready to be visited;
* ``_loops``: the state of the while loops between, or None if there are none.

Corresponds to gradients_util.py; the order in which operations are made is kept, so that their
names are the same.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, op_registry
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.functions.function_graph import FunctionGraph
from tfnb.framework.gradient_registry import get_gradient_function
from tfnb.framework.indexed_slices import (
    IndexedSlices,
    convert_n_to_tensor_or_indexed_slices,
)
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures.composite_tensor import is_composite
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow import control_flow_queries as queries
from tfnb.library.control_flow.control_flow import tuple_
from tfnb.library.control_flow.control_flow_values import is_resource_variable, read_variables
from tfnb.library.control_flow.default_gradient import (
    gradient_dtype,
    has_default_gradient,
    is_trainable,
    zeros_like_output,
    zeros_of,
)
from tfnb.library.control_flow.indexed_slices_ops import aggregate_indexed_slices
from tfnb.library.gradients.control_flow_state import ControlFlowState
from tfnb.ops.array.constant_ops import ones
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

_PARTITIONED_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


class AggregationMethod:
    """How gradients that arrive over several paths are summed.

    Attributes:
      ADD_N: with one AddN, when all have arrived.
      DEFAULT: as ADD_N.
      EXPERIMENTAL_TREE: one after another as they arrive, which needs less memory.
      EXPERIMENTAL_ACCUMULATE_N: as EXPERIMENTAL_TREE.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


_TREE_METHODS = (AggregationMethod.EXPERIMENTAL_TREE, AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)
_METHODS = (AggregationMethod.ADD_N, *_TREE_METHODS)


class Backprop:
    """One call of ``tf.gradients``.

    Args:
      colocate: whether gradients share the device of their operation.
      gate: whether to wait for all gradients of an operation before one is used.
      aggregation_method: how gradients are summed.
      give_zeros: whether zeros, not None, are returned for unconnected ``xs``.
      source: the graph of what is differentiated; the default graph if None.

    Raises:
      ValueError: the aggregation method is unknown.
    """

    def __init__(
        self,
        *,
        colocate: bool = False,
        gate: bool = False,
        aggregation_method: int | None = None,
        give_zeros: bool = False,
        source: Graph | None = None,
    ) -> None:
        method = AggregationMethod.DEFAULT if aggregation_method is None else aggregation_method
        if method not in _METHODS:
            raise ValueError(
                f"Invalid `aggregation_method` specified {aggregation_method}. Accepted values are "
                f"{list(_METHODS)}."
            )
        self._graph: Graph = get_default_graph()
        # The functions around that are being built; a tensor that one of them captured counts as
        # its input.
        self._bodies = _bodies_around(source or self._graph)
        self._xs: set[Tensor] = set()
        self._colocate = colocate
        self._gate = gate
        self._sums_in_pairs = method in _TREE_METHODS
        self._give_zeros = give_zeros
        self._grads: dict[Operation, list[TensorLike]] = {}
        self._pending: defaultdict[Operation, int] = defaultdict(int)
        self._queue: deque[Operation] = deque()
        self._loops: ControlFlowState | None = None

    def run(
        self,
        ys: TensorLike,
        xs: TensorLike,
        grad_ys: TensorLike | None = None,
        stop_gradients: TensorLike | None = None,
        name: str = "",
    ) -> list[Nested]:
        """Build the gradients; arguments as of ``tf.gradients``."""
        ys = read_variables(_as_list(ys))
        targets = _as_list(xs)
        xs = [_part_with_gradient(x) for x in targets]
        ys = [_part_with_gradient(y) for y in ys]
        grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
        stop_gradients = [] if stop_gradients is None else _as_list(stop_gradients)
        with name_scope(name or None, "gradients", [*ys, *xs, *stop_gradients, *grad_ys]):
            self._graph.unique_name("uid")
            ys = convert_n_to_tensor_or_indexed_slices(ys, name="y")
            xs = convert_n_to_tensor_or_indexed_slices(xs, name="x", as_ref=True)
            grad_ys = self._initial_gradients(grad_ys, ys)
            self._xs.update(xs)
            to_ops = [y.op for y in ys]
            from_ops = [x.op for x in xs]
            reachable = self._explore(to_ops, from_ops)
            for y, grad_y in zip(ys, grad_ys, strict=True):
                self._add_gradient(y, grad_y)
            self._start(to_ops, reachable)
            stop_ops = self._stop_ops(from_ops, [one.op for one in stop_gradients])
            while self._queue:
                self._visit(self._queue.popleft(), stop_ops, from_ops)
        if self._loops is not None:
            self._loops.post_process()
        found = [self._gradient_of(x) for x in xs]
        return [_as_gradient_of(x, grad) for x, grad in zip(targets, found, strict=True)]

    def _inputs(self, op: Operation) -> Sequence[Tensor]:
        """Return an operation's inputs, with outer tensors in place of a function's captures."""
        if not self._bodies or op.graph not in self._bodies:
            return op.inputs
        return [tensor if tensor in self._xs else _captured(tensor) for tensor in op.inputs]

    # -- before the first visit --------------------------------------------------------------------

    def _initial_gradients(
        self, grad_ys: Sequence[TensorLike], ys: Sequence[TensorLike]
    ) -> list[Any]:
        if len(grad_ys) != len(ys):
            raise ValueError(f"Length mismatch. Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
        grad_ys = convert_n_to_tensor_or_indexed_slices(grad_ys, name="grad_y")
        initial = []
        for index, (y, grad_y) in enumerate(zip(ys, grad_ys, strict=True)):
            with self._maybe_colocate_with(y.op):
                initial.append(_initial_gradient(index, y, grad_y))
        return initial

    def _explore(
        self, to_ops: Sequence[Operation], from_ops: Sequence[Operation]
    ) -> set[Operation]:
        """Count the uses of each operation between; return those of ``to_ops`` that are reached."""
        reached = _reached_from(from_ops, self._bodies)
        reachable = {op for op in to_ops if op in reached}
        between: dict[Operation, None] = {}
        queue = deque(to_ops)
        while queue:
            op = queue.popleft()
            if op in reached and op not in between:
                between[op] = None
                queue.extend(tensor.op for tensor in self._inputs(op))
        self._loops = ControlFlowState.for_ops(between, self._maybe_colocate_with)
        for op in between:
            for tensor in self._inputs(op):
                if tensor.op in between:
                    self._pending[tensor.op] += 1
        return reachable

    def _start(self, to_ops: Iterable[Operation], reachable: set[Operation]) -> None:
        """Queue the operations of ``ys`` on which no other of them depends."""
        started: set[Operation] = set()
        for op in to_ops:
            if self._pending[op] == 0 and op not in started and op in reachable:
                started.add(op)
                self._queue.append(op)
        if self._loops is None:
            return
        for exit_value in self._loops.process_unused_exits(self._pending, started):
            if is_trainable(exit_value):
                self._add_gradient(exit_value, self._loops.zeros_for_exit(exit_value))
                self._queue.append(exit_value.op)

    def _stop_ops(
        self, from_ops: Iterable[Operation], stop_gradient_ops: Iterable[Operation]
    ) -> set[Operation]:
        """Return the operations at which differentiation stops, ``stop_gradient_ops`` included."""
        stop = {
            op
            for op in from_ops
            if not any(self._pending[tensor.op] > 0 for tensor in self._inputs(op))
        }
        stop.update(stop_gradient_ops)
        return stop

    # -- one operation -----------------------------------------------------------------------------

    def _visit(
        self, op: Operation, stop_ops: set[Operation], from_ops: Sequence[Operation]
    ) -> None:
        loops = self._loops
        with self._maybe_colocate_with(op):
            if loops is not None:
                loops.enter_grad_while_context(op, before=True)
            out_grads = self._aggregated(op)
            if loops is not None:
                loops.exit_grad_while_context(op, before=True)
            gradient: Callable[..., Any] | None = None
            has_out_grads = any(grad is not None for grad in out_grads)
            if has_out_grads and op not in stop_ops:
                gradient = self._gradient_function(op)
            if loops is not None:
                loops.enter_grad_while_context(op, before=False)
            _check_not_initial_value(op, from_ops)
            if gradient is not None:
                in_grads = self._differentiate(op, gradient, out_grads)
            else:
                in_grads = [None] * len(op.inputs)
            self._pass_to_inputs(op, in_grads)
            if loops is not None:
                loops.exit_grad_while_context(op, before=False)
        self._update_pending(op)

    def _gradient_function(self, op: Operation) -> Callable[..., Any] | None:
        try:
            return get_gradient_function(op)
        except LookupError:
            function = _called_function(op)
            if function is not None:
                return function.python_grad_func or _symbolic_gradient
            raise LookupError(
                f"No gradient defined for operation '{op.name}' (op type: {op.type}). Register one "
                "with `@tf.RegisterGradient`, or put a `tf.stop_gradient` behind the operation if "
                "it is to count as a constant."
            ) from None

    def _differentiate(
        self, op: Operation, gradient: Callable[..., Any], out_grads: list[Any]
    ) -> list[Any]:
        """Call a gradient function, with zeros for outputs without a gradient."""
        is_call = gradient is _symbolic_gradient
        for index, grad in enumerate(out_grads):
            if grad is not None or not (is_call or is_trainable(op.outputs[index])):
                continue
            if self._loops is not None:
                out_grads[index] = self._loops.zeros_like(op, index)
            elif has_default_gradient(op.outputs[index]):
                out_grads[index] = zeros_like_output(op, index)
        graph = self._graph
        with graph.name_scope(op.name + "_grad"), graph._original_op(op):
            in_grads = _as_list(gradient(op, *out_grads))
            if len(in_grads) != len(op.inputs):
                raise ValueError(
                    f"Num gradients {len(in_grads)} generated for op {op.node_def} do not match "
                    f"num inputs {len(op.inputs)}"
                )
            if self._gate and sum(grad is not None for grad in in_grads) > 1:
                with graph.device(None), graph.colocate_with(None, ignore_existing=True):
                    in_grads = tuple_(in_grads)
        return list(in_grads)

    def _pass_to_inputs(self, op: Operation, in_grads: Sequence[Any]) -> None:
        for index, (tensor, grad) in enumerate(zip(self._inputs(op), in_grads, strict=True)):
            if grad is None:
                continue
            if isinstance(grad, Tensor) and tensor.dtype is not dtypes.resource:
                try:
                    grad.set_shape(tensor.get_shape())
                except ValueError:
                    raise ValueError(
                        "Incompatible shapes between op input and calculated input gradient. "
                        f"Forward operation: {op.name}. Input index: {index}. Original input "
                        f"shape: {tensor.shape}. Calculated input gradient shape: {grad.shape}"
                    ) from None
            self._add_gradient(tensor, grad)

    def _update_pending(self, op: Operation) -> None:
        """Queue the operations that gave ``op`` its inputs, if this was their last use."""
        for tensor in self._inputs(op):
            source = tensor.op
            self._pending[source] -= 1
            pending = self._pending[source]
            is_ready = pending == 0
            if self._loops is not None and not is_ready:
                # This operation is visited a second time when the gradient comes around the loop.
                is_ready = pending > 0 and queries.is_loop_switch(source)
            if not is_ready:
                continue
            if self._loops is not None and queries.is_loop_exit(source):
                self._queue_exit(self._loops, tensor)
            else:
                self._queue.append(source)

    def _queue_exit(self, loops: ControlFlowState, value: Tensor) -> None:
        """Queue the exits of a loop together, when the last of them is ready."""
        state = loops.grad_state(value.op, before=False)
        assert state is not None
        state.deferred_exits.append(value)
        state.num_pending_exits -= 1
        if state.num_pending_exits:
            return
        has_gradient = False
        for deferred in state.deferred_exits:
            if self._has_gradient(deferred.op):
                has_gradient = True
                self._queue.append(deferred.op)
            else:
                state.unused_exits.append(deferred)
        for unused in state.unused_exits:
            # A variable that is not used after the loop may be used in it.
            if has_gradient and is_trainable(unused):
                self._add_gradient(unused, loops.zeros_for_exit(unused))
            self._queue.append(unused.op)

    # -- gradients that have arrived ---------------------------------------------------------------

    def _add_gradient(self, tensor: Tensor, grad: TensorLike) -> None:
        op = tensor.op
        slots = self._grads.get(op)
        if slots is None:
            slots = self._grads[op] = [[] for _ in op.outputs]
        slot = slots[tensor.value_index]
        if isinstance(slot, list):
            slot.append(grad)
        else:
            assert queries.is_loop_switch(op)
            slots[tensor.value_index] = grad

    def _has_gradient(self, op: Operation) -> bool:
        return any(
            any(grad is not None for grad in slot) if isinstance(slot, list) else slot is not None
            for slot in self._grads.get(op, ())
        )

    def _aggregated(self, op: Operation) -> list[Any]:
        """Return the sum of the gradients of each output, None where none has arrived."""
        slots = self._grads.get(op)
        if slots is None:
            return [None] * len(op.outputs)
        for index, slot in enumerate(slots):
            if isinstance(slot, list):
                slots[index] = self._sum(op, index, slot)
            else:
                assert slot is None or queries.is_loop_switch(op)
        return slots

    def _sum(self, op: Operation, index: int, grads: list[TensorLike]) -> TensorResult:
        if not all(grad is None or isinstance(grad, (Tensor, IndexedSlices)) for grad in grads):
            raise TypeError(
                f"Invalid gradient {grads} [index = {index}]. Gradients have to be either all "
                "Tensors or all IndexedSlices"
            )
        if len(grads) < 2:
            return grads[0] if grads else None
        if not all(grad is None or isinstance(grad, Tensor) for grad in grads):
            return aggregate_indexed_slices(grads)
        shape_of_all = TensorShape(None)
        for grad in grads:
            shape_of_all = shape_of_all.merge_with(grad.get_shape())
        if not self._sums_in_pairs:
            return self._add_n_per_device(grads)
        add_n = _add_n()
        with self._graph.name_scope(op.name + "_gradient_sum"):
            total = grads[0]
            for grad in grads[1:]:
                total = add_n([total, grad])
        return total

    def _add_n_per_device(self, grads: Sequence[Tensor]) -> Any:
        """Sum first the tensors of each device, so that a device sends one tensor."""
        add_n = _add_n()
        by_device: defaultdict[str, list[Tensor]] = defaultdict(list)
        for grad in grads:
            by_device[grad.device].append(grad)
        sums = []
        for device in sorted(by_device):
            on_device = by_device[device]
            with self._graph.colocate_with(on_device[0].op, ignore_existing=True):
                sums.append(add_n(on_device))
        return add_n(sums)

    def _gradient_of(self, x: Tensor) -> TensorResult:
        slots = self._grads.get(x.op)
        grad = None if slots is None else slots[x.value_index]
        assert not isinstance(grad, list), "gradients were not summed"
        if grad is None and self._give_zeros:
            return zeros_of(x)
        return grad

    def _maybe_colocate_with(self, op: Operation) -> Any:
        return self._graph.colocate_with(op) if self._colocate else contextlib.nullcontext()


def _add_n() -> Callable[[Sequence[Any]], Any]:
    from tfnb.ops.math.math_ops import add_n

    return add_n


def _as_list(value: TensorLike) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _part_with_gradient(value: TensorLike) -> Any:
    """Return the tensor that gets gradients: a composite's values, a resource variable's handle."""
    if is_resource_variable(value):
        return value.handle
    return value.values if is_composite(value) else value


def _as_gradient_of(x: TensorLike, grad: TensorLike) -> Any:
    """Return the gradient of a composite value as a composite value."""
    if grad is None or not is_composite(x):
        return grad
    if isinstance(x, IndexedSlices):
        return IndexedSlices(grad, x.indices, x.dense_shape)
    return x.with_values(grad)


def _bodies_around(graph: Graph) -> list[FunctionGraph]:
    bodies = []
    while isinstance(graph, FunctionGraph):
        bodies.append(graph)
        graph = graph.outer_graph
    return bodies


def _captured(tensor: Tensor) -> Tensor:
    """Return the outer tensor if ``tensor`` stands for a captured one; else the tensor itself."""
    while tensor.op.type == "Placeholder" and isinstance(tensor.graph, FunctionGraph):
        outside = next((one for one, inside in tensor.graph.captures if inside is tensor), None)
        if outside is None:
            break
        tensor = outside
    return tensor


def _reached_from(ops: Iterable[Operation], bodies: Sequence[FunctionGraph]) -> set[Operation]:
    """Return the operations that depend on ``ops`` through tensors that have a gradient."""
    inside_of: defaultdict[Tensor, list[Tensor]] = defaultdict(list)
    for body in bodies:
        for outside, inside in body.captures:
            inside_of[outside].append(inside)
    reached: set[Operation] = set()
    queue = deque(ops)
    while queue:
        op = queue.popleft()
        if op not in reached:
            reached.add(op)
            for output in op.outputs:
                if is_trainable(output):
                    tensors = [output]
                    for tensor in tensors if inside_of else ():
                        tensors += inside_of.get(tensor, ())
                    queue.extend(user for tensor in tensors for user in tensor.consumers())
    return reached


def _initial_gradient(index: int, y: Tensor, grad_y: TensorLike) -> Any:
    """Return the initial gradient of a tensor: ones, or the user's.

    Raises:
      TypeError: it must be given, or has a type that does not fit.
    """
    if grad_y is None:
        if y.dtype.is_complex:
            raise TypeError(
                f"Gradients of complex tensors ({y}) must set grad_ys (y.dtype = {y.dtype.name})"
            )
        if not y.dtype.is_numpy_compatible or y.dtype is dtypes.string:
            raise TypeError(
                f"Tensor {y} with type {y.dtype.name} must be numeric to obtain a default gradient"
            )
        return ones(shape(y), dtype=y.dtype, name=f"grad_ys_{index}")
    _check_initial_gradient(y, grad_y)
    # An op in the scope of this gradient: the name tells a TensorArray which gradient it belongs
    # to.
    if isinstance(grad_y, IndexedSlices):
        return IndexedSlices(
            indices=identity(grad_y.indices, name=f"grad_ys_{index}_indices"),
            values=identity(grad_y.values, name=f"grad_ys_{index}_values"),
            dense_shape=None
            if grad_y.dense_shape is None
            else identity(grad_y.dense_shape, name=f"grad_ys_{index}_shape"),
        )
    return identity(grad_y, name=f"grad_ys_{index}")


def _check_initial_gradient(y: Tensor, grad_y: TensorLike) -> None:
    ours, given = y.dtype, grad_y.dtype
    if ours.is_floating or ours.is_integer:
        fits = given.is_floating or given.is_integer
        kind, wanted = "real or integer-valued", "real or integer"
    elif ours.is_complex:
        fits, kind, wanted = given.is_complex, "complex-valued", "complex"
    elif ours is dtypes.variant:
        fits, kind, wanted = given is dtypes.variant, "variant", "variant"
    elif ours is dtypes.resource:
        if given is dtypes.resource:
            raise TypeError(
                f"Input gradient {grad_y} for resource tensor {y} should not be a resource"
            )
        return
    else:
        raise TypeError(
            f"Tensor {y} with type {ours.name} must be numeric to obtain a default gradient"
        )
    if not fits:
        raise TypeError(
            f"Gradient type {given.name} generated for {kind} tensor {y} with type {ours.name} "
            f"must be {wanted}"
        )


def _called_function(op: Operation) -> Any:
    """Return the function that an operation calls, from its graph or an outer one, or None.

    For a call of a function of ``Defun`` this is the Python object; an imported function has no
    Python gradient.
    """
    found = getattr(op, "defined_function", None)
    name = op.attr("f").name if op.type in _PARTITIONED_CALLS else op.type
    graph: Any = op.graph
    while found is None and graph is not None:
        found = graph._get_function(name)
        graph = getattr(graph, "outer_graph", None)
    return found


def _symbolic_gradient(op: Operation, *out_grads: Any) -> Any:
    """Return the gradient of a call of a function that has no gradient of its own."""
    from tfnb.core.attr_value import NameAttrList

    name = op.attr("f").name if op.type in _PARTITIONED_CALLS else op.type
    return op_registry.get("SymbolicGradient")(
        [*op.inputs, *out_grads],
        Tout=[gradient_dtype(tensor) for tensor in op.inputs],
        f=NameAttrList(name, dict(op.attrs)),
    )


def _check_not_initial_value(op: Operation, from_ops: Sequence[Operation]) -> None:
    """Reject a gradient inside of a loop by a value that depends on the loop's initial values."""
    context = op._control_flow_context
    if not (
        context is not None
        and queries.is_switch(op)
        and context.is_while_context
        and context is get_default_graph()._get_control_flow_context()
    ):
        return
    wanted = set(from_ops)
    seen: set[Operation] = set()
    queue = deque([op])
    target = op
    while queue:
        target = queue.popleft()
        if target in wanted:
            break
        if target not in seen:
            seen.add(target)
            queue.extend(tensor.op for tensor in target.inputs)
    raise ValueError(
        f"Cannot compute gradient inside while loop with respect to op '{target.name}'. We do "
        "not support taking the gradient wrt or through the initial value of a loop variable. "
        "Gradients can be computed through loop invariants or wrt the input parameters to the loop "
        "body."
    )
