"""A placed graph is divided into one graph per device without losing nodes or edges."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from google.protobuf import text_format

from tests.graph.small_graphs import LOOP, names, node, small_graph, wiring
from tests.graph.test_control_flow import NESTED
from tests.graph.test_function_body import TWICE
from tfnb.core import dtypes, errors
from tfnb.core.attr_value import TensorAttr
from tfnb.core.versions import VersionDef
from tfnb.graph.control_flow import build_control_flow_info
from tfnb.graph.function_library import FunctionLibraryDefinition
from tfnb.graph.graph_partition import partition
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from tfnb.graph.graph import Graph


@dataclass
class FakeDevice:
    """A device that only has a name."""

    name: str
    device_type: str = "CPU"


DEVICES = [FakeDevice("A"), FakeDevice("B"), FakeDevice("G", "GPU")]


def cut(text: str, library: FunctionLibraryDefinition | None = None) -> dict[str, Graph]:
    """Return the partitions of a graph whose nodes are on the device after ``@``."""
    graph = small_graph(text, library)
    for each in graph.op_nodes():
        each.assigned_device = each.requested_device or "A"
    return partition(graph, DEVICES, itertools.count())


def test_graph_on_one_device_is_its_only_partition() -> None:
    """There is no Send, no Recv, and no copy."""
    graph = small_graph("a = TestSource\nb = TestRelu(a)")
    for each in graph.op_nodes():
        each.assigned_device = "B"
    assert partition(graph, DEVICES, itertools.count()) == {"B": graph}


def test_edge_between_devices_becomes_send_and_recv() -> None:
    """Named after the source, with a number from the session's counter.

    a | b        a -> _Send | _Recv -> b
    """
    parts = cut("a = TestSource @A\nb = TestRelu(a) @B")
    assert list(parts) == ["A", "B"]
    assert wiring(parts["A"]) == {"a:0 -> a/_0:0"}
    assert wiring(parts["B"]) == {"a/_1:0 -> b:0"}
    send, recv = node(parts["A"], "a/_0"), node(parts["B"], "a/_1")
    assert (send.op, recv.op) == ("_Send", "_Recv")
    assert send.attrs["T"] is recv.attrs["tensor_type"] is dtypes.float32
    for each in (send, recv):
        attrs = {key: each.attrs[key] for key in each.attrs if key not in ("T", "tensor_type")}
        assert attrs == {
            "tensor_name": b"edge_0_a",
            "send_device": b"A",
            "send_device_incarnation": 1,
            "recv_device": b"B",
            "client_terminated": False,
            "_src": b"a",
            "_dst": b"b",
        }
    assert (send.assigned_device, recv.assigned_device) == ("A", "B")


def test_consumers_on_one_device_share_the_pair() -> None:
    """A tensor has one transfer per device; other tensors and devices have their own."""
    parts = cut(
        """
        a = TestInput @A
        b = TestRelu(a) @B
        c = TestAdd(a, a:1) @B
        d = TestRelu(a) @G
        """
    )
    assert wiring(parts["B"]) == {"a/_1:0 -> b:0", "a/_1:0 -> c:0", "a/_3:0 -> c:1"}
    assert sorted(each.op for each in parts["A"].op_nodes()) == ["TestInput"] + 3 * ["_Send"]


def test_control_edge_crosses_as_an_empty_constant() -> None:
    """a -^-> Const -> _Send | _Recv -> Identity -^-> b."""
    parts = cut("a = TestSource @A\nb = TestSource(^a) @B")
    assert wiring(parts["A"]) == {"^a -> a/ctrl/_0", "a/ctrl/_0:0 -> a/_1:0"}
    assert wiring(parts["B"]) == {"a/_2:0 -> a/_3:0", "^a/_3 -> b"}
    dummy = node(parts["A"], "a/ctrl/_0")
    assert dummy.op == "Const"
    assert dummy.attrs["value"].value().shape == (0,)
    assert node(parts["B"], "a/_3").op == "Identity"


def test_data_and_control_are_two_transfers() -> None:
    """Data and control edges between the same two nodes are separate transfers."""
    parts = cut("a = TestSource @A\nb = TestRelu(a, ^a) @B")
    assert [each.op for each in parts["B"].op_nodes()].count("_Recv") == 2


def test_two_control_edges_to_a_device_share_one_transfer() -> None:
    """Control edges to one device share a transfer, like data edges."""
    parts = cut("a = TestSource @A\nb = TestSource(^a) @B\nc = TestSource(^a) @B")
    assert [each.op for each in parts["B"].op_nodes()].count("_Recv") == 1


def test_reference_is_received_once_everything_else_is_there() -> None:
    """The Recv waits for dst's control inputs, because dst would read the variable after them.

    v (A) -> add (B) <-^- w (B)
    """
    parts = cut(
        """
        v = TestVariable @A
        w = TestSource @B
        add = TestAdd(v, w, ^w) @B
        more = TestRelu(v) @B
        """
    )
    recv = node(parts["B"], "v/_1")
    assert {each.name for each in recv.control_inputs()} == {"w"}
    # References do not share a transfer: a later reader may get another value.
    assert [each.op for each in parts["B"].op_nodes()].count("_Recv") == 2
    assert node(parts["A"], "v/_0").attrs["T"] is dtypes.float32


# -- memory ----------------------------------------------------------------------------------------


def test_host_memory_goes_by_host_send_and_host_recv() -> None:
    """These are inputs that the op declares, and strings."""
    parts = cut(
        "a = TestInt @G\nb = TestHostInt(a) @A\nt = TestText @G\nu = Identity(t) @A T=string"
    )
    assert sorted(each.op for each in parts["G"].op_nodes() if each.is_send) == 2 * ["_HostSend"]
    assert sorted(each.op for each in parts["A"].op_nodes() if each.is_recv) == 2 * ["_HostRecv"]


def test_both_memories_of_another_device_may_receive() -> None:
    """Each memory has its own pair: a tensor in host memory is not in device memory."""
    parts = cut("a = TestInt @A\nb = TestHostInt(a) @G\nc = TestDeviceInt(a) @G")
    assert sorted(each.op for each in parts["G"].op_nodes() if each.is_recv) == [
        "_HostRecv",
        "_Recv",
    ]


def test_two_memories_of_one_device_need_a_transfer() -> None:
    """On one device the Recv waits for the Send.

    a (host) | c (device), both on G
    """
    parts = cut("a = TestInt @G\nb = TestHostInt(a) @G\nc = TestDeviceInt(a) @G")
    assert list(parts) == ["G"]
    found = wiring(parts["G"])
    assert found == {"a:0 -> b:0", "a:0 -> a/_0:0", "^a/_0 -> a/_1", "a/_1:0 -> c:0"}
    assert (node(parts["G"], "a/_0").op, node(parts["G"], "a/_1").op) == ("_HostSend", "_Recv")


def test_constant_read_from_host_memory_is_copied_not_fetched_back() -> None:
    """A shape constant is not copied to the device and back.

    c (device) -> x      HostConst(c) -> h, after c
    """
    graph = small_graph(
        """
        c = TestInt
        h = TestHostInt(c)
        x = TestDeviceInt(c)
        """
    )
    value = TensorAttr.from_value(np.int32([2, 3]))
    const = graph.add_node("const", "Const", {"dtype": dtypes.int32, "value": value})
    for name in ("h", "x"):
        graph.update_edge(const, 0, node(graph, name), 0)
    graph.remove_node(node(graph, "c"))
    for each in graph.op_nodes():
        each.assigned_device = "G"
    part = partition(graph, DEVICES, itertools.count())["G"]
    assert wiring(part) == {"const:0 -> x:0", "^const -> const/_0", "const/_0:0 -> h:0"}
    assert node(part, "const/_0").op == "HostConst"
    assert node(part, "const/_0").attrs["value"] is value


def test_one_memory_of_a_cpu_device_needs_none() -> None:
    """A CPU has only host memory."""
    parts = cut("a = TestInt @A\nb = TestHostInt(a) @A\nc = TestDeviceInt(a) @A\nd = TestSource @B")
    assert not any(each.is_send for each in parts["A"].op_nodes())


# -- loops -----------------------------------------------------------------------------------------


def place(text: str, **devices: str) -> dict[str, Graph]:
    """Return the partitions of a graph on A, except for the named nodes."""
    graph = small_graph(text)
    for each in graph.op_nodes():
        each.assigned_device = devices.get(each.name, "A")
    return partition(graph, DEVICES, itertools.count())


def test_loop_on_one_device_has_no_shadow() -> None:
    """Only the inputs of the loop are transferred."""
    parts = place(LOOP, init="B")
    assert not any(each.name.startswith("_cloop") for each in parts["A"].op_nodes())
    assert sorted(each.op for each in parts["B"].op_nodes()) == ["TestSource", "_Send"]


def test_loop_across_devices_has_a_shadow_steered_by_the_predicate() -> None:
    """Every Recv of the frame waits for the shadow's Merge.

    A: merge -> switch -> [x] ... next <- [y]        B: [x] -> body -> [y]
    """
    parts = place(LOOP, body="B")
    shadow = {each.op: each for each in parts["B"].op_nodes() if each.name.startswith("_cloop")}
    assert set(shadow) == {"Enter", "Merge", "Switch", "NextIteration"}
    merge, switch = shadow["Merge"], shadow["Switch"]
    assert [edge.src for edge in merge.input_edges()] == [shadow["Enter"], shadow["NextIteration"]]
    assert shadow["NextIteration"].input_edge(0).src is switch
    assert shadow["NextIteration"].input_edge(0).src_output == 1
    assert switch.input_node(0) is merge
    pred = switch.input_node(1)
    assert (pred.op, pred.attrs["_src"]) == ("_HostRecv", b"cond")
    receivers = [each for each in parts["B"].op_nodes() if each.is_recv]
    assert {each.attrs["_src"] for each in receivers} == {b"cond", b"switch"}
    assert all(each.control_inputs() == [merge] for each in receivers)
    assert shadow["Enter"].input_node(0).op == "Const"
    assert shadow["Enter"].attrs["frame_name"] == b"loop"
    assert shadow["Enter"].attrs["parallel_iterations"] == 10


def test_frames_of_the_partitions_fit_together() -> None:
    """Each partition passes the executor's validation."""
    for parts in (place(LOOP, body="B"), place(NESTED, next2="B", switch2="B", merge2="B")):
        for part in parts.values():
            info = build_control_flow_info(part)
            for each in part.op_nodes():
                if each.is_recv and each.control_inputs():
                    assert info[each.id].frame_name != ""


