"""The pass that lowers functional ops before placement.

* ``If``, ``Case`` and ``While`` (and their stateless variants) with the attribute
  ``_lower_using_switch_merge`` become Switch and Merge, or a frame.
* Calls are replaced by the function's body: calls made by this lowering always, other calls if
  inlining is on: :func:`inlines_calls`.

New nodes come after all others, so nested ones are lowered in turn.  A function is never inlined
into itself.  A node that cannot be lowered stays and runs as one node.  Corresponds to
TensorFlow's ``lower_functional_ops.cc``; in TensorFlow, Grappler's function optimizer inlines the
calls of a default session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.functions.called_functions import (
    CASE,
    CONTROL_FLOW,
    IF,
    MULTI_DEVICE,
    WHILE,
    called_functions,
    check_calls,
    types_of,
    without_kernel,
)
from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
)
from tfnb.core import errors
from tfnb.core.process.later import later
from tfnb.graph.graph import SINK_ID
from tfnb.graph.node_kind import PARTITIONED_CALLS
from tfnb.proto import config_pb2, rewriter_config_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.functions import inline_function, lower_branch_op, lower_while_op
    from tfnb.graph import function_body
    from tfnb.graph.function_body import FunctionBody
    from tfnb.graph.graph import Graph, Node
else:
    inline_function = later("tfnb.common_runtime.functions.inline_function", in_step=True)
    lower_branch_op = later("tfnb.common_runtime.functions.lower_branch_op", in_step=True)
    lower_while_op = later("tfnb.common_runtime.functions.lower_while_op", in_step=True)
    function_body = later("tfnb.graph.function_body", in_step=True)

FUNCTIONAL_OPS = CONTROL_FLOW | PARTITIONED_CALLS
"""Ops whose nodes may be lowered; so may nodes whose op is a function."""

PHASE = 10

# Bounds the expansion of functions that call functions several times per level: a call is inlined
# if it grows to at most this many nodes, or to this multiple of the distinct nodes it calls.
MAX_EXPANDED_NODES = 1_000
MAX_EXPANSION = 20


def inlines_calls(config: config_pb2.ConfigProto) -> bool:
    """Return whether all calls are inlined: by default yes, at level L0 no.

    ``do_function_inlining`` turns it on at any level; ``disable_meta_optimizer`` and
    ``function_optimization: OFF`` turn the default of level L1 off.
    """
    return config.graph_options.optimizer_options.do_function_inlining or optimizes_functions(
        config
    )


def optimizes_functions(config: config_pb2.ConfigProto) -> bool:
    """Return whether the function optimizer is on: at level L1, unless turned off."""
    rewriter = config.graph_options.rewrite_options
    return (
        config.graph_options.optimizer_options.opt_level >= config_pb2.OptimizerOptions.L1
        and not rewriter.disable_meta_optimizer
        and rewriter.function_optimization != rewriter_config_pb2.RewriterConfig.OFF
    )


def lowers_control_flow(config: config_pb2.ConfigProto) -> bool:
    """Return whether If, Case and While with the lowering attribute are lowered."""
    experimental = config.experimental
    return not (
        experimental.disable_functional_ops_lowering
        or experimental.executor_type == "SINGLE_THREADED_EXECUTOR"
    )


class LowerFunctionalOps:
    """The pass for graphs that are not placed yet: those of ``place_pruned_graph``.

    A session's whole graph is lowered before a signature is pruned from it
    (:func:`lower_new_nodes`).
    """

    name = "lower_functional_ops"

    def run(self, options: OptimizationPassOptions) -> list[str]:
        """Lower functional nodes that have no device; return one line for each."""
        graph = options.graph
        if graph is None or all(node.assigned_device for node in graph.op_nodes()):
            return []
        check_new_nodes(graph, options.config, 0)
        return list(lower_new_nodes(graph, options.config, 0))


def check_new_nodes(graph: Graph, config: config_pb2.ConfigProto, first_id: int) -> None:
    """Check the functions that functional nodes from ``first_id`` on call, if they will be lowered.

    Raises:
      InvalidArgumentError: a function does not exist, or a branch has other argument types.
    """
    lowers = lowers_control_flow(config)
    for node in graph.nodes[max(first_id, SINK_ID + 1) :]:
        if node is not None and node.op in FUNCTIONAL_OPS:
            is_lowered = lowers and node.attrs.get("_lower_using_switch_merge")
            if is_lowered or node.op in PARTITIONED_CALLS:
                check_calls(node, graph.library)


def lower_new_nodes(graph: Graph, config: config_pb2.ConfigProto, first_id: int) -> tuple[str, ...]:
    """Lower the nodes from ``first_id`` on, as a session's configuration requests."""
    if graph.library is None or not len(graph.library):
        return ()
    actions = lower_functional_ops(
        graph,
        first_id=first_id,
        inline_calls=inlines_calls(config),
        lower_control_flow=lowers_control_flow(config),
    )
    return tuple(actions)


