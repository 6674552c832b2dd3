"""What every kind of session can be asked, whoever runs the steps.

A kind of session defines what is abstract here, and whatever else it supports; the rest answers as
TensorFlow's ``core/public/session.h`` does, with UnimplementedError.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.effects import PROCESS, EffectsPolicy, StepLimits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device import DeviceAttributes
    from tfnb.common_runtime.device_mgr import DeviceMgr
    from tfnb.common_runtime.partial_run import PartialRunState
    from tfnb.proto import config_pb2, graph_pb2


class Session(ABC):
    """A graph and whatever runs it.

    Attributes:
      effects_policy: what nodes that came from a file may do to the world.
      has_watched_nodes: whether the session was sent such nodes.
    """

    effects_policy: EffectsPolicy = PROCESS
    has_watched_nodes = False

    @abstractmethod
    def create(self, graph_def: graph_pb2.GraphDef) -> None:
        """Gives the session its graph."""

    @abstractmethod
    def extend(self, graph_def: graph_pb2.GraphDef) -> None:
        """Adds nodes to the graph."""

    def replace_graph(self, graph_def: graph_pb2.GraphDef) -> None:
        """Takes another graph in place of the one it has.

        Raises:
          UnimplementedError: this kind of session cannot.
        """
        raise errors.unimplemented("This session keeps its graph; open a new one.")

    @abstractmethod
    def run_plainly(
        self, feeds: Mapping[str, Any], fetches: Sequence[str], targets: Sequence[str]
    ) -> list[Any]:
        """Runs one step without options."""

    def set_step_limits(self, limits: StepLimits) -> None:
        """Holds steps to limits from now on.

        Raises:
          UnimplementedError: this kind of session cannot.
        """
        raise errors.unimplemented("Limits of steps are not supported for this session.")

    @abstractmethod
    def list_devices(self) -> list[DeviceAttributes]:
        """What users may know of the session's devices."""

    @abstractmethod
    def close(self) -> None:
        """Ends the session."""

    def run(
        self,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Runs one step.

        Raises:
          UnimplementedError: there are options, and this kind of session takes none.
        """
        if run_options is not None or run_metadata is not None:
            raise errors.unimplemented("Run with options is not supported for this session.")
        return self.run_plainly(feeds, fetches, targets)

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        """Starts a step that is fed and fetched piece by piece; returns its handle."""
        raise errors.unimplemented("Partial run is not supported for this session.")

    def partial_run_states(self) -> list[PartialRunState]:
        """How far each partial run is; none where this kind of session does not tell."""
        return []

    def partial_run(
        self, handle: str, feeds: Mapping[str, Any], fetches: Sequence[str]
    ) -> list[Any]:
        """Feeds and fetches a part of a step."""
        raise errors.unimplemented("Partial run is not supported for this session.")

    def make_callable(self, options: config_pb2.CallableOptions) -> int:
        """Prepares a signature under a handle."""
        raise errors.unimplemented("Callables are not supported for this session.")

    def run_callable(
        self,
        handle: int,
        feed_values: Sequence[Any],
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Runs a callable."""
        raise errors.unimplemented("Callables are not supported for this session.")

    def release_callable(self, handle: int) -> None:
        """Forgets a callable."""
        raise errors.unimplemented("Callables are not supported for this session.")

    def finalize(self) -> None:
        """Refuses new signatures from now on."""
        raise errors.unimplemented("Finalize is not supported for this session.")

    def local_device_manager(self) -> DeviceMgr:
        """The devices of a session in this process."""
        raise errors.unimplemented("LocalDeviceManager is not supported for this session.")
