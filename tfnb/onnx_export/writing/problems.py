"""What cannot be converted: a list of nodes, each with its op and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.errors import UnimplementedError
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_NODES = 4


@record(frozen=True, slots=True)
class Problem:
    """A node that has no form in ONNX.

    Attributes:
      node: its name.
      op: its op.
      reason: why, as a sentence without its full stop.
    """

    node: str
    op: str
    reason: str


class Refused(Exception):
    """The reason why one node has no form in ONNX."""


class ConversionError(UnimplementedError):
    """A graph has nodes without a form in ONNX; nothing was written.

    Attributes:
      problems: the nodes with their reasons.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Make the error from problems, which it lists op by op."""
        self.problems = tuple(problems)
        super().__init__(None, None, _text(self.problems))


def _text(problems: Sequence[Problem]) -> str:
    found: dict[tuple[str, str], list[str]] = {}
    for one in problems:
        found.setdefault((one.op, one.reason), []).append(one.node)
    number = len(problems)
    lines = [f"{number} node{'s' * (number != 1)} cannot be converted to ONNX; nothing is written."]
    for (op, reason), nodes in sorted(found.items()):
        names = ", ".join(repr(name) for name in nodes[:_MOST_NODES])
        more = f" and {len(nodes) - _MOST_NODES} more" if len(nodes) > _MOST_NODES else ""
        lines.append(f"  {op}: {names}{more}: {reason}")
    lines.append("Name outputs that do not need them, or inputs behind them: inputs=['node:0'].")
    return "\n".join(lines)
