"""Features that a kind of session lacks raise errors; a direct session has its devices at once."""

from __future__ import annotations

import pytest

from tfnb.common_runtime.session import session_factory
from tfnb.common_runtime.session.session import RuntimeSession
from tfnb.common_runtime.session.session_factory import SessionOptions
from tfnb.core import errors
from tfnb.proto import config_pb2


class Modest(RuntimeSession):
    """A session that can only count its runs."""

    def __init__(self) -> None:
        self.num_runs = 0

    def create(self, graph_def):
        """Do nothing."""

    def extend(self, graph_def):
        """Do nothing."""

    def run_plainly(self, feeds, fetches, targets):
        """Return the number of runs."""
        self.num_runs += 1
        return [self.num_runs]

    def list_devices(self):
        """Return none."""
        return []

    def close(self):
        """Do nothing."""


def test_a_session_without_options_runs_and_refuses_options():
    """The message is TensorFlow's."""
    session = Modest()
    assert session.run({}, ["a:0"], []) == [1]
    with pytest.raises(
        errors.UnimplementedError, match="Run with options is not supported for this session"
    ):
        session.run({}, ["a:0"], [], config_pb2.RunOptions())
    with pytest.raises(errors.UnimplementedError, match="Run with options"):
        session.run({}, ["a:0"], [], None, config_pb2.RunMetadata())
    assert session.num_runs == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.partial_run_setup([], ["a:0"], []), "Partial run is not supported"),
        (lambda s: s.partial_run("handle", {}, []), "Partial run is not supported"),
        (lambda s: s.make_callable(config_pb2.CallableOptions()), "Callables are not supported"),
        (lambda s: s.run_callable(0, []), "Callables are not supported"),
        (lambda s: s.release_callable(0), "Callables are not supported"),
        (lambda s: s.finalize(), "Finalize is not supported"),
        (lambda s: s.local_device_manager(), "LocalDeviceManager is not supported"),
    ],
)
def test_what_a_session_lacks_is_unimplemented(call, message):
    """The error applies to this kind of session only."""
    with pytest.raises(errors.UnimplementedError, match=f"{message} for this session"):
        call(Modest())


def test_a_direct_session_has_its_devices_before_a_graph():
    """LocalDeviceManager."""
    session = session_factory.new_session(
        SessionOptions("", config_pb2.ConfigProto(device_count={"CPU": 3}))
    )
    assert isinstance(session, RuntimeSession)
    manager = session.local_device_manager()
    assert [device.name[-5:] for device in manager.devices] == ["CPU:0", "CPU:1", "CPU:2"]
    assert manager.lookup("/device:CPU:1") is manager.devices[1]
    assert session.list_devices() == manager.list_attributes()
    session.close()
