"""Kernels: functions that compute a node on a device.

The first parameters of a kernel function determine its kind:

* ``(xp, *inputs, *, attrs...)`` pure: arrays in, arrays out, on NumPy or CuPy;
* ``(node, *inputs, *, attrs...)`` reads its node, but not the step;
* ``(made_for, *, attrs...)`` is called once with the node and returns the function of the inputs;
* ``(ctx, *inputs, *, attrs...)`` needs the step: resources, rendezvous, randomness, functions;
* ``(ctx, done, *inputs, *, attrs...)`` asynchronous: returns at once and calls
  ``done(outputs | exception)``;
* a generator ``(ctx, *inputs, *, attrs...)`` calls functions of the graph's library: it yields each
  :class:`FunctionCall`, is sent the results, and returns its outputs.  The runtime runs the calls
  synchronously if nothing in them can block, else asynchronously.

:func:`create_kernel` binds a function to one node's attributes once, so that running it is one
call. Keyword-only parameters are attributes by name; list arguments arrive as one Python list. An
:class:`OpKernel` is fixed for the session; :class:`OpKernelContext` lives for one execution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import CO_GENERATOR, unwrap
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from tfnb.core import errors
from tfnb.core.attr_value import TensorAttr
from tfnb.core.process.records import field, record
from tfnb.core.versions import GRAPH_DEF_VERSION

if TYPE_CHECKING:
    from types import CodeType

    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.op_registry import OpDefinition, type_of_kernel
    from tfnb.core.rendezvous import Rendezvous
    from tfnb.core.resource_mgr import ResourceHandle, ResourceMgr

type_of_done = Callable[[Any], None]
type_of_kind = Literal["pure", "node", "context", "async", "calls"]


class KernelDevice(Protocol):
    """The interface of a device for its kernels."""

    name: str
    device_type: str
    index: int
    xp: Xp
    resource_manager: ResourceMgr


class StepDevice(KernelDevice, Protocol):
    """A device that runs steps and exchanges tensors with other devices."""

    @property
    def incarnation(self) -> int:
        """A number that tells the device from the one before its task was started again."""
        ...

    def lend(self, value: Array) -> Array:
        """Return a value in the form that is sent to another device."""
        ...

    def receive(self, value: Array, done: type_of_done) -> None:
        """Copy a value lent by another device into this device's memory."""
        ...

    def receive_on_host(self, value: Array, done: type_of_done) -> None:
        """Copy a value lent by another device into host memory."""
        ...


class KernelStep(Protocol):
    """The objects of one running step; each is created on first access."""

    @property
    def rendezvous(self) -> Rendezvous:
        """The rendezvous of this step."""
        ...

    @property
    def cancellation_manager(self) -> CancellationManager:
        """The cancellation manager, where blocking operations register."""
        ...

    @property
    def step_container(self) -> ResourceMgr:
        """Resources that end with the step."""
        ...


class FunctionCaller(Protocol):
    """The interface through which kernels call functions of the graph's library."""

    def run(
        self,
        ctx: OpKernelContext,
        name: str,
        attrs: Mapping[str, Attr],
        args: Sequence[Array],
        done: type_of_done,
    ) -> None:
        """Run function ``name`` on ``args``; ``done`` gets the list of results or an exception."""
        ...

    def call(
        self, ctx: OpKernelContext, name: str, attrs: Mapping[str, Attr], args: Sequence[Array]
    ) -> list[Array]:
        """Run function ``name`` in the calling thread and return its results."""
        ...

    def body_graph_def(self, name: str, attrs: Mapping[str, Attr]) -> Any:
        """Return the body of function ``name``, a GraphDef with ``_Arg`` and ``_Retval`` nodes."""
        ...

    def gradient_function(self, name: str) -> str:
        """Return the name of the function that is the gradient of function ``name``, or ""."""
        ...

    def find_function(self, ctx: OpKernelContext, call: FunctionCall) -> Any:
        """Return what runs a call of a kernel, which may belong to another graph."""
        ...

    @property
    def kept_by_pipelines(self) -> object:
        """What pipelines that call the functions keep alive; None: they do not live longer."""
        ...

    def release(self, state_handle: str) -> None:
        """Drop the kernels made for calls with this value of the attribute ``_state_handle``."""
        ...


@record(slots=True)
class FunctionCall:
    """A function call, yielded by a kernel that calls functions.

    Attributes:
      name: the name of a library function, or of a graph if ``make_graph_def`` is given.
      attrs: the function's attributes; a function with effects has kernels of its own for each
        ``_state_handle`` among them.
      args: its arguments.
      make_graph_def: makes a GraphDef with an ``_Arg`` for each argument and a ``_Retval`` for each
        result; called once for each name and device.
      config_proto: a serialized ConfigProto with the transformations allowed for the body; b"" for
        the default.
      home: the functions of the graph that it belongs to; None: those of the calling kernel.
    """

    name: str
    attrs: Mapping[str, Attr]
    args: Sequence[Array]
    make_graph_def: Callable[[], Any] | None = None
    config_proto: bytes | str = b""
    home: FunctionCaller | None = None


