"""A session that a master in another process runs.

State:
  _handle, _version   name the session on the master, and how often its graph has grown; "" before
                      the first nodes are sent, for the master makes the session with its graph
  _nodes              the nodes that were sent, by name
  _remote_steps       the steps in flight and what observers get of them

A signature is prepared here by writing the constant parts of its request: a step costs one join and
one call.  Placement, partitions and executors are the master's.

Corresponds to TensorFlow's ``rpc/grpc_session.cc``.
"""

from __future__ import annotations

import random
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tfnb.common_runtime.device.device import DeviceAttributes
from tfnb.common_runtime.executor.waiting import with_account
from tfnb.common_runtime.session.session import RuntimeSession
from tfnb.core import dtypes, errors, op_registry
from tfnb.core.graph_def_message import graph_def_message
from tfnb.core.plain_graph_def import PlainGraphDef
from tfnb.core.step_events import StepEvents
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.remote_effects import RemoteEffects
from tfnb.distributed_runtime.remote_errors import CLOSED, remote_error
from tfnb.distributed_runtime.remote_steps import RemoteStep, RemoteSteps, traced_options
from tfnb.proto import config_pb2, master_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tfnb.common_runtime.executor.running_nodes import NodeCounts, RunningNode
    from tfnb.common_runtime.session.session_factory import SessionOptions
    from tfnb.core.dtypes import DType
    from tfnb.core.plain_graph_def import PlainNodeDef, type_of_graph_def
    from tfnb.core.process.standstill import Standstill
    from tfnb.distributed_runtime.grpc_remote_master import GrpcRemoteMaster
    from tfnb.distributed_runtime.remote_steps import KnownSignature
    from tfnb.proto import device_attributes_pb2

# A server that does not answer does not hold up the end of its session longer; in seconds.
_CLOSE_S = 5.0
# A server that does not answer does not hold up a view longer.
_LOOK_S = 2.0
_DEADLINE_GRACE_S = 1.0
type_of_response = TypeVar("type_of_response")
_STORE_ERRORS = coding.varint_field(7, 1)


class RemoteSignature:
    """One signature of a session on a server.

    Attributes:
      feeds, fetches, targets: its names.
      feed_types: the types of what it is fed.
      quick: runs a step without options.
      known: what observers get of the signature.
    """

    __slots__ = ("_tail", "feed_types", "feeds", "fetches", "known", "quick", "targets")

    def __init__(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        feed_types: tuple[DType | None, ...],
        known: KnownSignature | None = None,
    ) -> None:
        self.feeds, self.fetches, self.targets = feeds, fetches, targets
        self.known = known
        self.feed_types = feed_types
        self._tail = (
            coding.string_fields(3, fetches) + coding.string_fields(4, targets) + _STORE_ERRORS
        )
        self.quick: Callable[[GrpcSession, Sequence[Any]], list[Any]] = self._run_plainly

    @property
    def executors(self) -> Any:
        """The executors are the server's.

        Raises:
          UnimplementedError: always.
        """
        raise errors.unimplemented(
            "The server optimizes and partitions the graph. To see its partitions, run with "
            "tf.RunOptions(output_partition_graphs=True) and a tf.RunMetadata."
        )

    def request(
        self,
        handle: bytes,
        values: Sequence[Any],
        request_id: int,
        more: bytes = b"",
        *,
        is_local: bool = False,
    ) -> coding.Message:
        """Return a RunStepRequest.

        Args:
          handle: the field that names the session.
          values: one for each feed.
          request_id: of the request.
          more: further fields.
          is_local: whether it goes to a server of this process.
        """
        parts: list[coding.Buffer] = [handle]
        local: dict[str, Any] = {}
        for name, dtype, value in zip(self.feeds, self.feed_types, values):
            if is_local and coding.may_stay(value, dtype):
                local[name] = value
                continue
            parts += coding.named_tensor_field(2, name, _encoded(value, dtype))
        parts += (self._tail, more, coding.varint_field(8, request_id))
        message = coding.join_message(parts, "The request of this step, with all that is fed,")
        return coding.LocalMessage(message, local) if is_local else message

    def _run_plainly(self, session: GrpcSession, values: Sequence[Any]) -> list[Any]:
        return session.run_prepared(self, values)


