"""Collective ops: the devices of a group reduce, gather or broadcast a tensor.

The ops of one instance meet by the rendezvous of their step.  Each sends its form, and its value if
it has one, to the member of rank 0, which checks that the forms fit, combines the values in the
order of ranks and sends the result to all.  Ranks follow the names of the devices.  Corresponds to
TensorFlow's ``collective_ops.cc``; its members form a ring instead, which adds in another order.
"""

from __future__ import annotations

import json
import threading
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.rendezvous import COLLECTIVE_EDGE, Member, create_key
from tfnb.core.shape_inference import InferenceContext, unchanged_shape
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.op_kernel import OpKernelContext, type_of_done

_TRAITS = "collective uses_frame"
_INSTANCE = ("group_size: int", "group_key: int", "instance_key: int")
_HINTS = ("communication_hint: string = 'auto'", "timeout_seconds: float = 0")
_REDUCED = "T: {bfloat16, float, half, double, int32, int64}"
_GATHERED = "T: {float, half, double, int32, int64}"
_SENT = "T: {bool, float, half, double, int32, int64}"
_MERGES = ("merge_op: {'Min', 'Max', 'Mul', 'Add'}", "final_op: {'Id', 'Div'}")
_KEYS = "group_size: int32, group_key: int32, instance_key: int32"
_TOKENS = (
    "is_stateless: bool = false",
    "Nordering_token: int >= 0 = 0",
)
_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "Min": np.minimum,
    "Max": np.maximum,
    "Mul": np.multiply,
    "Add": np.add,
}


class Instance(NamedTuple):
    """What a node does with the others of its instance.

    Attributes:
      kind: "reduction", "gathering" or "broadcast".
      group_size, group_key, instance_key: name it.
      dtype: of the tensor.
      shape: of the member's value, or of the value that it expects.
      timeout_s: after which the node fails; 0: never.
    """

    kind: str
    group_size: int
    group_key: int
    instance_key: int
    dtype: DType
    shape: tuple[int, ...]
    timeout_s: float


class _Form(NamedTuple):
    """What a member tells rank 0 of its node."""

    kind: str
    dtype: str
    shape: list[int]
    has_value: bool

    @classmethod
    def of(cls, instance: Instance, *, has_value: bool) -> _Form:
        return cls(instance.kind, instance.dtype.name, list(instance.shape), has_value)

    def encode(self) -> Array:
        return np.array(json.dumps(self).encode(), object)

    @classmethod
    def decode(cls, value: Array) -> _Form:
        return cls(*json.loads(np.asarray(value).item()))


