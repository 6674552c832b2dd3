"""A worker as masters see it: its sessions and their devices."""

from __future__ import annotations

import threading
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.device.device import Device
from tfnb.core.errors import AbortedError
from tfnb.core.rendezvous import create_key
from tfnb.distributed_runtime.grpc_remote_worker import LoneRun
from tfnb.distributed_runtime.worker import Worker
from tfnb.proto import worker_pb2

if TYPE_CHECKING:
    from tfnb.distributed_runtime.rendezvous_mgr import RendezvousMgr

TASK = "/job:worker/replica:0/task:0"


class Accelerator(Device):
    """A device of another type than CPU."""

    device_type = "GPU"


def _worker_with_accelerator() -> Worker:
    devices = [
        Accelerator(f"{TASK}/device:GPU:0", 0, np, 1 << 20),
        CpuDevice(f"{TASK}/device:CPU:0", 0),
    ]

    def no_other(task: str) -> Any:
        raise AssertionError(f"{task} was asked")

    return Worker(TASK, devices, no_other)


def _devices_of(worker: Worker, handle: str) -> tuple[Device, ...]:
    return worker._session(handle).devices.devices


def test_isolated_sessions_keep_their_own_variables_on_devices_of_any_type() -> None:
    """The devices of a session compute as those of the worker, whatever their type."""
    worker = _worker_with_accelerator()
    for handle in ("a", "b"):
        request = worker_pb2.CreateWorkerSessionRequest(
            session_handle=handle, isolate_session_state=True
        )
        worker.create_worker_session(request)

    for one, other, own in zip(
        _devices_of(worker, "a"), _devices_of(worker, "b"), worker.devices.devices
    ):
        assert (one.name, one.incarnation, type(one)) == (own.name, own.incarnation, type(own))
        managers = {id(each.resource_manager) for each in (one, other, own)}
        assert len(managers) == 3
    worker.close()


def test_the_end_of_an_isolated_session_leaves_the_workers_devices_open() -> None:
    """Only its own variables go."""
    closed: list[str] = []

    class Closing(Accelerator):
        def close(self) -> None:
            closed.append(self.name)

    worker = Worker(TASK, [Closing(f"{TASK}/device:GPU:0", 0, np, 1 << 20)], lambda task: worker)
    worker.create_worker_session(
        worker_pb2.CreateWorkerSessionRequest(session_handle="a", isolate_session_state=True)
    )
    worker.delete_worker_session("a")
    assert closed == []
    worker.close()
    assert closed == [f"{TASK}/device:GPU:0"]


def test_a_session_with_its_own_cluster_renames_the_devices_of_the_worker() -> None:
    """They keep their variables unless the session is isolated."""
    worker = _worker_with_accelerator()
    request = worker_pb2.CreateWorkerSessionRequest(session_handle="a")
    job = request.server_def.cluster.job.add(name="ps")
    job.tasks[4] = "localhost:1"
    request.server_def.job_name, request.server_def.task_index = "ps", 4
    worker.create_worker_session(request)

    found = _devices_of(worker, "a")
    assert [device.name for device in found] == [
        "/job:ps/replica:0/task:4/device:GPU:0",
        "/job:ps/replica:0/task:4/device:CPU:0",
    ]
    for device, own in zip(found, worker.devices.devices):
        assert device.resource_manager is own.resource_manager
    worker.close()


def test_sessions_of_masters_that_ended_are_collected() -> None:
    """Those that are not used; the session of masters that open none stays."""
    worker = _worker_with_accelerator()
    for handle in ("a", "b"):
        worker.create_worker_session(worker_pb2.CreateWorkerSessionRequest(session_handle=handle))
    worker._session("")
    assert worker.collect(idle_s=3600) == 0
    assert worker.collect(idle_s=0) == 2
    assert list(worker._sessions) == [""]
    worker.close()


class _LockBeforeCleanup:
    """A lock after whose first use a step is cleaned up, as by another thread."""

    def __init__(self, rendezvous_mgr: RendezvousMgr, step_id: int) -> None:
        self._lock = threading.Lock()
        self._cleanups = [partial(rendezvous_mgr.cleanup, step_id)]

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()
        if self._cleanups:
            self._cleanups.pop()()


def test_a_request_that_meets_the_cleanup_of_its_step_is_answered() -> None:
    """It came just before the cleanup, or just after it; in neither case does it wait for ever."""
    worker = _worker_with_accelerator()
    mgr = worker.rendezvous_mgr
    key = create_key(f"{TASK}/device:CPU:0", 1, f"{TASK}/device:CPU:0", "edge", 0, 0)
    answers: list[BaseException | None] = []
    mgr._lock = _LockBeforeCleanup(mgr, 7)  # type: ignore[assignment]

    mgr.recv(7, key, lambda error, value, is_dead: answers.append(error))

    assert [type(error) for error in answers] == [AbortedError]
    assert mgr.num_steps == 0
    worker.close()


def test_an_interrupt_in_a_blocking_run_closes_its_channel() -> None:
    """Another run does not get the channel, whose call is still in flight."""
    closed: list[str] = []
    given_back: list[object] = []

    def interrupted_run(message: bytes) -> bytes:
        raise KeyboardInterrupt

    lone = SimpleNamespace(
        channel=SimpleNamespace(close=lambda: closed.append("channel")), run=interrupted_run
    )
    worker: Any = SimpleNamespace(
        has_to_clean=False,
        take_channel=lambda: lone,
        give_back=given_back.append,
        is_rpc_error=lambda error: False,
    )
    run = LoneRun(worker, b"", lambda error: None, ())
    with pytest.raises(KeyboardInterrupt):
        run.result()
    assert closed == ["channel"]
    assert given_back == []