def test_shadows_of_nested_loops_are_stacked() -> None:
    """The outer shadow's Merge feeds the inner shadow's Enter."""
    parts = place(NESTED + "extra = TestRelu(switch2:1)\n", extra="B")
    shadows = [each for each in parts["B"].op_nodes() if each.name.startswith("_cloop")]
    enters = {each.attrs["frame_name"]: each for each in shadows if each.is_enter}
    assert set(enters) == {b"inner", b"outer"}
    feeding = enters[b"inner"].input_node(0)
    assert feeding.is_merge
    assert feeding.input_edge(0).src is enters[b"outer"]


def test_loop_across_devices_needs_a_predicate() -> None:
    """Without a predicate the shadow loop cannot be controlled."""
    text = """
        init = TestSource
        pred = TestBool
        enter = Enter(init) T=float frame_name='loop'
        inside = Enter(pred) T=bool frame_name='loop' is_constant=True
        switch = Switch(enter, inside) T=float
        body = TestRelu(switch:1)
    """
    with pytest.raises(errors.InvalidArgumentError, match="must have a pivot predicate: loop"):
        place(text, body="B")


def test_control_flow_stands_beside_its_data() -> None:
    """Switch and Exit follow their input, Enter and NextIteration their first consumer."""
    parts = place(LOOP, switch="B", exit="B", enter="B", next="B", init="A")
    assert {"enter", "merge", "switch", "next", "exit"} <= set(names(parts["A"]))


