"""What a master asks of a worker, in this process or in another one.

Corresponds to TensorFlow's ``worker_interface.h``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from tfnb.core.rendezvous import Member, type_of_callback, type_of_group_callback
    from tfnb.proto import config_pb2, device_attributes_pb2, graph_pb2, step_stats_pb2, worker_pb2

DESCRIPTION: Final = "runtime: tfnb"
"""What devices of tfnb's tasks say of themselves; a master then packs what travels between them."""


@dataclass(slots=True)
class RunGraphCall:
    """One run of a registered graph.

    Attributes:
      session_handle: the master's session.
      graph_handle: from ``register_graph``.
      step_id: the step, the same on all workers.
      send: values for the graph's Recvs from the client, by rendezvous key.
      recv_keys: the keys of its Sends to the client.
      unread: those among them whose tensors go on to other tasks; they may come unread.
      options: what is recorded.
      is_partial, is_last_partial_run: whether it is a part of a step, and the last part.
    """

    session_handle: str
    graph_handle: str
    step_id: int
    send: Mapping[str, Any] = field(default_factory=dict)
    recv_keys: Sequence[str] = ()
    unread: Container[str] = ()
    options: worker_pb2.ExecutorOpts | None = None
    is_partial: bool = False
    is_last_partial_run: bool = False


@dataclass(slots=True)
class RunGraphResult:
    """What came of it.

    Attributes:
      recv: values by key.
      step_stats, cost_graph, partition_graphs: what was recorded.
    """

    recv: dict[str, Any] = field(default_factory=dict)
    step_stats: step_stats_pb2.StepStats | None = None
    cost_graph: step_stats_pb2.CostGraphDef | None = None
    partition_graphs: list[graph_pb2.GraphDef] = field(default_factory=list)


class PendingRun(Protocol):
    """A run of a graph that was started."""

    def result(self) -> RunGraphResult:
        """Wait for the end of the run.

        Raises:
          OpError: what it failed with.
        """

    def cancel(self, error: BaseException) -> None:
        """Ask it to end with an error."""


class WorkerInterface(Protocol):
    """A worker; thread safe.

    Attributes:
      task: its name, ``/job:worker/replica:0/task:0``.
      is_local: whether it is in this process.
    """

    task: str
    is_local: bool

    def get_status(self, timeout_s: float | None) -> list[device_attributes_pb2.DeviceAttributes]:
        """Return the devices of the worker; wait for it as long as ``timeout_s``."""

    def create_worker_session(self, request: worker_pb2.CreateWorkerSessionRequest) -> None:
        """Open what the worker keeps of a session."""

    def delete_worker_session(self, session_handle: str) -> None:
        """Drop it, with its graphs."""

    def register_graph(
        self, session_handle: str, graph_def: graph_pb2.GraphDef, config: config_pb2.ConfigProto
    ) -> str:
        """Give the worker its nodes; return the handle of the graph."""

    def deregister_graph(self, session_handle: str, graph_handle: str) -> None:
        """Drop a graph."""

    def start_graph(
        self, call: RunGraphCall, failed: Callable[[BaseException], None], *, is_last: bool = False
    ) -> PendingRun:
        """Start a run; a local worker runs it in ``result``.

        Args:
          call: what to run.
          failed: called, in any thread, as soon as it is known that the run failed.
          is_last: whether no other run of the step starts later, so that ``result`` is asked for at
            once, and may be the first to know.
        """

    def cleanup_graph(self, step_id: int, *, is_urgent: bool = True) -> None:
        """Drop what is left of a step: at once, or while the next run goes on if all was taken."""

    def cleanup_all(self, containers: Sequence[str]) -> None:
        """Clear containers."""

    def logging(
        self, step_ids: Sequence[int], timeout_s: float | None
    ) -> list[worker_pb2.LabeledStepStats]:
        """Return what steps have done until now; see ``step_logs.py``."""

    def recv_tensor(self, step_id: int, key: str, callback: type_of_callback) -> Callable[[], None]:
        """Call ``callback`` with the tensor of a key; return a function that gives up waiting."""

    def complete_group(
        self, key: int, size: int, member: Member, callback: type_of_group_callback
    ) -> Callable[[], None]:
        """Name a member of a group of collective ops that this worker leads.

        ``callback`` gets all members once the group is complete. Returns a function that gives up
        waiting.
        """

    def get_step_sequence(self, graph_key: int) -> int:
        """Return the id of the next step of a graph with collective ops."""