class _Exchange:
    """One run of one node of an instance; its methods are called by any thread.

    Args:
      ctx: of the node.
      done: takes the result.
      instance: what the node does.
      value: its value; None: it only receives.
      combine: makes the result of all values, at rank 0.
    """

    def __init__(
        self,
        ctx: OpKernelContext,
        done: type_of_done,
        instance: Instance,
        value: Array | None,
        combine: Callable[[Sequence[Array]], Array],
    ) -> None:
        self._ctx, self._done, self._instance, self._value = ctx, done, instance, value
        self._combine = combine
        self._own = Member(ctx.device.name, ctx.device.incarnation)
        self._lock = threading.Lock()
        self._is_over = False  # guarded by self._lock
        self._give_up: Callable[[], None] | None = None  # likewise
        self._timer: threading.Timer | None = None
        self._token = 0

    def start(self) -> None:
        """Join the group; the rest follows when it is complete."""
        instance, manager = self._instance, self._ctx.cancellation_manager
        self._token = manager.get_cancellation_token()
        if not manager.register_callback(self._token, self._cancel):
            self._cancel()
            return
        if instance.timeout_s > 0:
            self._timer = threading.Timer(instance.timeout_s, self._time_out)
            self._timer.daemon = True
            self._timer.start()
        give_up = self._ctx.rendezvous.join_group(
            instance.group_key, instance.group_size, self._own, self._joined
        )
        with self._lock:
            is_over = self._is_over
            self._give_up = give_up
        if is_over:
            give_up()

    def _cancel(self) -> None:
        self._end(errors.cancelled("A collective op was cancelled."))

    def _time_out(self) -> None:
        instance = self._instance
        self._end(
            errors.deadline_exceeded(
                f"The {instance.kind} of instance {instance.instance_key} in group "
                f"{instance.group_key} was not complete after timeout_seconds={instance.timeout_s}."
                f" It needs an op of this instance on each of {instance.group_size} devices. If "
                "they are on several tasks, name one of these for all servers: "
                "config.experimental.collective_group_leader."
            )
        )

    def _end(self, outcome: Any) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            give_up = self._give_up
        if give_up is not None:
            give_up()
        if self._timer is not None:
            self._timer.cancel()
        self._ctx.cancellation_manager.try_deregister_callback(self._token)
        self._done(outcome)

    # -- members -----------------------------------------------------------------------------------

    def _joined(self, error: BaseException | None, members: tuple[Member, ...]) -> None:
        if error is not None:
            self._end(error)
            return
        first = members[0]
        form = _Form.of(self._instance, has_value=self._value is not None)
        try:
            if first.device == self._own.device:
                _Collection(self, form, members).start()
                return
            self.send(first, "form", form.encode())
            if self._value is not None:
                self.send(first, "value", self._value)
            self.receive(first, "result", self._take)
        except errors.OpError as failure:
            self._end(failure)

    def _take(self, result: Array) -> None:
        # Members of this process get one array: each owns what it outputs.
        self._end((np.array(result),))

    def finish(self, values: Sequence[Array], others: Sequence[Member]) -> None:
        """Combine the values of all members, and send the result to the others."""
        try:
            result = self._combine(values)
            for member in others:
                self.send(member, "result", result)
        except Exception as failure:
            self._end(failure)
            return
        self._take(result)

    def fail(self, error: BaseException) -> None:
        """End the node with an error, and thereby its step."""
        self._end(error)

    @property
    def value(self) -> Array | None:
        """The value of the node."""
        return self._value

    def send(self, member: Member, what: str, value: Array) -> None:
        """Leave a value for another member.

        Raises:
          OpError: the step was aborted.
        """
        self._ctx.rendezvous.send(self._key(self._own, member, what), value)

    def receive(self, member: Member, what: str, take: Callable[[Array], None]) -> None:
        """Call ``take`` with a value of another member; an error ends the node."""

        def arrived(error: BaseException | None, value: Array, is_dead: bool) -> None:
            if error is not None:
                self._end(error)
                return
            try:
                take(value)
            except Exception as failure:  # another task may send anything
                self._end(failure)

        self._ctx.rendezvous.recv_async(self._key(member, self._own, what), arrived)

    def _key(self, source: Member, target: Member, what: str) -> str:
        ctx, instance = self._ctx, self._instance
        return create_key(
            source.device,
            source.incarnation,
            target.device,
            f"{COLLECTIVE_EDGE}{instance.group_key}_{instance.instance_key}_{what}",
            ctx.frame_id,
            ctx.iteration,
        )


class _Collection:
    """What rank 0 gets from the members: first all forms, then the values."""

    def __init__(self, exchange: _Exchange, form: _Form, members: Sequence[Member]) -> None:
        self._exchange, self._members = exchange, members
        self._lock = threading.Lock()
        self._forms: dict[int, _Form] = {0: form}  # by rank; guarded by self._lock
        self._values: dict[int, Array] = {}  # likewise
        self._wanted: list[int] = []  # the ranks that give a value, once known

    def start(self) -> None:
        """Ask all members for their forms."""
        for rank, member in enumerate(self._members[1:], 1):
            self._exchange.receive(member, "form", partial(self._take_form, rank))
        if len(self._members) == 1:
            self._ask_for_values()

    def _take_form(self, rank: int, value: Array) -> None:
        with self._lock:
            self._forms[rank] = _Form.decode(value)
            is_last = len(self._forms) == len(self._members)
        if is_last:
            self._ask_for_values()

    def _ask_for_values(self) -> None:
        forms = [self._forms[rank] for rank in range(len(self._members))]
        try:
            _check(forms, self._members)
        except errors.OpError as error:
            self._exchange.fail(error)
            return
        self._wanted = [rank for rank, form in enumerate(forms) if form.has_value]
        for rank in self._wanted:
            if rank:
                take = partial(self._take_value, rank)
                self._exchange.receive(self._members[rank], "value", take)
        if self._exchange.value is not None:
            self._take_value(0, self._exchange.value)

    def _take_value(self, rank: int, value: Array) -> None:
        with self._lock:
            self._values[rank] = value
            is_last = len(self._values) == len(self._wanted)
        if is_last:
            values = [self._values[rank] for rank in self._wanted]
            self._exchange.finish(values, self._members[1:])