# -- what is wrong ---------------------------------------------------------------------------------


def test_unknown_device_is_refused() -> None:
    """The error names the device and the existing ones."""
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"partition for X which doesn't exist in the list of available devices.*A,B,G",
    ):
        cut("a = TestSource @X")


@pytest.mark.parametrize("device", ["A", "B"])
def test_missing_input_is_refused(device: str) -> None:
    """The check applies with and without partitioning."""
    graph = small_graph("a = TestSource\nb = TestAdd(a, a)\nc = TestSource")
    for each in graph.op_nodes():
        each.assigned_device = "A"
    node(graph, "c").assigned_device = device
    graph.remove_edge(node(graph, "b").input_edge(1))
    with pytest.raises(
        errors.InvalidArgumentError, match="Incomplete graph, missing 1 inputs for b"
    ):
        partition(graph, DEVICES, itertools.count())


def test_partitions_carry_versions_and_the_functions_they_reach() -> None:
    """Functions of other partitions are omitted."""
    library = FunctionLibraryDefinition()
    library.add_function(text_format.Parse(TWICE, graph_pb2.FunctionDef()))
    text = "a = TestInt @A\nb = Twice(a) @A T=int32\nc = TestSource @B"
    parts = cut(text, library)
    assert parts["A"].library is not None
    assert parts["B"].library is not None
    assert (parts["A"].library.names(), parts["B"].library.names()) == (["Twice"], [])
    assert parts["A"].versions == parts["B"].versions
    assert isinstance(parts["B"].versions, VersionDef)


def test_incarnations_go_into_the_keys() -> None:
    """Incarnations distinguish a restarted device from the earlier one."""
    graph = small_graph("a = TestSource\nb = TestRelu(a)")
    node(graph, "a").assigned_device, node(graph, "b").assigned_device = "A", "B"
    parts = partition(graph, DEVICES, itertools.count(), {"A": 77})
    assert node(parts["B"], "a/_1").attrs["send_device_incarnation"] == 77
