"""Factories and configurations are accepted or refused before anything runs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.common_runtime.graph_defs import binary, const, node, placeholder, session
from tests.common_runtime.native_ops import registered
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.session import session_factory
from tfnb.common_runtime.session.session_factory import SessionOptions
from tfnb.core import dtypes, errors
from tfnb.core.tensor_shape import TensorShape
from tfnb.proto import config_pb2


class Factory:
    """Accepts one target and returns strings as sessions."""

    def __init__(self, target: str) -> None:
        self.target = target

    def accepts_options(self, options):
        """Return whether the target is accepted."""
        return options.target == self.target

    def new_session(self, options):
        """Return a string."""
        return f"session of {self.target}"

    def reset(self, options, containers):
        """Do nothing."""


@pytest.fixture
def factories():
    """Three factories, two of which accept the same target."""
    names = {"A": "a://", "B": "b://", "B2": "b://"}
    for name, target in names.items():
        session_factory.register(name, Factory(target))
    yield
    for name in names:
        session_factory.deregister(name)


@pytest.mark.usefixtures("factories")
def test_the_one_factory_that_accepts_makes_the_session():
    """The target selects the factory."""
    assert session_factory.new_session(SessionOptions("a://")) == "session of a://"


@pytest.mark.usefixtures("factories")
def test_no_factory_lists_those_there_are():
    """The message is TensorFlow's."""
    with pytest.raises(
        errors.NotFoundError,
        match=r"No session factory registered.*Registered factories are \{A, B, B2, DIRECT_SESSION",
    ):
        session_factory.new_session(SessionOptions("nowhere://"))


@pytest.mark.usefixtures("factories")
def test_two_factories_for_one_target_are_an_internal_error():
    """The error names both."""
    with pytest.raises(errors.InternalError, match=r"Multiple session factories.*\{B, B2\}"):
        session_factory.new_session(SessionOptions("b://"))


@pytest.mark.usefixtures("factories")
def test_a_second_factory_of_one_name_is_logged_and_ignored(caplog):
    """The first stays."""
    session_factory.register("A", Factory("other://"))
    assert "Two session factories are being registered under A" in caplog.text
    assert session_factory.new_session(SessionOptions("a://")) == "session of a://"


def test_a_name_and_version_belong_to_one_live_session():
    """They are free again after close; negative versions are refused."""
    config = config_pb2.ConfigProto()
    config.experimental.session_metadata.name = "name"
    config.experimental.session_metadata.version = 3
    first = session(const("c", 1.0), config=config)
    with pytest.raises(errors.InvalidArgumentError, match="same name and version"):
        session(const("c", 1.0), config=config)
    metadata = config_pb2.RunMetadata()
    first.run({}, ["c:0"], [], config_pb2.RunOptions(), metadata)
    assert (metadata.session_metadata.name, metadata.session_metadata.version) == ("name", 3)
    first.close()
    session(const("c", 1.0), config=config).close()
    config.experimental.session_metadata.version = -1
    with pytest.raises(errors.InvalidArgumentError, match="shouldn't be negative"):
        session(const("c", 1.0), config=config)


def test_a_global_pool_keeps_its_size():
    """A second declaration with the same size shares it, another size is refused."""
    config = config_pb2.ConfigProto()
    config.session_inter_op_thread_pool.add(global_name="shared-by-a-test", num_threads=2)
    session(const("c", 1.0), config=config)
    session(const("c", 1.0), config=config)
    config.session_inter_op_thread_pool[0].num_threads = 3
    with pytest.raises(errors.InvalidArgumentError, match="cannot re-configure with num_threads"):
        session(const("c", 1.0), config=config)


@pytest.mark.parametrize("index", [1, 5, -2])
def test_a_pool_that_was_not_declared_cannot_be_chosen(index):
    """-1 and 0 are always accepted."""
    native = session(const("c", 1.0))
    with pytest.raises(errors.InvalidArgumentError, match=f"Invalid inter_op_thread_pool: {index}"):
        native.run({}, ["c:0"], [], config_pb2.RunOptions(inter_op_thread_pool=index))
    for good in (-1, 0):
        options = config_pb2.RunOptions(inter_op_thread_pool=good)
        assert [np.float32(1)] == native.run({}, ["c:0"], [], options)


