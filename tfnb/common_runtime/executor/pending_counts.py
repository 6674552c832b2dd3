"""The encoding of pending and dead counts of nodes.

An iteration holds two numbers for every node of its frame: a *pending* count and the number of
*dead* inputs that arrived.  ``IterationState.pending`` is a flat list, at ``NodeItem.pending_id``;
``IterationState.dead_counts`` has an entry only for nodes with a dead input.
``PropagatorState.activate`` counts directly, because a call per edge costs as much as the edge.
This module defines the numbers, makes their initial values, and reads them for code that is not
performance critical.

* An **ordinary node** waits for each of its in-edges, data or control: pending starts as their
  number and each arrival takes 1.  At 0 the node is ready; it is dead if any input was.
* A **Merge** waits for all of its control edges and for *one* live value.  Pending starts as
  ``1 + 2 * control edges``.  A control edge takes 2.  The low bit says "no live value yet": the
  first live value clears it, later ones find it cleared and change nothing.  So the node is ready

  - live, when pending is 0: controls are in, and a value is;
  - dead, when pending is 1 and every data input came dead, or one of them came from a dead Enter
    (then its loop was never entered, and the back edge never delivers a value).

A node that was started keeps the counts it was started with: at 0 nothing can start it again, and
a dead Merge (1) has no data input left that could arrive.

A node goes through four states. The counts distinguish only the first from the rest; the others are
places: it is *not ready* until :func:`is_ready` is true, *ready* in ``ExecutorState.ready``,
*started* while ``ExecutorState.process`` runs it or it is in ``RunState.waiting``, and *completed*
when ``IterationState.outstanding_ops`` no longer counts it.

Corresponds to TensorFlow's ``pending_counts.h``, which packs both numbers and the state into a
byte where they are small; Python's small integers need no packing.
"""

from __future__ import annotations

NO_LIVE_VALUE_YET = 1
"""The low bit of a Merge's pending count."""
CONTROL_OF_MERGE = 2
"""The amount that a control edge into a Merge adds to its pending count."""


def initial_count(num_data: int, num_control: int, is_merge: bool) -> int:
    """Return the pending count of a node at the start of its iteration.

    >>> initial_count(2, 1, is_merge=False), initial_count(2, 1, is_merge=True)
    (3, 3)
    """
    if is_merge:
        return NO_LIVE_VALUE_YET + CONTROL_OF_MERGE * num_control
    return num_data + num_control


def is_ready(pending: int, dead_count: int, num_data: int, is_merge: bool) -> bool:
    """Return whether a node with these counts may start, live or dead."""
    if pending == 0:
        return True
    return is_merge and pending == NO_LIVE_VALUE_YET and dead_count == num_data
