"""``%%tfnb cell``: the operations that a cell makes when it runs again replace its former ones."""

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
    """The operations that the cells of one shell made last, by graph and cell."""

    def __init__(self) -> None:
        self._key = object()  # the key of the records in a graph

    def run(self, key: str, body: Callable[[], None]) -> tuple[Making, str]:
        """Run a cell; return what it made, and the report about it ("" for none).

        Raises:
          RuntimeError: one such cell runs another.
        """
        graph = get_default_graph()
        made: dict[str, Making] = graph.kept.setdefault(self._key, {})
        making = Making(graph, made.get(key))
        is_first = key not in made
        with making:
            # If the cell fails, its next run replaces what it has made until then.
            made[key] = making
            body()
        return making, "" if is_first else replaced_text(making)


def replaced_text(making: Making) -> str:
    """Return what happened to a cell's former operations, and which users keep obsolete ones."""
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