def single_threaded(**fields):
    """A configuration that asks for the single-threaded executor."""
    config = config_pb2.ConfigProto(**fields)
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    return config


def test_an_unknown_executor_lists_those_there_are():
    """executor_type in ConfigProto.experimental selects the executor."""
    config = config_pb2.ConfigProto()
    config.experimental.executor_type = "odd"
    with pytest.raises(
        errors.NotFoundError,
        match=r"No executor factory registered for the given executor type: odd .*"
        r"\{DEFAULT, SINGLE_THREADED_EXECUTOR\}",
    ):
        session(const("c", 1.0), config=config).run({}, ["c:0"], [])


def test_the_default_executor_has_a_name_too():
    """The default executor may be selected by name."""
    config = config_pb2.ConfigProto()
    config.experimental.executor_type = "DEFAULT"
    assert session(const("c", 1.0), config=config).run({}, ["c:0"], []) == [1.0]


@pytest.mark.parametrize(
    ("op", "fetch", "message"),
    [
        (("n", "Switch", "c", "p"), "n:1", "does not support switch op, but saw node n"),
        (("n", "Merge", "c", "c"), "n:0", "low level control flow, but saw control flow node n"),
        (("n", "Enter", "c"), "n:0", "low level control flow, but saw control flow node n"),
        (("n", "NextIteration", "c"), "n:0", "low level control flow"),
    ],
)
def test_the_single_threaded_executor_refuses_control_flow(op, fetch, message):
    """Other nodes run."""
    attrs = {"Merge": {"N": 2}, "Enter": {"frame_name": b"f"}}.get(op[1], {})
    native = session(
        const("c", 1.0),
        const("p", True, dtypes.bool),
        node(*op, T=dtypes.float32, **attrs),
        config=single_threaded(),
    )
    assert native.run({}, ["c:0"], []) == [1.0]
    with pytest.raises(errors.FailedPreconditionError, match=message):
        native.run({}, [fetch], [])


def test_the_single_threaded_executor_passes_no_references():
    """Reference variables are refused."""
    native = session(
        node("v", "VariableV2", dtype=dtypes.float32, shape=TensorShape([])),
        node("i", "Identity", "v", T=dtypes.float32),
        config=single_threaded(),
    )
    with pytest.raises(errors.UnimplementedError, match="float32_ref in outputs of node v"):
        native.run({}, ["i:0"], [])


def test_the_single_threaded_executor_runs_transfers_and_partial_runs():
    """Several devices and partial runs work."""
    native = session(
        placeholder("p"),
        binary("a", "Add", "p", "p", device="/cpu:0"),
        binary("b", "Mul", "a", "a", device="/cpu:1"),
        config=single_threaded(device_count={"CPU": 2}),
    )
    assert native.run({"p:0": np.float32(2)}, ["b:0"], []) == [16.0]
    handle = native.partial_run_setup(["p:0"], ["b:0"], [])
    assert native.partial_run(handle, {"p:0": np.float32(1)}, ["b:0"]) == [4.0]


def test_a_finalized_session_with_finalized_resources_makes_no_new_ones():
    """Existing resources stay usable."""

    def keep(ctx, *, key):
        return np.int32(ctx.resource_manager.lookup_or_create("", "Test", key, lambda: len(key)))

    config = config_pb2.ConfigProto()
    config.experimental.finalize_resource_manager = True
    with registered("TestKeep", "-> y: int32", keep, "key: string", stateful=True):
        native = session(
            node("old", "TestKeep", key=b"old"), node("new", "TestKeep", key=b"newer"),
            config=config,
        )  # fmt: skip
        callables = [
            native.make_callable(config_pb2.CallableOptions(fetch=[f"{name}:0"]))
            for name in ("old", "new")
        ]
        assert native.run_callable(callables[0], []) == [3]
        native.finalize()
        assert native.run_callable(callables[0], []) == [3]
        with pytest.raises(errors.FailedPreconditionError, match="ResourceMgr is finalized"):
            native.run_callable(callables[1], [])


