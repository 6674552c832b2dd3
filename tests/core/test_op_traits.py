"""The traits of ops: each set of op names that a room kept equals the ops with one trait."""

from __future__ import annotations

import pytest

from tfnb.client import model_summary
from tfnb.client.debugger import near_breakpoints
from tfnb.common_runtime import (
    dependency_optimizer,
    graph_rewriter,
    inline_function,
    model_pruner,
    static_shapes,
    step_stats_collector,
    waiting,
    whole_graph_folding,
)
from tfnb.common_runtime.lowering import registers, segments
from tfnb.core import op_registry
from tfnb.core.op_traits import Trait
from tfnb.framework import dispatch, loaded_nodes, static_evaluation
from tfnb.graph import late_reads
from tfnb.notebook import scene_roles, step_tape


def _starting(*beginnings):
    return {name for name in op_registry.all_ops() if name.startswith(beginnings)}


def _with(*traits):
    every = op_registry.all_ops().values()
    return {one.name for one in every if not one.traits.isdisjoint(traits)}


def _on_handles(names):
    """The ops that take a resource first."""
    ops = op_registry.all_ops()
    first = {name: [*ops[name].op_def.inputs, None][0] for name in names}
    return {name for name, arg in first.items() if arg is not None and not arg.is_ref}


@pytest.mark.parametrize(
    ("old", "traits"),
    [
        (lambda: graph_rewriter._IN_C_ORDER, [Trait.C_ORDER]),
        (lambda: graph_rewriter._ELEMENTWISE, [Trait.SAME_LAYOUT]),
        (lambda: graph_rewriter._FORWARDING, [Trait.FORWARDS]),
        (lambda: model_pruner._PASSING_ON, [Trait.FORWARDS]),
        (lambda: model_pruner._SAYING, [Trait.REPORTS]),
        (lambda: static_shapes._FROM_OUTSIDE, [Trait.UNCHECKED_SHAPE]),
        (lambda: static_shapes._RANDOM, [Trait.DRAWS]),
        (lambda: dependency_optimizer._ORDER_ONLY, [Trait.CANNOT_FAIL]),
        (lambda: dependency_optimizer._GRADIENTS, [Trait.INPUT_GRADIENT]),
        (lambda: whole_graph_folding._OF_SHAPES, [Trait.SHAPE_QUERY]),
        (lambda: step_stats_collector._HANDING_ON, [Trait.LENDS]),
        (lambda: step_tape._KEPT, [Trait.LENDS, Trait.FROM_BEFORE]),
        (lambda: registers._FIXED, [Trait.FIXED]),
        (lambda: near_breakpoints._FIXED, [Trait.FIXED]),
        (lambda: registers._NEEDS_FRAME, [Trait.USES_FRAME]),
        (lambda: segments._LAUNCHING, [Trait.LAUNCHES]),
        (lambda: late_reads._SLOW, [Trait.PRODUCT]),
        (lambda: late_reads._READING_HANDLES, [Trait.READS_VARIABLE]),
        (lambda: late_reads._NOT_WRITING, [Trait.KEEPS_REFERENCE]),
        (lambda: static_evaluation._NOT_CONSTANT, [Trait.NOT_CONSTANT]),
        (lambda: dispatch.OF_SPARSE_VALUES, [Trait.SPARSE_VALUES]),
        (lambda: loaded_nodes._EMPTY_IS_NONE, [Trait.PATH_OPTIONAL]),
        (lambda: scene_roles._SAVES, [Trait.CHECKPOINT]),
        (lambda: model_summary._INPUTS, [Trait.PLACEHOLDER]),
        (lambda: model_summary._MUST_BE_FED, [Trait.MUST_BE_FED]),
        (lambda: [*model_summary._VARIABLES[:-1]], [Trait.VARIABLE]),
        (lambda: _starting("Placeholder"), [Trait.PLACEHOLDER]),
        (lambda: _starting(*waiting._CLOSES), [Trait.CLOSES]),
    ],
)
def test_a_set_of_names_equals_the_ops_with_its_trait(old, traits):
    """Compare the names with the traits."""
    assert set(old()) == _with(*traits)


def test_the_writers_of_handles_begin_with_these_words():
    """Compare the beginnings of names with the trait."""
    assert _on_handles(_with(Trait.WRITES_VARIABLE)) == _on_handles(
        _starting(*late_reads._WRITING_HANDLES)
    )


def test_the_stateful_ops_without_visible_state_begin_with_these_words():
    """Compare the beginnings of names with the trait."""
    ops = op_registry.all_ops()
    unseen = {name for name in _starting(*inline_function._UNSEEN) if ops[name].is_stateful}
    assert unseen == _with(Trait.UNSEEN_STATE)


def test_the_waiting_ops_hold_these_words():
    """Compare the parts of names with the traits."""

    def holding(word):
        return {name for name in op_registry.all_ops() if word in name}

    enqueue, dequeue, reader, barrier, gradient = waiting._PARTNERS
    assert _with(Trait.PUTS_ELEMENTS) == holding(enqueue[0]) | _starting(*barrier[2])
    assert _with(Trait.TAKES_ELEMENTS) == (
        holding(dequeue[0]) | holding(reader[0]) | holding(barrier[0])
    )
    assert _starting(*enqueue[2]) | holding(barrier[0]) == _with(Trait.TAKES_ELEMENTS)
    assert _starting(*dequeue[2]) | _starting(*barrier[2]) == _with(Trait.PUTS_ELEMENTS)
    assert _with(Trait.TAKES_GRADIENTS) == holding(gradient[0])
    # The beginning of the name leaves out accumulators of sparse gradients and of resources.
    assert _with(Trait.APPLIES_GRADIENTS) > _starting(*gradient[2])
