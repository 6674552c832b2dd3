"""The graph of a signature has the nodes that its fetches and targets need, cut at its feeds."""

from __future__ import annotations

import pytest

from tests.graph.small_graphs import LOOP, names, node, small_graph, small_graph_def, wiring
from tfnb.core import dtypes, errors
from tfnb.graph.graph import Graph
from tfnb.graph.graph_constructor import graph_from_graph_def
from tfnb.graph.subgraph import ClientDevice, RewrittenGraph, rewrite_graph_for_execution

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
CHAIN = "a = TestInput\nb = TestRelu(a)\nc = TestAdd(b, a:1)\nd = TestRelu(c)\ne = TestEffect(c)"


def rewrite(
    text: str,
    feeds: list[str],
    fetches: list[str],
    targets: list[str] | None = None,
    **options: object,
) -> RewrittenGraph:
    """The signature's graph of the graph that ``text`` describes."""
    return rewrite_graph_for_execution(
        small_graph(text),
        feeds,
        fetches,
        targets or [],
        CPU,
        **options,  # type: ignore[arg-type]
    )


def test_fetch_keeps_what_it_needs() -> None:
    r"""d and e are not needed for c.

    a -> b -> c -> d
     \\------>/ \\-> e
    """
    graph = rewrite(CHAIN, [], ["c:0"]).graph
    assert names(graph) == ["a", "b", "c", "_retval_c_0_0"]
    assert wiring(graph) == {"a:0 -> b:0", "b:0 -> c:0", "a:1 -> c:1", "c:0 -> _retval_c_0_0:0"}


def test_feed_cuts_the_graph() -> None:
    """Nodes before a fed tensor are not needed, except for other outputs of its node."""
    graph = rewrite(CHAIN, ["b"], ["c:0"]).graph
    assert names(graph) == ["_arg_b_0_0", "a", "c", "_retval_c_0_0"]
    assert "_arg_b_0_0:0 -> c:0" in wiring(graph)
    graph = rewrite(CHAIN, ["b:0", "a:1"], ["c"]).graph
    assert names(graph) == ["_arg_b_0_0", "_arg_a_1_1", "c", "_retval_c_0_0"]


def test_target_is_kept_without_a_retval() -> None:
    """It runs for its effect."""
    graph = rewrite(CHAIN, [], [], ["e"]).graph
    assert names(graph) == ["a", "b", "c", "e"]


def test_feed_and_fetch_nodes_belong_to_the_client_device() -> None:
    """Positions and dtypes are in their attributes; references are read."""
    rewritten = rewrite("v = TestVariable\nb = TestRelu(v)", ["v:0"], ["b"])
    arg, retval = node(rewritten.graph, "_arg_v_0_0"), node(rewritten.graph, "_retval_b_0_0")
    assert (arg.assigned_device, retval.assigned_device) == (CPU, CPU)
    assert (arg.attrs["T"], arg.attrs["index"]) == (dtypes.float32, 0)
    assert rewritten.feed_types == [dtypes.float32]
    assert rewritten.fetch_types == [dtypes.float32]
    fetched = rewrite("v = TestVariable", [], ["v"])
    assert fetched.fetch_types == [dtypes.float32]


def test_devices_of_single_feeds_and_fetches_may_differ() -> None:
    """An empty name means the client device."""
    graph = rewrite(
        CHAIN, ["a:0", "a:1"], ["c", "d"], feed_devices=["", "/gpu"], fetch_devices=["/gpu"]
    ).graph
    assert node(graph, "_arg_a_0_0").assigned_device == CPU
    assert node(graph, "_arg_a_1_1").assigned_device == "/gpu"
    assert node(graph, "_retval_c_0_0").assigned_device == "/gpu"
    assert node(graph, "_retval_d_0_1").assigned_device == CPU