@pytest.mark.parametrize(
    ("said", "waits"), [(None, True), ("1", True), ("false", False), ("0", False)]
)
def test_a_step_waits_for_devices_that_compute_on_their_own(monkeypatch, said, waits):
    """TF_SYNC_ON_FINISH turns this off; so does a callable with fetches on the device."""
    if said is None:
        monkeypatch.delenv("TF_SYNC_ON_FINISH", raising=False)
    else:
        monkeypatch.setenv("TF_SYNC_ON_FINISH", said)
    # A session reads this property once, when it opens.
    monkeypatch.setattr(CpuDevice, "is_asynchronous", True)
    native, synchronized = session(const("c", 1.0)), []
    device = native.device_mgr.host
    device.synchronize = lambda: synchronized.append(1)
    native.run({}, [], ["c"])
    assert bool(synchronized) == waits
    synchronized.clear()
    options = config_pb2.CallableOptions(fetch=["c:0"], fetch_skip_sync=True)
    options.fetch_devices["c:0"] = device.name
    native.run_callable(native.make_callable(options), [])
    assert synchronized == []


def test_a_session_may_ask_for_state_of_its_own():
    """isolate_session_state is accepted: direct sessions share no state."""
    nodes = (
        node("v", "VariableV2", dtype=dtypes.float32, shape=TensorShape([]), shared_name=b"s"),
        const("one", 1.0),
        node("set", "Assign", "v", "one", T=dtypes.float32),
    )
    first, second = (session(*nodes, isolate_session_state=value) for value in (True, False))
    first.run({}, [], ["set"])
    assert first.run({}, ["v:0"], []) == [1.0]
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value"):
        second.run({}, ["v:0"], [])


def test_partition_graphs_can_be_switched_off():
    """Requesting them then is an error."""
    config = config_pb2.ConfigProto()
    config.experimental.disable_output_partition_graphs = True
    native = session(const("c", 1.0), config=config)
    options = config_pb2.RunOptions(output_partition_graphs=True)
    with pytest.raises(
        errors.InvalidArgumentError, match="disable_output_partition_graphs is true"
    ):
        native.run({}, ["c:0"], [], options, config_pb2.RunMetadata())


def test_a_static_graph_cannot_be_extended():
    """optimize_for_static_graph forbids extensions."""
    config = config_pb2.ConfigProto()
    config.experimental.optimize_for_static_graph = True
    native = session(const("c", 1.0), config=config)
    from tests.common_runtime.graph_defs import graph_def

    with pytest.raises(errors.FailedPreconditionError, match="optimize_for_static_graph"):
        native.extend(graph_def(const("d", 1.0)))


def test_a_factory_that_was_deregistered_is_gone():
    """An unknown name is ignored."""
    session_factory.register("GOING", Factory("going://"))
    session_factory.deregister("GOING")
    session_factory.deregister("GOING")
    with pytest.raises(errors.NotFoundError, match="No session factory registered"):
        session_factory.new_session(SessionOptions("going://"))


def test_reset_clears_the_containers_it_names():
    """Other containers keep their contents."""
    native = session(const("c", 1.0))
    manager = native.device_mgr.host.resource_manager
    for container in ("", "kept", "cleared"):
        manager.create(container, "Test", "r", container)
    native.reset_containers(["cleared"])
    assert manager.names() == [("kept", "Test", "r"), ("localhost", "Test", "r")]
    native.reset_containers([])
    assert manager.names() == [("kept", "Test", "r")]
    native.close()


def test_reset_empties_containers_and_closes_every_session():
    """The next use raises an error that says that the session has been closed."""
    native = session(const("c", 1.0))
    session_factory.reset(SessionOptions(""), [])
    with pytest.raises(errors.CancelledError, match=r"Session has been closed\."):
        native.run({}, ["c:0"], [])
