"""Replacement of operations when a block of code that makes them runs again.

    first = Making(graph)
    with first: build()
    again = Making(graph, first)
    with again: build()

The second block begins in the state in which the first began: names, variable scopes, layers and
seeds are counted from there, and the values that the first block added to collections are taken
out. A new operation that equals the former one *is* the former one, so that variables keep their
values and operations built on it elsewhere stay valid. A different one takes the name. The
operations that it replaces, and those that are not made again, leave the graph, unless other
operations still depend on them: then they stay, under names in the scope ``former``.

Before their next run, sessions get the complete graph again (``BaseSession._send_anew``); they keep
their state for operations that stayed the same. If the block fails, the operations that it made
remain, and only those that they replaced leave the graph.

Operations inside loops, branches and bodies of functions, and those that are changed after they
were made, are never recognised as the same. Functions stay in the graph's library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tfnb.framework.consumer_index import ConsumerIndex
from tfnb.framework.exporter import node_def_of
from tfnb.framework.graph import Graph
from tfnb.library.layers.base import layer_counts
from tfnb.library.variables.variable_scope import stores_of

if TYPE_CHECKING:
    from types import TracebackType

    from tfnb.framework.operation import Operation

FORMER_SCOPE = "former"
# Attributes that must be equal for a variable of the same name to be the same variable.
_IDENTITY = ("dtype", "shape", "container")


class Making:
    """A block in which operations of one graph are made, or made again.

    Args:
      graph: the graph.
      former: the block before this one, whose operations are replaced.

    Raises:
      RuntimeError: on entering, if the graph is finalized or another block is open already.

    Attributes:
      operations: the operations that the block left in the graph, with the former ones that it
        kept.
      num_kept: how many of them existed before.
      num_replaced: how many took the name of a former operation that was different.
      num_removed: how many left the graph without a successor of the same name.
      still_used: former operations that stayed because others depend on them, with those others.
    """

    def __init__(self, graph: Graph, former: Making | None = None) -> None:
        self.graph = graph
        self.operations: list[Operation] = []
        self.num_kept = self.num_replaced = self.num_removed = 0
        self.still_used: list[tuple[Operation, list[Operation]]] = []
        self._former = former
        self._begin: _Counts = _Counts(graph) if former is None else former._begin
        self._collected: dict[Any, list[Any]] = {}
        # Former operations by name that were not made again yet, and one whose name is being given.
        self._waiting: dict[str, Operation] = {}
        self._candidates: dict[str, Operation] = {}
        self._kept: dict[Operation, None] = {}
        self._retired: dict[Operation, str] = {}  # with the former name
        self._after: dict[Operation, list[Operation]] = {}

    def __enter__(self) -> Self:
        graph = self.graph
        graph._check_not_finalized()
        if graph.replacement is not None:
            raise RuntimeError("The operations of this graph are being replaced already.")
        with graph._lock:
            self._now = _Counts(graph)
            self._num_before = len(graph.operation_list)
            former = self._former
            if former is not None:
                self._waiting = {op.name: op for op in former.operations if op.graph is graph}
                self._take_out(former)
            self._lists_before = {key: list(found) for key, found in graph._collections.items()}
            graph.replacement = self
        return self

    def _take_out(self, former: Making) -> None:
        graph = self.graph
        own = set(self._waiting.values())
        others = [op.name for op in graph.operation_list if op not in own]
        self._begin.restore(graph, others)
        for op in graph.operation_list:
            for before in op.control_ops:
                if before in own:
                    self._after.setdefault(before, []).append(op)
        # The positions of the values, where values that are made again will be put.
        self._places: dict[Any, int] = {}
        self._taken: dict[Any, list[Any]] = {}
        for key, values in former._collected.items():
            found = graph._collections.get(key, [])
            drop = {id(value) for value in values}
            places = [i for i, value in enumerate(found) if id(value) in drop]
            if places:
                self._places[key] = places[0]
                self._taken[key] = [found[i] for i in places]
                found[:] = [value for value in found if id(value) not in drop]
        self._variables = {}
        for variables in (store._vars for store in stores_of(graph)[0]):
            for name, variable in list(variables.items()):
                if getattr(variable, "op", None) in own:
                    self._variables[name] = variables, variables.pop(name)

    # -- while operations are made -----------------------------------------------------------------

    def release(self, name: str) -> None:
        """Free a name that a former operation has; called under the graph's lock."""
        op = self._waiting.pop(name, None)
        if op is not None:
            self._candidates[name] = op
            del self.graph._nodes_by_name[name]

    def settle(self, op: Operation) -> Operation:
        """Return the operation that represents a new, complete one; call under the graph's lock."""
        former = self._candidates.pop(op.name, None)
        graph = self.graph
        if former is None:
            self._note_controls(op)
            return op
        if graph.operation_list[-1] is op and _is_same(former, op):
            graph.operation_list.pop()
            if graph.consumer_index.num_read > len(graph.operation_list):
                graph.consumer_index = ConsumerIndex(graph)
            graph._nodes_by_name[op.name] = former
            former.site = op.site
            for old, new in zip(former.outputs, op.outputs):
                old._shape, old._handle_data = new._shape, new._handle_data
            op._id = -1
            for scope in graph.scopes().control_stack:
                scope.add_op(former)
            self._kept[former] = None
            return former
        self._retire(former, op)
        self._note_controls(op)
        return op

    def _note_controls(self, op: Operation) -> None:
        for before in op.control_ops:
            if before in self._retired or before.name in self._waiting:
                self._after.setdefault(before, []).append(op)

    def make_room(self, scope: str) -> None:
        """Free the names of former operations in a scope before an import into it."""
        for name in list(self._waiting):
            if not scope or name == scope or name.startswith(f"{scope}/"):
                self.release(name)
                self._retire(self._candidates.pop(name), None)

    def _retire(self, former: Operation, new: Operation | None) -> None:
        """Rename a former operation, since a new one has its name."""
        graph = self.graph
        self._retired[former] = former.name
        if new is not None and _names_state(former) and _identity(former) == _identity(new):
            # Both operations are the same variable, queue or table.
            former.attrs = {**former.attrs, "shared_name": former.name.encode()}
        name = base = f"{FORMER_SCOPE}/{former.name}"
        number = 0
        while name in graph._nodes_by_name:
            number += 1
            name = f"{base}_{number}"
        graph._nodes_by_name[name] = former
        former.name = name
        former.kept_node_def = None
        for tensor in former.outputs:
            for consumer in graph.consumer_index.of(tensor):
                consumer.kept_node_def = None
        for follower in self._after.get(former, ()):
            follower.kept_node_def = None
        _changed(graph)

    # -- the end -----------------------------------------------------------------------------------

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        graph = self.graph
        with graph._lock:
            graph.replacement = None
            for name, op in self._candidates.items():  # making the new operation failed
                graph._nodes_by_name.setdefault(name, op)
                self._waiting[name] = op
            made = graph.operation_list[self._num_before :]
            if self._former is not None:
                self._replace_collections(keep_others=error is not None)
                self._now.merge(graph)
                gone = dict.fromkeys(self._retired)
                if error is None:
                    gone.update(dict.fromkeys(self._waiting.values()))
                    unmade: list[Operation] = []
                else:
                    unmade = list(self._waiting.values())
                removed = self._remove(gone)
                self.operations = [*self._kept, *unmade, *made]
                self.operations += [op for op, _ in self.still_used]
                self.num_kept = len(self._kept)
                names = graph._nodes_by_name
                replaced = {op for op, name in self._retired.items() if name in names}
                self.num_replaced = len(replaced)
                self.num_removed = len(set(removed) - replaced)
            else:
                self.operations = list(made)
            self._collected = self._new_in_collections()
            self._former = None  # its contents are no longer needed

    def _remove(self, gone: dict[Operation, None]) -> list[Operation]:
        """Remove the operations that no other one depends on from the graph; record the others."""
        graph = self.graph
        if not gone:
            return []
        users: dict[Operation, list[Operation]] = {}
        for op in graph.operation_list:
            if op not in gone:
                for source in dict.fromkeys([*(t.op for t in op.inputs), *op.control_ops]):
                    if source in gone:
                        users.setdefault(source, []).append(op)
        needed, waiting = set(users), list(users)
        while waiting:
            op = waiting.pop()
            for source in [*(t.op for t in op.inputs), *op.control_ops]:
                if source in gone and source not in needed:
                    needed.add(source)
                    waiting.append(source)
        self.still_used = [(op, users.get(op, [])) for op in gone if op in needed]
        removed = [op for op in gone if op not in needed]
        _take_from_graph(graph, {op: self._retired.get(op, op.name) for op in removed})
        return removed

    def _replace_collections(self, *, keep_others: bool) -> None:
        graph = self.graph
        left = set(self._waiting.values()) if keep_others else set()
        for key, taken in self._taken.items():
            found = graph._collections.setdefault(key, [])
            before = len(self._lists_before.get(key, ()))
            added = found[before:]
            back = [value for value in taken if getattr(value, "op", value) in left]
            place = self._places[key]
            found[:] = [*found[:before][:place], *back, *added, *found[:before][place:]]
        for name, (variables, variable) in self._variables.items():
            if variable.op in left:
                variables.setdefault(name, variable)

    def _new_in_collections(self) -> dict[Any, list[Any]]:
        found = {}
        stores = {id(store) for stores in stores_of(self.graph) for store in stores}
        for key, values in self.graph._collections.items():
            old = {id(value) for value in self._lists_before.get(key, ())}
            new = [v for v in values if id(v) not in old and id(v) not in stores]
            if new:
                found[key] = new
        return found


