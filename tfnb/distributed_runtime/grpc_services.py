"""MasterService and WorkerService over gRPC: bytes in, bytes out.

A request runs in a thread of the server's pool.  Where a client cancels, is killed or reaches its
deadline, what it asked for ends.

Corresponds to TensorFlow's ``rpc/grpc_master_service.cc`` and ``rpc/grpc_worker_service.cc``.
"""

from __future__ import annotations

import logging
import secrets
import threading
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tfnb.core import errors
from tfnb.core.process.notification import Notification
from tfnb.core.resource_mgr import RefCell
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.grpc_remote_worker import attributes_of, dtype_of, member_of
from tfnb.distributed_runtime.master_steps import StepRequest
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.distributed_runtime.task_health import health_text
from tfnb.distributed_runtime.worker_interface import RunGraphCall
from tfnb.proto import config_pb2, master_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from tfnb.core.rendezvous import Member
    from tfnb.distributed_runtime.master import Master
    from tfnb.distributed_runtime.master_plans import StepResult
    from tfnb.distributed_runtime.worker import Worker

    type_of_answer = Callable[[Any, Any], coding.Message]
    type_of_outcome = Callable[[bytes | BaseException], None]
    type_of_begin = Callable[[bytes, type_of_outcome], Callable[[], None]]

_log = logging.getLogger("tfnb")
# gRPC sends a status's text as a header, whose size is limited.
_MAX_STATUS_TEXT = 3072
_MANY_REQUESTS = 100_000
_ALL_BITS = 2**64 - 1
# By chance, so that no client can choose ids that share a place of the table.
_SPREAD = secrets.randbits(64) | 1
_CANCELLED = "The client cancelled the request, ended, or reached its deadline."


