"""Each node gets a device, or a message gives the reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.graph.small_graphs import node, small_graph, small_graph_def, vocabulary_of_tests
from tfnb.common_runtime.placement.placer import Placer
from tfnb.core import errors
from tfnb.graph.graph_constructor import graph_from_graph_def

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.graph.graph import Graph

PREFIX = "/job:localhost/replica:0/task:0/device:"


@dataclass
class FakeDevice:
    """A device that only has a name, a type and a priority."""

    name: str
    device_type: str
    priority: int


def device(short: str) -> FakeDevice:
    """``CPU:0`` as a device of the local process."""
    kind = short.split(":")[0]
    return FakeDevice(PREFIX + short, kind, {"CPU": 70, "GPU": 210}[kind])


BOTH = [device("CPU:0"), device("CPU:1"), device("GPU:0"), device("GPU:1")]
CPUS = BOTH[:2]


@pytest.fixture(autouse=True)
def _test_ops() -> Iterator[None]:
    with vocabulary_of_tests():
        yield


def place(
    text: str, devices: list[FakeDevice] = BOTH, *, soft: bool = False, **options: object
) -> dict[str, str]:
    """Return node name -> short device, after placing the graph of ``text``."""
    graph = small_graph(text)
    Placer(graph, devices, allow_soft_placement=soft, **options).run()  # type: ignore[arg-type]
    return chosen(graph)


def chosen(graph: Graph) -> dict[str, str]:
    """Node name -> short device."""
    return {each.name: each.assigned_device.removeprefix(PREFIX) for each in graph.op_nodes()}


def refused(
    text: str,
    match: str,
    error: type[errors.OpError] = errors.InvalidArgumentError,
    devices: list[FakeDevice] = BOTH,
    *,
    soft: bool = False,
) -> str:
    """Check that placement fails with ``match``; return the whole message."""
    with pytest.raises(error, match=match) as caught:
        place(text, devices, soft=soft)
    return caught.value.message


# -- nodes by themselves ---------------------------------------------------------------------------


def test_free_node_goes_to_the_best_type_that_has_a_kernel() -> None:
    """GPU is preferred to CPU, and the first device of each type."""
    assert place("a = TestInput\nb = TestReluCPU(a)\nc = TestReluGPU(a)\nd = TestAdd(a, a:1)") == {
        "a": "GPU:0", "b": "CPU:0", "c": "GPU:0", "d": "GPU:0",
    }  # fmt: skip


def test_without_gpu_everything_is_on_the_first_cpu() -> None:
    """Without a GPU all nodes are on CPU:0."""
    assert place("a = TestInput\nb = TestAdd(a, a:1)", CPUS) == {"a": "CPU:0", "b": "CPU:0"}


def test_default_device_is_preferred_where_it_will_do() -> None:
    """The nodes of a function prefer the caller's device."""
    graph = small_graph("a = TestInput\nb = TestReluGPU(a)")
    Placer(graph, BOTH, BOTH[1]).run()
    assert chosen(graph) == {"a": "CPU:1", "b": "GPU:0"}


@pytest.mark.parametrize(
    ("asked", "device"),
    [
        ("/cpu:1", "CPU:1"),
        ("/device:CPU:*", "CPU:0"),
        ("/gpu:1", "GPU:1"),
        ("/job:localhost", "GPU:0"),
        ("/job:localhost/replica:0/task:0/device:CPU:1", "CPU:1"),
    ],
)
def test_requested_device_is_respected(asked: str, device: str) -> None:
    """The request may be partial."""
    assert place(f"a = TestInput @{asked}")["a"] == device


def test_values_a_gpu_cannot_hold_stay_on_the_cpu() -> None:
    """Strings stay on the CPU, unless an op only passes them through."""
    found = place("a = TestText\nc = Identity(a) @/gpu:0 T=string\nd = Identity(a) T=string")
    assert found == {"a": "CPU:0", "c": "GPU:0", "d": "GPU:0"}