def test_partial_run_sends_and_receives_by_name() -> None:
    """The nodes are on the client device and marked as terminated by the client."""
    graph = rewrite_graph_for_execution(
        small_graph(CHAIN), ["b:0"], ["c:0", "d:0"], [], ClientDevice(CPU, 7), False
    ).graph
    assert names(graph) == ["_recv_b_0", "a", "c", "d", "_send_c_0", "_send_d_0"]
    recv, send = node(graph, "_recv_b_0"), node(graph, "_send_c_0")
    assert (recv.op, recv.attrs["tensor_name"], recv.attrs["tensor_type"]) == (
        "_Recv", b"b:0", dtypes.float32,
    )  # fmt: skip
    assert (send.op, send.attrs["tensor_name"], send.attrs["T"]) == (
        "_Send", b"c:0", dtypes.float32,
    )  # fmt: skip
    for each in (recv, send):
        assert each.attrs["client_terminated"] is True
        assert each.attrs["send_device"] == each.attrs["recv_device"] == CPU.encode()
        assert each.attrs["send_device_incarnation"] == 7


def test_order_of_feeds_does_not_matter() -> None:
    """Only the positions in the names differ."""
    one = wiring(rewrite(CHAIN, ["b", "a:1"], ["c"]).graph)
    other = wiring(rewrite(CHAIN, ["a:1", "b"], ["c"]).graph)
    assert {edge.replace("_0_0", "_0_1").replace("_1_1", "_1_0") for edge in one} == {
        edge.replace("_retval_c_0_0", "_retval_c_0_1") for edge in other
    }


def test_one_tensor_may_be_fetched_twice() -> None:
    """Each fetch has a Retval; the node runs once."""
    graph = rewrite(CHAIN, [], ["c", "c:0"]).graph
    assert {"c:0 -> _retval_c_0_0:0", "c:0 -> _retval_c_0_1:0"} <= wiring(graph)


def test_control_edge_from_a_fed_node_still_runs_it() -> None:
    """The fed tensor does not replace the node's effect."""
    graph = rewrite("a = TestSource\nb = TestSource(^a)\nc = TestAdd(a, b)", ["a"], ["c"]).graph
    assert {"_arg_a_0_0:0 -> c:0", "^a -> b"} <= wiring(graph)


def test_control_edge_from_a_fed_placeholder_comes_from_the_feed() -> None:
    """The placeholder itself would fail."""
    text = "p = Placeholder dtype=float\nb = TestSource(^p)\nc = TestAdd(p, b)"
    graph = rewrite(text, ["p"], ["c"]).graph
    assert wiring(graph) == {
        "_arg_p_0_0:0 -> c:0", "^_arg_p_0_0 -> b", "b:0 -> c:1", "c:0 -> _retval_c_0_0:0",
    }  # fmt: skip


def test_feed_that_nothing_needs_has_no_node_but_a_type() -> None:
    """The run still checks the type of its value."""
    rewritten = rewrite(CHAIN, ["d", "b"], ["c"])
    assert names(rewritten.graph) == ["_arg_b_0_1", "a", "c", "_retval_c_0_0"]
    assert rewritten.feed_types == [dtypes.float32, dtypes.float32]


def test_loop_is_kept_whole() -> None:
    """The walk from the fetches follows back edges, too."""
    graph = rewrite(LOOP, ["init"], ["exit"]).graph
    assert set(names(graph)) == {
        "_arg_init_0_0", "enter", "merge", "less", "cond", "switch", "body", "next", "exit",
        "_retval_exit_0_0",
    }  # fmt: skip
    assert "next:0 -> merge:1" in wiring(graph)


def test_full_graph_is_only_read() -> None:
    """A second signature finds the graph unchanged."""
    full = small_graph(CHAIN)
    before = wiring(full), names(full)
    rewrite_graph_for_execution(full, ["b"], ["c"], ["e"], CPU)
    assert (wiring(full), names(full)) == before