class RecentRequestIds:
    """The ids of requests that were seen; a request that comes twice is refused; thread safe.

    The last ``most`` ids are known, and at most as many before them.

    Args:
      most: number of ids.
    """

    def __init__(self, most: int = _MANY_REQUESTS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._new = _IdTable(most)  # guarded by self._lock
        self._old = _IdTable(0)  # guarded by self._lock

    def note(self, request_id: int, what: str) -> None:
        """Note an id; 0 stands for none.

        Raises:
          AbortedError: it was seen before.
        """
        if not request_id:
            return
        with self._lock:
            is_known = request_id in self._old or not self._new.add(request_id)
            if not is_known and self._new.count == self._most:
                self._old, self._new = self._new, _IdTable(self._most)
        if is_known:
            raise errors.aborted(
                f"The same {what} request was received twice. request_id: {request_id}"
            )


class _IdTable:
    """A set of numbers of 64 bits, not 0, in one piece of memory: 100,000 take 2 MB.

    A hash table with linear probing, half empty at least.
    """

    __slots__ = ("_mask", "_shift", "_table", "count")

    def __init__(self, most: int) -> None:
        self.count = 0
        bits = (2 * most).bit_length()
        self._shift, self._mask = 64 - bits, (1 << bits) - 1
        self._table = array("Q", bytes(8 << bits))

    def _place(self, number: int) -> int:
        """Return where a number is, or may be put."""
        table, mask = self._table, self._mask
        place = (number * _SPREAD & _ALL_BITS) >> self._shift
        while table[place] not in (0, number):
            place = (place + 1) & mask
        return place

    def __contains__(self, number: int) -> bool:
        return self._table[self._place(number & _ALL_BITS)] != 0

    def add(self, number: int) -> bool:
        """Add a number; return whether it is new."""
        number &= _ALL_BITS
        place = self._place(number)
        is_new = self._table[place] == 0
        self._table[place] = number
        self.count += is_new
        return is_new


class MasterService:
    """Answers clients."""

    name = "tensorflow.MasterService"

    def __init__(self, master: Master) -> None:
        self._master = master
        self._seen = RecentRequestIds()
        self.handlers: dict[str, type_of_answer] = {
            "CreateSession": self._create_session,
            "ExtendSession": self._extend_session,
            "RunStep": self._run_step,
            "PartialRunSetup": self._partial_run_setup,
            "CloseSession": self._close_session,
            "ListDevices": self._list_devices,
            "Reset": self._reset,
            "MakeCallable": self._make_callable,
            "RunCallable": self._run_callable,
            "ReleaseCallable": self._release_callable,
        }

    def _create_session(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.CreateSessionRequest, request)
        session = self._master.create_session(message, lambda: not context.is_active())
        if not context.is_active():
            self._master.close_session(session.handle)
        return master_pb2.CreateSessionResponse(
            session_handle=session.handle, graph_version=session.graph_version
        ).SerializeToString()

    def _extend_session(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.ExtendSessionRequest, request)
        session = self._master.find(message.session_handle)
        version = session.extend(message.graph_def, message.current_graph_version)
        return master_pb2.ExtendSessionResponse(new_graph_version=version).SerializeToString()

    def _run_step(self, request: coding.Message, context: Any) -> coding.Message:
        is_local = isinstance(request, coding.LocalMessage)
        step = _StepFields(request)
        try:
            self._seen.note(step.request_id, "RunStep")
            session = self._master.find(step.session_handle)
            wanted = StepRequest(
                step.feeds, step.fetches, step.targets, step.options, step.request_id
            )
            with _Ending(context) as ending:
                if step.partial_run_handle:
                    result = session.partial_run(step.partial_run_handle, wanted, ending)
                else:
                    result = session.run(wanted, ending)
        except errors.OpError as error:
            if not step.stores_errors:
                raise
            return master_pb2.RunStepResponse(
                status_code=error.error_code,  # type: ignore[arg-type]
                status_error_message=text_of(error),
            ).SerializeToString()
        parts, local = _step_parts(result, is_local=is_local)
        message = coding.join_message(parts, "What the step fetches")
        return coding.LocalMessage(message, local) if is_local else message

    def _partial_run_setup(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.PartialRunSetupRequest, request)
        self._seen.note(message.request_id, "PartialRunSetup")
        session = self._master.find(message.session_handle)
        handle = session.partial_run_setup(
            list(message.feed), list(message.fetch), list(message.target), message.request_id
        )
        return master_pb2.PartialRunSetupResponse(partial_run_handle=handle).SerializeToString()

    def _close_session(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.CloseSessionRequest, request)
        self._master.close_session(message.session_handle)
        return b""

    def _list_devices(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.ListDevicesRequest, request)
        local, remote = self._master.list_devices(message.session_handle)
        return master_pb2.ListDevicesResponse(
            local_device=local, remote_device=remote
        ).SerializeToString()

    def _reset(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.ResetRequest, request)
        self._master.reset(list(message.container), list(message.device_filters))
        return b""

    def _make_callable(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.MakeCallableRequest, request)
        self._seen.note(message.request_id, "MakeCallable")
        handle = self._master.find(message.session_handle).make_callable(message.options)
        return master_pb2.MakeCallableResponse(handle=handle).SerializeToString()

    def _run_callable(self, request: bytes, context: Any) -> bytes:
        handle, number, request_id = "", 0, 0
        values: list[Any] = []
        for field, value, _ in coding.fields(memoryview(request)):
            if field == 1:
                handle = coding.text_of(value)
            elif field == 2 and isinstance(value, int):
                number = value
            elif field == 3:
                values.append(coding.as_fed(coding.decode(coding.content_of(value))))
            elif field == 4 and isinstance(value, int):
                request_id = value
        self._seen.note(request_id, "RunCallable")
        session = self._master.find(handle)
        with _Ending(context) as ending:
            fetched, metadata = session.run_callable(number, values, ending, request_id)
        parts: list[coding.Buffer] = []
        for tensor in fetched:
            parts += coding.tensor_field(1, coding.encode(tensor, dtype_of(tensor)))
        if metadata is not None:
            parts.append(coding.bytes_field(2, metadata.SerializeToString()))
        return coding.join_message(parts, "What the call fetches")

    def _release_callable(self, request: bytes, context: Any) -> bytes:
        message = _parse(master_pb2.ReleaseCallableRequest, request)
        self._master.find(message.session_handle).release_callable(message.handle)
        return b""


class _StepFields:
    """The fields of a RunStepRequest."""

    def __init__(self, request: coding.Message) -> None:
        self.session_handle = self.partial_run_handle = ""
        self.feeds: dict[str, Any] = {}
        self.fetches: list[str] = []
        self.targets: list[str] = []
        self.options: config_pb2.RunOptions | None = None
        self.stores_errors = False
        self.request_id = 0
        if isinstance(request, coding.LocalMessage):
            self.feeds.update(request.tensors)
            request = request.rest
        for number, value, _ in coding.fields(memoryview(request)):
            if number == 1:
                self.session_handle = coding.text_of(value)
            elif number == 2:
                name, tensor = coding.decode_named(coding.content_of(value))
                self.feeds[name] = coding.as_fed(tensor)
            elif number == 3:
                self.fetches.append(coding.text_of(value))
            elif number == 4:
                self.targets.append(coding.text_of(value))
            elif number == 5:
                content = bytes(coding.content_of(value))
                options = _parse(config_pb2.RunOptions, content)
                # A client that asks for nothing may still send the message.
                self.options = options if content else None
            elif number == 6:
                self.partial_run_handle = coding.text_of(value)
            elif number == 7:
                self.stores_errors = bool(value)
            elif number == 8 and isinstance(value, int):
                self.request_id = value


def _step_parts(
    result: StepResult, *, is_local: bool
) -> tuple[list[coding.Buffer], dict[str, Any]]:
    """Return the parts of a RunStepResponse, and the tensors that stay as they are."""
    parts: list[coding.Buffer] = []
    local: dict[str, Any] = {}
    for name, value in result.values.items():
        dtype = dtype_of(value)
        if is_local and coding.may_stay(value, dtype):
            local[name] = value
        else:
            parts += coding.named_tensor_field(1, name, coding.encode(value, dtype))
    if result.metadata is not None:
        parts.append(coding.bytes_field(2, result.metadata.SerializeToString()))
    return parts, local


class WorkerService:
    """Answers masters and other workers."""

    name = "tensorflow.WorkerService"

    def __init__(self, worker: Worker, master: Master | None = None) -> None:
        """Make the service of a worker; ``master`` is that of its task."""
        self._worker, self._master = worker, master
        self._seen = RecentRequestIds()
        self.handlers: dict[str, type_of_answer] = {
            "GetStatus": self._get_status,
            "CreateWorkerSession": self._create_worker_session,
            "DeleteWorkerSession": self._delete_worker_session,
            "RegisterGraph": self._register_graph,
            "DeregisterGraph": self._deregister_graph,
            "RunGraph": self._run_graph,
            "CleanupGraph": self._cleanup_graph,
            "CleanupAll": self._cleanup_all,
            "RecvTensor": self._recv_tensor,
            "GetStepSequence": self._get_step_sequence,
            "MarkRecvFinished": lambda request, context: b"",
            "Logging": self._logging,
        }
        # They wait for what other clients do, perhaps for ever, and hold no thread meanwhile.
        self.waiting: dict[str, type_of_begin] = {"CompleteGroup": self._complete_group}

    def _get_status(self, request: bytes, context: Any) -> bytes:
        devices = self._worker.get_status()
        if devices:
            num_sessions = 0 if self._master is None else self._master.num_sessions
            devices[0].physical_device_desc = health_text(
                self._worker.devices.devices, num_sessions, self._worker.num_runs
            )
        return worker_pb2.GetStatusResponse(device_attributes=devices).SerializeToString()

    def _create_worker_session(self, request: bytes, context: Any) -> bytes:
        self._worker.create_worker_session(_parse(worker_pb2.CreateWorkerSessionRequest, request))
        return b""

    def _delete_worker_session(self, request: bytes, context: Any) -> bytes:
        message = _parse(worker_pb2.DeleteWorkerSessionRequest, request)
        self._worker.delete_worker_session(message.session_handle)
        return b""

    def _register_graph(self, request: bytes, context: Any) -> bytes:
        message = _parse(worker_pb2.RegisterGraphRequest, request)
        config = config_pb2.ConfigProto()
        config.CopyFrom(message.config_proto)
        if message.HasField("graph_options"):
            config.graph_options.CopyFrom(message.graph_options)
        handle = message.session_handle if message.create_worker_session_called else ""
        graph = self._worker.register_graph(handle, message.graph_def, config)
        return worker_pb2.RegisterGraphResponse(graph_handle=graph).SerializeToString()

    def _deregister_graph(self, request: bytes, context: Any) -> bytes:
        message = _parse(worker_pb2.DeregisterGraphRequest, request)
        handle = message.session_handle if message.create_worker_session_called else ""
        self._worker.deregister_graph(handle, message.graph_handle)
        return b""

    def _run_graph(self, request: bytes, context: Any) -> bytes:
        message = worker_pb2.RunGraphRequest()
        send: dict[str, Any] = {}
        rest: list[memoryview] = []
        whole, begin = memoryview(request), 0
        for number, value, end in coding.fields(whole):
            if number == 3:
                name, tensor = coding.decode_named(coding.content_of(value))
                send[name] = coding.as_fed(tensor)
            else:
                rest.append(whole[begin:end])
            begin = end
        message = _parse(worker_pb2.RunGraphRequest, b"".join(rest))
        try:
            self._seen.note(message.request_id, "RunGraph (Worker)")
            opts = message.exec_opts
            call = RunGraphCall(
                message.session_handle if message.create_worker_session_called else "",
                message.graph_handle,
                message.step_id,
                send,
                list(message.recv_key),
                options=opts if message.HasField("exec_opts") and opts.ByteSize() else None,
                is_partial=message.is_partial,
                is_last_partial_run=message.is_last_partial_run,
            )
            run = self._worker.start_graph(call, lambda error: None)
            with _Ending(context) as ending:
                ending(run.cancel)
                result = run.result()
        except errors.OpError as error:
            if not message.store_errors_in_response_body:
                raise
            return worker_pb2.RunGraphResponse(
                status_code=error.error_code,  # type: ignore[arg-type]
                status_error_message=text_of(error),
            ).SerializeToString()
        parts: list[coding.Buffer] = []
        for key, value in result.recv.items():
            parts += coding.named_tensor_field(1, key, coding.encode(value, dtype_of(value)))
        if result.step_stats is not None:
            parts.append(coding.bytes_field(2, result.step_stats.SerializeToString()))
        if result.cost_graph is not None:
            parts.append(coding.bytes_field(3, result.cost_graph.SerializeToString()))
        for graph in result.partition_graphs:
            parts.append(coding.bytes_field(4, graph.SerializeToString()))
        return coding.join_message(parts, "What the task sends back")

    def _cleanup_graph(self, request: bytes, context: Any) -> bytes:
        self._worker.cleanup_graph(_parse(worker_pb2.CleanupGraphRequest, request).step_id)
        return b""

    def _cleanup_all(self, request: bytes, context: Any) -> bytes:
        self._worker.cleanup_all(list(_parse(worker_pb2.CleanupAllRequest, request).container))
        return b""

    def _logging(self, request: bytes, context: Any) -> bytes:
        ids = list(_parse(worker_pb2.LoggingRequest, request).fetch_step_id)
        logs = self._worker.logging([number for number in ids if number])
        for number in ids:
            log = None if self._master is None else self._master.step_log(number)
            if log is not None:
                logs.append(worker_pb2.LabeledStepStats(step_id=number, step_stats=log))
        return worker_pb2.LoggingResponse(step=logs).SerializeToString()

    def _recv_tensor(self, request: bytes, context: Any) -> bytes:
        message = _parse(worker_pb2.RecvTensorRequest, request)
        self._seen.note(message.request_id, "RecvTensor (Worker)")
        arrived = Notification()
        box: list[tuple[BaseException | None, Any, bool]] = []

        def callback(error: BaseException | None, value: Any, is_dead: bool) -> None:
            box.append((error, value, is_dead))
            arrived.notify()

        self._worker.recv_tensor(message.step_id, message.rendezvous_key, callback)
        if not context.add_callback(arrived.notify):
            arrived.notify()  # the client has gone already
        arrived.wait()
        if not box:
            raise errors.cancelled(_CANCELLED)
        error, value, is_dead = box[0]
        if error is not None:
            raise error
        return _recv_response(value, is_dead)

    def _complete_group(self, request: bytes, answer: type_of_outcome) -> Callable[[], None]:
        message = _parse(worker_pb2.CompleteGroupRequest, request)
        key, size = message.group_key, message.group_size

        def completed(error: BaseException | None, members: tuple[Member, ...]) -> None:
            if error is not None:
                answer(error)
                return
            response = worker_pb2.CompleteGroupResponse(
                group_key=key,
                group_size=size,
                device_type=message.device_type,
                num_tasks=len({task_of(member.device) for member in members}),
                device_attributes=map(attributes_of, members),
            )
            answer(response.SerializeToString())

        member = member_of(message.device_attributes)
        return self._worker.complete_group(key, size, member, completed)

    def _get_step_sequence(self, request: bytes, context: Any) -> bytes:
        keys = _parse(worker_pb2.GetStepSequenceRequest, request).graph_key
        sequences = [
            worker_pb2.StepSequence(graph_key=key, next_step_id=self._worker.get_step_sequence(key))
            for key in keys
        ]
        return worker_pb2.GetStepSequenceResponse(step_sequence=sequences).SerializeToString()


def _recv_response(value: Any, is_dead: bool) -> bytes:
    if is_dead:
        # A dead tensor has a type all the same: receivers parse the message as a whole.
        empty = coding.encode(np.zeros(0, np.float32), dtype_of(np.float32(0)))
        parts: list[coding.Buffer] = [*coding.tensor_field(1, empty), coding.varint_field(2, 1)]
        return coding.join_message(parts, "A dead tensor")
    if isinstance(value, RefCell):
        value = value.read()
    tensor = coding.encode(value, dtype_of(value))
    return coding.join_message(coding.tensor_field(1, tensor), "A tensor for another task")


class _Ending:
    """Makes a step end when its client is gone, unless the step is over."""

    __slots__ = ("_context", "_fail")

    def __init__(self, context: Any) -> None:
        self._context = context
        self._fail: Callable[[BaseException], None] | None = None

    def __call__(self, fail: Callable[[BaseException], None]) -> None:
        """Note what ends the step."""
        self._fail = fail
        if not self._context.add_callback(self._ended):
            self._ended()

    def _ended(self) -> None:
        fail = self._fail
        if fail is not None:
            fail(errors.cancelled(_CANCELLED))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Note that the step is over: each request ends."""
        self._fail = None


def _parse(kind: Any, request: bytes) -> Any:
    try:
        return kind.FromString(request)
    except Exception as error:
        raise errors.invalid_argument(f"The request is no {kind.__name__}: {error}") from error


def text_of(error: errors.OpError) -> str:
    """Return an error's message with the node that failed, as TensorFlow writes it."""
    name = error.node_name
    if name is None or f"node {name}" in error.message:
        return error.message
    return f"{error.message}\n\t [[{{{{node {name}}}}}]]"


def handlers_of(
    grpc: Any, threads: Executor, master: MasterService, worker: WorkerService
) -> list[Any]:
    """Return gRPC's handlers of services; ``threads`` send the answers that were waited for."""
    found: dict[str, dict[str, Any]] = {
        service.name: {
            name: grpc.unary_unary_rpc_method_handler(answering(grpc, name, answer))
            for name, answer in service.handlers.items()
        }
        for service in (master, worker)
    }
    for name, begin in worker.waiting.items():
        # A stream of one answer, which is the same for clients.
        handler = answering_later(grpc, name, begin, threads)
        found[worker.name][name] = grpc.unary_stream_rpc_method_handler(handler)
    return [grpc.method_handlers_generic_handler(name, methods) for name, methods in found.items()]


def methods_of(grpc: Any, *services: MasterService | WorkerService) -> dict[str, type_of_answer]:
    """Return what answers each "/service/method" that clients of this process ask for."""
    return {
        f"/{service.name}/{name}": answering(grpc, name, answer)
        for service in services
        for name, answer in service.handlers.items()
    }


def answering(grpc: Any, name: str, answer: type_of_answer) -> type_of_answer:
    """Return a handler that turns errors of an answer into codes and texts of gRPC."""

    def handle(request: Any, context: Any) -> coding.Message:
        try:
            return answer(request, context)
        except Exception as error:
            _set_error(grpc, context, name, error)
        return b""

    return handle


def answering_later(
    grpc: Any, name: str, begin: type_of_begin, threads: Executor
) -> Callable[[bytes, Any, Callable[[bytes | None], None]], None]:
    """Return a handler whose answer is sent once it is known; no thread waits for it.

    Args:
      grpc: the module.
      name: the method.
      begin: takes the request and what takes the answer, a message or an error, perhaps at once;
        returns what gives up.
      threads: send answers, since that waits for the network.
    """

    def handle(request: bytes, context: Any, send: Callable[[bytes | None], None]) -> None:
        def finish(outcome: bytes | BaseException) -> None:
            if isinstance(outcome, bytes):
                send(outcome)
            else:
                _set_error(grpc, context, name, outcome)
            send(None)

        def answer(outcome: bytes | BaseException) -> None:
            with suppress(RuntimeError):  # the server has stopped
                threads.submit(finish, outcome)

        try:
            give_up = begin(request, answer)
        except Exception as error:
            answer(error)
            return
        if not context.add_callback(give_up):
            give_up()  # the client has gone already

    handle.experimental_non_blocking = True  # type: ignore[attr-defined] # read by gRPC
    return handle


def _set_error(grpc: Any, context: Any, name: str, error: BaseException) -> None:
    """Turn an error into gRPC's code and text."""
    if isinstance(error, errors.OpError):
        codes = {code.value[0]: code for code in grpc.StatusCode}
        context.set_code(codes.get(error.error_code, grpc.StatusCode.UNKNOWN))
        context.set_details(text_of(error)[:_MAX_STATUS_TEXT])
    elif isinstance(error, MemoryError):
        context.set_code(grpc.StatusCode.RESOURCE_EXHAUSTED)
        context.set_details(f"{name}: not enough memory: {error}")
    else:
        _log.error("%s failed", name, exc_info=error)
        context.set_code(grpc.StatusCode.INTERNAL)
        context.set_details(f"{name} failed: {type(error).__name__}: {error}"[:_MAX_STATUS_TEXT])