def lower_functional_ops(
    graph: Graph,
    *,
    first_id: int = 0,
    inline_calls: bool = True,
    lower_control_flow: bool = True,
    inside: Sequence[str] = (),
    keep_effects: bool = False,
) -> list[str]:
    """Lower the functional nodes of a graph with ids from ``first_id`` on.

    Args:
      graph: the graph, which is changed.
      first_id: nodes with lower ids were processed before.
      inline_calls: whether to inline calls that were not made by lowering an If or While.
      lower_control_flow: whether to lower If, Case and While.
      inside: functions whose body the graph is; they are not inlined again.
      keep_effects: whether functions with effects stay calls, as in bodies in TensorFlow.

    Returns:
      The actions, a line for each node.
    """
    lowering = _FunctionalOpsLowering(graph, inline_calls, lower_control_flow, inside, keep_effects)
    return lowering.run(max(first_id, SINK_ID + 1))


class _FunctionalOpsLowering:
    """One run; ``lineage`` maps each inlined node to the functions that it came from."""

    def __init__(
        self,
        graph: Graph,
        inline_calls: bool,
        lower_control_flow: bool,
        inside: Sequence[str],
        keep_effects: bool,
    ) -> None:
        self.graph = graph
        self.inline_calls = inline_calls
        self.lower_control_flow = lower_control_flow
        self.inside = frozenset(inside)
        self.keep_effects = keep_effects
        self.lineage: dict[Node, frozenset[str]] = {}
        self.bodies: dict[tuple[str, str], FunctionBody] = {}
        self.too_large: dict[str, str] = {}
        self.actions: list[str] = []
        # The graph of a function or a signature returns its results by nodes of its own.
        self.keep_fetchable = not any(node.is_arg or node.is_retval for node in graph.op_nodes())

    def run(self, first_id: int) -> list[str]:
        """Process every node, including nodes that the lowering makes."""
        graph = self.graph
        last = first_id
        while last < graph.num_node_ids:
            node = graph.nodes[last]
            last += 1
            if node is not None and not node.assigned_device:
                self._look(node)
        if self.actions:
            graph.fixup_source_and_sink_edges(first_id)
        return self.actions

    def _look(self, node: Node) -> None:
        op = node.op
        if op in CONTROL_FLOW:
            if self.lower_control_flow and node.attrs.get("_lower_using_switch_merge"):
                self._lower(node)
        elif op in PARTITIONED_CALLS:
            if self._wants_inlining(node):
                function = node.attrs["f"]
                self._inline(node, function.name, function.attrs, multi_device=True)
        elif self.graph.library is not None and op in self.graph.library:
            is_multi_device = bool(node.attrs.get(MULTI_DEVICE))
            if is_multi_device or self._wants_inlining(node):
                self._inline(node, op, node.attrs, multi_device=is_multi_device)

    def _wants_inlining(self, node: Node) -> bool:
        return self.inline_calls or bool(node.attrs.get(MULTI_DEVICE))

    def _lower(self, node: Node) -> None:
        reason = self._why_not_lowered(node)
        if reason:
            self.actions.append(f"'{node.name}' ({node.op}) stays: {reason}")
            return
        if node.op in IF:
            rewrite, what = lower_branch_op.rewrite_if_node, "Switch and Merge"
        elif node.op in CASE:
            rewrite, what = lower_branch_op.rewrite_case_node, "Switch and Merge"
        else:
            rewrite, what = lower_while_op.rewrite_while_node, "a frame"
        calls = rewrite(self.graph, node, keep_fetchable=self.keep_fetchable)
        family = self.lineage.pop(node, None)
        if family:
            self.lineage.update(dict.fromkeys(calls, family))
        self.actions.append(f"'{node.name}' ({node.op}) became {what}")

    def _why_not_lowered(self, node: Node) -> str:
        reason = lower_while_op.why_not(node) if node.op in WHILE else ""
        for function, inputs, outputs in called_functions(node.op, node.attrs):
            if reason:
                break
            try:
                types = types_of(function, self.graph.library)
            except errors.NotFoundError:
                reason = f"there is no function '{function.name}'"
                continue
            if types is None:
                reason = f"attributes of function '{function.name}' are missing"
            elif types[0] != _base(inputs) or (
                types[1] != _base(outputs) if outputs is not None else len(types[1]) != 1
            ):
                reason = f"the types of function '{function.name}' are others"
        return reason

    def _inline(
        self, node: Node, name: str, attrs: Mapping[str, Any], *, multi_device: bool
    ) -> None:
        family = self.lineage.get(node, self.inside)
        reason = "it calls itself" if name in family else self._why_too_large(name)
        body = None
        if not reason:
            try:
                body = self._body(name, attrs)
            except errors.OpError as error:
                # The error is raised if the call runs; a call that never runs needs no error.
                reason = error.message
            else:
                reason = inline_function.why_not(node, body)
                if not node.attrs.get(MULTI_DEVICE) and without_kernel(body.graph):
                    reason = reason or "an op in it has no kernel"  # an error only if reached
                if self.keep_effects and not node.attrs.get(MULTI_DEVICE) and _has_effects(body):
                    reason = reason or "it has effects"
        if body is None or reason:
            self.actions.append(f"the call '{node.name}' of '{name}' stays: {reason}")
            return
        copies = inline_function.inline_function_body(
            self.graph,
            node,
            body,
            multi_device=multi_device,
            keep_fetchable=self.keep_fetchable,
        )
        self.lineage.pop(node, None)
        grown = family | {name}
        self.lineage.update(dict.fromkeys(copies, grown))
        self.actions.append(f"the call '{node.name}' of '{name}' was inlined: {len(copies)} nodes")

    def _why_too_large(self, name: str) -> str:
        reason = self.too_large.get(name)
        if reason is None:
            library = self.graph.library
            assert library is not None
            once, expanded = library.sizes(name)
            is_too_large = expanded > max(MAX_EXPANDED_NODES, MAX_EXPANSION * once)
            reason = f"it would grow to {expanded} nodes" if is_too_large else ""
            self.too_large[name] = reason
        return reason

    def _body(self, name: str, attrs: Mapping[str, Any]) -> FunctionBody:
        library = self.graph.library
        definition = None if library is None else library.find(name)
        if definition is None:
            raise errors.not_found(f"Function {name} is not defined.")
        key = (name, repr(sorted((k, repr(v)) for k, v in attrs.items() if k[0] != "_")))
        found = self.bodies.get(key)
        if found is None:
            found = self.bodies[key] = function_body.instantiate(definition, attrs, library)
        return found


