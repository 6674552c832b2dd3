"""The text that explains why a step is blocked.

The runtime knows which nodes wait and why; only the client knows which line made a node.  The
runtime attaches a :class:`Standstill` to the error of a step that was ended while it stood still,
and the client renders it again with a function that returns the places of nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_LINES = 11
"""Upper bound on the lines of a text, its heading included."""


@record(frozen=True, slots=True)
class Finding:
    """One finding about the step.

    Attributes:
      text: a sentence without its full stop.
      node: the node of the user's graph whose place follows the text; "" for none.
      reasons: further findings that explain it.
      waiter: the node that waits, if the finding is about one.
    """

    text: str
    node: str = ""
    reasons: tuple[Finding, ...] = ()
    waiter: str = field(default="", compare=False)


@record(frozen=True, slots=True)
class Standstill:
    """Why a step does not go on.

    Attributes:
      heading: the heading above all findings.
      findings: the findings, most relevant first.
      is_final: whether no thread or session can make the step go on, so that it can only be ended.
      runs: whether a pool thread runs a node of the step meanwhile.
    """

    heading: str
    findings: tuple[Finding, ...]
    is_final: bool = False
    runs: bool = False

    def render(self, place_of: Callable[[str], str] | None = None) -> str:
        """Return the text, of at most ``MOST_LINES`` lines.

        Args:
          place_of: node name -> where it was made, or "".
        """
        lines: list[str] = []
        num_left_out = 0
        for finding in self.findings:
            found = _lines(finding, place_of, "  ")
            if 1 + len(lines) + len(found) >= MOST_LINES:
                num_left_out += 1
            else:
                lines += found
        if num_left_out:
            lines.append(f"  ... and {num_left_out} more")
        return "\n".join([self.heading, *lines])


class StandstillNote(str):
    """A note on an interrupt, which the client replaces by one with the places of the nodes."""

    __slots__ = ("standstill",)

    standstill: Standstill

    def __new__(cls, standstill: Standstill) -> Self:
        """Render the note without places, for errors that do not pass through the client."""
        note = super().__new__(cls, standstill.render())
        note.standstill = standstill
        return note


def _lines(finding: Finding, place_of: Callable[[str], str] | None, indent: str) -> list[str]:
    place = place_of(finding.node) if place_of is not None and finding.node else ""
    lines = [f"{indent}{finding.text}{f', made at {place}' if place else ''}"]
    for reason in finding.reasons:
        lines += _lines(reason, place_of, indent + "  ")
    return lines