@record(slots=True)
class StepContext:
    """Data that all kernels of one step share; constant while the step runs."""

    step_id: int
    run_state: KernelStep
    function_library: FunctionCaller | None = None
    session_state: Any = None
    session_handle: str = ""
    call_frame: Any = None
    run_options: Any = None
    session_metadata: Any = None
    emit: Callable[[str], None] | None = None


class OpKernelContext:
    """The context of one execution of one kernel."""

    __slots__ = ("device", "frame_id", "input_is_dead", "iteration", "kernel", "step")

    # Whether a step-local resource is passed as the object itself instead of a handle.
    holds_resource = False

    def __init__(
        self,
        step: StepContext,
        device: StepDevice,
        kernel: OpKernel,
        frame_id: int = 0,
        iteration: int = 0,
        input_is_dead: bool = False,
    ) -> None:
        self.step = step
        self.device = device
        self.kernel = kernel
        self.frame_id = frame_id
        self.iteration = iteration
        self.input_is_dead = input_is_dead

    @property
    def xp(self) -> Xp:
        """The array module of the device: numpy or cupy."""
        return self.device.xp

    @property
    def node_name(self) -> str:
        """The name of the node."""
        return self.kernel.node_name

    @property
    def op_type(self) -> str:
        """The op of the node."""
        return self.kernel.definition.name

    @property
    def attrs(self) -> Mapping[str, Attr]:
        """The node's attributes."""
        return self.kernel.attrs

    @property
    def graph_def_version(self) -> int:
        """The GraphDef version of the graph's producer; some ops depend on it."""
        return self.kernel.graph_def_version

    @property
    def kernel_state(self) -> dict[str, Any]:
        """State of this kernel, kept between executions for the life of the session."""
        return self.kernel.state

    @property
    def resource_manager(self) -> ResourceMgr:
        """The resources of this device in this session."""
        return self.device.resource_manager

    @property
    def step_container(self) -> ResourceMgr:
        """Resources that end with the step (TensorArrays, stacks)."""
        return self.step.run_state.step_container

    @property
    def rendezvous(self) -> Rendezvous:
        """The rendezvous of this step."""
        return self.step.run_state.rendezvous

    @property
    def cancellation_manager(self) -> CancellationManager:
        """The cancellation manager, where blocking kernels register."""
        return self.step.run_state.cancellation_manager

    @property
    def function_library(self) -> FunctionCaller:
        """The runtime that runs functions of the graph's library.

        Raises:
          InternalError: the step has none.
        """
        library = self.step.function_library
        if library is None:
            raise errors.internal("This step has no function library.")
        return library

    @property
    def session_state(self) -> Any:
        """Tensors kept between steps by handle."""
        return self.step.session_state

    @property
    def step_id(self) -> int:
        """The id of the running step, unique in the process."""
        return self.step.step_id


class HoldingContext(OpKernelContext):
    """The context of a kernel whose resource a local variable will hold."""

    __slots__ = ()
    holds_resource = True


@record(slots=True)
class OpKernel:
    """A kernel bound to one node on one device.

    ``compute`` takes the inputs in flat order: ``compute(*inputs)`` for a pure kernel and for one
    that looks at its node only (its attributes, its state, its device's resources, but never its
    step), ``compute(ctx, *inputs)`` for one that takes the context, ``compute(ctx, done, *inputs)``
    for an asynchronous one; it returns one value, a tuple, or None.  A kernel of kind "calls"
    returns a generator of calls; the function library converts it to "context" or "async".
    """

    node_name: str
    definition: OpDefinition
    device: KernelDevice
    kind: type_of_kind
    compute: Callable[..., Any]
    attrs: Mapping[str, Attr]
    num_outputs: int
    state: dict[str, Any] = field(default_factory=dict)
    calls_functions: bool = False
    graph_def_version: int = GRAPH_DEF_VERSION
    input_names: Sequence[str] = ()

    @property
    def is_stateful(self) -> bool:
        """Whether the kernel must live as long as the session."""
        return self.definition.is_stateful

    def own(self, handle: ResourceHandle) -> None:
        """Note a resource that ends with the kernel: no other kernel can name it."""
        self.state["own"] = handle

    def release(self) -> None:
        """Delete the resource that the kernel owns, unless its container was cleared."""
        handle = self.state.pop("own", None)
        if handle is not None:
            self.device.resource_manager.discard(handle)