class _Counts:
    """The counts of names of every kind in a graph, at one moment."""

    def __init__(self, graph: Graph) -> None:
        self._names = dict(graph._names_in_use)
        self._scopes = [dict(store.counts) for store in stores_of(graph)[1]]
        self._layers = dict(layer_counts(graph))
        self._seeds = graph.num_op_seeds

    def restore(self, graph: Graph, names: list[str]) -> None:
        """Set the counts back, except for names that other operations have got meanwhile."""
        found = dict(self._names)
        for name in names:
            key = name.lower()
            while key and key not in found:
                found[key] = 1
                key = key.rpartition("/")[0]
        graph._names_in_use = found
        for index, store in enumerate(stores_of(graph)[1]):
            store.counts = dict(self._scopes[index]) if index < len(self._scopes) else {}
        layers = layer_counts(graph)
        layers.clear()
        layers.update(self._layers)
        graph.num_op_seeds = self._seeds

    def merge(self, graph: Graph) -> None:
        """Set each count to the larger one of the stored and the present count."""
        _at_least(graph._names_in_use, self._names)
        for store, counts in zip(stores_of(graph)[1], self._scopes):
            _at_least(store.counts, counts)
        _at_least(layer_counts(graph), self._layers)
        graph.num_op_seeds = max(graph.num_op_seeds, self._seeds)


