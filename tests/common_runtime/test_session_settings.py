"""Factories and configurations are accepted or refused before anything runs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.common_runtime.graph_defs import const, node, session
from tfnb.common_runtime import session_factory
from tfnb.common_runtime.session_factory import SessionOptions
from tfnb.core import dtypes, errors
from tfnb.proto import config_pb2


class Factory:
    """Accepts one target and makes strings."""

    def __init__(self, target: str) -> None:
        self.target = target

    def accepts_options(self, options):
        """Whether it is our target."""
        return options.target == self.target

    def new_session(self, options):
        """Anything."""
        return f"session of {self.target}"

    def reset(self, options, containers):
        """Nothing to reset."""


@pytest.fixture
def registered():
    """Two factories, one of which shares a target with the third."""
    names = {"A": "a://", "B": "b://", "B2": "b://"}
    for name, target in names.items():
        session_factory.register(name, Factory(target))
    yield
    for name in names:
        session_factory.deregister(name)


@pytest.mark.usefixtures("registered")
def test_the_one_factory_that_accepts_makes_the_session():
    """By target."""
    assert session_factory.new_session(SessionOptions("a://")) == "session of a://"


@pytest.mark.usefixtures("registered")
def test_no_factory_lists_those_there_are():
    """TensorFlow's sentence."""
    with pytest.raises(
        errors.NotFoundError,
        match=r"No session factory registered.*Registered factories are \{A, B, B2, DIRECT_SESSION",
    ):
        session_factory.new_session(SessionOptions("nowhere://"))


@pytest.mark.usefixtures("registered")
def test_two_factories_for_one_target_are_an_internal_error():
    """Both are named."""
    with pytest.raises(errors.InternalError, match=r"Multiple session factories.*\{B, B2\}"):
        session_factory.new_session(SessionOptions("b://"))


@pytest.mark.usefixtures("registered")
def test_a_second_factory_of_one_name_is_logged_and_ignored(caplog):
    """The first stays."""
    session_factory.register("A", Factory("other://"))
    assert "Two session factories are being registered under A" in caplog.text
    assert session_factory.new_session(SessionOptions("a://")) == "session of a://"


def test_a_name_and_version_belong_to_one_live_session():
    """Free again after close; negative versions are refused."""
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
    """Declared again with the same size it is shared, with another it is refused."""
    config = config_pb2.ConfigProto()
    config.session_inter_op_thread_pool.add(global_name="shared-by-a-test", num_threads=2)
    session(const("c", 1.0), config=config)
    session(const("c", 1.0), config=config)
    config.session_inter_op_thread_pool[0].num_threads = 3
    with pytest.raises(errors.InvalidArgumentError, match="cannot re-configure with num_threads"):
        session(const("c", 1.0), config=config)


@pytest.mark.parametrize("index", [1, 5, -2])
def test_a_pool_that_was_not_declared_cannot_be_chosen(index):
    """-1 and 0 always can."""
    native = session(const("c", 1.0))
    with pytest.raises(errors.InvalidArgumentError, match=f"Invalid inter_op_thread_pool: {index}"):
        native.run({}, ["c:0"], [], config_pb2.RunOptions(inter_op_thread_pool=index))
    for good in (-1, 0):
        options = config_pb2.RunOptions(inter_op_thread_pool=good)
        assert [np.float32(1)] == native.run({}, ["c:0"], [], options)


def test_an_unknown_executor_lists_those_there_are():
    """executor_type in ConfigProto.experimental."""
    config = config_pb2.ConfigProto()
    config.experimental.executor_type = "odd"
    with pytest.raises(errors.NotFoundError, match=r"No executor factory registered .*odd"):
        session(const("c", 1.0), config=config).run({}, ["c:0"], [])


def test_the_single_threaded_executor_refuses_control_flow():
    """It runs everything else."""
    config = config_pb2.ConfigProto()
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    native = session(
        const("c", 1.0),
        const("p", True, dtypes.bool),
        node("s", "Switch", "c", "p", T=dtypes.float32),
        config=config,
    )
    assert [np.float32(1)] == native.run({}, ["c:0"], [])
    with pytest.raises(errors.FailedPreconditionError, match="does not support switch op"):
        native.run({}, ["s:1"], [])


def test_partition_graphs_can_be_switched_off():
    """Asking for them then is an error."""
    config = config_pb2.ConfigProto()
    config.experimental.disable_output_partition_graphs = True
    native = session(const("c", 1.0), config=config)
    options = config_pb2.RunOptions(output_partition_graphs=True)
    with pytest.raises(
        errors.InvalidArgumentError, match="disable_output_partition_graphs is true"
    ):
        native.run({}, ["c:0"], [], options, config_pb2.RunMetadata())


def test_a_static_graph_cannot_be_extended():
    """optimize_for_static_graph."""
    config = config_pb2.ConfigProto()
    config.experimental.optimize_for_static_graph = True
    native = session(const("c", 1.0), config=config)
    from tests.common_runtime.graph_defs import graph_def

    with pytest.raises(errors.FailedPreconditionError, match="optimize_for_static_graph"):
        native.extend(graph_def(const("d", 1.0)))


def test_reset_empties_containers_and_closes_every_session():
    """The next use says that the session has been closed."""
    native = session(const("c", 1.0))
    session_factory.reset(SessionOptions(""), [])
    with pytest.raises(errors.CancelledError, match=r"Session has been closed\."):
        native.run({}, ["c:0"], [])
