"""``tf.contrib.graph_editor``: parts of a graph that are selected, copied and wired in another way.

Ops that a session has run already stay there as they were: edit a graph before its first run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.framework.graph import Graph
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Filter = Callable[[Any], bool] | bool

_LOOP_OPS = frozenset(
    f"{ref}{name}" for ref in ("", "Ref") for name in ("Enter", "Exit", "NextIteration")
)


# ------------------------------------------------------------------------------------- as lists


def make_list_of_op(ops: Any, check_graph: bool = True, allow_graph: bool = True) -> list[Any]:
    """Return the operations of a graph, of nested sequences, or of one operation.

    Raises:
      TypeError: something else is among them.
    """
    if isinstance(ops, Graph) and allow_graph:
        return [*ops.get_operations()]
    return _listed(ops, Operation)


def make_list_of_t(ts: Any, check_graph: bool = True, allow_graph: bool = True) -> list[Any]:
    """Return the tensors of a graph, of nested sequences, or of one tensor.

    Raises:
      TypeError: something else is among them.
    """
    if isinstance(ts, Graph) and allow_graph:
        return [tensor for op in ts.get_operations() for tensor in op.outputs]
    return _listed(ts, Tensor)


def _listed(values: Any, kind: type) -> list[Any]:
    if isinstance(values, SubGraphView):
        values = values.ops
    found: list[Any] = []
    for value in _flat(values):
        if not isinstance(value, kind):
            raise TypeError(f"Expected a {kind.__name__}, got: {type(value)}")
        found.append(value)
    return found


def _flat(values: Any) -> Iterator[Any]:
    if isinstance(values, Tensor | Operation | str) or not hasattr(values, "__iter__"):
        yield values
        return
    for value in values:
        yield from _flat(value)


# ------------------------------------------------------------------------------------ selections


def filter_ops(ops: Any, positive_filter: Filter) -> list[Any]:
    """Return those of some operations that pass a filter; True lets all pass."""
    return [op for op in make_list_of_op(ops) if _passes(op, positive_filter)]


def filter_ts(ops: Any, positive_filter: Filter) -> list[Any]:
    """Return inputs, then outputs of some operations that pass a filter; True lets all pass."""
    listed = make_list_of_op(ops)
    tensors = dict.fromkeys(tensor for op in listed for tensor in op.inputs)
    tensors.update(dict.fromkeys(tensor for op in listed for tensor in op.outputs))
    return [tensor for tensor in tensors if _passes(tensor, positive_filter)]


def _passes(value: Any, positive_filter: Filter) -> bool:
    return positive_filter if isinstance(positive_filter, bool) else positive_filter(value)


def filter_ops_from_regex(ops: Any, regex: str | re.Pattern[str]) -> list[Any]:
    """Return those of some operations in whose names an expression is found."""
    pattern = re.compile(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name) is not None)


def filter_ts_from_regex(ops: Any, regex: str | re.Pattern[str]) -> list[Any]:
    """Return tensors of some operations in whose names an expression is found."""
    pattern = re.compile(regex)
    return filter_ts(ops, lambda tensor: pattern.search(tensor.name) is not None)


def get_name_scope_ops(ops: Any, scope: str) -> list[Any]:
    """Return those of some operations that are in a name scope."""
    return filter_ops_from_regex(ops, f"^{scope.removesuffix('/')}(/.*)?$")


def select_ops(
    *args: Any,
    graph: Graph | None = None,
    positive_filter: Filter = True,
    restrict_ops_regex: str | re.Pattern[str] | None = None,
) -> list[Any]:
    """Return operations that are given, or found by expressions for their names.

    Args:
      *args: operations, sequences of them, and expressions.
      graph: where the expressions search.
      positive_filter: which to keep.
      restrict_ops_regex: an expression that names have to match in addition.

    Raises:
      ValueError: there is an expression and no graph.
    """
    return _selected(args, graph, make_list_of_op, filter_ops_from_regex, positive_filter,
                     restrict_ops_regex)  # fmt: skip


def select_ts(
    *args: Any,
    graph: Graph | None = None,
    positive_filter: Filter = True,
    restrict_ts_regex: str | re.Pattern[str] | None = None,
) -> list[Any]:
    """Return tensors that are given, or found by expressions for their names.

    Args:
      *args: tensors, sequences of them, and expressions.
      graph: where the expressions search.
      positive_filter: which to keep.
      restrict_ts_regex: an expression that names have to match in addition.

    Raises:
      ValueError: there is an expression and no graph.
    """
    return _selected(args, graph, make_list_of_t, filter_ts_from_regex, positive_filter,
                     restrict_ts_regex)  # fmt: skip


def _selected(
    given: Iterable[Any],
    graph: Graph | None,
    listed: Callable[[Any], list[Any]],
    by_name: Callable[[Any, Any], list[Any]],
    positive_filter: Filter,
    restriction: str | re.Pattern[str] | None,
) -> list[Any]:
    found: dict[Any, None] = {}
    for value in given:
        if isinstance(value, str | re.Pattern):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            found.update(dict.fromkeys(by_name(graph, value)))
        else:
            found.update(dict.fromkeys(listed(value)))
    pattern = None if restriction is None else re.compile(restriction)
    return [
        one
        for one in found
        if _passes(one, positive_filter) and (pattern is None or pattern.search(one.name))
    ]


# ----------------------------------------------------------------------------------------- walks


class ControlOutputs:
    """Which operations wait for an operation."""

    def __init__(self, graph: Graph) -> None:
        """Look through a graph."""
        self._graph = graph
        self.update()

    def update(self) -> ControlOutputs:
        """Look through the graph again; return itself."""
        found: defaultdict[Any, list[Any]] = defaultdict(list)
        for op in self._graph.get_operations():
            for before in op.control_inputs:
                found[before].append(op)
        self._outputs: dict[Any, list[Any]] = dict(found)
        return self

    def get(self, op: Operation) -> list[Any]:
        """Return the operations that have this one as a control input."""
        return self._outputs.get(op, [])

    def get_all(self) -> dict[Any, list[Any]]:
        """Return those of every operation that has some."""
        return self._outputs


def get_generating_ops(ts: Any) -> list[Any]:
    """Return the operations that make some tensors."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[Any]:
    """Return the operations that take some tensors."""
    tensors = make_list_of_t(ts, allow_graph=False)
    return [*dict.fromkeys(op for tensor in tensors for op in tensor.consumers())]


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    stop_at_ts: Any = (),
    control_outputs: ControlOutputs | None = None,
) -> list[Any]:
    """Return the operations that depend on others.

    Args:
      seed_ops: where to begin: operations, or tensors, whose consumers are meant.
      inclusive: whether the first ones belong to the result.
      within_ops: operations that the walk does not leave.
      within_ops_fn: returns whether the walk may go to an operation.
      stop_at_ts: tensors where it stops.
      control_outputs: whether it follows control edges, too.
    """
    stops = frozenset(make_list_of_t(stop_at_ts))

    def following(op: Operation) -> Iterator[Any]:
        for tensor in op.outputs:
            if tensor not in stops:
                yield from tensor.consumers()
        if control_outputs is not None:
            yield from control_outputs.get(op)

    is_within = _within(within_ops, within_ops_fn)
    return _walk(_seeds(seed_ops, get_consuming_ops), following, inclusive, is_within)


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Any]:
    """Return the operations on which others depend.

    Args:
      seed_ops: where to begin: operations, or tensors, whose makers are meant.
      inclusive: whether the first ones belong to the result.
      within_ops: operations that the walk does not leave.
      within_ops_fn: returns whether the walk may go to an operation.
      stop_at_ts: tensors where it stops.
      control_inputs: whether it follows control edges, too.
    """
    stops = frozenset(make_list_of_t(stop_at_ts))

    def before(op: Operation) -> Iterator[Any]:
        for tensor in op.inputs:
            if tensor not in stops:
                yield tensor.op
        if control_inputs:
            yield from op.control_inputs

    is_within = _within(within_ops, within_ops_fn)
    return _walk(_seeds(seed_ops, get_generating_ops), before, inclusive, is_within)


