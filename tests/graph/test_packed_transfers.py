"""Transfers between tasks that become ready together travel as one, where that changes nothing."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from tests.graph.small_graphs import small_graph
from tests.graph.test_graph_partition import DEVICES
from tfnb.core import dtypes
from tfnb.core.attr_value import TensorAttr
from tfnb.core.tensor_proto import encode_tensor
from tfnb.graph.graph_partition import partition
from tfnb.graph.packed_transfers import EDGES, pack_transfers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.graph.graph import Graph


def packed(
    text: str,
    *,
    may_pack: Callable[[str, str], bool] = lambda source, target: True,
    sizes: dict[str, int | None] | None = None,
) -> dict[str, Graph]:
    """Return the partitions of a graph whose nodes are on the device after ``@``."""
    return packed_parts(small_graph(text), may_pack=may_pack, sizes=sizes)


def packed_parts(
    graph: Graph,
    *,
    may_pack: Callable[[str, str], bool] = lambda source, target: True,
    sizes: dict[str, int | None] | None = None,
) -> dict[str, Graph]:
    """Return the partitions of a graph."""
    for each in graph.op_nodes():
        each.assigned_device = each.requested_device or "A"
    counter = itertools.count()
    parts = partition(graph, DEVICES, counter)
    pack_transfers(parts, may_pack, lambda name, output: (sizes or {}).get(name, 4), counter)
    return parts


def transfers(parts: dict[str, Graph]) -> list[int]:
    """Return how many edges each Send carries; there is a Recv for each."""
    sends, recvs = [], []
    for part in parts.values():
        for node in part.op_nodes():
            if node.is_send:
                sends.append(node)
            elif node.is_recv:
                recvs.append(node.attrs["tensor_name"])
    assert sorted(recvs) == sorted(node.attrs["tensor_name"] for node in sends)
    return sorted(len(node.attrs.get(EDGES, [b""])) for node in sends)


TWO = """
a = TestSource @A
b = TestSource @A
x = TestAdd(a, b) @B
"""


def test_two_transfers_of_one_level_become_one() -> None:
    """The consumer reads both out of the optional; Send and Recv name both edges."""
    parts = packed(TWO)

    assert transfers(parts) == [2]
    x = parts["B"].nodes_by_name["x"]
    sources = [(x.data_in_edges[i].src.op, x.data_in_edges[i].src_output) for i in (0, 1)]
    assert sources == [("OptionalGetValue", 0), ("OptionalGetValue", 1)]
    apart = x.data_in_edges[0].src
    assert set(apart.original_names) == {"a", "b"}
    assert [edge.src.op for edge in apart.in_edges if not edge.is_control] == ["_Recv"]


def test_every_node_stays_connected_to_source_and_sink() -> None:
    """The parts are graphs that can run."""
    for part in packed(TWO).values():
        assert all(node.in_edges and node.out_edges for node in part.op_nodes())


def test_devices_that_take_single_tensors_get_them() -> None:
    """Tasks of TensorFlow, for instance."""
    assert transfers(packed(TWO, may_pack=lambda source, target: False)) == [1, 1]


def test_transfers_in_opposite_directions_stay_apart() -> None:
    """And each direction has one."""
    parts = packed(
        TWO + "y = TestRelu(x) @B\nz = TestAdd(x, y) @A\nc = TestSource @B\nw = TestRelu(c) @A"
    )

    assert transfers(parts) == [1, 2, 2]


def test_a_transfer_that_depends_on_another_does_not_travel_with_it() -> None:
    """Each would wait for the other: c is made of what B sends back."""
    parts = packed(
        """
        a = TestSource @A
        b = TestRelu(a) @B
        c = TestRelu(b) @A
        x = TestAdd(a, c) @B
        """
    )

    assert transfers(parts) == [1, 1, 1]


def test_what_may_be_dead_travels_alone() -> None:
    """A branch is taken or not; what does not depend on it is always there."""
    parts = packed(
        """
        p = TestBool @A
        a = TestSource @A
        s = Switch(a, p) @A T=float
        u = TestRelu(s) @A
        v = TestRelu(s:1) @A
        x = TestRelu(u) @B
        y = TestRelu(v) @B
        """
    )

    assert transfers(parts) == [1, 1]


def test_what_waits_for_a_node_with_effects_travels_alone() -> None:
    """The node may wait for what another task does, perhaps with a tensor of the same level."""
    parts = packed(
        """
        a = TestSource @A
        b = TestSource @A
        effect = TestEffect(a) @A
        c = TestRelu(b, ^effect) @A
        d = TestRelu(b) @A
        x = TestAdd(c, d) @B
        y = TestRelu(a) @B
        """
    )

    assert transfers(parts) == [1, 2]


def test_large_tensors_and_those_of_unknown_size_travel_alone() -> None:
    """They need not wait for others."""
    large = packed(TWO, sizes={"a": 1 << 30})
    unknown = packed(TWO, sizes={"a": None})

    assert transfers(large) == transfers(unknown) == [1, 1]


def test_a_control_edge_travels_with_tensors() -> None:
    """Its empty constant is one of them."""
    parts = packed(TWO + "y = TestSource(^a) @B")

    assert transfers(parts) == [3]


def test_a_small_constant_is_copied_instead() -> None:
    """Nothing is sent for it; a large one is sent."""

    def with_constant() -> Graph:
        graph = small_graph("a = TestSource @A\nx = TestRelu(a) @B")
        value = TensorAttr(encode_tensor(np.float32([1.0, 2.0])))
        attrs = {"dtype": dtypes.float32, "value": value}
        constant = graph.add_node("c", "Const", attrs, device="A")
        edge = graph.nodes_by_name["x"].data_in_edges[0]
        graph.update_edge(constant, 0, edge.dst, 0)
        return graph

    parts = packed_parts(with_constant())
    large = packed_parts(with_constant(), sizes={"c": 1 << 30})

    assert transfers(parts) == []
    source = parts["B"].nodes_by_name["x"].data_in_edges[0].src
    assert source.op == "Const"
    assert source.assigned_device == "B"
    assert source.original_names == ("c",)
    assert transfers(large) == [1]