# Functions with no effects but these ops are inlined into bodies despite keep_effects.
_ASSIGNING = frozenset(["AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp"])


def _has_effects(body: FunctionBody) -> bool:
    return any(
        inline_function.has_effect(node) and node.op not in _ASSIGNING
        for node in body.graph.op_nodes()
    )


def _base(types: Any) -> list[Any]:
    return [dtype.base_dtype for dtype in types]


class RemoveIdentities:
    """Removes Identity nodes if calls are inlined.

    Always removes those that inlining made; removes all others if ``do_function_inlining`` requests
    TensorFlow's full round of inlining.
    """

    name = "remove_identities"

    def run(self, options: OptimizationPassOptions) -> list[str]:
        """Remove Identity nodes from a partition."""
        if options.graph is None or not inlines_calls(options.config):
            return []
        switches = options.config.graph_options.optimizer_options
        return remove_identities(options.graph, only_inlined=not switches.do_function_inlining)


def remove_identities(graph: Graph, *, only_inlined: bool) -> list[str]:
    """Bypass Identity nodes that only forward a tensor."""
    found = [node for node in graph.op_nodes() if node.op == "Identity"]
    if only_inlined:
        found = [node for node in found if node.name.startswith("Func/")]
    count = sum(remove_identity(graph, node) for node in found)
    return [f"{count} Identity nodes were removed"] if count else []


def remove_identity(graph: Graph, node: Node) -> bool:
    """Remove an Identity if it only forwards its input; return whether it was removed."""
    if len(node.in_edges) != 1 or not node.data_in_edges:
        return False
    if not any(edge.dst.is_op for edge in node.out_edges):
        return False
    (edge,) = node.in_edges
    src, output = edge.src, edge.src_output
    if src.output_types[output].is_ref_dtype or src.is_recv:
        return False
    # Only one output of a Switch is live, but a control edge comes from the whole node.
    if src.is_switch and any(edge.is_control for edge in node.out_edges if edge.dst.is_op):
        return False
    # A constant needs no waiting.
    is_ready = src.is_constant and not any(edge.src.is_op for edge in src.in_edges)
    for edge in list(node.out_edges):
        if not edge.is_control:
            graph.update_edge(src, output, edge.dst, edge.dst_input)
        elif edge.dst.is_op and not is_ready:
            graph.add_control_edge(src, edge.dst)
    graph.remove_node(node)
    return True


REGISTRY.register(Grouping.PRE_PLACEMENT, PHASE, LowerFunctionalOps())
REGISTRY.register(Grouping.POST_PARTITIONING, 5, RemoveIdentities())