def test_assigned_node_is_left_alone() -> None:
    """The assigned device is kept, even if the placer would choose another."""
    graph = small_graph("a = TestInput @/gpu:0\nb = TestRelu(a)")
    node(graph, "a").assigned_device = PREFIX + "CPU:1"
    placer = Placer(graph, BOTH)
    placer.run()
    assert chosen(graph) == {"a": "CPU:1", "b": "GPU:0"}
    assert placer.reasons["a"].why == "was placed before"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        # For a node alone, a kernel's priority beats the device's; a request beats both.
        ("c = TestLikesCPU(a)", "CPU:0"),
        ("c = TestLikesGPU(a)", "GPU:0"),
        ("c = TestLikesCPU(a) @/gpu:1", "GPU:1"),
        ("c = TestLikesCPU(a) @/job:localhost", "CPU:0"),
        # In a group the member with a preference decides.
        ("c = TestVariable\nd = TestAssignLikesCPU(c, a)", "CPU:0"),
        ("c = TestVariableLikesCPU\nd = TestAssign(c, a)", "CPU:0"),
        ("c = TestVariableLikesCPU\nd = TestAssignLikesCPU(c, a)", "CPU:0"),
        ("c = TestRelu(a)\nd = TestLikesCPU(a) _class=['loc:@c']", "CPU:0"),
        # If two preferences differ, the devices' priority decides.
        ("c = TestVariableLikesCPU\nd = TestAssignLikesGPU(c, a)", "GPU:0"),
        # Preferences for devices that the group cannot use are ignored.
        ("c = TestVariableGPU\nd = TestAssignLikesCPU(c, a)", "GPU:0"),
    ],
)
def test_kernels_priority_beats_the_devices(text: str, places: str) -> None:
    """Otherwise the GPU would be chosen."""
    found = place(f"a = TestInput\n{text}")
    assert found["c"] == places
    assert found.get("d", places) == places


def test_kernels_priority_beats_the_callers_device() -> None:
    """Nodes of a function follow the priority, too; the reason says so."""
    graph = small_graph("a = TestInput\nb = TestLikesGPU(a)")
    placer = Placer(graph, BOTH, BOTH[1])
    placer.run()
    assert chosen(graph) == {"a": "CPU:1", "b": "GPU:0"}
    assert placer.reasons["a"].why == "prefers the device of its caller"
    assert placer.reasons["b"].why == "prefers its kernel for GPU"
    assert placer.reasons["b"].allowed == ("GPU", "CPU")


# -- what cannot be --------------------------------------------------------------------------------


def test_missing_device_is_named_with_those_there_are() -> None:
    """The error names the node and the existing devices."""
    message = refused(
        "a = TestInput @/cpu:7",
        r"Cannot assign a device for operation a: {{node a}} was explicitly assigned to /cpu:7 but "
        r"available devices are \[ .*CPU:0, .*GPU:1 \]. Make sure the device specification refers",
    )
    assert "CUDA" not in message


def test_missing_gpu_gets_a_hint() -> None:
    """The hint is about the installation."""
    refused("a = TestInput @/gpu:0", "appears to be a GPU, but CUDA is not enabled", devices=CPUS)


def test_soft_placement_finds_another_device() -> None:
    """A device of the same type is preferred, else any type with a kernel is used."""
    assert place("a = TestInput @/cpu:7", soft=True)["a"] == "CPU:0"
    assert place("a = TestInput @/gpu:7", soft=True)["a"] == "GPU:0"
    assert place("a = TestInput @/gpu:0", CPUS, soft=True)["a"] == "CPU:0"
    assert place("a = TestSource\nb = TestReluCPU(a) @/gpu:0", soft=True)["b"] == "CPU:0"


@pytest.mark.parametrize("soft", [False, True])
def test_soft_placement_does_not_relax_the_job(soft: bool) -> None:
    """A job means another process, which soft placement does not replace."""
    refused("a = TestInput @/job:ps/cpu:0", "was explicitly assigned to /job:ps/cpu:0", soft=soft)


def test_device_without_a_kernel_is_refused() -> None:
    """The error lists the existing kernels."""
    message = refused(
        "a = TestSource\nb = TestReluCPU(a) @/gpu:0",
        "Could not satisfy explicit device specification '/gpu:0' because no supported kernel for "
        "GPU devices is available",
    )
    assert "device='CPU'" in message
    assert "TestReluCPU: CPU" in message