def kernel_attr(value: Attr) -> Attr:
    """Convert an attribute's value for kernels: text to str, tensors to arrays."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, TensorAttr):
        return value.value()
    if isinstance(value, list):
        return [kernel_attr(one) for one in value]
    return value


@cache
def _form_of(function: type_of_kernel) -> tuple[type_of_kind, tuple[tuple[str, bool], ...], bool]:
    """Return the properties of a kernel that follow from its function's signature.

    A wrapper that ``functools.wraps`` makes has the signature of the function in it.

    Returns:
      The kind; the attributes that it takes, and whether it has a default for each; for the kind
      "node", whether the function makes the function that computes.
    """
    function = unwrap(function)
    code: CodeType = function.__code__
    names = code.co_varnames
    positional = names[: code.co_argcount]
    optional: Mapping[str, Any] = getattr(function, "__kwdefaults__", None) or {}
    wanted = tuple(
        (name, name in optional)
        for name in names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    )
    first, second = (*positional, "", "")[:2]
    kind: type_of_kind = "pure"
    if first in ("node", "made_for"):
        kind = "node"
    elif first == "ctx":
        kind = "async" if second == "done" else "context"
        if code.co_flags & CO_GENERATOR:
            kind = "calls"
    return kind, wanted, first == "made_for"


def may_wait(definition: OpDefinition, device_type: str, attrs: Mapping[str, Attr]) -> bool:
    """Return whether a kernel is asynchronous, calls functions, or is not known here."""
    function = definition.kernel_for(device_type, attrs) or definition.kernel_for("CPU", attrs)
    return function is None or _form_of(function)[0] in ("async", "calls")


def create_kernel(
    definition: OpDefinition,
    node_name: str,
    attrs: Mapping[str, Any],
    device: KernelDevice,
    graph_def_version: int = GRAPH_DEF_VERSION,
    input_names: Sequence[str] = (),
) -> OpKernel:
    """Bind the op's kernel for ``device`` to a node's attributes.

    Args:
      definition: the op.
      node_name: the name of the node.
      attrs: its attributes.
      device: the device to run on.
      graph_def_version: the version of the graph's producer.
      input_names: the names of the tensors that the node reads, for messages.

    Raises:
      NotFoundError: the op has no kernel for this type of device (TensorFlow's text).
      InvalidArgumentError: an attribute that the kernel needs is missing.
    """
    function = definition.kernel_for(device.device_type, attrs)
    if function is None:
        raise _no_kernel(definition, node_name, device.device_type)
    kind, wanted, is_made = _form_of(function)
    bound = {}
    for name, is_optional in wanted:
        if name in attrs:
            bound[name] = kernel_attr(attrs[name])
        elif not is_optional:
            raise errors.invalid_argument(
                f"Node '{node_name}' (op {definition.name}) has no attribute '{name}'."
            )
    lead = 2 if kind == "async" else 1
    op_def = definition.op_def
    compute: Callable[..., Any]
    if kind == "pure" and not op_def.has_input_lists:
        xp = device.xp
        compute = partial(function, xp, **bound) if bound else _of_arrays(function, xp)
    else:
        compute = partial(function, **bound) if bound else function
    if op_def.has_input_lists:
        ranges = op_def.input_ranges(attrs)
        slices = [
            slice(ranges[arg.name].start, ranges[arg.name].stop)
            if arg.is_list
            else ranges[arg.name].start
            for arg in op_def.inputs
        ]
        compute = _gather_lists(compute, slices, lead)
        if kind == "pure":
            compute = partial(compute, device.xp)
    kernel = OpKernel(
        node_name=node_name,
        definition=definition,
        device=device,
        kind=kind,
        compute=compute,
        attrs=attrs,
        num_outputs=op_def.num_outputs(attrs),
        graph_def_version=graph_def_version,
        input_names=input_names,
    )
    if kind == "node":
        no_step: Any = None
        node = OpKernelContext(no_step, cast("StepDevice", device), kernel)
        kernel.compute = compute(node) if is_made else partial(compute, node)
    return kernel


@cache
def _of_arrays(function: type_of_kernel, xp: Xp) -> Callable[..., Any]:
    """Return what computes nodes without attributes: shared, it stays in the processor's cache."""
    return partial(function, xp)


def _gather_lists(
    function: Callable[..., Any], slices: Sequence[slice | int], lead: int
) -> Callable[..., Any]:
    """Wrap ``function`` so that it gets the flat inputs of a list argument as one list.

    The attribute ``gathers`` of the wrapper is (function, slices), for generated code.
    """
    if lead == 1:

        def call(first: Any, *inputs: Array) -> Outputs:
            return function(
                first, *[list(inputs[s]) if isinstance(s, slice) else inputs[s] for s in slices]
            )

        call.__dict__["gathers"] = function, slices
        return call

    def call_async(ctx: OpKernelContext, done: type_of_done, *inputs: Array) -> Outputs:
        return function(
            ctx, done, *[list(inputs[s]) if isinstance(s, slice) else inputs[s] for s in slices]
        )

    return call_async


def _no_kernel(definition: OpDefinition, node_name: str, device_type: str) -> errors.NotFoundError:
    """Return TensorFlow's error for a missing kernel, with the registered kernels."""
    return errors.not_found(
        f"No OpKernel was registered to support Op '{definition.name}' used by "
        f"{{{{node {node_name}}}}} on a {device_type} device.\nRegistered kernels:\n"
        f"{definition.registered_kernels()}"
    ).naming(node_name)
