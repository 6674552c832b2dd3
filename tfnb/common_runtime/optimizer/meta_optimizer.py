"""Runs the whole-graph optimizers that ``RewriterConfig`` requests, before partitioning.

Each optimizer is a function that changes a graph through a :class:`GraphRewriter` and returns one
line of text per change.  They run in the order of ``rewriter_config.ORDER``, and again as long as
something changes and ``meta_optimizer_iterations`` allows it.  They change neither a bit of a
fetched value nor the error of a step, with one exception: an unused gradient is not computed, so it
cannot fail.  Corresponds to TensorFlow's ``meta_optimizer.cc``.

There is no remapper and no layout optimizer: NumPy and CuPy have no fused kernels and no second
layout to choose.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import tfnb.common_runtime.optimizer.shape_rules  # noqa: F401 - registers its rules
from tfnb.common_runtime.optimizer import rewriter_config
from tfnb.common_runtime.optimizer.arithmetic_rules import FOLDING_RULES, RULES
from tfnb.common_runtime.optimizer.constant_folding import join_equal_nodes
from tfnb.common_runtime.optimizer.dependency_optimizer import clean_dependencies
from tfnb.common_runtime.optimizer.graph_rewriter import GraphRewriter
from tfnb.common_runtime.optimizer.model_pruner import remove_identities, strip_debug_ops
from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
    PassReport,
)
from tfnb.common_runtime.optimizer.whole_graph_folding import fold_whole_graph, materialize_shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.common_runtime.optimizer.arithmetic_rules import type_of_rule

    type_of_optimizer = Callable[[GraphRewriter, OptimizationPassOptions], list[str]]

# After the passes that put function bodies into the graph.
PHASE = 1000


def simplify_arithmetic(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Apply the rules of the arithmetic optimizer."""
    return _apply(RULES, rewriter)


def fold_constants(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Fold constants, then simplify nodes that have a constant operand."""
    return [*fold_whole_graph(rewriter, options), *_apply(FOLDING_RULES, rewriter)]


def _apply(rules_of: dict[str, list[type_of_rule]], rewriter: GraphRewriter) -> list[str]:
    """Apply rules to every node, inputs first, as long as one changes something."""
    actions = []
    for node in rewriter.nodes_of(rules_of):
        rules = rules_of[node.op]
        while rules:
            for rule in rules:
                done = rule(rewriter, node)
                if done is not None:
                    actions.append(done)
                    rules = rules_of.get(node.op, []) if rewriter.is_there(node) else []
                    break
            else:
                break
    return actions


def _join_equal(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    actions = join_equal_nodes(rewriter.graph, keep=rewriter.targets, order=rewriter.order())
    rewriter.changes += len(actions)
    return actions


def _remove_dead_branches(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    # Off by default: few processes need the module.
    from tfnb.common_runtime.optimizer.loop_optimizer import remove_dead_branches

    return remove_dead_branches(rewriter, options)


OPTIMIZERS: dict[str, type_of_optimizer] = {
    "pruning": remove_identities,
    "common_subgraph_elimination": _join_equal,
    "debug_stripper": strip_debug_ops,
    "constfold": fold_constants,
    "shape": materialize_shapes,
    "arithmetic": simplify_arithmetic,
    "loop": _remove_dead_branches,
    "dependency": clean_dependencies,
}
# Changes of the dependency optimizer create no new work for these.
_BLIND_TO_ORDER = frozenset(["constfold", "shape", "arithmetic"])


class MetaOptimizer:
    """The pass that runs the optimizers."""

    name = "meta_optimizer"

    def run(self, options: OptimizationPassOptions) -> list[str]:
        """Optimize a signature's graph; each line begins with the optimizer's name."""
        graph = options.graph
        if graph is None or options.is_partial_run:
            return []
        names = rewriter_config.optimizers(options.config)
        # _Retval nodes do not count: TensorFlow adds them later.
        counted = (node for node in graph.op_nodes() if not node.kind.is_retval)
        fewest = rewriter_config.min_graph_nodes(options.config)
        if not names or sum(1 for _ in islice(counted, max(fewest, 0))) < fewest:
            return []
        rewriter = GraphRewriter(graph, options.targets)
        actions = []
        # The number of changes when an optimizer last ran over the whole graph.
        seen: dict[str, int] = {}
        of_order = 0  # changes that concern control edges only
        for _ in range(rewriter_config.iterations(options.config)):
            before = rewriter.changes
            for name in names:
                ignored = of_order if name in _BLIND_TO_ORDER else 0
                if seen.get(name) == rewriter.changes - ignored:
                    continue
                start = rewriter.changes
                found = OPTIMIZERS[name](rewriter, options)
                actions += [f"{name}: {done}" for done in found]
                _tell(options, name, found)
                seen[name] = rewriter.changes - ignored
                if name == "dependency":
                    of_order += rewriter.changes - start
            if rewriter.changes == before:
                break
            gone = rewriter.remove_unneeded()
            found = [f"'{node.name}' ({node.op}) is not needed any more" for node in gone]
            actions += [f"pruning: {done}" for done in found]
            _tell(options, "pruning", found)
        graph.fixup_source_and_sink_edges()
        return actions


def _tell(options: OptimizationPassOptions, name: str, actions: list[str]) -> None:
    """Report one optimizer's changes to the callback for passes."""
    if options.on_pass is not None and options.graph is not None and actions:
        report = PassReport(Grouping.POST_REWRITE_FOR_EXEC, PHASE, name, tuple(actions))
        options.on_pass(report, options.graph)


REGISTRY.register(Grouping.POST_REWRITE_FOR_EXEC, PHASE, MetaOptimizer())