def test_small_answer_to_a_large_graph_copies_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only needed nodes are copied."""
    text = "n0 = TestSource\n" + "\n".join(f"n{i} = TestRelu(n{i - 1})" for i in range(1, 500))
    full = small_graph(text)
    copied: list[str] = []
    copy_node = Graph.copy_node

    def counting(self: Graph, other: object, name: str | None = None) -> object:
        copied.append(other.name)  # type: ignore[attr-defined]
        return copy_node(self, other, name)  # type: ignore[arg-type]

    monkeypatch.setattr(Graph, "copy_node", counting)
    graph_from_graph_def(small_graph_def("more = TestRelu(n499)"), base=full)
    rewrite_graph_for_execution(full, ["n499"], ["more"], [], CPU)
    assert copied == ["more"]


@pytest.mark.parametrize(
    ("feeds", "fetches", "targets", "error", "match"),
    [
        ([], [], [], errors.InvalidArgumentError, "Must specify at least one target to fetch"),
        (["a"], [], [], errors.InvalidArgumentError, "Must specify at least one target"),
        (["a", "a:0"], ["c"], [], errors.InvalidArgumentError, '"a:0" fed more than once'),
        (["a"], ["a:0"], [], errors.InvalidArgumentError, "a:0 is both fed and fetched"),
        (["x:0"], ["c"], [], errors.NotFoundError, "FeedInputs: unable to find feed output x:0"),
        (["a:2"], ["c"], [], errors.InvalidArgumentError, "a:2 should have output index < 2"),
        ([], ["x:0"], [], errors.NotFoundError, "FetchOutputs node x:0: not found"),
        ([], ["e:0"], [], errors.InvalidArgumentError, "'e:0', which produces no output"),
        ([], ["c:1"], [], errors.InvalidArgumentError, "c:1: output index too large, must be < 1"),
        ([], ["c"], ["x", "y"], errors.NotFoundError, "Some target nodes not found: x y"),
    ],
)
def test_bad_request_is_refused(
    feeds: list[str],
    fetches: list[str],
    targets: list[str],
    error: type[errors.OpError],
    match: str,
) -> None:
    """The messages are TensorFlow's."""
    with pytest.raises(error, match=match):
        rewrite(CHAIN, feeds, fetches, targets)


def test_fed_variable_cannot_be_assigned() -> None:
    """A feed is not a reference.

    v (fed) -> assign
    """
    text = "v = TestVariable\nx = TestSource\nassign = TestAssign(v, x)"
    with pytest.raises(
        errors.InvalidArgumentError,
        match="Input 0 of node assign was passed float from _arg_v_0_0:0 incompatible with expected"
        " float_ref",
    ):
        rewrite(text, ["v"], ["assign"])


# -- tensor connections ----------------------------------------------------------------------------


def test_connection_puts_one_tensor_in_place_of_another() -> None:
    """Consumers of b get d's first output instead; b is not needed."""
    text = "a = TestInput\nb = TestRelu(a)\nc = TestRelu(b)\nd = TestSource"
    graph = rewrite(text, [], ["c"], connections=[("d:0", "b:0")]).graph
    assert names(graph) == ["c", "d", "_identity_b_0", "_retval_c_0_0"]
    assert {"d:0 -> _identity_b_0:0", "_identity_b_0:0 -> c:0"} <= wiring(graph)


def test_connections_chain() -> None:
    """A tensor that replaces another may itself be replaced."""
    text = "a = TestSource\nb = TestSource\nc = TestSource\nd = TestRelu(a)"
    graph = rewrite(text, [], ["d"], connections=[("b", "a"), ("c", "b")]).graph
    assert wiring(graph) >= {
        "c:0 -> _identity_b_0:0", "_identity_b_0:0 -> _identity_a_0:0", "_identity_a_0:0 -> d:0",
    }  # fmt: skip


def test_one_tensor_may_take_two_places() -> None:
    """Each place has its own Identity."""
    text = "a = TestInput\nb = TestSource\nc = TestAdd(a, a:1)"
    graph = rewrite(text, [], ["c"], connections=[("b", "a:0"), ("b", "a:1")]).graph
    assert {"b:0 -> _identity_a_0:0", "b:0 -> _identity_a_1:0"} <= wiring(graph)


@pytest.mark.parametrize(
    ("feeds", "connections", "match"),
    [
        ([], [("c:0", "a:0")], "would create a cycle"),
        ([], [("x:0", "a:0")], "from unknown node"),
        ([], [("b:3", "a:0")], "from unknown edge"),
        (["b"], [("a:0", "b:0")], "fed more than once"),
    ],
)
def test_bad_connection_is_refused(
    feeds: list[str], connections: list[tuple[str, str]], match: str
) -> None:
    """A cycle, an unknown tensor, and a second feed are refused."""
    with pytest.raises(errors.InvalidArgumentError, match=match):
        rewrite(CHAIN, feeds, ["d"], connections=connections)


def test_connection_to_an_unknown_tensor_is_refused() -> None:
    """The error is that of an unknown feed."""
    with pytest.raises(errors.NotFoundError, match="unable to find feed output x:0"):
        rewrite(CHAIN, [], ["d"], connections=[("a:0", "x:0")])
