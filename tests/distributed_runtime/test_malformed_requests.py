"""Requests of strangers: whatever the bytes are, the answer is a code and a sentence."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.device.device_mgr import make_local_devices
from tfnb.core import errors
from tfnb.core.cluster_spec import ClusterSpec
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.grpc_channel import import_grpc
from tfnb.distributed_runtime.grpc_services import MasterService, WorkerService, answering
from tfnb.distributed_runtime.master import Master, new_worker_cache
from tfnb.distributed_runtime.worker import Worker
from tfnb.proto import config_pb2, master_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

grpc = import_grpc()
TASK = "/job:local/replica:0/task:0"


class Context:
    """What gRPC gives a handler."""

    def __init__(self, *, gives_up: bool) -> None:
        self.code: Any = None
        self.details = ""
        self._gives_up = gives_up

    def set_code(self, code: Any) -> None:
        """Note the code."""
        self.code = code

    def set_details(self, details: str) -> None:
        """Note the text."""
        self.details = details

    def is_active(self) -> bool:
        """Return that the client waits."""
        return True

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """End at once what would wait for ever for another task."""
        if self._gives_up:
            callback()
        return True


class Services:
    """The services of one task, without a port."""

    def __init__(self, task: str = TASK) -> None:
        self.cache = new_worker_cache(
            ClusterSpec({"local": ["localhost:1"]}), config_pb2.RPCOptions()
        )
        self.worker = Worker(task, make_local_devices({}, None, task), self.cache.find)
        self.cache.set_local(self.worker)
        self.master = Master(task, self.cache, config_pb2.ConfigProto(), self.worker.step_sequences)
        self.services = MasterService(self.master), WorkerService(self.worker)

    def ask(self, name: str, request: bytes) -> tuple[bytes, Context]:
        """Return the answer to a request."""
        handlers = next(one.handlers for one in self.services if name in one.handlers)
        context = Context(gives_up=name == "RecvTensor")
        return answering(grpc, name, handlers[name])(request, context), context

    def close(self) -> None:
        """End everything."""
        self.master.close()
        self.worker.close()
        self.cache.close()


def valid_requests(services: Services) -> dict[str, bytes]:
    """Return a request for each method that the services answer without an error."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * 2.0), [0, x])[1]
        tf.cond(tf.reduce_sum(y) > 0.0, lambda: y, lambda: -y, name="out")
        graph_def = graph.as_graph_def()
    create = master_pb2.CreateSessionRequest(graph_def=graph_def)
    answer, context = services.ask("CreateSession", create.SerializeToString())
    assert context.code is None, context.details
    handle = master_pb2.CreateSessionResponse.FromString(answer).session_handle
    step = master_pb2.RunStepRequest(session_handle=handle, fetch=[y.name])
    value = coding.encode(np.float32([1.0, 2.0]), tf.float32)
    fed = b"".join(coding.named_tensor_field(2, "x:0", value))
    options = config_pb2.CallableOptions(feed=["x:0"], fetch=[y.name])
    make = master_pb2.MakeCallableRequest(session_handle=handle, options=options)
    answer, context = services.ask("MakeCallable", make.SerializeToString())
    called = master_pb2.RunCallableRequest(session_handle=handle, handle=1).SerializeToString()
    register = worker_pb2.RegisterGraphRequest(graph_def=_placed(graph_def))
    answer, context = services.ask("RegisterGraph", register.SerializeToString())
    assert context.code is None, context.details
    graph_handle = worker_pb2.RegisterGraphResponse.FromString(answer).graph_handle
    key = f"{TASK}/device:CPU:0;0000000000000001;{TASK}/device:CPU:0;edge;0:0"
    return {
        "CreateSession": create.SerializeToString(),
        "ExtendSession": master_pb2.ExtendSessionRequest(
            session_handle=handle, graph_def=graph_def
        ).SerializeToString(),
        "RunStep": step.SerializeToString() + fed,
        "PartialRunSetup": master_pb2.PartialRunSetupRequest(
            session_handle=handle, feed=["x:0"], fetch=[y.name]
        ).SerializeToString(),
        "ListDevices": master_pb2.ListDevicesRequest(session_handle=handle).SerializeToString(),
        "MakeCallable": make.SerializeToString(),
        "RunCallable": called + b"".join(coding.tensor_field(3, value)),
        "ReleaseCallable": master_pb2.ReleaseCallableRequest(
            session_handle=handle, handle=7
        ).SerializeToString(),
        "CreateWorkerSession": worker_pb2.CreateWorkerSessionRequest(
            session_handle="0123"
        ).SerializeToString(),
        "RegisterGraph": register.SerializeToString(),
        "RunGraph": worker_pb2.RunGraphRequest(
            graph_handle=graph_handle, step_id=3
        ).SerializeToString(),
        "CleanupGraph": worker_pb2.CleanupGraphRequest(step_id=3).SerializeToString(),
        "RecvTensor": worker_pb2.RecvTensorRequest(
            step_id=4, rendezvous_key=key
        ).SerializeToString(),
    }