def _check(forms: Sequence[_Form], members: Sequence[Member]) -> None:
    """Check that the forms of an instance fit.

    Raises:
      InternalError: the ops or their types differ, or a broadcast has not one sender.
      InvalidArgumentError: the shapes differ.
    """
    first = forms[0]
    for form, member in zip(forms, members):
        if (form.kind, form.dtype) != (first.kind, first.dtype):
            raise errors.internal(
                f"The ops of an instance differ: {members[0].device} has a {first.kind} of "
                f"{first.dtype}, {member.device} a {form.kind} of {form.dtype}. Give them "
                "different values of instance_key."
            )
        if form.shape != first.shape:
            raise errors.invalid_argument(
                f"The shapes of an instance differ: {first.shape} on {members[0].device}, "
                f"{form.shape} on {member.device}."
            )
    senders = [member.device for form, member in zip(forms, members) if form.has_value]
    if first.kind == "broadcast" and len(senders) != 1:
        raise errors.internal(
            f"A broadcast has one sender, this one has {len(senders)}: {', '.join(senders)}"
        )


def _reduced(values: Sequence[Array], merge: str, final: str) -> Array:
    found = reduce(_FUNCTIONS[merge], values)
    if final == "Id":
        return found
    size = np.asarray(len(values), found.dtype)
    if found.dtype.kind == "i":
        return (found - np.fmod(found, size)) // size  # towards zero
    return found / size


def _gathered(values: Sequence[Array]) -> Array:
    return np.concatenate(values)


def _check_rows(value: Array) -> None:
    if not np.ndim(value):
        raise errors.invalid_argument("A scalar cannot be gathered: the input has rank 0.")


def _only(values: Sequence[Array]) -> Array:
    return values[0]


def _instance_of(
    ctx: OpKernelContext, kind: str, shape: Sequence[int], keys: Sequence[Array] = ()
) -> Instance:
    """Return the instance of a node, whose keys are attributes, or the given inputs."""
    attrs: Any = ctx.attrs
    if keys:
        size, group, instance = (int(np.asarray(key).item()) for key in keys)
    else:
        size, group, instance = attrs["group_size"], attrs["group_key"], attrs["instance_key"]
    dtype = dtypes.as_dtype(attrs["T"])
    return Instance(
        kind, size, group, instance, dtype, tuple(map(int, shape)), attrs["timeout_seconds"]
    )


def _declared_shape(c: InferenceContext) -> TensorShape:
    shape: Any = c.attr("shape")
    return TensorShape(shape)


def _received_shape(c: InferenceContext) -> TensorShape:
    return c.constant_value_as_shape(3)


@register_op(
    "CollectiveReduce", "input: T -> data: T", _REDUCED, *_INSTANCE, *_MERGES,
    "subdiv_offsets: list(int)", "wait_for: list(int) = []", *_HINTS, stateful=True,
    shape=unchanged_shape, devices=("CPU",), traits=_TRAITS,
)  # fmt: skip
def collective_reduce(
    ctx: OpKernelContext, done: type_of_done, input: Array, *, merge_op: str, final_op: str
) -> None:
    """Reduce the inputs of all members, element by element."""
    combine = partial(_reduced, merge=merge_op, final=final_op)
    instance = _instance_of(ctx, "reduction", np.shape(input))
    _Exchange(ctx, done, instance, np.asarray(input), combine).start()


@register_op(
    "CollectiveReduceV2",
    f"input: T, {_KEYS}, ordering_token: Nordering_token * resource -> data: T",
    _REDUCED, *_MERGES, *_HINTS, *_TOKENS, "max_subdivs_per_device: int = -1", stateful=True,
    shape=unchanged_shape, devices=("CPU",), traits=_TRAITS,
)  # fmt: skip
def collective_reduce_v2(
    ctx: OpKernelContext,
    done: type_of_done,
    input: Array,
    group_size: Array,
    group_key: Array,
    instance_key: Array,
    ordering_token: list[Handle],
    *,
    merge_op: str,
    final_op: str,
) -> None:
    """Reduce the inputs of all members; the keys are inputs."""
    combine = partial(_reduced, merge=merge_op, final=final_op)
    keys = (group_size, group_key, instance_key)
    instance = _instance_of(ctx, "reduction", np.shape(input), keys)
    _Exchange(ctx, done, instance, np.asarray(input), combine).start()


