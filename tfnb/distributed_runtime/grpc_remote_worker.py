"""A worker in another process.

Corresponds to TensorFlow's ``rpc/grpc_remote_worker.cc``.
"""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.rendezvous import Member
from tfnb.core.variant_op_registry import EncodableVariant
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.grpc_channel import (
    SCHEME,
    TLS_SCHEME,
    handshake_failure,
    import_grpc,
    new_channel,
)
from tfnb.distributed_runtime.remote_errors import of_task, remote_error
from tfnb.distributed_runtime.server_threads import ServerThreads
from tfnb.distributed_runtime.task_groups import check_library
from tfnb.distributed_runtime.worker_interface import RunGraphResult
from tfnb.proto import (
    config_pb2,
    device_attributes_pb2,
    graph_pb2,
    step_stats_pb2,
    worker_pb2,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from tfnb.core.rendezvous import type_of_callback, type_of_group_callback
    from tfnb.distributed_runtime.grpc_channel import TlsFiles
    from tfnb.distributed_runtime.worker_interface import RunGraphCall

SERVICE = "/tensorflow.WorkerService/"
# Requests that a worker answers at once, unless it is stopped; in seconds.
_SHORT_S = 60.0
_CLEANUP_S = 10.0
# For what was sent without waiting, when the connection closes.
_LAST_WORDS_S = 1.0


class GrpcRemoteWorker:
    """The WorkerService of a task; thread safe.

    Attributes:
      task: its name, ``/job:worker/replica:0/task:0``.
      address: ``host:port``.
    """

    is_local = False

    def __init__(
        self,
        task: str,
        address: str,
        options: config_pb2.RPCOptions,
        tls: TlsFiles | None = None,
    ) -> None:
        self.task, self.address = task, address
        self._grpc = import_grpc()
        self._target = (SCHEME if tls is None else TLS_SCHEME) + address
        self._options, self._tls = options, tls
        self._lock = threading.Lock()
        self._channel = self._connect(shares_connection=True)  # guarded by self._lock
        # Channels that did not find the task; closed by the next request, in its thread.
        self._retired: list[Any] = []  # guarded by self._lock
        self._num_waits = 0  # requests that wait for the task; guarded by self._lock
        # The requests that no one waits for: gRPC cancels a call whose future is dropped.
        self._sent: set[Any] = set()  # guarded by self._lock
        # Steps that succeeded and are cleaned up during the next run: gRPC starts a thread for a
        # call whose answer no thread waits for, unless it has one that waits for another answer.
        self._to_clean: list[int] = []  # guarded by self._lock
        self._threads = ServerThreads("tfnb-master")
        # Channels for runs that are waited for, which no run uses now; guarded by self._lock.
        self._idle: list[_LoneChannel] = []
        self._is_closed = False  # guarded by self._lock

    def _connect(self, *, shares_connection: bool) -> Any:
        channel = new_channel(
            self._target, self._options, self._tls, shares_connection=shares_connection
        )
        self._shares_connection = shares_connection
        self._methods: dict[str, Any] = {}  # guarded by self._lock
        self._run_alone = channel.unary_stream(SERVICE + "RunGraph")
        self._clean_alone = channel.unary_stream(SERVICE + "CleanupGraph")
        return channel

    def _reconnect(self, channel: Any) -> None:
        """Replace a channel that does not find the task, unless that was done already.

        gRPC waits longer after each failure before it tries again; meanwhile all requests fail,
        also when the task has been started again.
        """
        with self._lock:
            if channel is self._channel:
                self._retired += [channel, *(one.channel for one in self._idle)]
                self._idle.clear()
                self._channel = self._connect(shares_connection=False)

    def _close_retired(self) -> None:
        with self._lock:
            if self._num_waits:
                return  # one of them may be in a retired channel
            retired, self._retired = self._retired, []
        for channel in retired:
            channel.close()

    def _method(self, name: str) -> Any:
        with self._lock:
            found = self._methods.get(name)
            if found is None:
                found = self._methods[name] = self._channel.unary_unary(SERVICE + name)
            return found

    def _call(
        self, name: str, request: Any, response: Any, timeout_s: float | None, waits: bool = False
    ) -> Any:
        try:
            found = self._method(name)(
                request.SerializeToString(), timeout=timeout_s, wait_for_ready=waits
            )
        except self._grpc.RpcError as error:
            raise self._error(error, name) from None
        return response.FromString(found)

    def _error(self, error: Any, name: str) -> errors.OpError:
        code, details = error.code().value[0], error.details() or ""
        return remote_error(code, details, f"{self.task} at {self.address}", name)

    def get_status(
        self, timeout_s: float | None = None
    ) -> list[device_attributes_pb2.DeviceAttributes]:
        """Return the devices of the worker; wait until it is there.

        Raises:
          DeadlineExceededError: it is not there.
          UnauthenticatedError: it is there; certificates do not fit.
        """
        with self._lock:
            self._num_waits += 1
        try:
            response = self._call(
                "GetStatus",
                worker_pb2.GetStatusRequest(),
                worker_pb2.GetStatusResponse,
                timeout_s,
                True,
            )
        except errors.DeadlineExceededError:
            reason = handshake_failure(self._channel, self._target)
            if reason:
                raise errors.unauthenticated(
                    f"No connection to {self.task} at {self.address}: {reason}"
                ) from None
            raise
        finally:
            with self._lock:
                self._num_waits -= 1
        return list(response.device_attributes)

    def create_worker_session(self, request: worker_pb2.CreateWorkerSessionRequest) -> None:
        """Open what the worker keeps of a session."""
        self._call("CreateWorkerSession", request, worker_pb2.CreateWorkerSessionResponse, _SHORT_S)

    def delete_worker_session(self, session_handle: str) -> None:
        """Drop it, without waiting for the answer."""
        self._clean_steps()
        request = worker_pb2.DeleteWorkerSessionRequest(session_handle=session_handle)
        self._send("DeleteWorkerSession", request.SerializeToString())

    def register_graph(
        self, session_handle: str, graph_def: graph_pb2.GraphDef, config: config_pb2.ConfigProto
    ) -> str:
        """Give the worker its nodes; return the handle of the graph."""
        request = worker_pb2.RegisterGraphRequest(
            session_handle=session_handle,
            create_worker_session_called=True,
            graph_def=graph_def,
            graph_options=config.graph_options,
            config_proto=config,
        )
        response = self._call("RegisterGraph", request, worker_pb2.RegisterGraphResponse, _SHORT_S)
        handle: str = response.graph_handle
        return handle

    def deregister_graph(self, session_handle: str, graph_handle: str) -> None:
        """Drop a graph, without waiting for the answer."""
        request = worker_pb2.DeregisterGraphRequest(
            session_handle=session_handle,
            create_worker_session_called=True,
            graph_handle=graph_handle,
        )
        self._send("DeregisterGraph", request.SerializeToString())

    def _send(self, name: str, request: bytes) -> None:
        """Send a request without waiting for its answer: it releases something on the worker."""
        future = self._method(name).future(request, timeout=_CLEANUP_S)
        with self._lock:
            self._sent.add(future)
        future.add_done_callback(self._forget)

    def _forget(self, future: Any) -> None:
        with self._lock:
            self._sent.discard(future)

    def start_graph(
        self, call: RunGraphCall, failed: Callable[[BaseException], None], *, is_last: bool = False
    ) -> RemoteRun | LoneRun:
        """Send a run of a graph."""
        parts: list[coding.Buffer] = [_head_of_run(call), coding.varint_field(2, call.step_id)]
        if call.options is not None:
            parts.append(coding.bytes_field(5, call.options.SerializeToString()))
        for key, value in call.send.items():
            if isinstance(value, coding.UnreadTensor):
                tensor = value.encoded()
            else:
                tensor = coding.encode(value, dtype_of(value))
            parts += coding.named_tensor_field(3, key, tensor)
        parts.append(coding.varint_field(11, random.getrandbits(63) or 1))
        message = coding.join_message(parts, f"What the step sends to {self.task}")
        if is_last:
            return LoneRun(self, message, failed, call.unread)
        return RemoteRun(self, self.send_run(message), failed, call.unread, self._threads)

    @property
    def has_to_clean(self) -> bool:
        """Whether there are steps to clean up, during the next run."""
        return bool(self._to_clean)

    def send_run(self, message: bytes) -> Any:
        """Send a RunGraphRequest; return what :meth:`answer_of` takes."""
        return self._run_alone(message)

    def take_channel(self) -> _LoneChannel:
        """Return a channel that no other run uses; those to one target share a connection."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            shares_connection = self._shares_connection
        channel = new_channel(
            self._target, self._options, self._tls, shares_connection=shares_connection
        )
        return _LoneChannel(channel, channel.unary_unary(SERVICE + "RunGraph"), shares_connection)

    def give_back(self, one: _LoneChannel) -> None:
        """Let other runs use a channel, unless the task has another connection meanwhile."""
        with self._lock:
            is_used = one.shares_connection == self._shares_connection and not self._is_closed
            if is_used:
                self._idle.append(one)
        if not is_used:
            one.channel.close()

    def answer_of(self, answers: Any) -> bytes:
        """Return the answer of a run; meanwhile send what could wait.

        Raises:
          RpcError: there is none.
        """
        with self._lock:
            steps, self._to_clean = self._to_clean, []
        cleanups = [
            self._clean_alone(_cleanup_of(step_id), timeout=_CLEANUP_S) for step_id in steps
        ]
        try:
            (answer,) = answers
        except BaseException:
            with self._lock:
                self._to_clean += steps  # a request that was sent may be cancelled
            raise
        for cleanup in cleanups:
            with suppress(self._grpc.RpcError):
                list(cleanup)
        found: bytes = answer
        return found

    def run_error(self, error: Any) -> Exception:
        """Return what a failed call of RunGraph means."""
        return self._error(error, "RunGraph")

    def is_rpc_error(self, error: BaseException) -> bool:
        """Return whether gRPC raised an error."""
        return isinstance(error, self._grpc.RpcError)

    def cleanup_graph(self, step_id: int, *, is_urgent: bool = True) -> None:
        """Drop what is left of a step, without waiting for the answer."""
        with self._lock:
            self._to_clean.append(step_id)
        if is_urgent:
            self._clean_steps()

    def _clean_steps(self) -> None:
        with self._lock:
            steps, self._to_clean = self._to_clean, []
        for step_id in steps:
            self._send("CleanupGraph", _cleanup_of(step_id))

    def cleanup_all(self, containers: Sequence[str]) -> None:
        """Clear containers."""
        request = worker_pb2.CleanupAllRequest(container=containers)
        self._call("CleanupAll", request, worker_pb2.CleanupAllResponse, _SHORT_S)

    def logging(
        self, step_ids: Sequence[int], timeout_s: float | None
    ) -> list[worker_pb2.LabeledStepStats]:
        """Return what steps have done until now; a worker of TensorFlow returns nothing."""
        request = worker_pb2.LoggingRequest(fetch_step_id=step_ids)
        return list(self._call("Logging", request, worker_pb2.LoggingResponse, timeout_s).step)

    def recv_tensor(self, step_id: int, key: str, callback: type_of_callback) -> Callable[[], None]:
        """Ask for a tensor; ``callback`` gets it in a thread of gRPC."""
        request = worker_pb2.RecvTensorRequest(
            step_id=step_id,
            rendezvous_key=key,
            dma_ok=True,
            request_id=random.getrandbits(63) or 1,
        )
        message = request.SerializeToString()
        if self._retired:
            self._close_retired()
        call: list[Any] = []  # the call in flight, at the end
        has_given_up = False

        def start(*, is_first: bool) -> None:
            channel, method = self._channel, self._method("RecvTensor")
            future = method.future(message)
            call.append(future)
            if has_given_up:
                future.cancel()
            future.add_done_callback(partial(arrived, channel if is_first else None))

        def arrived(channel: Any, future: Any) -> None:
            try:
                response = future.result()
            except self._grpc.FutureCancelledError:
                return
            except self._grpc.RpcError as error:
                if channel is None or not _was_never_sent(error):
                    callback(self._error_of_transfer(error), None, False)
                else:
                    self._reconnect(channel)
                    start(is_first=False)
                return
            try:
                value, is_dead = received_tensor(response)
            except Exception as error:
                callback(error, None, False)
                return
            callback(None, value, is_dead)

        def give_up() -> None:
            nonlocal has_given_up
            has_given_up = True
            call[-1].cancel()

        start(is_first=True)
        return give_up

    def complete_group(
        self, key: int, size: int, member: Member, callback: type_of_group_callback
    ) -> Callable[[], None]:
        """Name a member of a group that the worker leads; ``callback`` gets all members."""
        request = worker_pb2.CompleteGroupRequest(
            group_key=key,
            group_size=size,
            device_type=_type_of(member.device),
            device_attributes=attributes_of(member),
        )
        future = self._method("CompleteGroup").future(request.SerializeToString())

        def arrived(future: Any) -> None:
            try:
                response = worker_pb2.CompleteGroupResponse.FromString(future.result())
                members = tuple(map(member_of, response.device_attributes))
                for one in members:
                    check_library(one)
            except self._grpc.FutureCancelledError:
                return
            except self._grpc.RpcError as error:
                callback(self._error(error, "CompleteGroup"), ())
            except Exception as error:
                callback(error, ())
            else:
                callback(None, members)

        future.add_done_callback(arrived)

        def give_up() -> None:
            future.cancel()

        return give_up

    def get_step_sequence(self, graph_key: int) -> int:
        """Return the id of the next step of a graph with collective ops."""
        request = worker_pb2.GetStepSequenceRequest(graph_key=[graph_key])
        response = self._call(
            "GetStepSequence", request, worker_pb2.GetStepSequenceResponse, _SHORT_S
        )
        for sequence in response.step_sequence:
            if sequence.graph_key == graph_key:
                return int(sequence.next_step_id)
        raise errors.internal(f"{self.task} has no step sequence of graph {graph_key}.")

    def _error_of_transfer(self, error: Any) -> Exception:
        """Return why a tensor did not come: an error of a node is one of its task, not of this."""
        found = self._error(error, "RecvTensor")
        return found if found.node_name is None else of_task(found, self.task)

    def close(self) -> None:
        """Close the connection once what was sent without waiting has arrived, or after 1 s."""
        self._clean_steps()
        with self._lock:
            sent = list(self._sent)
        end = monotonic() + _LAST_WORDS_S
        for future in sent:
            with suppress(
                self._grpc.RpcError, self._grpc.FutureTimeoutError, self._grpc.FutureCancelledError
            ):
                future.result(timeout=max(0.0, end - monotonic()))
        self._close_retired()
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for one in idle:
            one.channel.close()
        self._channel.close()
        self._threads.shutdown()


class RemoteRun:
    """A run of a graph that was sent to another process; a thread waits for its answer."""

    def __init__(
        self,
        worker: GrpcRemoteWorker,
        answers: Any,
        failed: Callable[[BaseException], None],
        unread: Container[str],
        threads: ServerThreads,
    ) -> None:
        self._worker, self._answers, self._failed = worker, answers, failed
        self._unread = unread
        self._cancelled: BaseException | None = None
        self._answer = threads.submit(self._wait)

    def _wait(self) -> bytes:
        """Tell the step of a failure at once, so that no other task goes on waiting."""
        try:
            answer = self._worker.answer_of(self._answers)
        except Exception as error:
            if self._cancelled is None and self._worker.is_rpc_error(error):
                self._failed(self._worker.run_error(error))
            raise
        code, text = _status_of(answer)
        if code:
            self._failed(remote_error(code, text, self._worker.task))
        return answer

    def result(self) -> RunGraphResult:
        """Wait for the answer.

        Raises:
          OpError: what the worker answered, or why it did not.
        """
        try:
            response = self._answer.result()
        except Exception as error:
            if self._cancelled is not None:
                raise self._cancelled from None
            if self._worker.is_rpc_error(error):
                raise self._worker.run_error(error) from None
            raise
        return _run_graph_result(response, self._worker.task, self._unread)

    def cancel(self, error: BaseException) -> None:
        """Cancel the run on the worker; :meth:`result` raises ``error``."""
        if self._cancelled is None:
            self._cancelled = error
        self._answers.cancel()


class _LoneChannel(NamedTuple):
    """A channel for one run at a time, and its method.

    Attributes:
      channel: the channel; closing it cancels the run.
      run: sends a RunGraphRequest and waits for the answer.
      shares_connection: whether it uses the first connection to the task.
    """

    channel: Any
    run: Callable[[bytes], bytes]
    shares_connection: bool


class LoneRun:
    """A run that is sent to another process as the last one of its step, and is waited for first.

    The thread that waits sends the request, too: a call that blocks takes a fifth less time than
    one whose answer comes later, and much less of the processor.  gRPC cannot cancel such a call,
    so that it has a channel of its own, which is closed instead.  Other runs of the step that fail
    cancel it.
    """

    def __init__(
        self,
        worker: GrpcRemoteWorker,
        message: bytes,
        failed: Callable[[BaseException], None],
        unread: Container[str],
    ) -> None:
        self._worker, self._message, self._failed = worker, message, failed
        self._unread = unread
        self._lock = threading.Lock()
        self._cancelled: BaseException | None = None  # guarded by self._lock
        self._stop: Callable[[], None] | None = None  # ends the call in flight; likewise
        self._is_stopped = False  # likewise

    def result(self) -> RunGraphResult:
        """Send the request, and wait for the answer.

        Raises:
          OpError: what the worker answered, or why it did not.
        """
        try:
            return _run_graph_result(self._answer(), self._worker.task, self._unread)
        except Exception as error:
            found: BaseException = error
            if self._worker.is_rpc_error(error):
                found = self._worker.run_error(error)
            found = self._cancelled or found
            self._failed(found)
            raise found from None

    def _answer(self) -> bytes:
        worker = self._worker
        if worker.has_to_clean:  # requests for that go out while the answer is waited for
            answers = worker.send_run(self._message)
            self._let_stop(answers.cancel)
            return worker.answer_of(answers)
        one = worker.take_channel()
        try:
            self._let_stop(one.channel.close)
            return one.run(self._message)
        except BaseException as error:
            if not isinstance(error, Exception):  # an interrupt: the call is still in flight
                self.cancel(error)
            raise
        finally:
            with self._lock:
                self._stop, is_stopped = None, self._is_stopped
            if not is_stopped:
                worker.give_back(one)

    def _let_stop(self, stop: Callable[[], None]) -> None:
        """Let a function end the call from now on; raise the error of a run that was cancelled."""
        with self._lock:
            error = self._cancelled
            if error is None:
                self._stop = stop
        if error is not None:
            raise error

    def cancel(self, error: BaseException) -> None:
        """Cancel the run on the worker; :meth:`result` raises ``error``."""
        with self._lock:
            if self._cancelled is None:
                self._cancelled = error
            stop, self._stop = self._stop, None
            self._is_stopped = self._is_stopped or stop is not None
        if stop is not None:
            stop()


def _cleanup_of(step_id: int) -> bytes:
    return coding.varint_field(1, step_id)


def _head_of_run(call: RunGraphCall) -> bytes:
    """Return the fields of a RunGraphRequest that are the same for all steps."""
    return _head(
        call.session_handle,
        call.graph_handle,
        tuple(call.recv_keys),
        (call.is_partial, call.is_last_partial_run),
    )


@lru_cache(256)
def _head(
    session: str, graph: str, recv_keys: tuple[str, ...], partial: tuple[bool, bool]
) -> bytes:
    return worker_pb2.RunGraphRequest(
        session_handle=session,
        create_worker_session_called=True,
        graph_handle=graph,
        recv_key=recv_keys,
        is_partial=partial[0],
        is_last_partial_run=partial[1],
        store_errors_in_response_body=True,
    ).SerializeToString()


def _status_of(response: bytes) -> tuple[int, str]:
    code, text = 0, ""
    for number, value, _ in coding.fields(memoryview(response)):
        if number == 5 and isinstance(value, int):
            code = value
        elif number == 6:
            text = coding.text_of(value)
    return code, text


def _run_graph_result(response: bytes, task: str, unread: Container[str]) -> RunGraphResult:
    code, text = _status_of(response)
    if code:
        raise remote_error(code, text, task)
    result = RunGraphResult()
    for number, value, _ in coding.fields(memoryview(response)):
        if number == 1:
            name, tensor = coding.named(coding.content_of(value))
            result.recv[name] = tensor if name in unread else tensor.read()
        elif number == 2:
            content = bytes(coding.content_of(value))
            result.step_stats = step_stats_pb2.StepStats.FromString(content)
        elif number == 3:
            content = bytes(coding.content_of(value))
            result.cost_graph = step_stats_pb2.CostGraphDef.FromString(content)
        elif number == 4:
            content = bytes(coding.content_of(value))
            result.partition_graphs.append(graph_pb2.GraphDef.FromString(content))
    return result


def _was_never_sent(error: Any) -> bool:
    """Return whether a request failed because there was no connection: it can be sent again."""
    return "failed to connect" in (error.details() or "")


def received_tensor(response: bytes) -> tuple[Any, bool]:
    """Return the tensor of a RecvTensorResponse, and whether it is dead."""
    value: Any = None
    is_dead = False
    for number, content, _ in coding.fields(memoryview(response)):
        if number == 1:
            value = coding.as_fed(coding.decode(coding.content_of(content)))
        elif number == 2:
            is_dead = bool(content)
    return (None if is_dead else value), is_dead


def attributes_of(member: Member) -> device_attributes_pb2.DeviceAttributes:
    """Return a member of a group of collective ops as a message."""
    return device_attributes_pb2.DeviceAttributes(
        name=member.device,
        device_type=_type_of(member.device),
        incarnation=member.incarnation,
        physical_device_desc=member.description,
    )


def member_of(attributes: device_attributes_pb2.DeviceAttributes) -> Member:
    """Return the member that a message describes."""
    return Member(attributes.name, attributes.incarnation, attributes.physical_device_desc)


def _type_of(device: str) -> str:
    return device.partition("/device:")[2].partition(":")[0]


def dtype_of(value: Any) -> dtypes.DType:
    """Return the type of a value of the runtime."""
    if isinstance(value, (np.ndarray, np.generic)):  # first: the check of a protocol is slow
        return dtypes.as_dtype(value.dtype)
    if isinstance(value, bytes):
        return dtypes.string
    if isinstance(value, EncodableVariant):
        return dtypes.variant
    return dtypes.as_dtype(value.dtype)
