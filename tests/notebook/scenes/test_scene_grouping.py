"""Crowded scopes: flat graphs of thousands of nodes become a few meaningful boxes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.scenes.scene_grouping import MAX_CHILDREN, MAX_GROUPS, data_flow_order
from tfnb.notebook.scenes.scene_structure import dominated_regions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def block_chain(blocks: int, per_block: int, name: str) -> list[SceneNode]:
    """Return a chain of blocks, each a chain of nodes named by a pattern of block and op."""
    ops = ["Conv2D", "BiasAdd", "Relu", "Identity"]
    nodes = []
    for i in range(blocks * per_block):
        op = ops[i % len(ops)]
        label = name.format(block=i // per_block, op=op.lower(), number=i)
        nodes.append(SceneNode(label, op, ((i - 1, 0),) if i else ()))
    return nodes


def test_names_that_follow_the_data_flow_group_by_their_first_words() -> None:
    """block3_conv, block3_relu, … become the box block3."""
    scene = build_scene(block_chain(10, 20, "block{block}_{op}_{number}"))

    assert [scope.label for scope in scene.scopes[1:]] == [f"block{i}" for i in range(10)]
    assert {scope.kind for scope in scene.scopes[1:]} == {"names"}


def test_names_that_are_only_op_types_give_the_blocks_that_repeat() -> None:
    """Boxes Conv and Relu would form cycles, so the chain is cut into repeated blocks."""
    scene = build_scene(block_chain(10, 20, "{op}_{number}"))

    assert {scope.kind for scope in scene.scopes[1:]} == {"repeat"}
    blocks = {tuple(n.op for n in scene.nodes[s.first : s.end]) for s in scene.scopes[1:]}
    assert len({block[:4] for block in blocks}) == 1
    # Each block is contiguous: boxes are connected only to their neighbours.
    box = [0] * len(scene.nodes)
    for index, scope in enumerate(scene.scopes[1:]):
        box[scope.first : scope.end] = [index] * scope.size
    between = {(box[a], box[b]) for a, _, b, _ in scene.edges if box[a] != box[b]}
    assert len(between) == len(scene.scopes) - 2


def test_a_series_side_by_side_is_one_box() -> None:
    """Thirty parallel branches of one op between the same ends are one box."""
    nodes = [SceneNode("in", "Placeholder")]
    nodes += [SceneNode(f"branch_{i}", "MatMul", ((0, 0),)) for i in range(30)]
    nodes.append(SceneNode("sum", "AddN", tuple((i + 1, 0) for i in range(30))))
    scene = build_scene(nodes)

    (box,) = scene.scopes[1:]
    assert box.kind == "series"
    assert box.label == "branch_0 … branch_29"
    assert box.size == 30
    assert len(scene.scopes[0].nodes) == 2


def test_a_long_series_is_opened_in_pieces() -> None:
    """A box of thousands of nodes is divided again."""
    nodes = [SceneNode("in", "Placeholder")]
    nodes += [SceneNode(f"m_{i}", "MatMul", ((0, 0),)) for i in range(3000)]
    nodes.append(SceneNode("sum", "AddN", tuple((i + 1, 0) for i in range(3000))))
    scene = build_scene(nodes)
    assert all(len(s.nodes) + len(s.scopes) <= MAX_CHILDREN for s in scene.scopes)


def flat_residual(blocks: int, lengths: Sequence[int]) -> list[SceneNode]:
    """Return blocks of varying lengths, each a chain with a residual connection."""
    nodes = [SceneNode("x", "Placeholder")]
    last = 0
    for block in range(blocks):
        start = last
        for i in range(lengths[block % len(lengths)]):
            inputs = ((last, 0),)
            if i % 3 == 2:
                nodes.append(SceneNode(f"c_{len(nodes)}", "Const"))
                inputs = (*inputs, (len(nodes) - 1, 0))
            nodes.append(
                SceneNode(f"op{(7 * block + i) % 11}_{len(nodes)}", f"Op{block * i % 13}", inputs)
            )
            last = len(nodes) - 1
        nodes.append(SceneNode(f"add_{len(nodes)}", "Add", ((last, 0), (start, 0))))
        last = len(nodes) - 1
    return nodes


def test_regions_with_one_way_out_are_boxes() -> None:
    """Without repetition the graph is cut at dominators: the boxes form a chain."""
    scene = build_scene(flat_residual(24, (5, 9, 13, 17)))
    boxes = [scope for scope in scene.scopes[1:] if scope.parent == 0]
    assert {box.kind for box in boxes} == {"region"}
    assert 3 <= len(boxes) <= MAX_GROUPS + 1
    box_of = [-1] * len(scene.nodes)
    for index, box in enumerate(boxes):
        box_of[box.first : box.end] = [index] * box.size
    ways_out = {}
    for source, _, destination, _ in scene.edges:
        if box_of[source] != box_of[destination]:
            ways_out.setdefault(box_of[source], set()).add(source)
    assert all(len(sources) == 1 for sources in ways_out.values())


def test_a_graph_without_structure_is_cut_anywhere() -> None:
    """The graph has many sources and ends, and no repeated block."""
    nodes = [
        SceneNode(f"n_{i}", f"Op{i * i % 101}", ((i - 7, 0), (i - 11, 0)) if i >= 11 else ())
        for i in range(400)
    ]
    scene = build_scene(nodes)
    assert {scope.kind for scope in scene.scopes[1:] if scope.parent == 0} == {"chunk"}


def test_dominators_are_found_in_cycles_and_alone() -> None:
    """Every child is in one region, also with loops and unconnected children."""
    pairs = [(i, i + 1) for i in range(199)] + [(150, 20), (3, 3)]
    order = data_flow_order(205, pairs)
    regions = dominated_regions(205, order, pairs, 40)
    assert regions is not None
    assert sorted(child for region in regions for child in region) == list(range(205))


def test_a_scope_that_fits_stays_as_it_is() -> None:
    """Scopes within the limit are not grouped."""
    scene = build_scene([SceneNode(f"n_{i}", "Const") for i in range(MAX_CHILDREN)])

    assert len(scene.scopes) == 1


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python run, a measure that does not depend on the machine."""
    count = 0

    def trace(*_: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.slow
def test_ten_thousand_flat_nodes_make_few_boxes_in_time_in_proportion() -> None:
    """Every level has few children; twice the nodes take twice the work."""
    scene = build_scene(block_chain(2500, 4, "{op}_{number}"))
    most = max(len(scope.nodes) + len(scope.scopes) for scope in scene.scopes)
    assert most <= max(MAX_CHILDREN, MAX_GROUPS)

    small, large = (block_chain(count, 4, "{op}_{number}") for count in (600, 1200))
    lines = lines_run(lambda: build_scene(large).encode())
    assert lines < 3 * lines_run(lambda: build_scene(small).encode())


def test_loops_do_not_hinder_grouping() -> None:
    """The edge that closes a loop is ignored in the order."""
    nodes = block_chain(1, 200, "{op}_{number}")
    nodes[0] = SceneNode("merge", "Merge", ((199, 0),))
    nodes[199] = SceneNode("next", "NextIteration", ((198, 0),))
    scene = build_scene(nodes)

    assert len(scene.nodes) == 200
    assert len(scene.scopes) > 1


def test_data_flow_order_keeps_inputs_close_before_their_consumers() -> None:
    """Sources 0, 1 and 3 come just before their consumers, not all first.

    0 -> 2 <- 1,  2 -> 4 <- 3
    """
    order = data_flow_order(5, [(0, 2), (1, 2), (3, 4), (2, 4)])

    assert order.index(2) == max(order.index(0), order.index(1)) + 1
    assert order[-1] == 4


def test_a_cycle_without_a_sink_is_ordered_too() -> None:
    """Every node appears once."""
    assert sorted(data_flow_order(3, [(0, 1), (1, 2), (2, 0)])) == [0, 1, 2]