@register_op(
    "CollectiveGather", "input: T -> data: T", _GATHERED, *_INSTANCE, "shape: shape", *_HINTS,
    stateful=True, shape=_declared_shape, devices=("CPU",), traits=f"{_TRAITS} unchecked_shape",
)  # fmt: skip
def collective_gather(ctx: OpKernelContext, done: type_of_done, input: Array) -> None:
    """Join the inputs of all members along their first axis."""
    _check_rows(input)
    instance = _instance_of(ctx, "gathering", np.shape(input))
    _Exchange(ctx, done, instance, np.asarray(input), _gathered).start()


def _gathered_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    return TensorShape(None if dims is None else [None, *dims[1:]])


@register_op(
    "CollectiveGatherV2",
    f"input: T, {_KEYS}, ordering_token: Nordering_token * resource -> data: T",
    _GATHERED, *_HINTS, *_TOKENS, stateful=True, shape=_gathered_shape, devices=("CPU",),
    traits=_TRAITS,
)  # fmt: skip
def collective_gather_v2(
    ctx: OpKernelContext,
    done: type_of_done,
    input: Array,
    group_size: Array,
    group_key: Array,
    instance_key: Array,
    ordering_token: list[Handle],
) -> None:
    """Join the inputs of all members along their first axis; the keys are inputs."""
    _check_rows(input)
    keys = (group_size, group_key, instance_key)
    instance = _instance_of(ctx, "gathering", np.shape(input), keys)
    _Exchange(ctx, done, instance, np.asarray(input), _gathered).start()


@register_op(
    "CollectiveBcastSend", "input: T -> data: T", _SENT, *_INSTANCE, "shape: shape", *_HINTS,
    stateful=True, shape=_declared_shape, devices=("CPU",), traits=f"{_TRAITS} unchecked_shape",
)  # fmt: skip
def collective_bcast_send(ctx: OpKernelContext, done: type_of_done, input: Array) -> None:
    """Send the input to all other members."""
    instance = _instance_of(ctx, "broadcast", np.shape(input))
    _Exchange(ctx, done, instance, np.asarray(input), _only).start()


@register_op(
    "CollectiveBcastSendV2", f"input: T, {_KEYS} -> data: T", _SENT, *_HINTS, stateful=True,
    shape=unchanged_shape, devices=("CPU",), traits=_TRAITS,
)  # fmt: skip
def collective_bcast_send_v2(
    ctx: OpKernelContext,
    done: type_of_done,
    input: Array,
    group_size: Array,
    group_key: Array,
    instance_key: Array,
) -> None:
    """Send the input to all other members; the keys are inputs."""
    keys = (group_size, group_key, instance_key)
    instance = _instance_of(ctx, "broadcast", np.shape(input), keys)
    _Exchange(ctx, done, instance, np.asarray(input), _only).start()


@register_op(
    "CollectiveBcastRecv", "-> data: T", _SENT, *_INSTANCE, "shape: shape", *_HINTS,
    stateful=True, shape=_declared_shape, devices=("CPU",), traits=_TRAITS,
)  # fmt: skip
def collective_bcast_recv(ctx: OpKernelContext, done: type_of_done) -> None:
    """Receive what the sender of the group sends."""
    declared: Any = ctx.attrs["shape"]
    shape = TensorShape(declared)
    if not shape.is_fully_defined():
        raise errors.invalid_argument(f"The shape of what is received must be known, not {shape}.")
    sizes = [size for size in shape.as_list() if size is not None]
    instance = _instance_of(ctx, "broadcast", sizes)
    _Exchange(ctx, done, instance, None, _only).start()


@register_op(
    "CollectiveBcastRecvV2", f"{_KEYS}, shape: Tshape -> data: T", _SENT,
    "Tshape: {int32, int64} = int32", *_HINTS, stateful=True, shape=_received_shape,
    devices=("CPU",), traits=_TRAITS,
)  # fmt: skip
def collective_bcast_recv_v2(
    ctx: OpKernelContext,
    done: type_of_done,
    group_size: Array,
    group_key: Array,
    instance_key: Array,
    shape: Array,
) -> None:
    """Receive what the sender of the group sends; the keys are inputs."""
    keys = (group_size, group_key, instance_key)
    instance = _instance_of(ctx, "broadcast", np.asarray(shape).tolist(), keys)
    _Exchange(ctx, done, instance, None, _only).start()
