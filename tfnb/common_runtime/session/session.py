"""The interface of all kinds of sessions.

A kind of session implements the abstract methods and the others that it supports; the rest raise
UnimplementedError, as in TensorFlow's ``core/public/session.h``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.effects import PROCESS, EffectsPolicy, StepLimits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device.device import DeviceAttributes
    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.session.partial_run import PartialRunState
    from tfnb.core.plain_graph_def import type_of_graph_def
    from tfnb.proto import config_pb2


class RuntimeSession(ABC):
    """Runs the steps of a graph.

    Attributes:
      effects_policy: the effects allowed to nodes that came from a file.
      has_watched_nodes: whether the graph has nodes whose effects are checked.
      is_on_server: whether another process runs the steps.
    """

    effects_policy: EffectsPolicy = PROCESS
    has_watched_nodes = False
    is_on_server = False

    @abstractmethod
    def create(self, graph_def: type_of_graph_def) -> None:
        """Set the session's graph."""

    @abstractmethod
    def extend(self, graph_def: type_of_graph_def) -> None:
        """Add nodes to the graph."""

    def replace_graph(self, graph_def: type_of_graph_def) -> None:
        """Replace the session's graph.

        Raises:
          UnimplementedError: this kind of session cannot replace its graph.
        """
        raise errors.unimplemented("This session keeps its graph; open a new one.")

    @abstractmethod
    def run_plainly(
        self, feeds: Mapping[str, Any], fetches: Sequence[str], targets: Sequence[str]
    ) -> list[Any]:
        """Run one step without options."""

    def set_step_limits(self, limits: StepLimits) -> None:
        """Apply limits to all later steps.

        Raises:
          UnimplementedError: this kind of session has no limits.
        """
        raise errors.unimplemented("Limits of steps are not supported for this session.")

    @abstractmethod
    def list_devices(self) -> list[DeviceAttributes]:
        """Return the attributes of the session's devices."""

    @abstractmethod
    def close(self) -> None:
        """Close the session."""

    def run(
        self,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Run one step.

        Raises:
          UnimplementedError: options are given, and this kind of session takes none.
        """
        if run_options is not None or run_metadata is not None:
            raise errors.unimplemented("Run with options is not supported for this session.")
        return self.run_plainly(feeds, fetches, targets)

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        """Start a step that is fed and fetched piece by piece; return its handle."""
        raise errors.unimplemented("Partial run is not supported for this session.")

    def report_signatures(self) -> bool:
        """Tell observers of signatures that ran and were not reported; return whether any was."""
        return False

    def last_run(self) -> tuple[int, int]:
        """Return the id of the step that began last, and of its signature; 0 if unknown."""
        return (0, 0)

    def partial_run_states(self) -> list[PartialRunState]:
        """Return the progress of each partial run; empty where a session does not report it."""
        return []

    def partial_run(
        self, handle: str, feeds: Mapping[str, Any], fetches: Sequence[str]
    ) -> list[Any]:
        """Feed and fetch a part of a step."""
        raise errors.unimplemented("Partial run is not supported for this session.")

    def make_callable(self, options: config_pb2.CallableOptions) -> int:
        """Prepare a signature; return its handle."""
        raise errors.unimplemented("Callables are not supported for this session.")

    def run_callable(
        self,
        handle: int,
        feed_values: Sequence[Any],
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Run a callable."""
        raise errors.unimplemented("Callables are not supported for this session.")

    def release_callable(self, handle: int) -> None:
        """Release a callable."""
        raise errors.unimplemented("Callables are not supported for this session.")

    def finalize(self) -> None:
        """Reject new signatures from now on."""
        raise errors.unimplemented("Finalize is not supported for this session.")

    def local_device_manager(self) -> DeviceMgr:
        """Return the devices of a session in this process."""
        raise errors.unimplemented("LocalDeviceManager is not supported for this session.")