def _seeds(given: Any, of_tensors: Callable[[Any], list[Any]]) -> list[Any]:
    values = given.ops if isinstance(given, SubGraphView) else [*_flat(given)]
    if values and isinstance(values[0], Tensor):
        return of_tensors(values)
    return make_list_of_op(values, allow_graph=False)


def _within(
    within_ops: Any, within_ops_fn: Callable[[Operation], bool] | None
) -> Callable[[Operation], bool]:
    """Return whether a walk may go to an operation, as a function."""
    allowed = frozenset(make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    return lambda op: (
        (allowed is None or op in allowed) and (within_ops_fn is None or within_ops_fn(op))
    )


def _walk(
    seeds: list[Any],
    neighbours: Callable[[Operation], Iterator[Any]],
    inclusive: bool,
    is_within: Callable[[Operation], bool],
) -> list[Any]:
    first = dict.fromkeys(op for op in seeds if is_within(op))
    found = dict(first)
    waiting = [*first]
    while waiting:
        for op in neighbours(waiting.pop()):
            if op not in found and is_within(op):
                found[op] = None
                waiting.append(op)
    return [op for op in found if inclusive or op not in first]


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> list[Any]:
    """Return the operations between two ends."""
    forward, backward = _walks(forward_seed_ops, backward_seed_ops, forward_inclusive,
                               backward_inclusive, within_ops, within_ops_fn, control_inputs,
                               control_outputs or control_ios, control_ios)  # fmt: skip
    both = frozenset(backward)
    return [op for op in forward if op in both]


def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> list[Any]:
    """Return the operations after some and before others."""
    forward, backward = _walks(forward_seed_ops, backward_seed_ops, forward_inclusive,
                               backward_inclusive, within_ops, within_ops_fn, control_inputs,
                               control_outputs or control_ios, control_ios)  # fmt: skip
    return [*dict.fromkeys([*forward, *backward])]


def _walks(
    forward_seeds: Any,
    backward_seeds: Any,
    forward_inclusive: bool,
    backward_inclusive: bool,
    within_ops: Any,
    within_ops_fn: Callable[[Operation], bool] | None,
    control_inputs: bool,
    control_outputs: ControlOutputs | None,
    control_ios: ControlOutputs | None,
) -> tuple[list[Any], list[Any]]:
    return (
        get_forward_walk_ops(
            forward_seeds, forward_inclusive, within_ops, within_ops_fn, (), control_outputs
        ),
        get_backward_walk_ops(
            backward_seeds, backward_inclusive, within_ops, within_ops_fn, (),
            control_inputs or control_ios is not None,
        ),
    )  # fmt: skip


# --------------------------------------------------------------------------------------- subgraphs


class SubGraphView:
    """Operations of a graph, with the tensors that come in and go out."""

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = [*dict.fromkeys(make_list_of_op(inside_ops))]
        self._passthrough = make_list_of_t(passthrough_ts)

    @property
    def ops(self) -> list[Any]:
        """The operations, in the order of their making."""
        return sorted(self._ops, key=lambda op: op._id)

    @property
    def graph(self) -> Graph | None:
        """The graph; None if there is no operation."""
        return self._ops[0].graph if self._ops else None

    @property
    def inputs(self) -> list[Any]:
        """Tensors that operations of the view take from outside."""
        inside = frozenset(self._ops)
        taken = dict.fromkeys(tensor for op in self.ops for tensor in op.inputs)
        return [tensor for tensor in taken if tensor.op not in inside] + self._passthrough

    @property
    def outputs(self) -> list[Any]:
        """Tensors of the view that operations outside take, or none takes."""
        inside = frozenset(self._ops)
        return [
            tensor
            for op in self.ops
            for tensor in op.outputs
            if not tensor.consumers() or not inside.issuperset(tensor.consumers())
        ] + self._passthrough


def make_view(*args: Any, graph: Graph | None = None) -> SubGraphView:
    """Return a view of operations, of views, or of those that expressions find."""
    given = [one.ops if isinstance(one, SubGraphView) else one for one in args]
    return SubGraphView(select_ops(*given, graph=graph))


sgv = make_view


def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """Return a view of the operations in a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))


sgv_scope = make_view_from_scope


# ------------------------------------------------------------------------------------------ copies


@dataclass
class TransformerInfo:
    """What each operation and tensor became.

    Attributes:
      scope: the name scope of the copies.
    """

    scope: str
    _transformed_ops: dict[Any, Any] = field(default_factory=dict)
    _transformed_ts: dict[Any, Any] = field(default_factory=dict)

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Return the copy of an operation, tensor or view, or of several.

        Args:
          original: what was copied; a name means the operation or tensor that has it.
          missing_fn: called with what has no copy; without it, None is returned for it.
        """
        if isinstance(original, SubGraphView):
            return SubGraphView([self._transformed_ops[op] for op in original.ops])
        if isinstance(original, list | tuple):
            return type(original)(self.transformed(one, missing_fn) for one in original)
        both = {**self._transformed_ops, **self._transformed_ts}
        found = both.get(original)
        if found is None and isinstance(original, str):
            found = next((new for old, new in both.items() if old.name == original), None)
        return missing_fn(original) if found is None and missing_fn is not None else found

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Return what a copy is of."""
        both = {**self._transformed_ops, **self._transformed_ts}
        for old, new in both.items():
            if new is transformed or new.name == transformed:
                return old
        return None if missing_fn is None else missing_fn(transformed)


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Mapping[Any, Any],
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy operations; return a view of the copies, and what became of each.

    Args:
      sgv: a view, or operations.
      replacement_ts: tensor -> what the copies take in its place.
      dst_graph: where the copies are made; by default in the same graph, where they take what the
        originals take from outside.
      dst_scope: a name scope for the copies.
      src_scope: a scope that is taken off the originals' names.
      reuse_dst_scope: whether names may go into a scope that is there already.

    Raises:
      ValueError: an original is not in the source scope, or an input from outside has no
        replacement in another graph.
    """
    view = sgv if isinstance(sgv, SubGraphView) else make_view(sgv)
    source = view.graph
    graph = dst_graph or source
    if source is None or graph is None:
        return SubGraphView(), TransformerInfo(dst_scope)
    copied = frozenset(view.ops)
    names = {op: _without_scope(op.name, src_scope) for op in view.ops}
    input_map = {}
    for tensor in dict.fromkeys(tensor for op in view.ops for tensor in op.inputs):
        if tensor in replacement_ts:
            input_map[tensor] = replacement_ts[tensor]
        elif tensor.op not in copied:
            if graph is not source:
                raise ValueError(
                    f"The input {tensor.name} comes from outside of what is copied, and has no "
                    "replacement in the other graph."
                )
            input_map[tensor] = tensor
    with graph.as_default():
        scope = dst_scope.removesuffix("/")
        if scope and not reuse_dst_scope:
            scope = graph.unique_name(scope)
        info = TransformerInfo(scope)
        _make_copies(view.ops, names, input_map, graph, scope, info)
    return SubGraphView(list(info._transformed_ops.values())), info


def _make_copies(
    ops: list[Any],
    names: dict[Any, str],
    input_map: dict[Any, Any],
    graph: Graph,
    scope: str,
    info: TransformerInfo,
) -> None:
    """Make the operations anew, in the order of their making."""
    with tf.name_scope(None), tf.control_dependencies(None):
        for op in ops:
            if op.type in _LOOP_OPS:
                raise NotImplementedError(
                    f"{op.name} belongs to a while loop, whose frame cannot be copied: build the "
                    "loop again with tf.while_loop, or leave it outside of what is copied."
                )
            inputs = [
                input_map[tensor] if tensor in input_map else info._transformed_ts[tensor]
                for tensor in op.inputs
            ]
            copy = _copy_of(op, inputs, graph, f"{scope}/{names[op]}" if scope else names[op])
            info._transformed_ops[op] = copy
            info._transformed_ts.update(zip(op.outputs, copy.outputs, strict=True))
    for op in ops:
        before = [
            info._transformed_ops.get(one, one)
            for one in op.control_inputs
            if one in info._transformed_ops or op.graph is graph
        ]
        info._transformed_ops[op]._add_control_inputs(before)


def _copy_of(op: Operation, inputs: list[Any], graph: Graph, name: str) -> Operation:
    node = op.node_def
    types = [tensor.dtype for tensor in op.outputs]
    copy: Operation = graph.create_op(
        op.type, inputs, types, name=f"{graph.unique_name(name)}/", attrs=dict(node.attr)
    )
    copy._set_device(op.device)
    for old, new in zip(op.outputs, copy.outputs, strict=True):
        new.set_shape(old.shape)
    context = op._get_control_flow_context()
    if op.graph is graph and context is not None:
        copy._set_control_flow_context(context)
    return copy


def _without_scope(name: str, scope: str) -> str:
    if not scope:
        return name
    prefix = f"{scope.removesuffix('/')}/"
    if not name.startswith(prefix):
        raise ValueError(f"{name} does not belong to the source scope {scope}.")
    return name.removeprefix(prefix)


def copy(
    sgv: Any,
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy operations whose inputs are all among them, or in the same graph."""
    return copy_with_input_replacements(sgv, {}, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Return tensors as they would be with other tensors in place of some that they depend on.

    Args:
      target_ts: a tensor, or a nested structure of tensors.
      replacement_ts: tensor -> what stands in its place.
      dst_scope: a name scope for the copies.
      src_scope: a scope that is taken off the originals' names.
      reuse_dst_scope: whether names may go into a scope that is there already.

    Raises:
      ValueError: the targets depend on none of the replaced tensors.
    """
    targets = make_list_of_t(tf.nest.flatten(target_ts), allow_graph=False)
    between = get_walks_intersection_ops([*replacement_ts], targets)
    if not between:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(
        between, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope
    )
    return tf.nest.map_structure(
        lambda one: info.transformed(one, missing_fn=lambda old: replacement_ts.get(old, old)),
        target_ts,
    )


# ------------------------------------------------------------------------------------------ wiring


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Give each first tensor to the consumers of each second one; return the number of changes.

    Args:
      ts0: tensors that are taken from now on.
      ts1: tensors that were taken, as many.
      can_modify: the only operations that may change.
      cannot_modify: operations that may not.

    Raises:
      ValueError: the numbers differ, or the dtype or the known shape of a pair does.
    """
    return _reroute(ts0, ts1, can_modify, cannot_modify, is_swapped=False)


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Exchange the consumers of tensors; return the number of changed inputs."""
    return _reroute(ts0, ts1, can_modify, cannot_modify, is_swapped=True)


def _reroute(ts0: Any, ts1: Any, can_modify: Any, cannot_modify: Any, *, is_swapped: bool) -> int:
    first, second = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(first) != len(second):
        raise ValueError(f"ts0 and ts1 have {len(first)} and {len(second)} tensors.")
    for new, old in zip(first, second, strict=True):
        if new.dtype != old.dtype or not new.shape.is_compatible_with(old.shape):
            raise ValueError(
                f"{new.name} ({new.dtype.name}, {new.shape}) is not compatible with {old.name} "
                f"({old.dtype.name}, {old.shape})"
            )
    allowed = None if can_modify is None else frozenset(make_list_of_op(can_modify))
    kept = frozenset(make_list_of_op(cannot_modify or []))
    changes: list[tuple[Any, int, Any]] = []
    for new, old in zip(first, second, strict=True):
        for taken, given in [(old, new), (new, old)] if is_swapped else [(old, new)]:
            changes += [
                (op, index, given)
                for op in dict.fromkeys(taken.consumers())
                if (allowed is None or op in allowed) and op not in kept
                for index, tensor in enumerate(op.inputs)
                if tensor is taken
            ]
    for op, index, given in changes:
        op._update_input(index, given)
    return len(changes)


def add_control_inputs(op: Operation, cops: Any) -> None:
    """Let an operation wait for others.

    Raises:
      ValueError: it waits for one of them already.
    """
    others = make_list_of_op(cops, allow_graph=False)
    for other in others:
        if other in op.control_inputs:
            raise ValueError(f"{op.name} is already a control_input of {other.name}")
    op._add_control_inputs(others)


def remove_control_inputs(op: Operation, cops: Any) -> None:
    """Let an operation wait for some others no longer.

    Raises:
      ValueError: it does not wait for one of them.
    """
    others = make_list_of_op(cops, allow_graph=False)
    for other in others:
        if other not in op.control_inputs:
            raise ValueError(f"{op.name} is not a control_input of {other.name}")
    kept = [one for one in op.control_inputs if one not in others]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)
