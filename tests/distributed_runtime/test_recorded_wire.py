"""Requests and answers that TensorFlow's client, master and worker sent, replayed here.

``scripts/oracle/clusters/record_wire.py`` has recorded them. What a client asks for, and what a
step returns, must be the same value by value; handles, request ids, step ids and the incarnations
of devices differ in each run, and a tensor may be encoded in either of two ways.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tfnb as tf
from tests.distributed_runtime.recorded_program import run
from tests.distributed_runtime.test_malformed_requests import Services
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.grpc_channel import import_grpc
from tfnb.distributed_runtime.server_threads import ServerThreads
from tfnb.proto import master_pb2, worker_pb2

if TYPE_CHECKING:
    import pytest

grpc = import_grpc()
FOLDER = Path(__file__).parent / "recordings"
WORKER = "/job:worker/task:0"


class Call:
    """One recorded request with its answer."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self.method: str = stored["method"].rpartition("/")[2]
        self.request = base64.b64decode(stored["request"])
        self.answer = base64.b64decode(stored.get("answer", ""))
        self.code: int = stored.get("code", 0)

    @property
    def messages(self) -> tuple[Any, Any]:
        """Request and answer, parsed."""
        of_master = hasattr(master_pb2, f"{self.method}Request")
        module = master_pb2 if of_master else worker_pb2
        kinds = (getattr(module, f"{self.method}{which}") for which in ("Request", "Response"))
        request, answer = kinds
        return request.FromString(self.request), answer.FromString(self.answer)


def calls_of(name: str) -> list[Call]:
    """Return the calls of a recording."""
    return [Call(one) for one in json.loads((FOLDER / f"{name}.json").read_text())]


def values_of(named: Any) -> dict[str, Any]:
    """Return the values of named tensors of a message."""
    return {one.name: tf.make_ndarray(one.tensor).tolist() for one in named}


class Replay:
    """A server that gives the recorded answers, and notes what it was asked."""

    def __init__(self, calls: list[Call], folder: Path) -> None:
        self._calls = calls
        self.asked: list[Call] = []
        self.surplus: list[str] = []
        self._server = grpc.server(ServerThreads("replay"))
        self._server.add_generic_rpc_handlers((self,))
        self.target = f"grpc://unix:{folder}/s"
        self._server.add_insecure_port(f"unix:{folder}/s")
        self._server.start()

    def service(self, details: Any) -> Any:
        """Return the handler of a method."""
        method = details.method.rpartition("/")[2]

        def answer(request: bytes, context: Any) -> bytes:
            recorded = next((one for one in self._calls if one.method == method), None)
            if recorded is None:
                self.surplus.append(method)
                context.abort(grpc.StatusCode.UNIMPLEMENTED, method)
                raise AssertionError
            self._calls.remove(recorded)
            stored = {"method": method, "request": base64.b64encode(request).decode()}
            asked = Call(stored)
            asked.answer = recorded.answer
            self.asked.append(asked)
            return recorded.answer

        return grpc.unary_unary_rpc_method_handler(answer)

    def close(self) -> None:
        """End it."""
        self._server.stop(None).wait()


def _essence(call: Call) -> Any:
    """Return what must be the same in a request of TensorFlow's client and of tfnb's."""
    request, _ = call.messages
    match call.method:
        case "CreateSession" | "ExtendSession":
            return sorted((node.name, node.op, list(node.input)) for node in request.graph_def.node)
        case "RunStep":
            return (
                *(request.session_handle, bool(request.partial_run_handle)),
                *(values_of(request.feed), list(request.fetch), list(request.target)),
                *(request.store_errors_in_response_body, bool(request.request_id)),
            )
        case "PartialRunSetup":
            return request.session_handle, *map(sorted, (request.feed, request.fetch))
    return request.session_handle


