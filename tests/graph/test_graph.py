"""Nodes and edges keep their numbers, names and order."""

from __future__ import annotations

import pytest

from tests.graph.small_graphs import LOOP, names, node, small_graph, wiring
from tfnb.core import dtypes, errors
from tfnb.graph.graph import CONTROL_SLOT, Graph


def test_empty_graph_has_a_source_and_a_sink() -> None:
    """Ids 0 and 1 are taken before the first op."""
    graph = Graph()
    assert graph.nodes == [graph.source, graph.sink]
    assert (graph.source.id, graph.sink.id) == (0, 1)
    assert list(graph.op_nodes()) == []
    assert not graph.source.is_op


def test_node_knows_its_types_from_its_attributes() -> None:
    """``N * T`` counts, a reference stays one, defaults are filled in."""
    graph = Graph()
    many = graph.add_node("many", "TestMany", {"N": 2, "T": dtypes.int32})
    assign = graph.add_node("assign", "TestAssign")
    default = graph.add_node("default", "TestDefault")
    assert many.input_types == (dtypes.int32, dtypes.int32)
    assert assign.input_types == (dtypes.float32_ref, dtypes.float32)
    assert dict(default.attrs) == {"T": dtypes.int32, "n": 3, "s": b"a"}
    assert default.output_types == (dtypes.int32,)


def test_second_node_of_a_name_is_refused() -> None:
    """Names are unique."""
    graph = Graph()
    graph.add_node("a", "TestSource")
    with pytest.raises(errors.AlreadyExistsError, match="'a' already exists"):
        graph.add_node("a", "TestSource")


def test_missing_attribute_is_named() -> None:
    """A node whose types are unknown is refused."""
    with pytest.raises(errors.InvalidArgumentError, match="missing attr 'T'"):
        Graph().add_node("a", "TestPass")


def test_unknown_op_is_refused() -> None:
    """The op is neither registered nor a function of the library."""
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'Nope'"):
        Graph().add_node("a", "Nope")


def test_input_edge_finds_inputs_added_out_of_order() -> None:
    """A loop's back edge comes after control edges, yet input 1 is input 1."""
    graph = small_graph(LOOP)
    merge = node(graph, "merge")
    graph.add_control_edge(node(graph, "init"), merge)
    assert merge.input_edge(1).src.name == "next"
    assert [edge.src.name for edge in merge.input_edges()] == ["enter", "next"]
    with pytest.raises(errors.InvalidArgumentError, match="input edge 2 for merge"):
        merge.input_edge(2)


def test_control_edge_is_added_once() -> None:
    """Unless duplicates are asked for."""
    graph = small_graph("a = TestSource\nb = TestSource")
    a, b = node(graph, "a"), node(graph, "b")
    assert graph.add_control_edge(a, b) is not None
    assert graph.add_control_edge(a, b) is None
    assert graph.add_control_edge(a, b, allow_duplicates=True) is not None
    assert b.control_inputs() == [graph.source, a, a]


def test_removed_node_takes_its_edges_along() -> None:
    """Ids are not given again.

    a -> b -> c
    """
    graph = small_graph("a = TestSource\nb = TestRelu(a)\nc = TestRelu(b)")
    graph.remove_node(node(graph, "b"))
    assert names(graph) == ["a", "c"]
    assert wiring(graph) == set()
    assert graph.find_node("b") is None
    assert graph.add_node("b", "TestSource").id == 5


def test_update_edge_connects_an_input_to_another_tensor() -> None:
    """The old edge is removed."""
    graph = small_graph("a = TestInput\nb = TestRelu(a)")
    graph.update_edge(node(graph, "a"), 1, node(graph, "b"), 0)
    assert wiring(graph) == {"a:1 -> b:0"}


