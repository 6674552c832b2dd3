"""Each node has a frame, and malformed loops are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.graph.small_graphs import LOOP, node, small_graph
from tfnb.core import errors
from tfnb.graph.control_flow import build_control_flow_info

if TYPE_CHECKING:
    from tfnb.graph.graph import Graph

NESTED = """
    init = TestSource
    enter = Enter(init) T=float frame_name='outer'
    merge = Merge(enter, next) T=float N=2
    less = TestLess(merge)
    cond = LoopCond(less)
    switch = Switch(merge, cond) T=float
    enter2 = Enter(switch:1) T=float frame_name='inner'
    merge2 = Merge(enter2, next2) T=float N=2
    less2 = TestLess(merge2)
    cond2 = LoopCond(less2)
    switch2 = Switch(merge2, cond2) T=float
    next2 = NextIteration(switch2:1) T=float
    exit2 = Exit(switch2) T=float
    next = NextIteration(exit2) T=float
    exit = Exit(switch) T=float
    after = TestRelu(exit)
"""


def frames(graph: Graph) -> dict[str, str]:
    """Node name -> frame name."""
    info = build_control_flow_info(graph)
    return {each.name: info[each.id].frame_name for each in graph.op_nodes()}


def test_graph_without_loops_is_one_frame() -> None:
    """All nodes are in the root frame, which belongs to the source."""
    graph = small_graph("a = TestSource\nb = TestRelu(a)")
    info = build_control_flow_info(graph)
    assert frames(graph) == {"a": "", "b": ""}
    assert info[node(graph, "b").id].frame is graph.source


def test_enter_and_exit_bound_a_frame() -> None:
    """An Exit runs inside of the frame, its consumers outside.

    init -> enter -> [ merge -> switch -> exit ] -> after
    """
    graph = small_graph(LOOP + "after = TestRelu(exit)\n")
    inside = {"enter", "merge", "less", "cond", "switch", "body", "next", "exit"}
    assert frames(graph) == {
        name: "loop" if name in inside else "" for name in (*inside, "init", "after")
    }
    info = build_control_flow_info(graph)
    assert info[node(graph, "body").id].frame is node(graph, "enter")
    assert info[node(graph, "body").id].parent_frame is graph.source


def test_frames_nest() -> None:
    """The inner loop's Exit delivers to the outer loop."""
    graph = small_graph(NESTED)
    found = frames(graph)
    assert found["merge2"] == found["exit2"] == "inner"
    assert found["next"] == found["exit"] == "outer"
    assert found["after"] == ""
    info = build_control_flow_info(graph)
    assert info[node(graph, "merge2").id].parent_frame is node(graph, "enter")


def test_inputs_from_different_frames_are_refused() -> None:
    """The message names the node and both inputs with their frames."""
    graph = small_graph(LOOP + "mixed = TestAdd(init, body)\n")
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"{{node mixed}} has inputs from different frames. The input {{node (body|init)}} is "
        r"in frame '(loop)?'. The input {{node (init|body)}} is in frame '(loop)?'.",
    ):
        build_control_flow_info(graph)


def test_control_inputs_count_as_inputs() -> None:
    """A control edge from inside a loop to outside is refused too."""
    graph = small_graph(LOOP + "mixed = TestAdd(init, init, ^body)\n")
    with pytest.raises(errors.InvalidArgumentError, match="inputs from different frames"):
        build_control_flow_info(graph)


def test_one_frame_name_under_two_parents_is_refused() -> None:
    """A frame has one parent."""
    graph = small_graph(
        """
        a = TestSource
        outer = Enter(a) T=float frame_name='outer'
        here = Enter(a) T=float frame_name='loop'
        there = Enter(outer) T=float frame_name='loop'
        x = TestRelu(here)
        y = TestRelu(there)
        """
    )
    with pytest.raises(errors.InternalError, match='Mismatched parent frames for "loop"'):
        build_control_flow_info(graph)


def test_enter_with_inputs_from_two_frames_is_refused() -> None:
    """The frames of its inputs are compared, not the frame it leads into."""
    graph = small_graph(
        """
        a = TestSource
        outer = Enter(a) T=float frame_name='outer'
        inner = Enter(outer, ^a) T=float frame_name='inner'
        """
    )
    with pytest.raises(
        errors.InvalidArgumentError, match=r"{{node inner}} has inputs from different frames"
    ):
        build_control_flow_info(graph)


def test_two_loop_conds_in_a_frame_are_refused_unless_one_counts() -> None:
    """The counters of a loop and of its gradient may share the frame."""
    graph = small_graph(LOOP + "cond2 = LoopCond(less)\n")
    with pytest.raises(errors.InvalidArgumentError, match="more than one LoopCond node"):
        build_control_flow_info(graph)
    graph = small_graph(LOOP + "LoopCounter = LoopCond(less)\n")
    assert frames(graph)["LoopCounter"] == "loop"


def test_frame_needs_a_name() -> None:
    """An Enter with an empty frame_name is refused."""
    graph = small_graph("a = TestSource\ne = Enter(a) T=float frame_name=''")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"The Enter {{node e}} must have a frame"
    ):
        build_control_flow_info(graph)


def test_exit_needs_an_enter() -> None:
    """An Exit outside of a frame is refused."""
    graph = small_graph("a = TestSource\nx = Exit(a) T=float")
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"Invalid Exit op: Cannot find a corresponding Enter op. \({{node x}}\)",
    ):
        build_control_flow_info(graph)


def test_nodes_behind_no_source_are_left_out() -> None:
    """These nodes have no frame and are not checked."""
    graph = small_graph(LOOP)
    lost = graph.add_node("lost", "TestAdd")
    graph.add_edge(node(graph, "body"), 0, lost, 0)
    assert frames(graph)["lost"] == "loop"
    alone = graph.add_node("alone", "TestSource")
    info = build_control_flow_info(graph)
    assert info[alone.id].frame is None
    assert info[alone.id].frame_name == ""