def test_op_without_a_kernel_is_refused() -> None:
    """The op is refused on every device."""
    message = refused(
        "a = TestSource\nb = TestNoKernel(a)",
        "No OpKernel was registered to support Op 'TestNoKernel' used by {{node b}}",
    )
    assert "<no registered kernels>" in message


def test_op_without_a_kernel_for_the_devices_here_is_refused() -> None:
    """The error lists the kernels."""
    message = refused(
        "a = TestSource\nb = TestReluGPU(a)",
        "No OpKernel was registered to support Op 'TestReluGPU'",
        devices=CPUS,
    )
    assert "Registered devices: [CPU]" in message
    assert "device='GPU'" in message


def test_malformed_device_is_refused() -> None:
    """The runtime parses device names again."""
    refused("a = TestInput @/foo:bar", "Malformed device specification '/foo:bar'")


def test_no_devices_is_a_failed_precondition() -> None:
    """A session without devices cannot place a node."""
    refused("a = TestInput", "No devices are registered", errors.FailedPreconditionError, [])


@pytest.mark.parametrize(
    ("assigned", "match"),
    [
        ("/job:nowhere", "Assigned device '/job:nowhere' does not match any device"),
        (PREFIX + "CPU:9", "does not match any device"),
        ("/hello", "Malformed assigned device '/hello'"),
        (PREFIX + "GPU:0", "does not have registered OpKernel support for TestSourceCPU"),
    ],
)
def test_bad_assigned_device_is_an_internal_error(assigned: str, match: str) -> None:
    """Only the runtime assigns devices."""
    graph = small_graph("a = TestSourceCPU")
    node(graph, "a").assigned_device = assigned
    with pytest.raises(errors.InternalError, match=match):
        Placer(graph, BOTH).run()


def test_failed_placement_leaves_no_device_behind() -> None:
    """A second attempt gives the same error."""
    graph = small_graph("a = TestAdd(b, c)\nb = TestSource\nc = TestSource @/cpu:7")
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="assign a device for operation c"):
            Placer(graph, BOTH, allow_soft_placement=False).run()
        assert set(chosen(graph).values()) == {""}


# -- beside others ---------------------------------------------------------------------------------


def test_generator_follows_its_consumers() -> None:
    """A source with one output is placed with its consumers, if they are on one device.

    a -> b (CPU only)
    """
    assert place("a = TestSource\nb = TestReluCPU(a)\nc = TestReluCPU(a)")["a"] == "CPU:0"


def test_generator_does_not_follow_consumers_that_are_apart() -> None:
    """The source is then placed freely."""
    assert place("a = TestSource\nb = TestReluCPU(a)\nc = TestReluGPU(a)")["a"] == "GPU:0"
    found = place("a = TestSource\nb = TestRelu(a) @/gpu:0\nc = TestRelu(a) @/gpu:1")
    assert found["a"] == "GPU:0"


def test_generator_with_an_explicit_device_does_not_follow() -> None:
    """Sources without a kernel there, or with two outputs, are placed freely as well."""
    assert place("a = TestSource @/gpu:0\nb = TestReluCPU(a)")["a"] == "GPU:0"
    assert place("a = TestSourceCPU\nb = TestReluGPU(a)")["a"] == "CPU:0"
    assert place("a = TestInput\nb = TestReluCPU(a)")["a"] == "GPU:0"


def test_metadata_stays_with_its_input() -> None:
    """An op that reads only the shape runs on the tensor's device."""
    found = place("a = TestInput\nb = TestReluCPU(a)\ns = Shape(b) T=float\nt = Shape(a) T=float")
    assert (found["s"], found["t"]) == ("CPU:0", "GPU:0")


# -- references and handles ------------------------------------------------------------------------


def test_reference_edge_keeps_both_ends_together() -> None:
    """The assign follows the variable, and the variable the assign."""
    found = place("v = TestVariable\nx = TestInput\na = TestAssignCPU(v, x)")
    assert (found["v"], found["a"], found["x"]) == ("CPU:0", "CPU:0", "GPU:0")
    found = place("v = TestVariableCPU\nx = TestInput\na = TestAssign(v, x)\nb = TestAssign(a, x)")
    assert (found["a"], found["b"]) == ("CPU:0", "CPU:0")


