"""A GraphDef becomes a graph, or is refused with TensorFlow's message and without a trace."""

from __future__ import annotations

import pytest

from tests.graph.small_graphs import (
    LOOP,
    names,
    node,
    small_graph,
    small_graph_def,
    wiring,
)
from tfnb.core import dtypes, errors
from tfnb.core.versions import VersionDef
from tfnb.graph.graph_constructor import graph_from_graph_def, graph_to_graph_def
from tfnb.proto import graph_pb2


def refused(text: str, match: str, error: type[errors.OpError] | None = None) -> None:
    """Check that the graph of ``text`` is refused with ``match``."""
    with pytest.raises(error or errors.InvalidArgumentError, match=match):
        small_graph(text)


def test_inputs_become_edges() -> None:
    """Data inputs by number, control inputs after them, each once."""
    graph = small_graph(
        """
        a = TestInput
        b = TestRelu(a:1)
        c = TestAdd(a, b, ^a, ^b, ^a)
        """
    )
    assert wiring(graph) == {
        "a:1 -> b:0", "a:0 -> c:0", "b:0 -> c:1", "^a -> c", "^b -> c",
    }  # fmt: skip
    assert graph.num_edges == 5 + 2


def test_loop_is_read_in_any_order() -> None:
    """The back edge, and any other edge, may name a later node.

    init -> enter -> merge -> switch -> exit
                       ^         |
                       +- next <-+
    """
    lines = LOOP.strip().splitlines()
    forwards, backwards = small_graph("\n".join(lines)), small_graph("\n".join(lines[::-1]))
    assert wiring(forwards) == wiring(backwards)
    assert "next:0 -> merge:1" in wiring(forwards)


def test_ids_grow_along_edges_even_where_the_graph_def_is_not_sorted() -> None:
    """Without back edges; nodes with an open order keep that of the GraphDef."""
    graph = small_graph("c = TestAdd(a, b)\nb = TestRelu(a)\nz = TestSource\na = TestSource")
    assert names(graph) == ["z", "a", "b", "c"]
    loop = small_graph("\n".join(LOOP.strip().splitlines()[::-1]))
    for edge in loop.edges:
        if edge.src.is_op and edge.dst.is_op and not edge.src.is_next_iteration:
            assert edge.src.id < edge.dst.id


def test_defaults_are_filled_in_and_unknown_attributes_kept() -> None:
    """Attributes of newer and older versions of TensorFlow are accepted."""
    graph = small_graph("a = TestDefault n=7 added_later=1 _note='x'")
    assert dict(node(graph, "a").attrs) == {
        "T": dtypes.int32, "n": 7, "s": b"a", "added_later": 1, "_note": b"x",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a b = TestSource", "does not match"),
        ("a = TestSource\na = TestSource", "Node 'a' is not unique"),
        ("a = TestRelu(x)", "Node 'a': Unknown input node 'x'"),
        ("a = TestSource(^x)", r"Node 'a': Unknown input node '\^x'"),
        ("a = TestSource\nb = TestRelu(a:1)", "Node 'b': Connecting to invalid output 1 of source"
         " node a which has 1 outputs"),
        ("a = TestSource\nb = TestRelu(^a, a)", "Node 'b': Control dependencies must come after"),
        ("a = TestRelu", "expected inputs 'float' do not match 0 inputs specified; Op<name=Test"),
        ("a = TestSource\nb = TestRelu(a, a)", "expected inputs 'float' do not match 2 inputs"),
        ("a = TestInt\nb = TestRelu(a)", "Input 0 of node b was passed int32 from a:0 incompatible"
         " with expected float"),
        ("a = TestSource\nb = TestAssign(a, a)", "Input 0 of node b was passed float from a:0"
         " incompatible with expected float_ref"),
        ("a = TestSource\nb = TestPass(a)", "NodeDef missing attr 'T' from Op<name=TestPass"),
        ("a = TestSource\nb = TestPass(a) T=bool", "Value for attr 'T' of bool is not in the list"
         " of allowed values: float, int32, double"),
        ("a = TestSource\nb = TestPass(a) T=1", "AttrValue had value with type 'int' when 'type'"),
        ("a = TestMany N=0 T=float", "Value for attr 'N' of 0 must be at least minimum 1"),
        ("a = TestDefault s='c'", "Value for attr 's' of \"c\" is not in the list of allowed"),
        ("a = TestRelu(b)\nb = TestRelu(a)", "contains a cycle with 2 nodes, including: a, b"),
        ("a = TestRelu(a)", "contains a cycle with 1 nodes"),
    ],
)  # fmt: skip
def test_malformed_graph_is_refused(text: str, match: str) -> None:
    """The message names the node and the defect."""
    if text.startswith("a b"):
        text, match = "a$b = TestSource", "Node name contains invalid characters"
    refused(text, match)


def test_reference_may_be_read_where_a_value_is_asked_for() -> None:
    """float_ref is accepted for float; the other direction is refused in a test above."""
    graph = small_graph("v = TestVariable\nr = TestRelu(v)\na = TestAssign(v, r)")
    assert "v:0 -> r:0" in wiring(graph)


def test_node_without_op_is_refused() -> None:
    """An empty op is refused."""
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="a")
    with pytest.raises(errors.InvalidArgumentError, match="'a' does not specify an operation"):
        graph_from_graph_def(graph_def)