def _at_least(counts: dict[str, int], others: dict[str, int]) -> None:
    for name, count in others.items():
        if counts.get(name, 0) < count:
            counts[name] = count


def _is_same(former: Operation, new: Operation) -> bool:
    return (
        former.type == new.type
        and former._control_flow_context is None is new._control_flow_context
        and len(former.inputs) == len(new.inputs)
        and all(a is b for a, b in zip(former.inputs, new.inputs))
        and former.control_ops == new.control_ops
        and former._gradient_function is new._gradient_function
        and bool(node_def_of(former) == node_def_of(new))
    )


def _names_state(op: Operation) -> bool:
    """Return whether sessions keep a state under the operation's name."""
    return op.op_definition.is_stateful and op.attrs.get("shared_name") == b""


def _identity(op: Operation) -> tuple[Any, ...]:
    return (op.type, *(op.attrs.get(name) for name in _IDENTITY))


def _changed(graph: Graph) -> None:
    """Make sessions request the whole graph, and check feeds and fetches again."""
    graph.exported_nodes = None
    graph.revision += 1
    graph.num_access_marks += 1


def _take_from_graph(graph: Graph, removed: dict[Operation, str]) -> None:
    """Move operations, under the given names, into a graph of their own, for inspection."""
    if not removed:
        return
    graph.operation_list = [op for op in graph.operation_list if op not in removed]
    ids = {}
    for number, op in enumerate(graph.operation_list):
        ids[op._id] = number
        op._id = number
    graph.loaded_ranges = [
        (min(kept), max(kept) + 1)
        for first, end in graph.loaded_ranges
        if (kept := [ids[i] for i in range(first, end) if i in ids])
    ]
    elsewhere = Graph()
    elsewhere.is_former = True
    for op, name in removed.items():
        if graph._nodes_by_name.get(op.name) is op:
            del graph._nodes_by_name[op.name]
        op.graph = elsewhere
        for tensor in op.outputs:
            tensor.graph = elsewhere
        op.name, op.kept_node_def = name, None
        elsewhere._add_op(op)
    graph.consumer_index = ConsumerIndex(graph)
    graph.num_ops_sent = 0
    # These are made again on request.
    for made in (
        graph._handle_feeders, graph._handle_readers, graph._handle_movers, graph._handle_deleters
    ):  # fmt: skip
        made.clear()
    _changed(graph)