def test_copy_is_equal_and_independent() -> None:
    """Ids of nodes and edges are kept, holes too; a new attribute stays in its graph."""
    graph = small_graph(LOOP)
    graph.remove_node(node(graph, "exit"))
    twin = graph.copy()
    assert [None if n is None else n.name for n in twin.nodes] == [
        None if n is None else n.name for n in graph.nodes
    ]
    assert [repr(edge) for edge in twin.edges] == [repr(edge) for edge in graph.edges]
    node(twin, "enter").set_attr("parallel_iterations", 3)
    assert node(graph, "enter").attrs["parallel_iterations"] == 10
    twin.remove_node(node(twin, "body"))
    assert "body" in names(graph)


def test_removing_nodes_takes_their_edges_and_no_others() -> None:
    """A self loop, an edge between two that go, and one to a node that stays."""
    graph = small_graph("a = TestSource\nb = TestRelu(a)\nc = TestRelu(b)\nd = TestRelu(a)")
    graph.add_control_edge(node(graph, "b"), node(graph, "b"))
    graph.add_control_edge(node(graph, "b"), node(graph, "d"))
    graph.remove_nodes([node(graph, "b"), node(graph, "c")])
    assert names(graph) == ["a", "d"]
    assert [repr(edge) for edge in graph.edges if edge.src.is_op and edge.dst.is_op] == [
        repr(edge) for edge in node(graph, "d").in_edges
    ]
    assert [edge.dst.name for edge in node(graph, "a").out_edges] == ["d"]


def test_another_tensor_takes_the_place_of_the_one_it_replaces() -> None:
    """The edges of the other inputs stay as they are."""
    graph = small_graph("a = TestSource\nb = TestSource\nc = TestAdd(a, a)")
    graph.update_edge(node(graph, "b"), 0, node(graph, "c"), 0)
    assert [edge.src.name for edge in node(graph, "c").input_edges()] == ["b", "a"]
    assert node(graph, "c").input_node(0) is node(graph, "b")
    assert [edge.dst_input for edge in node(graph, "a").out_edges] == [1]


def test_truncate_takes_back_what_was_added() -> None:
    """Older nodes lose the edges to newer ones only."""
    graph = small_graph("a = TestSource\nb = TestRelu(a)")
    before, sizes = wiring(graph), (graph.num_node_ids, graph.num_edge_ids)
    c = graph.add_node("c", "TestRelu")
    graph.add_edge(node(graph, "a"), 0, c, 0)
    graph.truncate(*sizes)
    assert wiring(graph) == before
    assert names(graph) == ["a", "b"]
    assert len(node(graph, "a").out_edges) == 1


def test_nodes_without_neighbours_hang_on_source_and_sink() -> None:
    """Every node is reached from the source and reaches the sink."""
    graph = small_graph("a = TestSource\nb = TestRelu(a)")
    assert [edge.dst.name for edge in graph.source.out_edges] == ["a"]
    assert [edge.src.name for edge in graph.sink.in_edges] == ["b"]
    assert all(edge.dst_input == CONTROL_SLOT for edge in graph.source.out_edges)


def test_new_name_avoids_names_in_use() -> None:
    """A counter of the graph, skipping what is there."""
    graph = Graph()
    graph.add_node("a/_0", "TestSource")
    assert [graph.new_name("a"), graph.new_name("b")] == ["a/_1", "b/_2"]


@pytest.mark.parametrize(
    ("op", "flag"),
    [
        ("RefSwitch", "is_switch"),
        ("Merge", "is_merge"),
        ("RefEnter", "is_enter"),
        ("Exit", "is_exit"),
        ("RefNextIteration", "is_next_iteration"),
        ("LoopCond", "is_loop_cond"),
        ("ControlTrigger", "is_control_trigger"),
        ("_HostSend", "is_send"),
        ("_Recv", "is_recv"),
        ("_Arg", "is_arg"),
        ("_DeviceRetval", "is_retval"),
    ],
)
def test_kind_follows_from_the_op(op: str, flag: str) -> None:
    """The kind of a node for the executor is determined by its op."""
    from tfnb.graph.node_kind import node_kind

    assert getattr(node_kind(op), flag)
    assert not getattr(node_kind("AddV2"), flag)
