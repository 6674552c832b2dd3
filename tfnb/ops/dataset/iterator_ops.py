"""Iterators: resources that hold a position in a dataset, and the ops that read them."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_kernel import FunctionCall
from tfnb.core.op_registry import register_op
from tfnb.core.process.notification import Notification
from tfnb.core.resource_mgr import ResourceHandle
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext
from tfnb.ops.base.named_resources import own_resource
from tfnb.ops.containers.optional_ops import OptionalVariant
from tfnb.ops.dataset.dataset_iterators import (
    DatasetBase,
    DatasetIterator,
    IteratorScope,
    as_dataset,
    check_element,
    check_signature,
    go_on_or_end,
    tensor_of,
)
from tfnb.ops.dataset.dataset_sequence_ops import Deleter
from tfnb.ops.dataset.dataset_source_ops import OUTPUTS, scalar_handle
from tfnb.proto import tensor_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs, Variant
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.ops.dataset.dataset_iterators import type_of_next

_TYPE = "IteratorResource"
_PATIENCE_S = 0.05  # between two checks whether the step is to end
_numbers = itertools.count()


class _Turn(Notification):
    """A thread that takes an element, or waits for that; notified when it has ended."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.get_ident()


class IteratorResource:
    """A position in a dataset; one element is taken at a time.

    State: ``_iterator`` and the ``_scope`` of its functions, None until a dataset is set; both
    belong to the first of ``_turns``. A list is not a lock: an interrupt before or after each of
    its calls leaves it right, as long as the ``finally`` block takes the entry away.
    """

    def __init__(self, types: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        self.types, self.shapes = types, shapes
        # The step that takes an element, and behind it those that wait for their turn.
        self._turns: list[_Turn] = []
        self._iterator: DatasetIterator | None = None
        self._scope: IteratorScope | None = None

    @property
    def has_dataset(self) -> bool:
        """Whether a dataset was set."""
        return self._iterator is not None

    def set_dataset(self, ctx: OpKernelContext, dataset: DatasetBase) -> None:
        """Move to the beginning of a dataset.

        Raises:
          InvalidArgumentError: its elements do not match the iterator's types and shapes.
        """
        check_signature(dataset.types, dataset.shapes, self.types, self.shapes)
        scope = IteratorScope(ctx.function_library)
        iterator = dataset.make(scope)
        turn = _Turn()
        try:
            self._turns.append(turn)
            self._wait_for_turn(ctx, turn)
            old, self._scope, self._iterator = self._scope, scope, iterator
        finally:
            self._turns.remove(turn)
            if self._turns:
                turn.notify()
        _release(old)

    def close(self) -> None:
        """Drop the kernels of the functions that the dataset calls."""
        _release(self._scope)

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Yield the next element, or None at the end.

        Raises:
          FailedPreconditionError: no dataset has been set.
        """
        turn = _Turn()
        try:
            self._turns.append(turn)
            if self._turns[0] is not turn:
                self._wait_for_turn(ctx, turn)
            if self._iterator is None:
                raise errors.failed_precondition(
                    "GetNext() failed because the iterator has not been initialized. Ensure "
                    "that you have run the initializer operation for this iterator before "
                    "getting the next element."
                )
            return (yield from self._iterator.get_next(ctx))
        finally:
            self._turns.remove(turn)
            if self._turns:
                turn.notify()

    def _wait_for_turn(self, ctx: OpKernelContext, turn: _Turn) -> None:
        """Wait while another step takes an element.

        Raises:
          FailedPreconditionError: a function of the pipeline reads the pipeline itself.
          OpError: the step is to end.
        """
        while (first := self._turns[0]) is not turn:
            if first.thread == turn.thread:
                raise errors.failed_precondition(
                    "A function of this iterator's pipeline reads the iterator: it would wait for "
                    "itself. Use another iterator in the function."
                )
            go_on_or_end(ctx)
            first.wait(_PATIENCE_S)


def _release(scope: IteratorScope | None) -> None:
    if scope is not None and scope.home is not None:
        scope.home.release(scope.state_handle)


# ------------------------------------------------------------------------------------------ making


_NAMED = ("-> handle: resource", "shared_name: string", "container: string", *OUTPUTS)


def _iterator(
    ctx: OpKernelContext,
    *,
    shared_name: str,
    container: str,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Handle:
    """Return an iterator of the node; nodes with the same shared name share one."""

    def check(found: IteratorResource) -> None:
        check_signature(found.types, found.shapes, output_types, output_shapes)

    return own_resource(
        ctx,
        _TYPE,
        container,
        shared_name,
        lambda _: IteratorResource(output_types, output_shapes),
        check,
    )


iterator = register_op("Iterator", *_NAMED, stateful=True, shape=scalar_handle, devices=("CPU",))(
    _iterator
)
iterator_v2 = register_op(
    "IteratorV2", *_NAMED, stateful=True, shape=scalar_handle, devices=("CPU",)
)(_iterator)


def _anonymous(
    ctx: OpKernelContext, output_types: list[DType], output_shapes: list[TensorShape]
) -> ResourceHandle:
    name = f"AnonymousIterator{next(_numbers)}"
    ctx.resource_manager.create("", _TYPE, name, IteratorResource(output_types, output_shapes))
    return ctx.resource_manager.make_handle(name, _TYPE)


def _new_iterator(
    ctx: OpKernelContext, *, output_types: list[DType], output_shapes: list[TensorShape]
) -> Handle:
    """Return a new iterator in every execution."""
    return _anonymous(ctx, output_types, output_shapes)


anonymous_iterator = register_op(
    "AnonymousIterator", "-> handle: resource", *OUTPUTS, stateful=True, shape=scalar_handle,
    devices=("CPU",),
)(_new_iterator)  # fmt: skip
anonymous_iterator_v3 = register_op(
    "AnonymousIteratorV3", "-> handle: resource", *OUTPUTS, stateful=True, shape=scalar_handle,
    devices=("CPU",),
)(_new_iterator)  # fmt: skip


@register_op(
    "AnonymousIteratorV2", "-> handle: resource, deleter: variant", *OUTPUTS, stateful=True,
    shape=lambda c: [SCALAR_SHAPE] * 2, devices=("CPU",),
)  # fmt: skip
def anonymous_iterator_v2(
    ctx: OpKernelContext, *, output_types: list[DType], output_shapes: list[TensorShape]
) -> Outputs:
    """Return a new iterator in every execution, and the deleter for it."""
    return _anonymous(ctx, output_types, output_shapes), Deleter()


@register_op(
    "DeleteIterator", "handle: resource, deleter: variant ->", stateful=True,
    shape=lambda c: [], devices=("CPU",),
)  # fmt: skip
def delete_iterator(ctx: OpKernelContext, handle: Handle, deleter: Variant) -> None:
    """Delete an iterator."""
    ctx.resource_manager.delete(handle)


@register_op(
    "OneShotIterator", "-> handle: resource", "dataset_factory: func", *OUTPUTS,
    "container: string = ''", "shared_name: string = ''", stateful=True, shape=scalar_handle,
    devices=("CPU",),
)  # fmt: skip
def one_shot_iterator(
    ctx: OpKernelContext,
    *,
    dataset_factory: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    container: str,
    shared_name: str,
) -> Handle:
    """Yield an iterator, which the first execution sets to the dataset that a function returns."""
    handle = own_resource(
        ctx,
        _TYPE,
        container,
        shared_name,
        lambda _: IteratorResource(output_types, output_shapes),
    )
    found: IteratorResource = ctx.resource_manager.lookup(handle, IteratorResource)
    if not found.has_dataset:
        results = yield FunctionCall(dataset_factory.name, dataset_factory.attrs, ())
        if len(results) != 1:
            raise errors.invalid_argument("The `dataset_factory` function must return a dataset.")
        if not found.has_dataset:
            found.set_dataset(ctx, as_dataset(results[0]))
    return handle


@register_op(
    "MakeIterator", "dataset: variant, iterator: resource ->", stateful=True,
    shape=lambda c: [], devices=("CPU",),
)  # fmt: skip
def make_iterator(ctx: OpKernelContext, dataset: Variant, iterator: Handle) -> None:
    """Set an iterator to the beginning of a dataset."""
    found: IteratorResource = ctx.resource_manager.lookup(iterator, IteratorResource)
    found.set_dataset(ctx, as_dataset(dataset))


# ---------------------------------------------------------------------------------- taking elements


def _component_shapes(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    shapes = list(c.attr("output_shapes"))
    if len(shapes) != c.num_outputs:
        raise ValueError(
            "`output_shapes` must be the same length as `output_types` "
            f"({len(shapes)} vs. {c.num_outputs})"
        )
    return shapes


def _get_next(
    ctx: OpKernelContext,
    iterator: Handle,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Outputs:
    """Yield the next element.

    Raises:
      OutOfRangeError: there are no more elements.
      FailedPreconditionError: the iterator was not initialized.
    """
    found: IteratorResource = ctx.resource_manager.lookup(iterator, IteratorResource)
    element = yield from found.get_next(ctx)
    if element is None:
        raise errors.out_of_range("End of sequence")
    check_element(element, output_types, output_shapes)
    return element


iterator_get_next = register_op(
    "IteratorGetNext", "iterator: resource -> components: output_types", *OUTPUTS, stateful=True,
    shape=_component_shapes, devices=("CPU",), expensive=False,
    traits="loads",
)(_get_next)  # fmt: skip
iterator_get_next_sync = register_op(
    "IteratorGetNextSync", "iterator: resource -> components: output_types", *OUTPUTS,
    stateful=True, shape=_component_shapes, devices=("CPU",), expensive=False,
)(_get_next)  # fmt: skip


@register_op(
    "IteratorGetNextAsOptional", "iterator: resource -> optional: variant", *OUTPUTS,
    stateful=True, shape=scalar_handle, devices=("CPU",), expensive=False,
)  # fmt: skip
def iterator_get_next_as_optional(
    ctx: OpKernelContext,
    iterator: Handle,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Yield the next element as an optional; at the end one without a value."""
    found: IteratorResource = ctx.resource_manager.lookup(iterator, IteratorResource)
    element = yield from found.get_next(ctx)
    if element is None:
        return OptionalVariant()
    check_element(element, output_types, output_shapes)
    return OptionalVariant(tuple(element), tuple(output_types))


# ---------------------------------------------------------------------------------- handles as text


@register_op(
    "IteratorToStringHandle", "resource_handle: resource -> string_handle: string",
    stateful=True, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def iterator_to_string_handle(ctx: OpKernelContext, resource_handle: Handle) -> Array:
    """Return a handle as a string, a serialized ResourceHandleProto.

    It can be fed to select an iterator.
    """
    ctx.resource_manager.lookup(resource_handle, IteratorResource)
    message = tensor_pb2.ResourceHandleProto(
        device=resource_handle.device,
        container=resource_handle.container,
        name=resource_handle.name,
        maybe_type_name=resource_handle.type_name,
    )
    return tensor_of(message.SerializeToString(deterministic=True))


def _from_string_handle(
    ctx: OpKernelContext,
    string_handle: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Handle:
    """Return the handle in a string.

    Raises:
      InvalidArgumentError: the string is invalid, or the iterator's elements have other types.
      NotFoundError: this session has no iterator of that name.
    """
    if np.ndim(string_handle):
        raise errors.invalid_argument("string_handle must be a scalar")
    message = tensor_pb2.ResourceHandleProto()
    try:
        message.ParseFromString(np.asarray(string_handle).item())
    except Exception:  # the class of the error depends on how protobuf is built
        raise errors.invalid_argument(
            "Could not parse string_handle as a valid ResourceHandle"
        ) from None
    if message.device != ctx.resource_manager.device_name:
        raise errors.invalid_argument(
            f'Attempted create an iterator on device "{ctx.device.name}" from handle defined on '
            f'device "{message.device}"'
        )
    handle = ResourceHandle(
        message.device, message.container, message.name, message.maybe_type_name
    )
    found: IteratorResource = ctx.resource_manager.lookup(handle, IteratorResource)
    if output_types:
        check_signature(found.types, found.shapes, output_types, output_shapes or [*found.shapes])
    return handle


_AS_TEXT = (
    "string_handle: string -> resource_handle: resource",
    "output_types: list(type) >= 0 = []", "output_shapes: list(shape) >= 0 = []",
)  # fmt: skip
iterator_from_string_handle = register_op(
    "IteratorFromStringHandle", *_AS_TEXT, stateful=True, shape=scalar_handle, devices=("CPU",)
)(_from_string_handle)
iterator_from_string_handle_v2 = register_op(
    "IteratorFromStringHandleV2", *_AS_TEXT, stateful=True, shape=scalar_handle, devices=("CPU",)
)(_from_string_handle)