@dataclass(slots=True)
class _Callable:
    """A callable that the server has.

    Attributes:
      options: what it was made of.
      feed_types: the types of what it is fed.
      known: what observers get of its signature.
      traced: the handle of the same callable with traces, for observers of nodes; 0: none yet.
    """

    options: config_pb2.CallableOptions
    feed_types: tuple[DType | None, ...]
    known: KnownSignature
    traced: int = 0


@dataclass(slots=True)
class _PartialRun:
    """A partial run in flight: its step, and the names that it was not fed and fetched yet."""

    step: RemoteStep
    feeds: set[str]
    fetches: set[str]

    def accepts(self, feeds: Iterable[str], fetches: Iterable[str]) -> bool:
        """Return whether all names were declared and have not come before."""
        return self.feeds.issuperset(feeds) and self.fetches.issuperset(fetches)

    def take(self, feeds: Iterable[str], fetches: Iterable[str]) -> bool:
        """Note that names came; return whether that is the end of the run."""
        self.feeds.difference_update(feeds)
        self.fetches.difference_update(fetches)
        return not (self.feeds or self.fetches)


class GrpcSession(RuntimeSession):
    """A session on a server; thread safe.

    Attributes:
      target: ``grpc://host:port``.
      step_events: what observers register at; see ``remote_steps.py``.
    """

    is_on_server = True

    def __init__(self, options: SessionOptions, master: GrpcRemoteMaster) -> None:
        """Prepare a session; nothing is sent before the first nodes are."""
        self.target = options.target
        self._config = options.config
        self._master = master
        self._lock = threading.RLock()
        self._handle, self._version = "", 0  # guarded by self._lock
        self._handle_field = b""
        self._nodes: dict[str, PlainNodeDef] = {}  # guarded by self._lock
        self._callables: dict[int, _Callable] = {}
        self._partial_runs: dict[str, _PartialRun] = {}
        self._closed = False
        self._timeout_s = _seconds(self._config.operation_timeout_in_ms)
        self._effects = RemoteEffects(self._nodes)
        self.step_events = StepEvents.for_session()
        self._remote_steps = RemoteSteps(
            master, self._config, self.step_events, lambda: self._device_messages(_LOOK_S)
        )

    @property
    def config(self) -> config_pb2.ConfigProto:
        """The configuration of the session."""
        return self._config

    @property
    def session_handle(self) -> str:
        """The session's name on the server; "" before anything was sent."""
        return self._handle

    @property
    def graph_version(self) -> int:
        """How often the server's graph has grown; with the handle, it identifies the session."""
        return self._version

    def attach(self, session_handle: str, graph_version: int) -> None:
        """Go on with a session that the server has, instead of opening one.

        The server is not asked: a handle that it does not know fails the next request. Nodes that
        it has from before need not be known here, and those that are sent must be new to it.

        Args:
          session_handle: names the session on the server.
          graph_version: how often the server's graph had grown when the handle was noted.

        Raises:
          FailedPreconditionError: this session has opened one already.
          InvalidArgumentError: the handle is empty.
        """
        if not session_handle:
            raise errors.invalid_argument("A session on a server has a handle that is not empty.")
        with self._lock:
            self._check_open()
            if self._handle:
                raise errors.failed_precondition(
                    f"The session is {self._handle} on {self.target}: attach before its first run."
                )
            self._use_handle(session_handle, graph_version)

    def note_sent(self, graph_def: type_of_graph_def) -> None:
        """Note nodes that the server has from before, so that feeds get their types."""
        with self._lock:
            self._note_nodes(graph_def)

    def detach(self) -> None:
        """Close the connection and leave the session open on the server."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._master.close()
        self._forget_partial_runs()

    # -- the graph ---------------------------------------------------------------------------------

    def create(self, graph_def: type_of_graph_def) -> None:
        """Send the session's graph; a graph without nodes is ignored.

        Raises:
          AlreadyExistsError: the session has a graph.
          OpError: what the server answered.
        """
        with self._lock:
            if self._handle:
                raise errors.already_exists("A Graph has already been created for this session.")
            if graph_def.node:
                self.extend(graph_def)

    def extend(self, graph_def: type_of_graph_def) -> None:
        """Send further nodes.

        Raises:
          CancelledError: the session is closed.
          OpError: what the server answered; it takes all nodes or none.
        """
        with self._lock:
            self._check_open()

            def note(response: Any) -> None:
                self._version = response.new_graph_version
                self._note_nodes(graph_def)

            if not self._handle:
                self._create(graph_def)
                return
            request = master_pb2.ExtendSessionRequest(
                session_handle=self._handle,
                graph_def=graph_def_message(graph_def),
                current_graph_version=self._version,
            )
            self._master.call_to_its_end(
                "ExtendSession", request, master_pb2.ExtendSessionResponse, note, self._timeout_s
            )

    def _create(self, graph_def: type_of_graph_def) -> None:
        self._take_session(self._ask_for_session(graph_def), graph_def)

    def _ask_for_session(self, graph_def: type_of_graph_def) -> Any:
        request = master_pb2.CreateSessionRequest(
            graph_def=graph_def_message(graph_def), config=self._config, target=self.target
        )
        return self._master.call_when_ready(
            "CreateSession", request, master_pb2.CreateSessionResponse, self._timeout_s
        )

    def _take_session(self, response: Any, graph_def: type_of_graph_def) -> None:
        self._use_handle(response.session_handle, response.graph_version)
        self._note_nodes(graph_def)

    def _use_handle(self, handle: str, version: int) -> None:
        self._handle, self._version = handle, version
        self._handle_field = coding.bytes_field(1, handle.encode())

    def _note_nodes(self, graph_def: type_of_graph_def) -> None:
        self._remote_steps.extend(graph_def)
        if isinstance(graph_def, PlainGraphDef):
            self._nodes.update({node.name: node for node in graph_def.node})
        if graph_def.library is not None:
            for function in graph_def.library.function:
                self._effects.note_function(function)

    def replace_graph(self, graph_def: type_of_graph_def) -> None:
        """Open a new session on the server with this graph and close the one before.

        Variables stay, unless ``isolate_session_state`` is set: they belong to the server.
        """
        with self._lock:
            self._check_open()
            before = self._handle
            response = self._ask_for_session(graph_def)
            self._nodes.clear()
            self._effects.forget()
            self._remote_steps.forget()
            self._callables.clear()
            self._forget_partial_runs()
            self._take_session(response, graph_def)
        if before:
            self._close_handle(before)

    def has_node(self, name: str) -> bool:
        """Whether the server was sent a node of that name."""
        return name in self._nodes

    def ensure_created(self) -> tuple[str, int]:
        """Make the session on the server even if it has no nodes yet; return handle and version."""
        with self._lock:
            self._check_open()
            if not self._handle:
                self._create(PlainGraphDef([]))
            return self._handle, self._version

    # -- running -----------------------------------------------------------------------------------

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> RemoteSignature:
        """Return what runs a signature; the server looks at it in the first step.

        Raises:
          CancelledError: the session is closed.
          PermissionDeniedError: the step would have effects that a loaded graph may not have.
        """
        self._check_open()
        if self.has_watched_nodes:
            self._effects.check(self.effects_policy, feeds, fetches, targets)
        known = self._remote_steps.signature((feeds, fetches, targets))
        return RemoteSignature(feeds, fetches, targets, tuple(map(self._type_of, feeds)), known)

    def _type_of(self, tensor: str) -> DType | None:
        """Return the type of a tensor; None where its values tell."""
        name, _, output = tensor.partition(":")
        node = self._nodes.get(name)
        definition = None if node is None else op_registry.find(node.op)
        if node is None or definition is None:
            return None
        types = definition.op_def.output_types(node.attrs)
        number = int(output or 0)
        return types[number].base_dtype if number < len(types) else None

    def run_prepared(
        self,
        prepared: RemoteSignature,
        feed_values: Sequence[Any],
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Run one step on the server.

        Args:
          prepared: from :meth:`prepare`.
          feed_values: one array per feed, in the order of ``prepared.feeds``.
          run_options: passed on; ``timeout_in_ms`` is the deadline of the request.
          run_metadata: is overwritten with what the server recorded.

        Returns:
          One value per fetch, in the order of ``prepared.fetches``.

        Raises:
          OpError: what the server answered, or why it did not.
          KeyboardInterrupt: the user interrupted the step; it is cancelled on the server.
        """
        more, timeout_s = b"", self._timeout_s
        if run_options is not None:
            timeout_s = _seconds(run_options.timeout_in_ms) or timeout_s
        is_observed = self._remote_steps.is_observed
        options = self._remote_steps.options(run_options) if is_observed else run_options
        if options is not None:
            more = coding.bytes_field(5, options.SerializeToString())
        request_id = _new_request_id()
        step = self._remote_steps.begin(
            request_id, prepared.fetches or prepared.targets, prepared.known
        )
        try:
            request = prepared.request(
                self._handle_field,
                feed_values,
                request_id,
                more,
                is_local=self._master.is_in_process,
            )

            def send() -> tuple[coding.StepResponse, config_pb2.RunMetadata | None]:
                response = self._send(
                    step, "RunStep", request, timeout_s, self._read, is_ended_here=is_observed
                )
                return response, response.metadata

            response = self._remote_steps.observe(step, send) if is_observed else send()[0]
        finally:
            self._remote_steps.end(step)
        if run_metadata is not None:
            _copy_metadata(response.metadata, run_metadata, run_options)
        return [self._fetched(response.tensors, name) for name in prepared.fetches]

    def _send(
        self,
        step: RemoteStep,
        method: str,
        request: coding.Message,
        timeout_s: float | None,
        read: Callable[[coding.Message], type_of_response],
        *,
        is_ended_here: bool,
    ) -> type_of_response:
        """Send the request of a step; return what ``read`` makes of the response.

        Args:
          step: the step.
          method: of the service.
          request: the message.
          timeout_s: seconds until the deadline; None: no deadline.
          read: reads the response.
          is_ended_here: whether other threads may end the step.
        """
        self._check_open()
        try:
            if timeout_s is None and not is_ended_here:
                answer = self._master.call_with_message(method, request, None)
            else:
                answer = self._call_to_deadline(step, method, request, timeout_s)
            return read(answer)
        except errors.OpError as error:
            if self._closed:  # whatever the server makes of a session that has ended
                raise errors.cancelled(CLOSED) from error
            raise

    def _read(self, answer: coding.Message) -> coding.StepResponse:
        """Read the response of RunStep.

        Raises:
          OpError: the step failed.
        """
        response = coding.decode_step_response(answer)
        if response.code:
            raise remote_error(response.code, response.message, self.target)
        return response

    def _call_to_deadline(
        self, step: RemoteStep, method: str, request: coding.Message, timeout_s: float | None
    ) -> coding.Message:
        """Run a step whose deadline the client keeps, so that the error says what it waits for."""
        # The server ends the step later than the client, which asks it first where the step is.
        limit_s = None if timeout_s is None else timeout_s + _DEADLINE_GRACE_S
        call = step.call = self._master.start(method, request, limit_s)
        try:
            answer = call.result(timeout_s)
        except KeyboardInterrupt as interrupt:
            found = self._remote_steps.last_look(step)
            call.cancel()
            with_account(interrupt, found)
            raise
        if answer is None:
            found = self._remote_steps.last_look(step)
            call.cancel()
            late = remote_error(errors.DEADLINE_EXCEEDED, "Deadline Exceeded", self.target, method)
            raise with_account(late, found)
        return answer

    def _fetched(self, values: Mapping[str, Any], name: str) -> Any:
        try:
            return values[name]
        except KeyError:
            raise errors.internal(
                f"The server {self.target} did not send the value of {name}."
            ) from None

    def run_plainly(
        self, feeds: Mapping[str, Any], fetches: Sequence[str], targets: Sequence[str]
    ) -> list[Any]:
        """Run one step without options."""
        return self.run(feeds, fetches, targets)

    def run(
        self,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        run_options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Run one step; feeds by tensor name.

        Raises:
          OpError: what the server answered, or why it did not.
        """
        prepared = self.prepare(tuple(feeds), tuple(fetches), tuple(targets))
        return self.run_prepared(prepared, list(feeds.values()), run_options, run_metadata)

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        """Start a step that is fed and fetched piece by piece; return its handle."""
        self.ensure_created()
        if self.has_watched_nodes:
            self._effects.check(self.effects_policy, feeds, fetches, targets)
        request_id = _new_request_id()
        request = master_pb2.PartialRunSetupRequest(
            session_handle=self._handle,
            feed=feeds,
            fetch=fetches,
            target=targets,
            request_id=request_id,
        )
        response = self._master.call(
            "PartialRunSetup", request, master_pb2.PartialRunSetupResponse, self._timeout_s
        )
        handle: str = response.partial_run_handle
        known = self._remote_steps.signature((tuple(feeds), tuple(fetches), tuple(targets)))
        step = self._remote_steps.begin(request_id, fetches or targets, known)
        self._partial_runs[handle] = _PartialRun(step, set(feeds), set(fetches))
        if self._remote_steps.is_observed:
            self._remote_steps.tell_start(step)
        return handle

    def partial_run(
        self, handle: str, feeds: Mapping[str, Any], fetches: Sequence[str]
    ) -> list[Any]:
        """Feed and fetch a part of a step."""
        signature = RemoteSignature(
            tuple(feeds), tuple(fetches), (), tuple(map(self._type_of, feeds))
        )
        part = coding.bytes_field(6, handle.encode())
        request_id = _new_request_id()
        request = signature.request(self._handle_field, list(feeds.values()), request_id, part)
        run = self._partial_runs.get(handle)
        if run is None:  # the server says what is wrong with the handle
            run = _PartialRun(RemoteStep(request_id, fetches, None), set(), set())
        # Otherwise the server refuses the part, and the run goes on.
        is_accepted = run.accepts(feeds, fetches)
        is_observed = self._remote_steps.is_observed
        try:
            response = self._send(
                run.step,
                "RunStep",
                request,
                self._timeout_s,
                self._read,
                is_ended_here=is_observed,
            )
        except BaseException as error:
            if is_accepted:
                self._end_partial_run(handle, error)
            raise
        if run.take(feeds, fetches):
            self._end_partial_run(handle, None)
        return [self._fetched(response.tensors, name) for name in fetches]

    def _end_partial_run(self, handle: str, error: BaseException | None) -> None:
        run = self._partial_runs.pop(handle, None)
        if run is not None:
            self._remote_steps.end(run.step)
            self._remote_steps.tell_end(run.step, error)

    def _forget_partial_runs(self) -> None:
        """End partial runs that were not fed and fetched to their end: the session ends."""
        for handle in list(self._partial_runs):
            self._end_partial_run(handle, errors.cancelled(CLOSED))

    def make_callable(self, options: config_pb2.CallableOptions) -> int:
        """Prepare a signature on the server; return its handle."""
        self.ensure_created()
        if self.has_watched_nodes:
            self._effects.check(self.effects_policy, options.feed, options.fetch, options.target)
        handle = self._new_callable(options)
        kept = config_pb2.CallableOptions()
        kept.CopyFrom(options)
        names = tuple(options.feed), tuple(options.fetch), tuple(options.target)
        connections = [(one.from_tensor, one.to_tensor) for one in options.tensor_connection]
        known = self._remote_steps.signature(names, tuple(connections))
        self._callables[handle] = _Callable(kept, tuple(map(self._type_of, options.feed)), known)
        return handle

    def _new_callable(self, options: config_pb2.CallableOptions) -> int:
        request = master_pb2.MakeCallableRequest(
            session_handle=self._handle, options=options, request_id=_new_request_id()
        )
        response = self._master.call(
            "MakeCallable", request, master_pb2.MakeCallableResponse, self._timeout_s
        )
        handle: int = response.handle
        return handle

    def _traced(self, found: _Callable) -> int:
        """Return the handle of a callable with traces; the server gets it on first use."""
        with self._lock:
            if not found.traced:
                options = config_pb2.CallableOptions()
                options.CopyFrom(found.options)
                options.run_options.CopyFrom(traced_options(options.run_options))
                found.traced = self._new_callable(options)
            return found.traced

    def run_callable(
        self,
        handle: int,
        feed_values: Sequence[Any],
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> list[Any]:
        """Run a callable; feeds in the order it was made with."""
        self._check_open()
        found = self._callables.get(handle)
        if found is None:
            raise errors.invalid_argument("No such callable handle: the session has none of it.")
        types, options = found.feed_types, found.options
        if len(types) != len(feed_values):
            raise errors.invalid_argument(
                f"The callable takes {len(types)} feeds, but {len(feed_values)} were given."
            )
        is_observed = self._remote_steps.is_observed
        number = self._traced(found) if is_observed and self._remote_steps.is_traced else handle
        parts: list[coding.Buffer] = [self._handle_field, coding.varint_field(2, number)]
        for dtype, value in zip(types, feed_values):
            parts += coding.tensor_field(3, _encoded(value, dtype))
        request_id = _new_request_id()
        parts.append(coding.varint_field(4, request_id))
        request = coding.join_message(parts, "The request of this call, with all that is fed,")
        step = self._remote_steps.begin(request_id, options.fetch or options.target, found.known)

        def send() -> tuple[_CallableResponse, config_pb2.RunMetadata]:
            answer = self._send(
                step,
                "RunCallable",
                request,
                self._timeout_s,
                _callable_response,
                is_ended_here=is_observed,
            )
            return answer, answer.metadata

        try:
            answer = self._remote_steps.observe(step, send) if is_observed else send()[0]
        finally:
            self._remote_steps.end(step)
        if run_metadata is not None:
            has_options = options.HasField("run_options")
            _copy_metadata(
                answer.metadata, run_metadata, options.run_options if has_options else None
            )
        values: list[Any] = answer.values
        return values

    def release_callable(self, handle: int) -> None:
        """Release a callable; one of a server that is gone is released with it."""
        found = self._callables.pop(handle, None)
        if found is None or self._closed:
            return
        for number in (handle, found.traced):
            if not number:
                continue
            request = master_pb2.ReleaseCallableRequest(session_handle=self._handle, handle=number)
            try:
                self._master.call(
                    "ReleaseCallable", request, master_pb2.ReleaseCallableResponse, _CLOSE_S
                )
            except errors.OpError:
                return

    # -- devices, life -----------------------------------------------------------------------------

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices of all tasks that the session sees."""
        self.ensure_created()
        return [
            DeviceAttributes(
                device.name,
                device.device_type,
                device.memory_limit,
                device.incarnation,
                device.physical_device_desc,
            )
            for device in self._device_messages(self._timeout_s)
        ]

    def _device_messages(
        self, timeout_s: float | None
    ) -> list[device_attributes_pb2.DeviceAttributes]:
        """Return the devices as the master sent them, those of its own task first."""
        request = master_pb2.ListDevicesRequest(session_handle=self._handle)
        response = self._master.call(
            "ListDevices", request, master_pb2.ListDevicesResponse, timeout_s
        )
        return [*response.local_device, *response.remote_device]

    def waiting(self) -> Standstill | None:
        """Return what each step in flight waits for on the server; None without any."""
        return self._remote_steps.waiting()

    def running_nodes(self) -> list[RunningNode]:
        """Return no nodes: none runs in this process."""
        return []

    def step_counts(self) -> Mapping[int, NodeCounts]:
        """Return how often nodes ran, by step, for steps that the server speaks of."""
        return self._remote_steps.counts()

    def active_steps(self) -> list[RemoteStep]:
        """Return the steps in flight."""
        return self._remote_steps.active()

    def look_at_steps(self) -> None:
        """Ask the server what the steps in flight do, unless it was asked a moment ago."""
        self._remote_steps.look()

    def report_signatures(self) -> bool:
        """Tell observers of signatures that ran and were not reported; return whether any was."""
        return bool(self._handle) and not self._closed and self._remote_steps.report()

    def last_run(self) -> tuple[int, int]:
        """Return the id of the step that began last, and of its signature; 0 if none ran."""
        return self._remote_steps.last_run()

    def emitted_sources(self) -> list[str]:
        """Return nothing: the server runs the graph."""
        return []

    def optimization_stages(
        self, fetches: Sequence[str], feeds: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> list[Any]:
        """Refuse: the passes run on the server.

        Raises:
          UnimplementedError: always.
        """
        raise errors.unimplemented(f"The server {self.target} optimizes the graph.")

    def hold_steps(self) -> None:
        """Refuse: a step on a server cannot be paused.

        Raises:
          UnimplementedError: always.
        """
        raise errors.unimplemented(
            f"Steps on {self.target} cannot be paused; an interrupt ends the one that runs."
        )

    def let_steps_go(self) -> None:
        """Do nothing: no step is paused."""

    @property
    def is_closed(self) -> bool:
        """Whether the session was told to close."""
        return self._closed

    def close(self) -> None:
        """End the session on the server, with its steps in flight; a second call does nothing.

        A server of this process is not asked while the interpreter exits: it ends, too, and its
        threads do not run any more.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            handle = self._handle
        if sys.is_finalizing() and self._master.is_in_process:
            return
        try:
            if handle:
                self._close_handle(handle)
        finally:
            self._master.close()
            self._forget_partial_runs()

    def _close_handle(self, handle: str) -> None:
        request = master_pb2.CloseSessionRequest(session_handle=handle)
        try:
            self._master.call(
                "CloseSession",
                request,
                master_pb2.CloseSessionResponse,
                self._timeout_s or _CLOSE_S,
            )
        except (errors.UnavailableError, errors.AbortedError, errors.DeadlineExceededError):
            return  # the session ended with its server

    def _check_open(self) -> None:
        if self._closed:
            raise errors.cancelled("Session has been closed.")


class _CallableResponse(NamedTuple):
    """What RunCallable answers: a value for each fetch, and what was recorded."""

    values: list[Any]
    metadata: config_pb2.RunMetadata


def _callable_response(answer: coding.Message) -> _CallableResponse:
    assert isinstance(answer, bytes)
    values: list[Any] = []
    metadata = config_pb2.RunMetadata()
    for number, value, _ in coding.fields(memoryview(answer)):
        if number == 1:
            values.append(coding.decode(coding.content_of(value)))
        elif number == 2:
            metadata = config_pb2.RunMetadata.FromString(bytes(coding.content_of(value)))
    return _CallableResponse(values, metadata)


def _encoded(value: Any, dtype: DType | None) -> coding.EncodedTensor:
    if dtype is None:
        dtype = dtypes.as_dtype(getattr(value, "dtype", None) or type(value))
    return coding.encode(value, dtype)


def _new_request_id() -> int:
    return random.getrandbits(63) or 1


def _seconds(milliseconds: int) -> float | None:
    return milliseconds / 1000 if milliseconds > 0 else None


def _copy_metadata(
    found: config_pb2.RunMetadata | None,
    metadata: config_pb2.RunMetadata,
    options: config_pb2.RunOptions | None,
) -> None:
    """Give the caller what the server recorded, but not what only observers asked for."""
    metadata.Clear()
    if found is None:
        return
    metadata.CopyFrom(found)
    if options is None or options.trace_level == config_pb2.RunOptions.NO_TRACE:
        metadata.ClearField("step_stats")
    if options is None or not options.output_partition_graphs:
        metadata.ClearField("partition_graphs")
