"""``%%tfnb cell``: what a cell makes when it runs again takes the place of what it made before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.client.graph_replacement import Making
from tfnb.framework.default_graph import get_default_graph
from tfnb.notebook.scenes.attr_text import cut_middle, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.operation import Operation

_MAX_USERS = 6
_MAX_NAME = 60


class ReplacedCells:
    """What the cells of one shell made last, by graph and cell."""

    def __init__(self) -> None:
        self._key = object()  # under which a graph keeps what cells made, by cell

    def run(self, key: str, body: Callable[[], None]) -> tuple[Making, str]:
        """Run a cell; gives what it made, and what is to be said of it ("" for nothing).

        Raises:
          RuntimeError: one such cell runs another.
        """
        graph = get_default_graph()
        made: dict[str, Making] = graph.kept.setdefault(self._key, {})
        making = Making(graph, made.get(key))
        is_first = key not in made
        with making:
            # What a cell that fails has made is replaced by its next run, too.
            made[key] = making
            body()
        return making, "" if is_first else replaced_text(making)


def replaced_text(making: Making) -> str:
    """Return what became of a cell's former operations, and who still stands on those that differ."""
    num_new = len(making.operations) - making.num_kept - making.num_replaced
    num_new -= len(making.still_used)
    counts = [
        (making.num_kept, "kept"),
        (making.num_replaced, "replaced"),
        (max(0, num_new), "new"),
        (making.num_removed, "removed"),
    ]
    total = len(making.graph.get_operations())
    text = ", ".join(f"{count:,} {what}" for count, what in counts if count) or "no ops"
    lines = [f"{text}; {total:,} in the graph"]
    users: dict[Operation, list[str]] = {}
    for former, others in making.still_used:
        for other in others:
            users.setdefault(other, []).append(former.name)
    for user, names in list(users.items())[:_MAX_USERS]:
        site = user.creation_site
        place = "" if site is None else f" ({site})"
        shown = ", ".join(f"'{_short(name)}'" for name in names[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"'{_short(user.name)}'{place} still uses {shown}{more} of the run before")
    if len(users) > _MAX_USERS:
        lines.append(f"… {len(users) - _MAX_USERS:,} more operations do")
    if users:
        lines.append("Run the cells that made these again to have them use what is there now.")
    return "\n".join(lines)


def _short(name: str) -> str:
    return one_line(cut_middle(name, _MAX_NAME))