def test_the_client_asks_as_tensorflows_client_and_takes_its_masters_answers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The same steps with the same values in the same order; the graph may come in other pieces."""
    recorded = calls_of("client_to_master")
    replay = Replay(list(recorded), tmp_path_factory.mktemp("r"))
    try:
        found = run(tf, replay.target, WORKER)
    finally:
        replay.close()

    assert found == [
        *([3.0, 5.0], b"abc", True, [2.0, 2.0], [2.0, 2.0], [4.0, 4.0]),
        found[-1],
    ]
    assert not replay.surplus
    grows = "CreateSession", "ExtendSession"
    steps = [
        [_essence(one) for one in calls if one.method not in grows]
        for calls in (recorded, replay.asked)
    ]
    assert steps[0] == steps[1]
    nodes = [
        sorted(node for one in calls if one.method in grows for node in _essence(one))
        for calls in (recorded, replay.asked)
    ]
    assert nodes[0] == nodes[1]


def _with_handle(call: Call, handles: dict[str, str]) -> Any:
    """Return a recorded request with the handles that the server of the test gave."""
    request, _ = call.messages
    for name in ("session_handle", "partial_run_handle", "graph_handle"):
        before = getattr(request, name, "")
        if before in handles:
            setattr(request, name, handles[before])
    if call.method == "CreateSession":
        for node in request.graph_def.node:
            node.device = node.device.replace("worker", "local")
    if call.method == "ExtendSession":
        for node in request.graph_def.node:
            node.device = node.device.replace("worker", "local")
    return request


def test_the_master_answers_tensorflows_client_as_its_own_master_does() -> None:
    """Value by value, and error by error."""
    services = Services()
    handles: dict[str, str] = {}
    num_compared = 0
    try:
        for call in calls_of("client_to_master"):
            request = _with_handle(call, handles)
            answer, context = services.ask(call.method, request.SerializeToString())
            assert context.code is None, context.details
            _, wanted = call.messages
            found = type(wanted).FromString(answer)
            for name in ("session_handle", "partial_run_handle"):
                if getattr(wanted, name, ""):
                    handles[getattr(wanted, name)] = getattr(found, name)
            if call.method == "RunStep":
                assert values_of(found.tensor) == values_of(wanted.tensor)
                types = [
                    {one.name: one.tensor.dtype for one in message.tensor}
                    for message in (found, wanted)
                ]
                assert types[0] == types[1]
                assert found.status_code == wanted.status_code
                num_compared += 1
            if call.method == "ExtendSession":
                assert found.new_graph_version == wanted.new_graph_version
    finally:
        services.close()
    assert num_compared >= 7


def _needs_other_task(graph_def: Any) -> bool:
    """Return whether a registered graph takes tensors from another task."""
    return any(
        node.op in ("_Recv", "_HostRecv") and not node.attr["client_terminated"].b
        for node in graph_def.node
    )


def test_the_worker_answers_tensorflows_master_as_its_own_worker_does() -> None:
    """Graphs that TensorFlow has cut run here; what they leave for other tasks has its keys."""
    services = Services(task="/job:ps/replica:0/task:0")
    handles: dict[str, str] = {}
    left_out: set[str] = set()  # graphs that would ask another task, which is not here
    asked_later: dict[int, list[Call]] = {}
    counts = {"RunGraph": 0, "RecvTensor": 0}

    def ask(call: Call) -> tuple[Any, Any]:
        answer, context = services.ask(call.method, _with_handle(call, handles).SerializeToString())
        code = 0 if context.code is None else context.code.value[0]
        assert code == call.code, (call.method, context.details)
        _, wanted = call.messages
        return type(wanted).FromString(answer), wanted

    calls = calls_of("master_to_worker")
    for call in calls:
        if call.method == "RecvTensor":  # may have been sent before its step began
            asked_later.setdefault(call.messages[0].step_id, []).append(call)
    try:
        for call in calls:
            request = call.messages[0]
            if call.method in ("RecvTensor", "GetStatus", "MarkRecvFinished"):
                continue
            if call.method == "RunGraph" and request.graph_handle in left_out:
                asked_later.pop(request.step_id, None)
                continue
            if call.method == "CleanupGraph":
                for later in asked_later.pop(request.step_id, ()):
                    found, wanted = ask(later)
                    if not later.code:
                        pair = tf.make_ndarray(found.tensor), tf.make_ndarray(wanted.tensor)
                        assert pair[0].tolist() == pair[1].tolist()
                        assert found.is_dead == wanted.is_dead
                    counts["RecvTensor"] += 1
            found, wanted = ask(call)
            if call.method == "RegisterGraph":
                handles[wanted.graph_handle] = found.graph_handle
                if _needs_other_task(request.graph_def):
                    left_out.add(wanted.graph_handle)
            if call.method == "RunGraph":
                assert values_of(found.recv) == values_of(wanted.recv)
                assert found.status_code == wanted.status_code
                counts["RunGraph"] += 1
    finally:
        services.close()
    assert all(counts.values()), counts


def test_numbers_are_encoded_in_the_bytes_of_tensorflow() -> None:
    """Type, shape and content of what steps return; texts may stand in either of two fields."""
    num_compared = 0
    for call in calls_of("client_to_master"):
        if call.method != "RunStep":
            continue
        for one in call.messages[1].tensor:
            dtype = tf.as_dtype(one.tensor.dtype)
            recorded = one.tensor.SerializeToString()
            value = coding.decode(memoryview(recorded))
            again = b"".join(map(bytes, coding.encode(value, dtype).parts))
            if dtype != tf.string:
                assert again == recorded
                num_compared += 1
    assert num_compared >= 5
