"""Parts of a step are cut into stages where nothing but inputs decides when a node runs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.graph.small_graphs import small_graph
from tests.graph.test_graph_partition import DEVICES
from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.graph.graph_partition import partition
from tfnb.graph.staged_parts import RELAYED, fetch_at_sources, stages_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.graph.graph import Graph


def cut(text: str, counter: Iterator[int]) -> dict[str, Graph]:
    """Return the parts of a graph whose nodes are on the device after ``@``.

    A node v is a variable, and a node fetch sends its input to the client.
    """
    graph = small_graph(text)
    variable = graph.find_node("v")
    if variable is not None:
        shape = TensorShape([])
        graph.change_op(variable, "VariableV2", {"dtype": dtypes.float32, "shape": shape})
    fetch = graph.find_node("fetch")
    if fetch is not None:
        ends = dict.fromkeys(("send_device", "recv_device"), b"A")
        ends |= {"tensor_name": b"b:0", "send_device_incarnation": 1, "client_terminated": True}
        graph.change_op(fetch, "_Send", {"T": dtypes.float32, **ends})
    for each in graph.op_nodes():
        each.assigned_device = each.requested_device or "A"
    return partition(graph, DEVICES, counter)


def staged(
    text: str,
    *,
    may_relay: Callable[[str, str], bool] = lambda source, target: True,
    sizes: dict[str, int | None] | None = None,
) -> list[dict[str, Graph]] | None:
    """Return the stages of a graph, written as for :func:`cut`."""
    counter = itertools.count()
    parts = cut(text, counter)
    return stages_of(parts, may_relay, lambda name, output: (sizes or {}).get(name, 4), counter)


def nodes_of(stages: list[dict[str, Graph]] | None) -> list[dict[str, set[str]]]:
    """Return the names of the nodes of each stage, by device, without Sends and Recvs."""
    assert stages is not None
    return [
        {
            device: {node.name for node in graph.op_nodes() if not (node.is_send or node.is_recv)}
            for device, graph in graphs.items()
        }
        for graphs in stages
    ]


def transfers(stages: list[dict[str, Graph]] | None) -> list[tuple[int, int, bytes]]:
    """Return the stage in which a tensor is sent, that in which it is received, and its name."""
    assert stages is not None
    sent, received = [], []
    for number, graphs in enumerate(stages):
        for graph in graphs.values():
            for node in graph.op_nodes():
                if node.is_send or node.is_recv:
                    assert node.attrs[RELAYED]
                    assert node.attrs["client_terminated"]
                    found = sent if node.is_send else received
                    found.append((node.attrs["tensor_name"], number))
    by_name = dict(sent)
    assert len(by_name) == len(sent)
    return sorted((by_name[name], number, name) for name, number in received)


TRAINING = """
w = TestSource @A
x = TestSource @B
gradient = TestAdd(w, x) @B
step = TestRelu(gradient) @A
"""


def test_a_part_that_waits_for_another_goes_on_in_a_later_stage() -> None:
    """A node that may run early runs with its consumers: B has one stage."""
    stages = staged(TRAINING)

    assert nodes_of(stages) == [{"A": {"w"}}, {"B": {"x", "gradient"}}, {"A": {"step"}}]
    assert [found[:2] for found in transfers(stages)] == [(0, 1), (1, 2)]


def test_every_node_of_a_stage_is_connected_to_source_and_sink() -> None:
    """The stages are graphs that can run."""
    for graphs in staged(TRAINING) or ():
        for graph in graphs.values():
            assert all(node.in_edges and node.out_edges for node in graph.op_nodes())


def test_parts_that_do_not_wait_run_in_one_stage() -> None:
    """Both send to the third."""
    stages = staged(
        "a = TestSource @A\nb = TestSource @B\nx = TestAdd(a, b) @A\ny = TestRelu(a) @A"
    )

    assert nodes_of(stages) == [{"B": {"b"}}, {"A": {"a", "x", "y"}}]


def test_a_tensor_that_a_later_stage_needs_goes_there_by_the_master() -> None:
    """From A to A, and each stage gets it that needs it."""
    stages = staged(
        """
        a = TestSource @A
        b = TestRelu(a) @B
        c = TestAdd(a, b) @A
        """
    )

    assert nodes_of(stages) == [{"A": {"a"}}, {"B": {"b"}}, {"A": {"c"}}]
    assert [found[:2] for found in transfers(stages)] == [(0, 1), (0, 2), (1, 2)]


def test_a_variable_is_in_each_stage_that_uses_it() -> None:
    """A reference does not travel; the stage that writes comes after the one that reads."""
    stages = staged(
        """
        v = TestVariable @A
        read = Identity(v) @A T=float
        gradient = TestRelu(read) @B
        write = TestAssign(v, gradient) @A
        """
    )

    assert nodes_of(stages) == [{"A": {"v", "read"}}, {"B": {"gradient"}}, {"A": {"v", "write"}}]
    assert [found[:2] for found in transfers(stages)] == [(0, 1), (1, 2)]


def test_a_control_edge_to_a_later_stage_needs_no_edge() -> None:
    """Stages follow each other; between tasks an empty tensor stands for it."""
    stages = staged(
        """
        a = TestSource @A
        b = TestRelu(a) @B
        c = TestRelu(b, ^a) @A
        """
    )

    assert nodes_of(stages) == [{"A": {"a"}}, {"B": {"b"}}, {"A": {"c"}}]
    assert [found[:2] for found in transfers(stages)] == [(0, 1), (1, 2)]


def test_a_fetch_leaves_from_the_task_that_has_it() -> None:
    """The client gets it from there, whatever its size, and no stage passes it on."""
    stages = staged(
        "a = TestSource @A\nb = TestRelu(a) @B\nfetch = TestRelu(b) @A", sizes={"b": None}
    )

    assert stages is not None
    assert [set(graphs) for graphs in stages] == [{"A"}, {"B"}]
    fetch = stages[1]["B"].nodes_by_name["fetch"]
    assert fetch.assigned_device == "B"
    assert fetch.input_node(0).name == "b"


def test_a_fetch_leaves_from_its_task_where_parts_run_at_once() -> None:
    """It seems to be sent and received by the device that has it, and no part is left without."""
    parts = cut("a = TestSource @B\nfetch = TestRelu(a) @A", itertools.count())
    fetch_at_sources(parts, lambda source, target: (source, target) == ("B", "A"))

    assert set(parts) == {"B"}
    fetch = parts["B"].nodes_by_name["fetch"]
    assert fetch.assigned_device == "B"
    assert fetch.input_node(0).name == "a"
    assert (fetch.attrs["send_device"], fetch.attrs["recv_device"]) == (b"B", b"B")


def test_a_fetch_that_may_be_dead_or_may_not_move_stays() -> None:
    """The task that the client knows of tells that it is dead."""
    branch = "p = TestBool @B\na = TestSource @B\ns = Switch(a, p) @B T=float\n"
    parts = cut(f"{branch}fetch = TestRelu(s) @A", itertools.count())
    fetch_at_sources(parts, lambda source, target: True)
    assert "fetch" in parts["A"].nodes_by_name

    parts = cut("a = TestSource @B\nfetch = TestRelu(a) @A", itertools.count())
    fetch_at_sources(parts, lambda source, target: False)
    assert "fetch" in parts["A"].nodes_by_name


def test_parts_with_control_flow_run_at_once() -> None:
    """What may be dead is no tensor that a master could pass on."""
    branch = "p = TestBool @A\na = TestSource @A\ns = Switch(a, p) @A T=float\nx = TestRelu(s) @B"

    assert staged(branch) is None


def test_parts_with_effects_run_at_once() -> None:
    """They may wait for each other in ways that no edge tells."""
    assert staged("a = TestSource @A\ne = TestEffect(a) @A\nx = TestRelu(a, ^e) @B") is None


def test_large_tensors_and_those_of_unknown_size_go_from_task_to_task() -> None:
    """The master would have to copy them; one alone, or all together."""
    assert staged(TRAINING, sizes={"w": 1 << 21}) is None
    assert staged(TRAINING, sizes={"w": None}) is None
    many = "\n".join(f"a{n} = TestSource @A\nb{n} = TestRelu(a{n}) @B" for n in range(5))
    assert staged(many, sizes={f"a{n}": 1 << 20 for n in range(5)}) is None
    assert staged(many) is not None


def test_a_reference_that_another_op_made_keeps_the_parts_together() -> None:
    """The output of an assignment is the variable itself."""
    text = """
        v = TestVariable @A
        a = TestSource @A
        assigned = TestAssign(v, a) @A
        read = Identity(assigned) @A T=float
        b = TestRelu(read) @B
        again = TestAssign(assigned, b) @A
    """

    assert staged(text) is None


def test_a_long_chain_between_tasks_runs_at_once() -> None:
    """Tasks that wait for each other are faster then than a master that waits for each."""
    text = "n0 = TestSource @A\n" + "\n".join(
        f"n{i} = TestRelu(n{i - 1}) @{'AB'[i % 2]}" for i in range(1, 8)
    )

    assert staged(text) is None


def test_devices_whose_tensors_the_master_may_not_pass_on_keep_their_parts() -> None:
    """Tasks of TensorFlow, and devices of one task."""
    assert staged(TRAINING, may_relay=lambda source, target: False) is None


def test_a_graph_on_one_device_has_no_stages() -> None:
    """It is one part."""
    assert staged("a = TestSource @A\nb = TestRelu(a) @A") is None