def test_device_of_an_assign_yields_to_the_variables() -> None:
    """A device scope around the assign is ignored."""
    text = "v = TestVariable @/cpu:1\nx = TestInput\na = TestAssign(v, x) @/gpu:0"
    for soft in (False, True):
        assert place(text, soft=soft)["a"] == "CPU:1"


def test_reading_a_reference_does_not_colocate() -> None:
    """Reading a reference copies the value, so the reader may be anywhere."""
    assert place("v = TestVariableCPU\nr = TestRelu(v)")["r"] == "GPU:0"


def test_resource_handle_keeps_both_ends_together() -> None:
    """An op with a handle runs on the device of the resource."""
    found = place("h = TestHandle @/cpu:1\nr = TestRead(h) @/gpu:0\ns = TestRead(h)")
    assert (found["r"], found["s"]) == ("CPU:1", "CPU:1")


def test_two_handles_on_two_devices_cannot_meet() -> None:
    """Soft placement does not move variables."""
    text = "g = TestHandle @/cpu:0\nh = TestHandle @/gpu:0\nt = TestTwoHandles(g, h)"
    for soft in (False, True):
        refused(
            text,
            "a reference or resource edge connects colocation groups with incompatible resource "
            "devices: /device:CPU:0 vs /device:GPU:0|incompatible resource devices: .*GPU.* vs ",
            soft=soft,
        )


def test_two_assigned_handles_on_two_devices_cannot_meet() -> None:
    """Assigned devices are kept, so the op is refused."""
    graph = small_graph("g = TestHandle\nh = TestHandle\nt = TestTwoHandles(g, h)")
    node(graph, "g").assigned_device = PREFIX + "CPU:0"
    node(graph, "h").assigned_device = PREFIX + "GPU:0"
    with pytest.raises(errors.InvalidArgumentError, match="with incompatible assigned devices"):
        Placer(graph, BOTH).run()


def test_ends_of_a_reference_edge_without_a_common_type_are_refused() -> None:
    """The error names both nodes, with the device types of their group."""
    message = refused(
        "v = TestVariableGPU\nx = TestInput\na = TestAssignCPU(v, x)",
        "Cannot colocate nodes {{colocation_node v}} and {{colocation_node a}} because no device "
        "type supports both of those nodes and the other nodes colocated with them",
    )
    assert "TestVariableGPU: GPU" in message
    assert "TestAssignCPU: CPU" in message
    assert "requiring them to be on the same device" in message


# -- colocation by name ----------------------------------------------------------------------------


def test_colocated_nodes_share_a_device() -> None:
    """The request of either node applies, in any order."""
    found = place("a = TestInput\nb = TestReluCPU(a)\nc = TestRelu(a) _class=['loc:@b']")
    assert found["c"] == "CPU:0"
    found = place("c = TestRelu(a) _class=['loc:@b']\na = TestInput\nb = TestReluCPU(a)")
    assert found["c"] == "CPU:0"


def test_colocation_is_transitive() -> None:
    """Chains, several names in one node, and unknown names are covered.

    d -> c -> b -> a (CPU only)
    """
    found = place(
        """
        i = TestInput
        a = TestReluCPU(i)
        b = TestRelu(i) _class=['loc:@a']
        c = TestRelu(i) _class=['loc:@b']
        d = TestRelu(i) _class=['loc:@c','loc:@nobody']
        e = TestRelu(i) _class=['loc:@nobody']
        f = TestRelu(i) _class=['other']
        """
    )
    assert [found[name] for name in "abcdef"] == ["CPU:0"] * 5 + ["GPU:0"]


def test_colocation_takes_the_others_request() -> None:
    """Partial requests are merged."""
    found = place("a = TestSource @/device:CPU:*\nb = TestSource @/device:CPU:1 _class=['loc:@a']")
    assert found == {"a": "CPU:1", "b": "CPU:1"}


