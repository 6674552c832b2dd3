"""Crowded scopes: flat graphs of thousands of nodes become a few boxes that say something."""

from __future__ import annotations

import time

import pytest

from tfnb.notebook.scene import SceneNode, build_scene
from tfnb.notebook.scene_grouping import MAX_CHILDREN, MAX_GROUPS, data_flow_order


def block_chain(blocks: int, per_block: int, name: str) -> list[SceneNode]:
    """A chain of blocks, each a chain of nodes named by a pattern of block and op."""
    ops = ["Conv2D", "BiasAdd", "Relu", "Identity"]
    nodes = []
    for i in range(blocks * per_block):
        op = ops[i % len(ops)]
        label = name.format(block=i // per_block, op=op.lower(), number=i)
        nodes.append(SceneNode(label, op, ((i - 1, 0),) if i else ()))
    return nodes


def test_names_that_follow_the_data_flow_group_by_their_first_words() -> None:
    """block3_conv, block3_relu, … are the box block3."""
    scene = build_scene(block_chain(10, 20, "block{block}_{op}_{number}"))

    assert [scope.label for scope in scene.scopes[1:]] == [f"block{i}" for i in range(10)]
    assert {scope.kind for scope in scene.scopes[1:]} == {"names"}


def test_names_that_are_only_op_types_give_stretches_of_the_data_flow() -> None:
    """Boxes Conv and Relu would feed each other in circles, so the chain is cut instead."""
    scene = build_scene(block_chain(10, 20, "{op}_{number}"))

    assert {scope.kind for scope in scene.scopes[1:]} == {"chunk"}
    # Every stretch is contiguous in a chain: no more edges between boxes than neighbours.
    box = [0] * len(scene.nodes)
    for index, scope in enumerate(scene.scopes[1:]):
        box[scope.first : scope.end] = [index] * scope.size
    between = {(box[a], box[b]) for a, _, b, _ in scene.edges if box[a] != box[b]}
    assert len(between) == len(scene.scopes) - 2


def test_a_scope_that_fits_stays_as_it_is() -> None:
    """Up to the limit nothing is grouped."""
    scene = build_scene([SceneNode(f"n_{i}", "Const") for i in range(MAX_CHILDREN)])

    assert len(scene.scopes) == 1


@pytest.mark.slow
def test_ten_thousand_flat_nodes_make_few_boxes_in_under_two_seconds() -> None:
    """Every level has few children, however flat the graph is."""
    nodes = block_chain(2500, 4, "{op}_{number}")
    start = time.perf_counter()
    scene = build_scene(nodes)
    scene.encode()
    took = time.perf_counter() - start

    most = max(len(scope.nodes) + len(scope.scopes) for scope in scene.scopes)
    assert most <= max(MAX_CHILDREN, MAX_GROUPS)
    assert took < 2.0


def test_loops_do_not_hinder_grouping() -> None:
    """An edge that closes a loop counts for nothing in the order."""
    nodes = block_chain(1, 200, "{op}_{number}")
    nodes[0] = SceneNode("merge", "Merge", ((199, 0),))
    nodes[199] = SceneNode("next", "NextIteration", ((198, 0),))
    scene = build_scene(nodes)

    assert len(scene.nodes) == 200
    assert len(scene.scopes) > 1


def test_data_flow_order_keeps_inputs_close_before_their_consumers() -> None:
    """Sources 0, 1 and 3 stand before what takes them, not all of them first.

    0 -> 2 <- 1,  2 -> 4 <- 3
    """
    order = data_flow_order(5, [(0, 2), (1, 2), (3, 4), (2, 4)])

    assert order.index(2) == max(order.index(0), order.index(1)) + 1
    assert order[-1] == 4


def test_a_cycle_without_a_sink_is_ordered_too() -> None:
    """Every node appears once, whatever the edges."""
    assert sorted(data_flow_order(3, [(0, 1), (1, 2), (2, 0)])) == [0, 1, 2]
