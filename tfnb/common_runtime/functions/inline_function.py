"""Replaces a node that calls a function by the function's body.

Corresponds to TensorFlow's ``inline_function_utils.cc``; the new nodes have the same names as
there::

    a -> call -> b     Func/call/input/_0 -> call/<body> -> Func/call/output/_1 -> b

The order given by the call's control edges is kept: nodes of the body without inputs wait for
``Func/call/input_control_node``, which waits for the control inputs of the call; nodes that waited
for the call wait for ``Func/call/output_control_node``.  Effects of the body happen whenever any
result of the call is used: if a result does not depend on an effect, its output node waits for the
effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import device_spec, dtypes
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.graph.control_flow import build_control_flow_info
from tfnb.graph.graph import CONTROL_SLOT, Graph, Node
from tfnb.graph.node_kind import PARTITIONED_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.graph.function_body import FunctionBody

_LOCATION = b"loc:@"
_UNSEEN = ops_with(Trait.UNSEEN_STATE)


def why_not(caller: Node, body: FunctionBody) -> str:
    """Return why a body cannot replace a call, or ""."""
    if _is_set(body.definition.attrs.get("_noinline")) or _is_set(caller.attrs.get("_noinline")):
        return "it is marked _noinline"
    given = [dtype.base_dtype for dtype in caller.input_types]
    if given != [dtype.base_dtype for dtype in body.arg_types]:
        return "its arguments have other types"
    if list(caller.output_types) != body.ret_types:
        return "its results have other types"
    return ""


def _is_set(value: Any) -> bool:
    return bool(value) and value is not False


def inline_function_body(
    graph: Graph,
    caller: Node,
    body: FunctionBody,
    *,
    multi_device: bool,
    keep_fetchable: bool,
) -> list[Node]:
    """Replace ``caller`` by a copy of a function's body.

    Args:
      graph: the graph of ``caller``.
      caller: the node to replace.
      body: the function, for which :func:`why_not` returned "".
      multi_device: whether nodes of the body keep the devices that they request, and nodes behind
        the call wait for the function's control results; otherwise all get the device requested for
        the caller.
      keep_fetchable: whether a node of the caller's name has the results; else it can only be run.

    Returns:
      The new nodes that came from the body.
    """
    return _Inlining(graph, caller, body, multi_device, keep_fetchable).run()


class _Inlining:
    """The replacement of one call; ``twin`` maps the body's nodes to their copies."""

    def __init__(
        self, graph: Graph, caller: Node, body: FunctionBody, multi_device: bool, fetchable: bool
    ) -> None:
        self.graph = graph
        self.caller = caller
        self.body = body
        self.multi_device = multi_device
        self.fetchable = fetchable
        self.twin: dict[Node, Node] = {}
        self.origin = caller.original_names or (caller.name,)

    def run(self) -> list[Node]:
        """Copy the body, connect it to the caller's neighbours and remove the caller."""
        graph, caller, body = self.graph, self.caller, self.body
        before = self._input_control_node()
        inputs = self._input_nodes(before)
        self._copy_nodes(before)
        for node in body.graph.op_nodes():
            if node.is_retval:
                continue
            for edge in node.in_edges:
                if edge.src.is_op:
                    graph.add_edge(
                        self.twin[edge.src], edge.src_output, self.twin[node], edge.dst_input
                    )
        outputs = self._output_nodes()
        self._hold_effects(outputs)
        after = self._output_control_node(before, inputs, outputs)
        for edge in list(caller.out_edges):
            if edge.is_control:
                if edge.dst.is_op:
                    graph.add_control_edge(after, edge.dst)
            else:
                graph.update_edge(outputs[edge.src_output], 0, edge.dst, edge.dst_input)
        copies = [
            copy for node, copy in self.twin.items() if not node.is_arg and not node.is_retval
        ]
        graph.remove_node(caller)
        stand_in(graph, caller, [(node, 0) for node in outputs], after, self.fetchable)
        return copies

    def _new(self, what: str, op: str, attrs: Mapping[str, Any], device: str) -> Node:
        name = self.graph.new_name(f"Func/{self.caller.name}/{what}")
        return self.graph.add_node(name, op, attrs, device=device, original_names=self.origin)

    def _identity(self, what: str, src: Node, output: int, device: str) -> Node:
        attrs: dict[str, Any] = {"T": src.output_types[output].base_dtype}
        if self.multi_device:
            attrs["_class"] = [_LOCATION + src.name.encode()]
        node = self._new(what, "Identity", attrs, device)
        self.graph.add_edge(src, output, node, 0)
        return node

    def _input_control_node(self) -> Node | None:
        sources = [src for src in self.caller.control_inputs() if src.is_op]
        if not sources:
            return None
        node = self._new("input_control_node", "NoOp", {}, self.caller.requested_device)
        for src in sources:
            self.graph.add_control_edge(src, node)
        return node

    def _input_nodes(self, before: Node | None) -> list[Node]:
        nodes = []
        for edge in self.caller.input_edges():
            device = edge.src if self.multi_device else self.caller
            node = self._identity("input", edge.src, edge.src_output, device.requested_device)
            if before is not None:
                self.graph.add_control_edge(before, node)
            nodes.append(node)
        for arg, node in zip(self.body.arg_nodes, nodes, strict=True):
            self.twin[arg] = node
        return nodes

    def _copy_nodes(self, before: Node | None) -> None:
        graph, caller, library = self.graph, self.caller, self.graph.library
        own = {node.name for node in self.body.graph.op_nodes()}
        for node in self.body.graph.op_nodes():
            if node.is_arg or node.is_retval:
                continue
            name = f"{caller.name}/{node.name}"
            if graph.find_node(name) is not None:
                name = graph.new_name(name)
            copy = self.twin[node] = graph.copy_node(node, name)
            copy.original_names = self.origin
            copy.requested_device = self._device_of(node)
            self._prefix_names(copy, own)
            is_call = library is not None and node.op in library
            waits = any(edge.src.is_op for edge in node.in_edges)
            if before is not None and (not waits or is_call or _calls(node)):
                graph.add_control_edge(before, copy)

    def _device_of(self, node: Node) -> str:
        asked, wish = node.requested_device, self.caller.requested_device
        if not self.multi_device:
            return wish
        if not asked or not wish:
            return asked or wish
        merged = device_spec.DeviceSpec.from_string(wish).make_merged_spec(
            device_spec.DeviceSpec.from_string(asked)
        )
        return merged.to_string()

    def _prefix_names(self, copy: Node, own: set[str]) -> None:
        """Prefix frames and colocation groups, so that they differ from those of another call."""
        prefix = f"{self.caller.name}/".encode()
        if copy.is_enter:
            copy.set_attr("frame_name", prefix + _bytes(copy.attrs["frame_name"]))
        groups = copy.attrs.get("_class")
        if isinstance(groups, list):
            copy.set_attr("_class", [self._group(group, prefix, own) for group in groups])

    def _group(self, group: bytes, prefix: bytes, own: set[str]) -> bytes:
        name = group.removeprefix(_LOCATION)
        for arg in self.body.arg_nodes:
            if arg.name.encode() == name:
                return _LOCATION + self.twin[arg].name.encode()
        is_own = group.startswith(_LOCATION) and name.decode(errors="replace") in own
        return _LOCATION + prefix + name if is_own else group

    def _output_nodes(self) -> list[Node]:
        nodes = []
        device = "" if self.multi_device else self.caller.requested_device
        for ret in self.body.ret_nodes:
            (edge,) = ret.input_edges()
            node = self._identity("output", self.twin[edge.src], edge.src_output, device)
            for source in ret.control_inputs():
                if source.is_op:
                    self.graph.add_control_edge(self.twin[source], node)
            self.twin[ret] = node
            nodes.append(node)
        return nodes

    def _output_control_node(
        self, before: Node | None, inputs: list[Node], outputs: list[Node]
    ) -> Node:
        after = self._new("output_control_node", "NoOp", {}, self.caller.requested_device)
        add = self.graph.add_control_edge
        if self.multi_device:
            for node in self.body.control_ret_nodes:
                add(self.twin[node], after)
        else:
            for node in outputs:
                add(node, after)
        if not after.in_edges:
            # Without an input, the node would not be in the frame or the branch of the call.
            for node in [before] if before is not None else inputs:
                add(node, after)
        for node in self._late_effects:
            add(node, after)
        return after

    # -- effects

    def _hold_effects(self, outputs: list[Node]) -> None:
        """Make results wait for effects that they do not depend on."""
        self._late_effects: list[Node] = []
        effects = [node for node in self.body.graph.op_nodes() if has_effect(node)]
        effects += [node for node in self.body.control_ret_nodes if node not in effects]
        if not effects:
            return
        held = self._held(effects)
        self._late_effects = list(dict.fromkeys(held.values()))
        waiting = {edge.dst for edge in self.caller.out_edges if edge.is_control}
        free = {
            edge.src_output
            for edge in self.caller.out_edges
            if not edge.is_control and edge.dst not in waiting
        }
        for index, (ret, output) in enumerate(zip(self.body.ret_nodes, outputs, strict=True)):
            if index not in free:
                continue  # consumers of the result wait for the whole call anyway
            known = _ancestors(ret)
            for effect, node in held.items():
                if effect not in known:
                    self.graph.add_control_edge(node, output)

    def _held(self, effects: list[Node]) -> dict[Node, Node]:
        """Map each effect to a node of the new graph to wait for, live in the call's own frame."""
        body = self.body.graph
        flow = None
        if any(node.is_enter for node in body.op_nodes()):
            flow = build_control_flow_info(body)
        dead = _may_be_dead(body)
        held: dict[Node, Node] = {}
        uncertain: dict[Node, None] = {}
        for effect in effects:
            if flow is not None and flow[effect.id].frame_name:
                # The effects of a loop are complete at its Exits.
                exits = [n for n in body.op_nodes() if n.is_exit and not flow[n.id].frame_name]
                uncertain.update(dict.fromkeys(exits))
            elif effect in dead:
                uncertain[effect] = None
            else:
                held[effect] = self.twin[effect]
        if uncertain:
            # A ControlTrigger is live even if some of its inputs are dead.
            trigger = self._new("effects", "ControlTrigger", {}, self.caller.requested_device)
            for node in uncertain:
                self.graph.add_control_edge(self.twin[node], trigger)
                held[node] = trigger
        return held


