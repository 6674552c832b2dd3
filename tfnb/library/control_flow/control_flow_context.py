"""The context in which nodes are made: a branch of a cond or the body of a while loop.

While a function of a cond or loop is called, its context is the graph's current one, and the graph
passes it every new operation (:meth:`ControlFlowContext.add_op`). The context replaces inputs from
outside by the tensor with their value inside - a Switch for a branch, a constant Enter for a loop -
and moves control dependencies so that an operation runs only if its branch or iteration does.

State of a context:

* ``_values``: the tensors known inside: those made inside and those brought in;
* ``_external_values``: for a tensor outside, the tensor that stands for it inside;
* ``_context_stack``: the context that was current before each :meth:`enter`, for :meth:`exit`.

Only the thread that builds the graph changes this state. Corresponds to ``ControlFlowContext`` in
control_flow_ops.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.framework.default_graph import get_default_graph

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor


class ControlFlowContext:
    """The common part of the contexts of conds and while loops.

    Attributes:
      name: a name, unique in the graph.
      outer_context: the context in which this one was made, or None.
    """

    is_cond_context: ClassVar[bool] = False
    is_while_context: ClassVar[bool] = False

    def __init__(self) -> None:
        self.name = ""
        self.outer_context: ControlFlowContext | None = (
            get_default_graph()._get_control_flow_context()
        )
        self._nested_contexts: list[ControlFlowContext] = []
        if self.outer_context is not None:
            self.outer_context._nested_contexts.append(self)
        self._context_stack: list[ControlFlowContext | None] = []
        self._values: set[Tensor] = set()
        self._external_values: dict[Tensor, Tensor] = {}

    @property
    def grad_state(self) -> Any:
        """The state of the gradient that this context belongs to, if it was made for one."""
        raise NotImplementedError

    @property
    def back_prop(self) -> bool:
        """Whether gradients pass."""
        raise NotImplementedError

    # -- entering and leaving ----------------------------------------------------------------------

    def enter(self) -> None:
        """Make this the context of new operations."""
        graph = get_default_graph()
        self._context_stack.append(graph._get_control_flow_context())
        graph._set_control_flow_context(self)

    def exit(self) -> None:
        """Restore the context that was current before :meth:`enter`."""
        get_default_graph()._set_control_flow_context(self._context_stack.pop())

    def exit_result(self, results: Iterable[Tensor]) -> None:
        """Add tensors to the known values of the outer context."""
        if self.outer_context is not None:
            self.outer_context._values.update(results)

    def add_known(self, tensor: Tensor) -> None:
        """Add a tensor to the known values, so that it is used unchanged."""
        self._values.add(tensor)

    # -- new operations ----------------------------------------------------------------------------

    def add_op(self, op: Operation) -> None:
        """Process an operation that was just made; called by the graph."""
        self.take_in(op)

    def take_in(self, op: Operation) -> None:
        """Make an operation part of this context, with its inputs brought in."""
        raise NotImplementedError

    def add_value(self, value: Tensor) -> Tensor:
        """Return the tensor that stands for ``value`` inside; bring it in if necessary."""
        raise NotImplementedError

    def control_pivot(self) -> Tensor | None:
        """Return the tensor that operations without inputs wait for, so that they run inside."""
        return None

    def while_context(self) -> ControlFlowContext | None:
        """Return the innermost while loop that this is or lies in."""
        return None if self.outer_context is None else self.outer_context.while_context()

    # -- TensorFlow's spelling, for programs that ask a graph for its context --------------------

    def IsWhileContext(self) -> bool:
        """Return whether this is a while loop."""
        return self.is_while_context

    def IsCondContext(self) -> bool:
        """Return whether this is a branch of a cond."""
        return self.is_cond_context

    def GetWhileContext(self) -> ControlFlowContext | None:
        """Return the innermost while loop that this is or lies in."""
        return self.while_context()

    def AddValue(self, val: Tensor) -> Tensor:
        """Return the tensor that stands for ``val`` inside; bring it in if necessary."""
        return self.add_value(val)

    def Enter(self) -> None:
        """Make this the context of new operations."""
        self.enter()

    def Exit(self) -> None:
        """Restore the context that was current before :meth:`Enter`."""
        self.exit()

    def ExitResult(self, result: Iterable[Tensor]) -> None:
        """Add tensors to the known values of the outer context."""
        self.exit_result(result)

    def __str__(self) -> str:
        return self.name
