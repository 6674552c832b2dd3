"""The source text of a function being written: its lines, and the names they refer to."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem

# A step's stop flag is checked whenever the calls since the last check cost this much.
CALLS_PER_CHECK: Final = 8.0
_CHECK = "if run_state.stop is not None: run_state.heed_stop()"


class Source:
    """Lines of Python.

    Attributes:
      lines: the text.
      items: the node of each line, by line number; None for lines without a node.
      args: the variables with the inputs of a line's node, by line number.
      names: the values that the lines refer to, by name.
      level: the indentation level of the next line.
      unchecked: the cost of the calls since the last check of the flag.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.items: list[NodeItem | None] = [None]
        self.args: dict[int, list[str]] = {}
        self.names: dict[str, Any] = {}
        self.level = 0
        self.unchecked = CALLS_PER_CHECK
        self._name_of: dict[int, str] = {}  # by the id of the shared value

    @property
    def last(self) -> int:
        """The number of the last line."""
        return len(self.items) - 1

    def line(self, text: str, item: NodeItem | None = None, args: list[str] | None = None) -> None:
        """Write a line.

        Args:
          text: the line without its indentation.
          item: the node that the line runs.
          args: the variables with the node's inputs.
        """
        text = f"{'    ' * self.level}{text}"
        if item is not None:
            # ascii() leaves no character that could end the comment.
            text = f"{text:<44}  # {item.name!a} ({ascii(item.op)[1:-1]})"
        if args:
            self.args[len(self.items)] = args
        self.lines.append(text)
        self.items.append(item)

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines written inside the context; at least one."""
        num_lines = len(self.lines)
        self.level += 1
        yield
        if len(self.lines) == num_lines:
            self.line("pass")
        self.level -= 1

    def check(self, cost: float = CALLS_PER_CHECK) -> None:
        """Write a check of the flag that ends a step, every few nodes."""
        self.unchecked += cost
        if self.unchecked >= CALLS_PER_CHECK:
            self.line(_CHECK)
            self.unchecked = 0.0

    def name(self, value: Any, prefix: str) -> str:
        """Return the name of a value that several nodes may use."""
        name = self._name_of.get(id(value))
        if name is None:
            name = self._name_of[id(value)] = f"{prefix}{len(self._name_of)}"
            self.names[name] = value
        return name