def test_cycle_through_anything_but_next_iteration_is_refused() -> None:
    """A Merge alone does not make a loop."""
    refused(
        "a = TestSource\nm = Merge(a, b) T=float N=2\nb = TestRelu(m)",
        "contains a cycle with 2 nodes",
    )


def test_graph_for_newer_readers_is_refused() -> None:
    """A min_consumer above our version, or our version among bad_consumers, is refused."""
    graph_def = small_graph_def("a = TestSource")
    graph_def.versions.min_consumer = 99999
    with pytest.raises(errors.InvalidArgumentError, match="GraphDef min consumer version 99999"):
        graph_from_graph_def(graph_def)


def test_op_removed_before_the_producer_is_refused() -> None:
    """A graph older than the removal may still use it."""
    text = "a = TestSource\nb = TestGone(a)"
    assert names(graph_from_graph_def(small_graph_def(text, producer=8))) == ["a", "b"]
    with pytest.raises(
        errors.UnimplementedError, match="TestGone is not available in GraphDef vers"
    ):
        graph_from_graph_def(small_graph_def(text, producer=9))


# -- extending -------------------------------------------------------------------------------------


def test_extension_joins_old_and_new_nodes() -> None:
    """The graph is changed in place; old ids stay."""
    base = small_graph("a = TestInput\nb = TestRelu(a)")
    graph = graph_from_graph_def(small_graph_def("c = TestAdd(b, a:1, ^a)"), base=base)
    assert graph is base
    assert names(graph) == ["a", "b", "c"]
    assert {"b:0 -> c:0", "a:1 -> c:1", "^a -> c"} <= wiring(graph)


def test_extension_with_a_known_name_is_refused_and_leaves_no_trace() -> None:
    """No node is added, also if good nodes come before it."""
    base = small_graph("a = TestSource")
    before = repr(base), wiring(base), base.num_node_ids
    with pytest.raises(
        errors.InvalidArgumentError,
        match="includes node 'a', which was created by a previous call to Create or Extend",
    ):
        graph_from_graph_def(small_graph_def("b = TestRelu(a)\na = TestSource"), base=base)
    assert (repr(base), wiring(base), base.num_node_ids) == before


def test_bad_extension_leaves_no_trace() -> None:
    """The third node is malformed, so the first two are removed again."""
    base = small_graph("a = TestSource")
    before = repr(base), wiring(base), len(base.source.out_edges)
    with pytest.raises(errors.InvalidArgumentError, match="of node d was passed int32"):
        graph_from_graph_def(
            small_graph_def("b = TestRelu(a)\nc = TestInt\nd = TestRelu(c)"), base=base
        )
    assert (repr(base), wiring(base), len(base.source.out_edges)) == before
    graph_from_graph_def(small_graph_def("b = TestRelu(a)"), base=base)
    assert names(base) == ["a", "b"]


def test_extension_by_older_nodes_makes_the_graph_as_old() -> None:
    """A graph from a file may be older than the graph it joins."""
    base = small_graph("a = TestSource")
    graph_from_graph_def(small_graph_def("b = TestSource", producer=20), base=base)
    assert base.versions.producer == 20


def test_extension_by_newer_nodes_is_refused() -> None:
    """Versions must agree."""
    base = graph_from_graph_def(small_graph_def("a = TestSource", producer=10))
    with pytest.raises(
        errors.InvalidArgumentError, match=r"Can't extend GraphDef at version .* with graph at vers"
    ):
        graph_from_graph_def(small_graph_def("b = TestSource", producer=20), base=base)


def test_extension_merges_what_consumers_must_be() -> None:
    """The stricter requirement of both applies."""
    base = small_graph("a = TestSource")
    extension = small_graph_def("b = TestSource")
    extension.versions.min_consumer = 12
    extension.versions.bad_consumers.append(5)
    graph_from_graph_def(extension, base=base)
    assert base.versions == VersionDef(base.versions.producer, 12, (5,))


def test_extension_checks_new_nodes_only() -> None:
    """Old nodes and edges are the same objects as before."""
    base = small_graph("\n".join(f"a{i} = TestSource" for i in range(50)))
    old_nodes, old_edges = list(base.nodes), base.edges
    graph_from_graph_def(small_graph_def("b = TestRelu(a7)"), base=base)
    assert all(new is old for new, old in zip(base.nodes, old_nodes))
    assert all(new is old for new, old in zip(base.edges, old_edges))


# -- and back --------------------------------------------------------------------------------------


def test_graph_def_survives_the_way_there_and_back() -> None:
    """Names, inputs, devices and attributes are equal; defaults are written."""
    graph_def = small_graph_def(
        """
        a = TestInput @/device:CPU:1
        b = TestAdd(a:1, a, ^a) _class=['loc:@a']
        c = TestDefault T=int32 n=3 s='a'
        """
    )
    again = graph_to_graph_def(graph_from_graph_def(graph_def))
    assert again == graph_def


def test_placed_node_carries_its_device() -> None:
    """A partition's GraphDef contains the assigned device."""
    graph = small_graph("a = TestSource @/device:CPU:1")
    node(graph, "a").assigned_device = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert graph_to_graph_def(graph).node[0].device.endswith("CPU:0")