def test_colocated_requests_that_clash_are_refused() -> None:
    """Hard placement refuses contradictory requests."""
    refused(
        "a = TestSource @/cpu:0\nb = TestSource @/gpu:0 _class=['loc:@a']",
        "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge "
        "devices with incompatible types: '/device:(CPU|GPU):0' and '/device:(CPU|GPU):0'",
    )


def test_variables_devices_that_clash_are_refused_even_softly() -> None:
    """Soft placement may only drop the colocation, which is weaker than a variable's device."""
    text = "g = TestHandle @/cpu:0\nh = TestHandle @/gpu:0 _class=['loc:@g']"
    refused(text, "Cannot merge devices with incompatible types")
    assert place(text, soft=True) == {"g": "CPU:0", "h": "GPU:0"}


def test_impossible_colocation_is_dropped_softly_and_refused_hard() -> None:
    """A CPU-only node is colocated with a GPU-only node."""
    text = "i = TestInput\na = TestReluCPU(i)\nb = TestReluGPU(i) _class=['loc:@a']"
    refused(text, "no device type supports both of those nodes")
    assert place(text, soft=True) == {"i": "GPU:0", "a": "CPU:0", "b": "GPU:0"}


def test_group_pinned_where_a_member_cannot_run_is_refused() -> None:
    """The error names the failing node, which may differ from the one with the request."""
    message = refused(
        "i = TestInput\na = TestReluCPU(i)\nb = TestRelu(i) @/gpu:0 _class=['loc:@a']",
        "Could not satisfy explicit device specification '' because the node {{colocation_node a}}"
        " was colocated with a group of nodes that required incompatible device '/device:GPU:0'",
    )
    assert "TestReluCPU: CPU" in message
    assert "b (TestRelu) /gpu:0" in message


def test_assigned_member_draws_its_group() -> None:
    """The group is placed with the member that has a device."""
    graph = small_graph("v = TestVariable\nx = TestInput\na = TestAssign(v, x)")
    node(graph, "v").assigned_device = PREFIX + "GPU:1"
    Placer(graph, BOTH).run()
    assert chosen(graph)["a"] == "GPU:1"


# -- as the graph grows ----------------------------------------------------------------------------


def extend(graph: Graph, text: str) -> int:
    """Add nodes; return the id of the first."""
    first = graph.num_node_ids
    graph_from_graph_def(small_graph_def(text), base=graph)
    return first


def test_new_nodes_are_placed_beside_old_ones() -> None:
    """A colocation group includes nodes that are already placed."""
    graph = small_graph("v = TestVariable @/cpu:1\nx = TestInput")
    placer = Placer(graph, BOTH)
    placer.run()
    placer.run(extend(graph, "a = TestAssign(v, x)\nb = TestRelu(x) _class=['loc:@v']"))
    assert chosen(graph) == {"v": "CPU:1", "x": "GPU:0", "a": "CPU:1", "b": "CPU:1"}


def test_placing_new_nodes_does_not_move_old_ones() -> None:
    """A source stays, although its first consumer comes later."""
    graph = small_graph("a = TestSource")
    placer = Placer(graph, BOTH)
    placer.run()
    placer.run(extend(graph, "b = TestReluCPU(a)"))
    assert chosen(graph) == {"a": "GPU:0", "b": "CPU:0"}


def test_old_stateless_nodes_move_where_new_ones_leave_no_choice() -> None:
    """Stateless nodes are placed as if all had come at once; stateful ones stay."""
    graph = small_graph("a = TestInput\nb = TestRelu(a)\nv = TestVariable")
    placer = Placer(graph, BOTH, allow_soft_placement=False)
    placer.run()
    assert chosen(graph)["b"] == "GPU:0"
    placer.run(extend(graph, "c = TestReluCPU(a) _class=['loc:@b']"))
    assert chosen(graph) == {"a": "GPU:0", "b": "CPU:0", "v": "GPU:0", "c": "CPU:0"}


def test_failed_extension_leaves_old_placements_as_they_were() -> None:
    """A new node that fits nowhere is refused."""
    graph = small_graph("a = TestInput\nv = TestVariable @/cpu:0")
    placer = Placer(graph, BOTH, allow_soft_placement=False)
    placer.run()
    before = chosen(graph)
    first = extend(graph, "b = TestRelu(a) @/cpu:9")
    with pytest.raises(errors.InvalidArgumentError, match="explicitly assigned to /cpu:9"):
        placer.run(first)
    assert chosen(graph) == {**before, "b": ""}


