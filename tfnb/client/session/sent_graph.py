"""The part of a session's graph that the runtime has, and the sending of the rest.

As a rule all new nodes are sent before a run, so that a run costs time only for new nodes.  In two
cases only the nodes that the run needs are sent: its fetches and targets with all they depend on.

* There are many new nodes, for example an imported graph of a million nodes.  The other nodes are
  sent when a run needs them.
* The runtime refuses the new nodes, because one of them is bad or calls a bad function.  A run that
  does not need the bad node succeeds; TensorFlow's session refuses every run from then on.

If a session has several devices, nodes that must share a device with a needed node are needed, too:
the nodes of its colocation groups, and all that take its reference or its resource.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from tfnb.core import dtypes, errors
from tfnb.core.process import forking
from tfnb.core.process.later import later
from tfnb.framework.importing.plain_exporter import plain_graph_def_of
from tfnb.framework.loaded_nodes import mark_loaded
from tfnb.framework.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.client.session import session_errors
    from tfnb.core.plain_graph_def import PlainGraphDef
    from tfnb.framework import function_library
    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor import Tensor
else:
    session_errors = later("tfnb.client.session.session_errors", in_step=True)
    function_library = later("tfnb.framework.function_library", in_step=True)

MANY: Final = 20_000
"""If there are more new operations, only those that a run needs are sent."""


_GROUP: Final = b"loc:@"
# The server could not be reached, or has lost the session: it has refused no node.
_NOT_REFUSED: Final = (
    errors.UnavailableError,
    errors.DeadlineExceededError,
    errors.AbortedError,
    errors.CancelledError,
)


class SentGraph:
    """A record of the part of a graph that a runtime's session has; thread safe.

    Attributes:
      sends_all: whether the runtime's graph cannot grow, so that all is sent at once.
    """

    def __init__(self, graph: Graph, runtime: Any, *, sends_all: bool = False) -> None:
        self._graph, self._runtime = graph, runtime
        self.sends_all = sends_all
        self._lock = threading.Lock()
        forking.guard(self, "_lock")
        self._version = 0  # all operations before this one were sent; guarded by self._lock
        self._ahead: set[int] = set()  # the numbers of those sent beyond; guarded by self._lock
        self._revision = graph.revision  # when it changes, all is sent again; guarded, too
        self._refused_version = -1  # version of the graph when sending all failed; guarded, too
        self._in_flight: Sequence[Operation] = ()  # sent, not recorded yet; guarded, too

    @property
    def num_sent(self) -> int:
        """The number of operations that the runtime's session has."""
        with self._lock:
            return self._version + len(self._ahead)

    def assume_all_sent(self) -> None:
        """Record that the runtime's session has got the present graph in another way."""
        with self._lock:
            self._version, self._ahead, self._in_flight = self._graph.version, set(), ()

    def assume_sent(self, operations: Sequence[Operation]) -> None:
        """Record that the runtime's session has had some operations from before."""
        graph = self._graph
        with graph._lock:
            graph_def = plain_graph_def_of(graph, operations)
        if mark_loaded(graph, graph_def):
            self._runtime.has_watched_nodes = True
        self._runtime.note_sent(graph_def)
        with self._lock:
            self._in_flight = operations
            self._note_sent()

    def send(self, needed: Sequence[Operation | Tensor] | None = None) -> bool:
        """Send the nodes that the runtime lacks.

        Args:
          needed: the fetches, feeds and targets of a run; None for the whole graph.

        Returns:
          Whether the runtime has a new graph now, because the user changed older nodes.

        Raises:
          OpError: the runtime refuses a node that is needed; nothing was sent.
        """
        graph = self._graph
        if graph.version == self._version and graph.revision == self._revision:
            return False
        with self._lock:
            if graph.revision != self._revision:
                self._send_anew()
                return True
            self._note_sent()
            with graph._lock:
                new = graph.operation_list[self._version :]
            if not new:
                return False
            if self.sends_all or needed is None:
                self._send_new(new)
            elif self._refused_version == graph.version or len(new) - len(self._ahead) > MANY:
                self._send_needed(new, needed)
            else:
                try:
                    self._send_new(new)
                except _NOT_REFUSED:
                    raise
                except errors.OpError:
                    self._refused_version = graph.version
                    self._send_needed(new, needed)
        return False

    def _send_anew(self) -> None:
        """Replace the runtime's graph with the present graph."""
        graph = self._graph
        with graph._lock:
            operations, revision = list(graph.operation_list), graph.revision
        version = len(operations)
        self._give(self._runtime.replace_graph, operations)
        self._version, self._ahead, self._in_flight = version, set(), ()
        graph.num_ops_sent = max(graph.num_ops_sent, version)
        self._revision = revision

    def _send_new(self, new: list[Operation]) -> None:
        """Send all operations that the runtime lacks."""
        left = [op for op in new if op._id not in self._ahead] if self._ahead else new
        if left:
            self._extend(left)

    def _send_needed(self, new: list[Operation], needed: Sequence[Operation | Tensor]) -> None:
        """Send those nodes that the runtime lacks and a run needs."""
        first, ahead = self._version, self._ahead
        has_one_device = len(self._runtime.list_devices()) == 1
        partners = _leaders_of if has_one_device else _partners_in(new)
        todo = [one if isinstance(one, Operation) else one.op for one in needed]
        found: dict[int, Operation] = {}
        while todo:
            op = todo.pop()
            number = op._id
            if number in found or number < first or number in ahead:
                continue
            found[number] = op
            for tensor in op.inputs:
                source = tensor.op
                if source._id not in found:
                    todo.append(source)
            if op.control_ops:
                todo += op.control_ops
            if not has_one_device or "_class" in op.attrs:
                todo += partners(op)
        if found:
            operations = [found[number] for number in sorted(found)]
            functions = function_library.needed_function_names(self._graph, operations)
            self._extend(operations, functions)

    def _extend(
        self, operations: Sequence[Operation], functions: Iterable[str] | None = None
    ) -> None:
        self._in_flight = operations
        try:
            self._give(self._runtime.extend, operations, functions)
        except errors.OpError:
            self._in_flight = ()
            raise
        self._note_sent()

    def _note_sent(self) -> None:
        """Record what the runtime has got, also after an interrupt: it takes all or nothing."""
        sent = self._in_flight
        if not sent:
            return
        if self._runtime.has_node(sent[-1].name):
            ahead, version = {*self._ahead, *[op._id for op in sent]}, self._version
            num_sent = max(ahead) + 1
            while version in ahead:
                ahead.remove(version)
                version += 1
            self._version, self._ahead = version, ahead
            self._graph.num_ops_sent = max(self._graph.num_ops_sent, num_sent)
        self._in_flight = ()

    def _give(
        self,
        take: Callable[[PlainGraphDef], None],
        operations: Sequence[Operation],
        functions: Iterable[str] | None = None,
    ) -> None:
        """Send operations, and some or all of the graph's functions, to the runtime."""
        graph = self._graph
        try:
            with graph._lock:
                graph_def = plain_graph_def_of(graph, operations, functions)
            if mark_loaded(graph, graph_def):
                self._runtime.has_watched_nodes = True
            take(graph_def)
        except errors.OpError as error:
            raise session_errors.explain(error, self._graph, None) from error.__cause__


def _leaders_of(op: Operation) -> Iterable[Operation]:
    """Return the operations that one must share a device with, by its colocation groups."""
    if "_class" not in op.attrs:
        return ()
    nodes = op.graph._nodes_by_name
    names = [group[len(_GROUP) :].decode(errors="replace") for group in op.colocation_groups()]
    return [nodes[name] for name in names if name in nodes]


def _partners_in(new: list[Operation]) -> Callable[[Operation], Iterable[Operation]]:
    """Return a function from an operation to the new operations that are placed with it."""
    groups: dict[bytes, list[Operation]] = {}
    for op in new:
        if "_class" in op.attrs:
            for group in op.colocation_groups():
                groups.setdefault(group, []).append(op)

    def partners(op: Operation) -> Iterable[Operation]:
        found = [*_leaders_of(op)]
        for group in (_GROUP + op.name.encode(), *op.colocation_groups()):
            found += groups.pop(group, ())
        for tensor in op.outputs:
            if tensor.dtype.is_ref_dtype or tensor.dtype is dtypes.resource:
                found += tensor.consumers()
        return found

    return partners
