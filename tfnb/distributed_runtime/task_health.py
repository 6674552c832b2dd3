"""Whether the tasks of clusters answer, and what they say of themselves.

A task is asked by GetStatus, with a deadline: keepalive pings would make a server of TensorFlow end
the connection.  Any server tells its devices and their memory.  A server of tfnb adds the memory of
its process, its sessions and its steps, in the description of its first device.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.host_memory import resident_bytes
from tfnb.core.process.package_version import __version__
from tfnb.distributed_runtime.grpc_channel import SCHEME, import_grpc, new_channel
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.proto import config_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.proto import device_attributes_pb2

_SERVICE = "/tensorflow.WorkerService/GetStatus"
# A task that has not answered after this time is one that does not answer; in seconds.
DEADLINE_S = 2.0
# How long after an answer a task is asked again.
_EVERY_S = 1.0
_MARK = "tfnb "


def health_text(devices: Iterable[Device], num_sessions: int, num_steps: int) -> str:
    """Return what a server says of itself, in one line."""
    held = sum(_held_bytes(device) for device in devices)
    return (
        f"{_MARK}{__version__}: {resident_bytes() / 1e6:.0f} MB resident, {held / 1e6:.1f} MB in "
        f"variables, {_count(num_sessions, 'session')}, {_count(num_steps, 'step')}"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _held_bytes(device: Device) -> int:
    manager = device.resource_manager
    values = (getattr(manager.find(*name), "value", None) for name in manager.names())
    return sum(int(getattr(value, "nbytes", 0)) for value in values)


def is_health_text(text: str) -> bool:
    """Return whether a description of a device is one of :func:`health_text`."""
    return text.startswith(_MARK)


def _reason(details: str) -> str:
    """Return the last reason of gRPC's account of a failed connection.

    >>> _reason("failed to connect to all addresses; last error: UNKNOWN: a:1: Connection refused")
    'Connection refused'
    """
    return details.splitlines()[0].rpartition(": ")[2]


@dataclass(frozen=True, slots=True)
class TaskHealth:
    """What is known of one task.

    Attributes:
      task: its name; its address until it has answered once.
      address: ``host:port``.
      state: "answers", "does not answer", or "asked" before the first answer.
      seconds: for how long it has been in this state.
      devices: name, type and memory limit of each device, of its last answer.
      about: what the server says of itself; "" for a server of TensorFlow.
      error: why it does not answer.
    """

    task: str
    address: str
    state: str
    seconds: float
    devices: tuple[tuple[str, str, int], ...] = ()
    about: str = ""
    error: str = ""

    @property
    def answers(self) -> bool:
        """Whether it answered last."""
        return self.state == "answers"


class _Heart:
    """The heartbeat of one task."""

    def __init__(self, task: str, address: str) -> None:
        self.task, self.address = task, address
        self.channel: Any = None
        self.future: Any = None
        self.state, self.since = "asked", monotonic()
        self.asked_at = self.answered_at = 0.0
        self.devices: Sequence[device_attributes_pb2.DeviceAttributes] = ()
        self.error = ""

    def ask(self) -> None:
        """Send GetStatus, unless a request is in flight or was answered a moment ago."""
        now = monotonic()
        if self.future is not None or now - self.answered_at < _EVERY_S:
            return
        if self.channel is None:
            scheme = "" if "://" in self.address else SCHEME
            self.channel = new_channel(scheme + self.address, config_pb2.RPCOptions())
        call = self.channel.unary_unary(_SERVICE)
        request = worker_pb2.GetStatusRequest().SerializeToString()
        self.future, self.asked_at = call.future(request, timeout=DEADLINE_S), now

    def read(self, timeout_s: float) -> None:
        """Take the answer, if it is there or comes in time."""
        if self.future is None:
            return
        grpc = import_grpc()
        try:
            answer = self.future.result(timeout=timeout_s)
        except grpc.FutureTimeoutError:
            return
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            self._turn("does not answer")
            details = getattr(error, "details", lambda: "")() or ""
            self.error = _reason(details) if details else type(error).__name__
        else:
            self._turn("answers")
            self.error = ""
            self.devices = worker_pb2.GetStatusResponse.FromString(answer).device_attributes
            if self.devices:
                self.task = task_of(self.devices[0].name)
        self.future, self.answered_at = None, monotonic()

    def _turn(self, state: str) -> None:
        if state != self.state:
            self.since = self.asked_at if state == "does not answer" else monotonic()
        self.state = state

    def health(self) -> TaskHealth:
        """Return what is known now."""
        about = self.devices[0].physical_device_desc if self.devices else ""
        return TaskHealth(
            self.task,
            self.address,
            self.state,
            monotonic() - self.since,
            tuple((one.name, one.device_type, one.memory_limit) for one in self.devices),
            about if is_health_text(about) and self.state == "answers" else "",
            self.error,
        )

    def close(self) -> None:
        """Close the connection."""
        if self.channel is not None:
            self.channel.close()


class ClusterHealth:
    """The heartbeats of tasks; thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hearts: dict[str, _Heart] = {}  # by address; guarded by self._lock

    def look(self, tasks: Mapping[str, str], timeout_s: float = 0.0) -> list[TaskHealth]:
        """Return what is known of tasks, and ask them again.

        Args:
          tasks: the name of each task by its address; "" where it is not known.
          timeout_s: how long to wait for answers, all together.

        Raises:
          UnimplementedError: gRPC is not installed.
        """
        with self._lock:
            for address in [one for one in self._hearts if one not in tasks]:
                self._hearts.pop(address).close()
            for address, task in tasks.items():
                heart = self._hearts.get(address)
                if heart is None:
                    heart = self._hearts[address] = _Heart(task or address, address)
                try:
                    heart.ask()
                except errors.InvalidArgumentError as error:
                    heart.state, heart.error = "does not answer", error.message
            end = monotonic() + timeout_s
            for heart in self._hearts.values():
                heart.read(max(0.0, end - monotonic()))
            return [self._hearts[address].health() for address in tasks]

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            hearts, self._hearts = list(self._hearts.values()), {}
        for heart in hearts:
            heart.close()
