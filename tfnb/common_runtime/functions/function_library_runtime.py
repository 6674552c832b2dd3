"""Instantiates functions of the graph's library, and makes the kernels that call them.

A function is instantiated once per (name, attributes, device): its body becomes a graph, is
lowered, placed, partitioned and prepared like a signature.  :mod:`function_call` runs it.  One
object serves all devices of a session: the thread that drives a step runs all of them, so no call
is handed from the runtime of one device to that of another.

A call is *immediate* if its body runs on one device and no node in it can block.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any, Protocol

from tfnb.common_runtime.executor.immutable_executor_state import (
    ExecutorItem,
    initialize,
)
from tfnb.common_runtime.executor.loaded_effects import WatchedSession, watch_if_loaded
from tfnb.common_runtime.executor.session_views import function_view
from tfnb.common_runtime.functions.body_options import (
    PLAIN_BODY,
    BodyOptions,
    body_options,
)
from tfnb.common_runtime.functions.called_functions import (
    check_dataset,
    checked_calls,
    without_kernel,
)
from tfnb.common_runtime.functions.lower_functional_ops import (
    FUNCTIONAL_OPS,
    inlines_calls,
    lower_functional_ops,
    lowers_control_flow,
    optimizes_functions,
)
from tfnb.common_runtime.optimizer.optimization_registry import (
    PRUNED,
    REGISTRY,
    SIMPLIFIED,
    Grouping,
    OptimizationPassOptions,
    PassReport,
)
from tfnb.common_runtime.placement.placer import Placer
from tfnb.core import errors, op_registry
from tfnb.core.attr_value import NameAttrList
from tfnb.core.op_kernel import FunctionCall, OpKernel, OpKernelContext, create_kernel
from tfnb.core.process.later import later
from tfnb.core.process.records import record, replace
from tfnb.graph.algorithm import prune_for_reverse_reachability
from tfnb.graph.function_library import FunctionDefinition
from tfnb.graph.graph_constructor import graph_from_graph_def, graph_to_graph_def
from tfnb.graph.graph_partition import partition
from tfnb.graph.node_kind import PARTITIONED_CALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.functions import function_call, inline_function, simplify_body
    from tfnb.common_runtime.optimizer.optimization_registry import PassTracer
    from tfnb.core.op_def import OpDef
    from tfnb.core.op_kernel import type_of_done
    from tfnb.core.step_events import StepEvents
    from tfnb.graph import function_body
    from tfnb.graph.function_library import FunctionLibraryDefinition
    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import config_pb2, graph_pb2
else:
    function_call = later("tfnb.common_runtime.functions.function_call", in_step=True)
    inline_function = later("tfnb.common_runtime.functions.inline_function", in_step=True)
    simplify_body = later("tfnb.common_runtime.functions.simplify_body", in_step=True)
    function_body = later("tfnb.graph.function_body", in_step=True)

_MOST_KNOWN = 256
_STATE_HANDLE = "_state_handle"


@record(slots=True)
class _OptimizedBody:
    """A body after all passes: a graph for each device."""

    parts: list[tuple[Device, Graph]]
    has_transfers: bool
    reports: list[PassReport]


class SessionOfFunctions(WatchedSession, Protocol):
    """The session's interface to its functions."""

    step_events: StepEvents

    @property
    def config(self) -> config_pb2.ConfigProto:
        """The session's configuration."""

    @property
    def graph(self) -> Graph | None:
        """The full graph of the session, or None before the first node."""

    @property
    def device_mgr(self) -> DeviceMgr:
        """The session's devices."""

    @property
    def has_whole_graph(self) -> bool:
        """Whether no other session may run further nodes of its graph."""

    @property
    def kept_by_pipelines(self) -> object:
        """What pipelines that call its functions keep alive, since they may live longer."""


