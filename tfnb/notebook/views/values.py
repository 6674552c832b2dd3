"""The values of tensors while steps run: in every iteration, also if they are not fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tfnb.client.debugger.debugger import Debugger
from tfnb.core.step_events import unwatch_sessions, watch_sessions
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor
from tfnb.notebook.kernel.shell import current_shell, is_notebook
from tfnb.notebook.views.table import keep, latest, show_table, table_widget
from tfnb.notebook.views.targets import session_of
from tfnb.notebook.views.values_svg import values_svg, values_table, values_text

if TYPE_CHECKING:
    from types import TracebackType

    from tfnb.client.debugger.watched_tensor import WatchedTensor
    from tfnb.core.step_events import StepEvents

KEEP = 10_000


class Values:
    """A context manager that keeps the values of tensors in the steps run inside it.

    Steps run as emitted functions that keep these values, if possible; a step runs node by node, as
    under a debugger, if one tensor is in a loop inside the loop of another one.

    Args:
      tensors: tensors, operations (their first output), variables, or names of these.
      keep: the number of values kept of each; the oldest are dropped first.
      shows: whether they are displayed when the block ends.

    Raises:
      ValueError: there is no tensor.
      TypeError: one of them is none of these.

    Attributes:
      watched: the values of each tensor, for each session that ran.
    """

    def __init__(self, *tensors: Any, keep: int = KEEP, shows: bool = False) -> None:
        if not tensors:
            raise ValueError("Name the tensors whose values are to be kept.")
        if keep < 1:
            raise ValueError(f"keep must be at least 1, not {keep}.")
        self._names = [_name_of(tensor) for tensor in tensors]
        self._keep = keep
        self._shows = shows
        self._debuggers: list[Debugger] = []
        self._events: dict[int, StepEvents] = {}  # by the id of a watched tensor
        self.watched: list[WatchedTensor] = []

    def __enter__(self) -> Self:
        watch_sessions(self._join)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        unwatch_sessions(self._join)
        for debugger in self._debuggers:
            debugger.detach()
        if self._shows:
            self.show()

    def _join(self, events: StepEvents) -> None:
        if events.debugger is not None:
            return
        debugger = Debugger(events=events, only_watches=True)
        watched = [debugger.watch(name, keep=self._keep) for name in self._names]
        self.watched += watched
        self._events.update((id(one), events) for one in watched)
        self._debuggers.append(debugger.attach())

    def __getitem__(self, tensor: Any) -> WatchedTensor:
        """Return the values of a tensor, in the session that computed it last.

        Raises:
          KeyError: the values of this tensor are not kept.
        """
        name = _name_of(tensor)
        found = [one for one in self.watched if one.name == name]
        if not found:
            known = ", ".join(self._names) if self.watched else "none, since no session ran"
            raise KeyError(f"No values of '{name}' are kept; there are: {known}.")
        return max(found, key=_last_step)

    def seen(self) -> list[WatchedTensor]:
        """Return each tensor's values, from the session that computed it last."""
        return [self[name] for name in dict.fromkeys(self._names)] if self.watched else []

    def show(self) -> None:
        """Display the values: a picture in a notebook, and text."""
        seen = self.seen()
        text = values_text(seen)
        if not is_notebook(current_shell()) or not any(one.values for one in seen):
            print(text)
            return
        session = session_of(self._events[id(max(seen, key=_last_step))])
        state = values_table(seen, None if session is None else session.graph)
        keep("values", state, text)
        show_table(table_widget("values", state, text), values_svg(seen))

    def __repr__(self) -> str:
        return values_text(self.seen())


def latest_values() -> tuple[dict[str, Any], str]:
    """Return the table of the values that were shown last, and its text."""
    return latest("values", "No values yet: begin a cell with %%tfnb values and names of tensors.")


def _last_step(one: WatchedTensor) -> int:
    return one.values[-1].step_id if one.values else -1


def _name_of(tensor: Any) -> str:
    if isinstance(tensor, str) and tensor:
        return tensor if ":" in tensor else f"{tensor}:0"
    if isinstance(tensor, Tensor):
        return tensor.name
    op = tensor if isinstance(tensor, Operation) else getattr(tensor, "op", None)
    if isinstance(op, Operation) and op.outputs:
        return op.outputs[0].name
    raise TypeError(f"A {type(tensor).__name__} is neither a tensor nor the name of one.")


def values(*tensors: Any, keep: int = KEEP) -> Values:
    """Keep the values of tensors in the steps run inside a ``with`` block.

    ``with tfnb.notebook.values("while/add") as seen: session.run(loop)``; then
    ``seen["while/add"].stacked()``, ``.last`` and ``.values``, and ``seen.show()``.

    Args:
      tensors: tensors, operations, variables, or names of these.
      keep: the number of values kept of each; the oldest are dropped first.
    """
    return Values(*tensors, keep=keep)