def has_effect(node: Node) -> bool:
    """Return whether something outside may see that a node of a body has run."""
    if not node.is_stateful or node.is_arg or node.is_retval:
        return False
    if not node.num_inputs and [t.base_dtype for t in node.output_types] == [dtypes.resource]:
        return False
    return node.op not in _UNSEEN


def _calls(node: Node) -> bool:
    return node.op in PARTITIONED_CALLS or node.op == "SymbolicGradient"


def _ancestors(node: Node) -> set[Node]:
    seen = {node}
    stack = [node]
    while stack:
        for edge in stack.pop().in_edges:
            if edge.src not in seen:
                seen.add(edge.src)
                stack.append(edge.src)
    return seen


def _may_be_dead(graph: Graph) -> set[Node]:
    """Return the nodes behind a Switch that no Merge has made live again."""
    dead: set[Node] = set()
    stack = [node for node in graph.op_nodes() if node.is_switch]
    while stack:
        for edge in stack.pop().out_edges:
            dst = edge.dst
            if dst.is_op and dst not in dead and not dst.is_merge and not dst.is_control_trigger:
                dead.add(dst)
                stack.append(dst)
    return dead


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def stand_in(
    graph: Graph,
    removed: Node,
    outputs: Iterable[tuple[Node, int]],
    after: Node,
    fetchable: bool,
) -> Node:
    """Return a node with a removed node's name, which can be waited for and perhaps fetched."""
    sources = list(outputs)
    types = [src.output_types[output].base_dtype for src, output in sources]
    attrs: dict[str, Any] = {"T": types}
    op = "IdentityN"
    if not fetchable or not sources:
        op, attrs, sources = "NoOp", {}, []
    node = graph.add_node(
        removed.name,
        op,
        attrs,
        device=removed.requested_device,
        original_names=removed.original_names,
    )
    graph.add_inputs(node, sources)
    graph.add_edge(after, CONTROL_SLOT, node, CONTROL_SLOT)
    return node