class FunctionLibraryRuntime:
    """The functions of one session; thread safe."""

    def __init__(self, session: SessionOfFunctions) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._complete: set[str] = set()  # functions whose callees are all defined
        self._instances: dict[
            tuple[Any, ...], function_call.InstantiatedFunction
        ] = {}  # guarded by self._lock
        self._in_progress: set[tuple[Any, ...]] = set()  # guarded by self._lock
        self._items: dict[int, list[ExecutorItem]] = {}  # by signature id
        self._by_state_handle: dict[str, list[tuple[Any, ...]]] = {}  # guarded by self._lock
        self._edge_names = itertools.count(0)

    def call(
        self, ctx: OpKernelContext, name: str, attrs: Mapping[str, Any], args: Sequence[Any]
    ) -> list[Any]:
        """Call a function in the calling thread and return its results.

        Raises:
          NotFoundError: there is no function of that name.
          InvalidArgumentError: the number of arguments is wrong, or a result is dead.
          OpError: the error of the body.
        """
        return function_call.call_now(
            self.find_function(ctx, FunctionCall(name, attrs, args)), ctx, args
        )

    def find_function(
        self, ctx: OpKernelContext, call: FunctionCall
    ) -> function_call.InstantiatedFunction:
        """Return what runs a call of a kernel, which may belong to another graph.

        Raises:
          NotFoundError: there is no function of that name.
        """
        home = call.home
        if home is not None and home is not self:
            found: function_call.InstantiatedFunction = home.find_function(ctx, call)
            return found
        return self._function_of(ctx, call)

    def _function_of(
        self, ctx: OpKernelContext, call: FunctionCall
    ) -> function_call.InstantiatedFunction:
        device: Device = ctx.device  # type: ignore[assignment]
        if call.make_graph_def is None:
            options = body_options(ctx.op_type, call.config_proto)
            return self.instantiate(call.name, call.attrs, device, options)
        key = (call.name, device.name)
        with self._lock:
            found = self._instances.get(key)
            if found is None:
                graph = graph_from_graph_def(call.make_graph_def(), library=self._library())
                num_args = sum(node.is_arg for node in graph.op_nodes())
                found = self._prepare(call.name, graph, device, num_args)
                self._instances[key] = found
        return found

    def find_items(self, signature_id: int) -> Sequence[ExecutorItem]:
        """Return the partitions of the function with that id for observers."""
        return self._items.get(signature_id, ())

    def body_graph_def(self, name: str, attrs: Mapping[str, Any]) -> graph_pb2.GraphDef:
        """Return a function's body, with an ``_Arg`` per argument and a ``_Retval`` per result.

        Raises:
          NotFoundError: there is no function of that name.
        """
        return graph_to_graph_def(
            function_body.instantiate(self._find(name), attrs, self._library()).graph
        )

    def has_function(self, name: str) -> bool:
        """Return whether the library has a function of that name."""
        library = self._library()
        return library is not None and library.find(name) is not None

    def signature(self, name: str) -> OpDef:
        """Return the signature of an op or a function of the library.

        Raises:
          NotFoundError: neither has that name.
        """
        library = self._library()
        function = None if library is None else library.find(name)
        return (op_registry.get(name) if function is None else function).op_def

    @property
    def expands_gradients(self) -> bool:
        """Whether SymbolicGradients in a body are expanded before the body is differentiated.

        In TensorFlow, Grappler's function optimizer does this.
        """
        return optimizes_functions(self._session.config)

    @property
    def session_graph(self) -> Graph | None:
        """The whole graph of the session, used to explain its steps; None if it has only a part."""
        return self._session.graph if self._session.has_whole_graph else None

    def gradient_function(self, name: str) -> str:
        """Return the name of the function registered as a function's gradient, or ""."""
        library = self._library()
        return "" if library is None else library.find_gradient(name)

    @property
    def kept_by_pipelines(self) -> object:
        """What pipelines that call the functions keep alive; None: they do not live longer."""
        return self._session.kept_by_pipelines

    def release(self, state_handle: str) -> None:
        """Drop the functions that were instantiated for calls with this ``_state_handle``."""
        with self._lock:
            keys = self._by_state_handle.pop(state_handle, ())
            found = [self._instances.pop(key) for key in keys if key in self._instances]
            for function in found:
                self._items.pop(function.signature_id, None)
        for function in found:
            function.release()

    def release_all(self) -> None:
        """Delete what only kernels of bodies can name; iterators may go on with theirs."""
        with self._lock:
            kept = {key for keys in self._by_state_handle.values() for key in keys}
            found = [one for key, one in self._instances.items() if key not in kept]
        for function in found:
            function.release()

    def run(
        self,
        ctx: OpKernelContext,
        name: str,
        attrs: Mapping[str, Any],
        args: Sequence[Any],
        done: type_of_done,
    ) -> None:
        """Call a function; ``done`` gets its results or the exception."""
        try:
            results = self.call(ctx, name, attrs, args)
        except Exception as error:
            done(error)
        else:
            done(results)

    def call_kernel(self, node: Node, device: Device) -> OpKernel:
        """Return the kernel of a node whose op is a function of the library."""
        definition = node.op_definition
        assert isinstance(definition, FunctionDefinition)
        name, attrs = node.op, node.attrs

        def calls(
            ctx: OpKernelContext, *args: Any
        ) -> Generator[FunctionCall, list[Any], tuple[Any, ...]]:
            results = yield FunctionCall(name, attrs, args)
            return tuple(results)

        kernel = OpKernel(
            node_name=node.name,
            definition=definition,
            device=device,
            kind="calls",
            compute=calls,
            attrs=attrs,
            num_outputs=node.num_outputs,
        )
        return self._bind(kernel, [NameAttrList(name, dict(attrs))])

    def bind(self, kernel: OpKernel) -> OpKernel:
        """Turn a kernel that yields calls into one that the executor can run.

        Raises:
          NotFoundError: a function that a branch or a loop may call is not defined.
        """
        functions = _functions_in(kernel.attrs)
        op = kernel.definition.name
        if op in FUNCTIONAL_OPS or op == "MapDefun":
            self._check_defined([function.name for function in functions])
        return self._bind(kernel, functions)

    def _check_defined(self, names: list[str]) -> None:
        """Raise NotFoundError for undefined functions, also those that are called indirectly."""
        seen: set[str] = set()
        while names:
            name = names.pop()
            if name not in self._complete and name not in seen:
                names += self._find(name).called_by(FUNCTIONAL_OPS)
                seen.add(name)
        self._complete |= seen

    def _bind(self, kernel: OpKernel, functions: Sequence[NameAttrList]) -> OpKernel:
        op = kernel.definition.name
        calls = checked_calls(op, kernel.attrs, self._library, kernel.compute)
        # A kernel passes the same attribute object for a function each time; its id is the key.
        found: dict[tuple[str, int], tuple[function_call.InstantiatedFunction, Any]] = {}

        def find(ctx: OpKernelContext, call: FunctionCall) -> function_call.InstantiatedFunction:
            key = call.name, id(call.attrs)
            known = found.get(key)
            if known is None:
                if len(found) > _MOST_KNOWN:
                    found.clear()
                # Keep the attributes alive, so that their id is not reused.
                known = found[key] = self.find_function(ctx, call), call.attrs
            return known[0]

        config_proto = kernel.attrs.get("config_proto") or b""
        device: Device = kernel.device  # type: ignore[assignment]
        known = [self._known(one, device, op, config_proto) for one in functions]
        # A gradient is built at its first call; the functions that it calls are unknown before.
        if op != "SymbolicGradient" and all(one is not None and one.is_immediate for one in known):
            if (
                len(known) == 1
                and calls is kernel.compute
                and (op in PARTITIONED_CALLS or isinstance(kernel.definition, FunctionDefinition))
            ):
                only = known[0]
                assert only is not None
                return replace(kernel, kind="context", compute=_just_call(only))

            def compute(ctx: OpKernelContext, *args: Any) -> Any:
                return function_call.converse_now(ctx, calls(ctx, *args), find)

            return replace(kernel, kind="context", compute=compute)

        def compute_async(ctx: OpKernelContext, done: type_of_done, *args: Any) -> None:
            function_call.Conversation(ctx, calls(ctx, *args), find, done).go_on()

        return replace(kernel, kind="async", compute=compute_async, calls_functions=True)

    def _known(
        self, function: NameAttrList, device: Device, op: str, config_proto: bytes | str
    ) -> function_call.InstantiatedFunction | None:
        """Return the function; None if it cannot be instantiated or is recursive."""
        try:
            options = body_options(op, config_proto)
            key = _key(function.name, function.attrs, device, options)
            with self._lock:
                if key in self._in_progress:
                    return None
                return self.instantiate(function.name, function.attrs, device, options)
        except errors.OpError:
            return None  # the call raises the error

    def instantiate(
        self,
        name: str,
        attrs: Mapping[str, Any],
        device: Device,
        options: BodyOptions = PLAIN_BODY,
    ) -> function_call.InstantiatedFunction:
        """Return the function, instantiated for calls from ``device``.

        Args:
          name: the function.
          attrs: its attributes.
          device: the device of the calling node.
          options: the transformations allowed for the body.

        Raises:
          NotFoundError: there is no function of that name.
        """
        state_handle = ""
        if _STATE_HANDLE in attrs:
            attrs = dict(attrs)
            state_handle = attrs.pop(_STATE_HANDLE)
            if not self._find(name).op_def.is_stateful:
                state_handle = ""  # the body has no state
        key = _key(name, attrs, device, options)
        if state_handle:
            key = (*key, state_handle)
        found = self._instances.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self._instances.get(key)
            if found is None:
                self._in_progress.add(key)
                try:
                    body = function_body.instantiate(self._find(name), attrs, self._library())
                    found = self._prepare(
                        name,
                        body.graph,
                        device,
                        len(body.arg_nodes),
                        options.for_size(body.graph.num_op_nodes),
                        lasting=[node.name for node in body.control_ret_nodes],
                    )
                finally:
                    self._in_progress.discard(key)
                self._instances[key] = found
                if state_handle:
                    self._by_state_handle.setdefault(state_handle, []).append(key)
            return found

    def _library(self) -> FunctionLibraryDefinition | None:
        graph = self._session.graph
        return None if graph is None else graph.library

    def _find(self, name: str) -> FunctionDefinition:
        library = self._library()
        definition = None if library is None else library.find(name)
        if definition is None:
            raise errors.not_found(f"Function {name} is not defined.")
        return definition

    def _prepare(
        self,
        name: str,
        graph: Graph,
        device: Device,
        num_args: int,
        options: BodyOptions = PLAIN_BODY,
        lasting: Sequence[str] = (),
    ) -> function_call.InstantiatedFunction:
        """Lower, place and partition a graph, and make its kernels."""
        session = self._session
        num_retvals = sum(node.op == "_Retval" for node in graph.op_nodes())
        kernels: dict[str, OpKernel] = {}

        def make_kernel(node: Node, device: Device) -> OpKernel:
            definition = node.op_definition
            assert definition is not None
            if isinstance(definition, FunctionDefinition):
                return self.call_kernel(node, device)
            kernel = kernels.get(node.name)
            if kernel is None:
                check_dataset(node.op, node.attrs, self.has_function)
                version = graph.versions.producer
                kernel = watch_if_loaded(
                    create_kernel(
                        definition, node.name, node.attrs, device, version, node.input_names
                    ),
                    node.attrs,
                    session,
                )
                if kernel.kind == "calls":
                    kernel = self.bind(kernel)
                kernels[node.name] = kernel
            return kernel

        items = []
        body = self._optimize(name, graph, device, options, lasting, self._edge_names)
        for place, part in body.parts:
            executor = initialize(part, place, make_kernel, is_function=True)
            items.append(ExecutorItem(part, executor))
        function = function_call.InstantiatedFunction(
            name,
            items,
            num_args,
            num_retvals,
            is_immediate=len(items) == 1 and not items[0].executor.has_async,
            shares_rendezvous=body.has_transfers and len(items) == 1,
            reports=body.reports,
            stateful_kernels=[one for one in kernels.values() if one.definition.is_stateful],
        )
        self._items[function.signature_id] = items
        session.step_events.function_instantiated(
            function_view(function.signature_id, function.name, items)
        )
        return function

    def _optimize(
        self,
        name: str,
        graph: Graph,
        device: Device,
        options: BodyOptions,
        lasting: Sequence[str],
        edge_names: Iterator[int],
        trace: PassTracer | None = None,
    ) -> _OptimizedBody:
        """Run all passes over a body's graph, up to its partitions."""
        config, devices = self._session.config, self._session.device_mgr.devices
        if trace is not None:
            trace.begin(graph, function=name)
        reports = self._lower(name, graph, options, lasting)
        if trace is not None:
            trace(reports[0] if reports else PRUNED, graph)
        if not options.is_multi_device and (node := without_kernel(graph)):
            raise errors.not_found(
                f"No registered '{node.op}' OpKernel for '{device.device_type}' devices compatible "
                f"with node {{{{node {node.name}}}}}"
            ).naming(node.name)
        Placer(graph, devices, device, allow_soft_placement=True, log_device_placement=False).run()
        if trace is not None:
            trace.begin(graph, function=name)
        effects = [node.name for node in graph.op_nodes() if inline_function.has_effect(node)]
        passes = OptimizationPassOptions(
            graph,
            config,
            devices,
            library=graph.library,
            targets=frozenset([*effects, *lasting]),
            function_name=name,
            on_pass=trace,
        )
        reports += REGISTRY.run_grouping(Grouping.POST_REWRITE_FOR_EXEC, passes)
        has_transfers = any(node.is_send or node.is_recv for node in graph.op_nodes())
        parts = []
        for device_name, part_graph in partition(graph, devices, edge_names).items():
            part = part_graph
            place = self._session.device_mgr.lookup(device_name)
            if trace is not None:
                trace.begin(part, device_name, name)
            passes = OptimizationPassOptions(
                part, config, devices, place, function_name=name, on_pass=trace
            )
            reports += REGISTRY.run_grouping(Grouping.POST_PARTITIONING, passes)
            if options.is_multi_device:
                before = part.num_op_nodes
                part = simplify_body.component_function(
                    part, frozenset(lasting), options.simplifies
                )
                if trace is not None and part.num_op_nodes < before:
                    trace(SIMPLIFIED, part)
            part.fixup_source_and_sink_edges()
            parts.append((place, part))
        return _OptimizedBody(parts, has_transfers, reports)

    def trace_calls(self, calls: list[tuple[Node, Device]], trace: PassTracer) -> None:
        """Trace the passes over the functions that nodes call, directly or indirectly.

        Functions that cannot be instantiated are left out; a call of one raises the error.
        """
        seen = set()
        while calls:
            node, place = calls.pop(0)
            for function in _functions_of(node):
                try:
                    options = body_options(node.op, node.attrs.get("config_proto") or b"")
                    key = _key(function.name, function.attrs, place, options)
                    if key in seen:
                        continue
                    seen.add(key)
                    attrs = {k: v for k, v in function.attrs.items() if k != _STATE_HANDLE}
                    body = function_body.instantiate(
                        self._find(function.name), attrs, self._library()
                    )
                    found = self._optimize(
                        function.name,
                        body.graph,
                        place,
                        options.for_size(body.graph.num_op_nodes),
                        [one.name for one in body.control_ret_nodes],
                        itertools.count(),
                        trace,
                    )
                except errors.OpError:
                    continue
                calls += [(n, where) for where, part in found.parts for n in part.op_nodes()]

    def _lower(
        self, name: str, graph: Graph, options: BodyOptions, lasting: Sequence[str]
    ) -> list[PassReport]:
        config = self._session.config
        actions: list[str] = []
        multi_device = options.is_multi_device
        # Without simplification every stateful node counts as an effect.
        is_plain = multi_device and not options.simplifies
        effects = [
            node.name
            for node in graph.op_nodes()
            if inline_function.has_effect(node)
            or (is_plain and node.is_stateful and not node.is_arg)
        ]
        if multi_device or inlines_calls(config):
            actions = lower_functional_ops(
                graph,
                inline_calls=options.inlines or not multi_device,
                lower_control_flow=multi_device and lowers_control_flow(config),
                inside=[name],
                keep_effects=multi_device,
            )
        # A lowered node leaves a node of the same name that waits for its effects.
        kept = [graph.find_node(one) for one in dict.fromkeys([*effects, *lasting])]
        kept += [n for n in graph.op_nodes() if n.is_retval or (options.simplifies and n.is_arg)]
        prune_for_reverse_reachability(graph, [node for node in kept if node is not None])
        graph.fixup_source_and_sink_edges()
        if not actions:
            return []
        return [PassReport(Grouping.PRE_PLACEMENT, 10, "lower_functional_ops", tuple(actions))]


def _key(
    name: str, attrs: Mapping[str, Any], device: Device, options: BodyOptions
) -> tuple[Any, ...]:
    return (name, device.name, options, tuple(sorted((k, repr(v)) for k, v in attrs.items())))


def _functions_in(attrs: Mapping[str, Any]) -> list[NameAttrList]:
    values = (
        one for value in attrs.values() for one in (value if type(value) is list else [value])
    )
    return [one for one in values if isinstance(one, NameAttrList)]


def _functions_of(node: Node) -> list[NameAttrList]:
    """Return the functions that a node may call unchanged."""
    if node.op == "SymbolicGradient":
        return []
    if isinstance(node.op_definition, FunctionDefinition):
        return [NameAttrList(node.op, dict(node.attrs))]
    return _functions_in(node.attrs)


def _just_call(function: function_call.InstantiatedFunction) -> Callable[..., Any]:
    def compute(ctx: OpKernelContext, *args: Any) -> Any:
        return tuple(function_call.call_now(function, ctx, args))

    return compute