def _placed(graph_def: Any) -> Any:
    placed = type(graph_def)()
    placed.CopyFrom(graph_def)
    for node in placed.node:
        node.device = f"{TASK}/device:CPU:0"
    return placed


def _mutated(request: bytes, rng: random.Random) -> bytes:
    """Return bytes near a request: changed, cut, doubled or followed by others."""
    data = bytearray(request or b"\0")
    match rng.randrange(5):
        case 0:
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        case 1:
            del data[rng.randrange(len(data)) :]
        case 2:
            at = rng.randrange(len(data))
            data[at:at] = data[at : at + rng.randrange(1, 20)]
        case 3:
            data += bytes(rng.randrange(256) for _ in range(rng.randrange(1, 12)))
        case _:
            at = rng.randrange(len(data))
            data[at : at + 2] = b"\xff\xff\xff\xff\x0f"
    return bytes(data)


METHODS = [
    *("CleanupGraph", "CreateSession", "CreateWorkerSession", "ExtendSession", "ListDevices"),
    *("MakeCallable", "PartialRunSetup", "RecvTensor", "RegisterGraph", "ReleaseCallable"),
    *("RunCallable", "RunGraph", "RunStep"),
]


@pytest.mark.parametrize("method", METHODS)
def test_a_mutated_request_gets_an_answer(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """No exception that is not an error of the runtime; the session answers afterwards."""
    rng = random.Random(METHODS.index(method))
    services = Services()
    try:
        requests = valid_requests(services)
        caplog.clear()
        for _ in range(150):
            _, context = services.ask(method, _mutated(requests[method], rng))
            assert context.code is not grpc.StatusCode.INTERNAL or "failed:" not in context.details
        assert not [record for record in caplog.records if record.exc_info]
        _, context = services.ask("RunStep", requests["RunStep"])
        assert context.code is None, context.details
    finally:
        services.close()


@pytest.mark.parametrize(
    ("method", "number"),
    [
        *(("RunStep", 8), ("PartialRunSetup", 5), ("MakeCallable", 3), ("RunCallable", 4)),
        *(("RunGraph", 11), ("RecvTensor", 7)),
    ],
)
def test_a_request_that_comes_twice_is_refused(method: str, number: int) -> None:
    """By its id: a step runs at most once, whatever a network does."""
    services = Services()
    try:
        request = valid_requests(services)[method]
        for request_id, is_refused in ((7, False), (8, False), (7, True), (0, False), (0, False)):
            numbered = request + coding.varint_field(number, request_id)
            _, context = services.ask(method, numbered)
            refused = context.code is grpc.StatusCode.ABORTED and "twice" in context.details
            assert refused == is_refused, context.details
    finally:
        services.close()


@pytest.mark.parametrize(
    ("method", "request_of"),
    [
        ("RunStep", master_pb2.RunStepRequest(session_handle="none")),
        ("ExtendSession", master_pb2.ExtendSessionRequest(session_handle="none")),
        ("PartialRunSetup", master_pb2.PartialRunSetupRequest(session_handle="none")),
        ("CloseSession", master_pb2.CloseSessionRequest(session_handle="none")),
        ("ListDevices", master_pb2.ListDevicesRequest(session_handle="none")),
        ("MakeCallable", master_pb2.MakeCallableRequest(session_handle="none")),
        ("RunCallable", master_pb2.RunCallableRequest(session_handle="none")),
        ("ReleaseCallable", master_pb2.ReleaseCallableRequest(session_handle="none")),
        (
            "RegisterGraph",
            worker_pb2.RegisterGraphRequest(
                session_handle="none", create_worker_session_called=True
            ),
        ),
        ("RunGraph", worker_pb2.RunGraphRequest(graph_handle="none", step_id=1)),
        ("DeregisterGraph", worker_pb2.DeregisterGraphRequest(graph_handle="none")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_handle_that_is_not_known_is_aborted(method: str, request_of: Any) -> None:
    """With what may have happened: a restart, most often."""
    services = Services()
    try:
        _, context = services.ask(method, request_of.SerializeToString())
        assert context.code is grpc.StatusCode.ABORTED
        assert "not found" in context.details
        assert "restarted" in context.details
    finally:
        services.close()


def test_a_tensor_that_claims_to_be_large_is_refused_before_memory_is_taken() -> None:
    """Its shape and its content do not agree."""
    proto = tf.make_tensor_proto(np.zeros(3000, np.float32))
    proto.tensor_shape.dim[0].size = 2**40

    with pytest.raises(errors.InvalidArgumentError, match="Cannot parse tensor"):
        coding.decode(memoryview(proto.SerializeToString()))


def test_a_message_without_end_is_refused() -> None:
    """Lengths and numbers that the message does not have room for."""
    for data in (b"\x0a\xff\xff\xff\xff\x0f", b"\x80" * 11, b"\x09\x00", b"\x0b"):
        with pytest.raises(errors.DataLossError):
            list(coding.fields(memoryview(data)))