# -- reasons ---------------------------------------------------------------------------------------


def test_every_decision_has_its_reason() -> None:
    """The reason has the requests and the possible devices."""
    graph = small_graph(
        """
        free = TestInput
        only = TestReluCPU(free)
        asked = TestRelu(free) @/cpu:1
        soft = TestRelu(free) @/cpu:9
        source = TestSource
        user = TestReluCPU(source)
        shape = Shape(only) T=float
        var = TestVariable @/cpu:0
        assign = TestAssign(var, free) @/gpu:0
        beside = TestRelu(free) _class=['loc:@only']
        """
    )
    placer = Placer(graph, BOTH)
    placer.run()
    assert {name: reason.why for name, reason in placer.reasons.items()} == {
        "free": "prefers the first device of the best type",
        "only": "others ask to be with it",
        "asked": "was asked to be on '/cpu:1'",
        "soft": "can run there and soft placement is on ('/cpu:9' is not available)",
        "source": "follows its consumer 'user'",
        "user": "has a kernel for CPU only",
        "shape": "stays with its input 'only'",
        "var": "was asked to be on '/cpu:0', and gives its reference or handle to 'assign'",
        "assign": "takes the reference or handle of 'var' ('/gpu:0' was asked for, which yields)",
        "beside": "asks to be with 'only'",
    }
    reason = placer.reasons["assign"]
    assert (reason.requested, reason.allowed) == ("/gpu:0", ("GPU", "CPU"))
    assert reason.chosen == PREFIX + "CPU:0"


@pytest.mark.parametrize(
    ("text", "devices", "name", "why"),
    [
        ("a = TestInput", CPUS[:1], "a", "has no other device"),
        ("a = TestSource\nb = TestReluCPU(a)\nc = TestReluGPU(a)", BOTH, "a",
         "prefers the first device of the best type"),
        ("a = TestSource @/gpu:0\nb = TestReluCPU(a)", BOTH, "a", "was asked to be on '/gpu:0'"),
        ("a = TestSource\nb = TestReluCPU(a)", BOTH, "a", "follows its consumer 'b'"),
        ("a = TestSource\nb = TestReluGPU(a)", BOTH, "a",
         "prefers the first device of the best type"),
        ("h = TestHandle @/cpu:1\nr = TestRead(h)", BOTH, "r",
         "takes the reference or handle of 'h'"),
        ("h = TestHandle @/cpu:1\nr = TestRead(h)", BOTH, "h",
         "was asked to be on '/cpu:1', and gives its reference or handle to 'r'"),
        ("h = TestHandle @/cpu:1\nr = TestRead(h) @/gpu:0", BOTH, "r",
         "takes the reference or handle of 'h' ('/gpu:0' was asked for, which yields)"),
        ("a = TestInput\nb = TestRelu(a) @/gpu:5", CPUS, "b",
         "can run there and soft placement is on ('/gpu:5' is not available)"),
        ("a = TestInput @/cpu:1\nb = Shape(a) T=float", BOTH, "b", "stays with its input 'a'"),
        ("a = TestInput @/cpu:1\nb = Shape(a) @/gpu:0 T=float", BOTH, "b",
         "was asked to be on '/gpu:0'"),
    ],
)  # fmt: skip
def test_reasons_of_each_rule(text: str, devices: list[FakeDevice], name: str, why: str) -> None:
    """The reason names the rule that decided."""
    placer = Placer(small_graph(text), devices)
    placer.run()
    assert placer.reasons[name].why == why


def test_placements_are_logged_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """One line per node, on stderr."""
    place("a = TestInput\nb = TestRelu(a)", CPUS, log_device_placement=True)
    assert capsys.readouterr().err == (
        f"a: (TestInput): {PREFIX}CPU:0\nb: (TestRelu): {PREFIX}CPU:0\n"
    )
    place("a = TestInput", CPUS)
    assert capsys.readouterr().err == ""
