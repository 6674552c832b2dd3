"""Tensor arrays and tensor lists, as sequences of tensors.

The value of a tensor array is that of its flow: each write makes a new sequence. An element that
was not written yet is an array of zeros, of the shape of elements if that is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts, onnx_type
from tfnb.onnx_export.writing.onnx_nodes import Body, Kind, close_body, loop_body
from tfnb.onnx_export.writing.problems import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType

_ZERO_TO = 0


def _sequence(node: NodeToConvert, dtype: DType, *outputs: int) -> None:
    """Say that outputs are sequences."""
    onnx_type(dtype)
    for number in outputs:
        node.kinds[number] = Kind(dtype, True)


def _unwritten(node: NodeToConvert, dtype: DType) -> str:
    shape = node.attr("element_shape")
    dims = getattr(shape, "dim_values", None)
    sizes = dims if dims is not None and None not in dims else (0,)
    kind = np.dtype(object) if dtype == dtypes.string else dtype.numpy_dtype
    return node.value(np.zeros(sizes, kind))


def repeated(node: NodeToConvert, number: str, element: str, dtype: DType) -> str:
    """Return a sequence of one element, a number of times."""
    writer = node.writer
    first = node.add("SequenceEmpty", dtype=onnx_type(dtype))
    body, _, going = loop_body(writer.graph, writer.names)
    so_far, kind = writer.names.new("so_far"), Kind(dtype, True)
    writer.graph.kinds[so_far] = kind
    body.inputs.append((so_far, kind))
    with writer.inside(body):
        result = node.add("SequenceInsert", so_far, element)
    writer.graph.kinds[result] = kind
    close_body(writer, body, [going, result])
    return node.add_many("Loop", 1, number, "", first, body=body)[0]


def written(node: NodeToConvert, sequence: str, index: str, value: str, dtype: DType) -> str:
    """Return a sequence with another element at a place; a place at its end makes it longer."""
    writer = node.writer
    length = node.add("SequenceLength", sequence)
    writer.graph.kinds.setdefault(sequence, Kind(dtype, True))
    there, beyond = Body(), Body()
    with writer.inside(there):
        rest = node.add("SequenceErase", sequence, index)
        writer.graph.kinds[rest] = Kind(dtype, True)
    close_body(writer, there, [rest])
    with writer.inside(beyond):
        same = node.add("Identity", sequence)
        writer.graph.kinds[same] = Kind(dtype, True)
    close_body(writer, beyond, [same])
    inside = node.add("Less", index, length)
    shorter = node.add_many("If", 1, inside, then_branch=there, else_branch=beyond)[0]
    return node.add("SequenceInsert", shorter, value, index)


def kind_of(node: NodeToConvert, index: int) -> Kind | None:
    """Return the type of an input, if it is known as one."""
    return node.writer.graph.kinds.get(node.inputs[index])


def is_sequence(node: NodeToConvert, index: int) -> bool:
    """Return whether an input is a tensor array or a list."""
    kind = kind_of(node, index)
    return kind is not None and kind.is_sequence


def _each(
    node: NodeToConvert, sequence: str, kind: Kind, element: Callable[[str, str], str]
) -> str:
    """Return a sequence of what is made of each element, given it and its number."""
    writer = node.writer
    first = node.add("SequenceEmpty", dtype=onnx_type(kind.dtype))
    body, turn, going = loop_body(writer.graph, writer.names)
    so_far = writer.names.new("so_far")
    writer.graph.kinds[so_far] = kind
    body.inputs.append((so_far, kind))
    with writer.inside(body):
        made = element(node.add("SequenceAt", sequence, turn), turn)
        result = node.add("SequenceInsert", so_far, made)
    writer.graph.kinds[result] = kind
    close_body(writer, body, [going, result])
    number = node.add("SequenceLength", sequence)
    return node.add_many("Loop", 1, number, "", first, body=body)[0]


def zeros_like_each(node: NodeToConvert, sequence: str, dtype: DType) -> str:
    """Return the gradient of a sequence before anything is added to it."""
    zero = node.value(0, dtype.numpy_dtype)
    return _each(
        node,
        sequence,
        Kind(dtype, True, True),
        lambda element, _: node.numeric("Mul", [element, zero], dtype),
    )


def sum_of_gradients(node: NodeToConvert) -> str:
    """Return the sum of gradients of sequences; a number among them is a 0."""
    given = [number for number in range(len(node.inputs)) if is_sequence(node, number)]
    found = node.inputs[given[0]]
    kind = kind_of(node, given[0])
    assert kind is not None
    kind = Kind(kind.dtype, True, True)
    for number in given[1:]:
        found = _sum_of_two(node, found, node.inputs[number], kind)
    node.kinds[0] = kind
    return found


def _sum_of_two(node: NodeToConvert, one: str, other: str, kind: Kind) -> str:
    """Return the sum of two sequences; one without elements is 0."""
    writer = node.writer

    def chosen(test: str, some: Callable[[], str], none: str) -> str:
        there, nothing = Body(), Body()
        with writer.inside(there):
            value = some()
        writer.graph.kinds[value] = kind
        close_body(writer, there, [value])
        with writer.inside(nothing):
            same = node.add("Identity", none)
        writer.graph.kinds[same] = kind
        close_body(writer, nothing, [same])
        is_some = node.add("Greater", node.add("SequenceLength", test), node.value(0, np.int64))
        return node.add_many("If", 1, is_some, then_branch=there, else_branch=nothing)[0]

    def added(element: str, turn: str) -> str:
        return node.numeric("Add", [element, node.add("SequenceAt", other, turn)], kind.dtype)

    def both() -> str:
        return chosen(other, lambda: _each(node, one, kind, added), one)

    return chosen(one, both, other)


def added_to(node: NodeToConvert, sequence: str, index: str, value: str, dtype: DType) -> str:
    """Return the gradient of a sequence with a value added to an element."""
    old = node.add("SequenceAt", sequence, index)
    rest = node.add("SequenceErase", sequence, index)
    return node.add("SequenceInsert", rest, node.numeric("Add", [old, value], dtype), index)


def _scalar(node: NodeToConvert, index: int) -> str:
    known = node.constant(index)
    if known is not None:
        return node.value(np.reshape(known, ()), np.int64)
    return node.int64(index)


def stacked(node: NodeToConvert, sequence: str, dtype: DType) -> str:
    """Return the elements of a sequence as rows of a tensor, which may have none."""
    writer = node.writer
    declared = getattr(node.attr("element_shape"), "dim_values", None)
    dims = node.output_shapes[0].dim_values
    known = (dims or ())[1:] if declared is None else declared
    sizes = (0, *((size or 0) for size in known))
    some, none = Body(), Body()
    with writer.inside(some):
        joined = node.add("ConcatFromSequence", sequence, axis=0, new_axis=1)
    with writer.inside(none):
        nothing = node.add("Identity", node.value(np.zeros(sizes, dtype.numpy_dtype)))
    for body, value in ((some, joined), (none, nothing)):
        writer.graph.kinds[value] = Kind(dtype)
        close_body(writer, body, [value])
    is_some = node.add("Greater", node.add("SequenceLength", sequence), node.value(0, np.int64))
    return node.add_many("If", 1, is_some, then_branch=some, else_branch=none)[0]


def rows(node: NodeToConvert, value: str) -> str:
    """Return the rows of a tensor as a sequence."""
    return node.add("SplitToSequence", value, axis=0, keepdims=0)


def scattered(
    node: NodeToConvert,
    sequence: str,
    indices: str,
    value: str,
    kind: Kind,
) -> str:
    """Return a sequence with rows of a tensor at places; to those of a gradient they are added."""
    writer = node.writer
    write = added_to if kind.is_gradient else written
    body, turn, going = loop_body(writer.graph, writer.names)
    so_far = writer.names.new("so_far")
    writer.graph.kinds[so_far] = kind
    body.inputs.append((so_far, kind))
    with writer.inside(body):
        place = node.add("Gather", indices, turn)
        result = write(node, so_far, place, node.add("Gather", value, turn), kind.dtype)
    writer.graph.kinds[result] = kind
    close_body(writer, body, [going, result])
    number = node.add("Squeeze", node.add("Shape", indices))
    return node.add_many("Loop", 1, number, "", sequence, body=body)[0]


# -- tensor arrays


@converts("TensorArrayV3", "TensorArrayV2")
def tensor_array(node: NodeToConvert) -> list[str]:
    """Convert the making of a tensor array."""
    dtype = node.attr("dtype")
    found = repeated(node, _scalar(node, 0), _unwritten(node, dtype), dtype)
    handle = node.value(np.zeros(0), np.float32)
    if len(node.item.output_types) == 1:
        return [handle]
    _sequence(node, dtype, 1)
    return [handle, found]


@converts("TensorArrayWriteV3", "TensorArrayWriteV2")
def tensor_array_write(node: NodeToConvert) -> str:
    """Convert a write; to the gradient of a tensor array, it is an addition."""
    flow, kind = _flow(node, 3, node.dtype(2))
    node.kinds[0] = kind
    write = added_to if kind.is_gradient else written
    return write(node, flow, _scalar(node, 1), node.inputs[2], kind.dtype)


def _flow(node: NodeToConvert, index: int, dtype: DType) -> tuple[str, Kind]:
    """Return the sequence of a flow, and its type.

    Where the handle is that of a gradient, a flow of the tensor array itself only orders: the
    gradient is 0 then.
    """
    onnx_type(dtype)
    handle, kind, flow = kind_of(node, 0), kind_of(node, index), node.inputs[index]
    wanted = Kind(dtype, True, handle is not None and handle.is_gradient)
    if kind is None or not kind.is_sequence:
        if wanted.is_gradient:
            raise Refused("the gradient of an array to which nothing was added")
        return flow, wanted
    if wanted.is_gradient and not kind.is_gradient:
        flow = zeros_like_each(node, flow, dtype)
    return flow, wanted


@converts("TensorArrayGradV3", "TensorArrayGradV2")
def tensor_array_gradient(node: NodeToConvert) -> list[str]:
    """Convert the gradient of a tensor array: a handle that says so, and the flow."""
    handle = node.add("Identity", node.value(np.zeros(0), np.float32))
    node.kinds[0] = Kind(dtypes.float32, False, True)
    return [handle, node.inputs[1]][: len(node.item.output_types)]


@converts("TensorArrayReadV3", "TensorArrayReadV2")
def tensor_array_read(node: NodeToConvert) -> str:
    """Convert a read."""
    flow, _ = _flow(node, 2, node.output_dtype())
    return node.add("SequenceAt", flow, _scalar(node, 1))


@converts("TensorArrayGatherV3", "TensorArrayGatherV2")
def tensor_array_gather(node: NodeToConvert) -> str:
    """Convert a gather of elements."""
    flow, kind = _flow(node, 2, node.output_dtype())
    return node.add("Gather", stacked(node, flow, kind.dtype), node.int64(1))


@converts("TensorArrayScatterV3", "TensorArrayScatterV2")
def tensor_array_scatter(node: NodeToConvert) -> str:
    """Convert a scatter of rows into elements."""
    flow, kind = _flow(node, 3, node.dtype(2))
    node.kinds[0] = kind
    return scattered(node, flow, node.int64(1), node.inputs[2], kind)


@converts("TensorArraySizeV3", "TensorArraySizeV2")
def tensor_array_size(node: NodeToConvert) -> str:
    """Convert the reading of the number of elements."""
    return node.cast(node.add("SequenceLength", node.inputs[1]), dtypes.int32)


@converts("TensorArrayConcatV3", "TensorArrayConcatV2")
def tensor_array_concat(node: NodeToConvert) -> list[str]:
    """Convert a concatenation of elements, with their lengths."""
    flow, _ = _flow(node, 1, node.output_dtype())
    return [
        node.add("ConcatFromSequence", flow, axis=0, new_axis=0),
        lengths_of(node, flow),
    ]


def lengths_of(node: NodeToConvert, sequence: str) -> str:
    """Return the first size of each element of a sequence."""
    writer = node.writer
    body, turn, going = loop_body(writer.graph, writer.names)
    with writer.inside(body):
        shape = node.add("Shape", node.add("SequenceAt", sequence, turn))
        size = node.add("Gather", shape, node.value(0, np.int64))
    writer.graph.kinds[size] = Kind(dtypes.int64)
    close_body(writer, body, [going, size])
    return node.add_many("Loop", 1, node.add("SequenceLength", sequence), "", body=body)[0]


@converts("TensorArraySplitV3", "TensorArraySplitV2")
def tensor_array_split(node: NodeToConvert) -> str:
    """Convert a split of a tensor into elements."""
    _sequence(node, node.dtype(1), 0)
    return node.add("SplitToSequence", node.inputs[1], node.int64(2), axis=0)


@converts("TensorArrayCloseV3", "TensorArrayCloseV2")
def tensor_array_close(node: NodeToConvert) -> list[str]:
    """Convert the end of a tensor array, which needs nothing."""
    return []


# -- tensor lists


@converts("TensorListReserve")
def list_reserve(node: NodeToConvert) -> str:
    """Convert a list with a number of elements."""
    dtype = node.attr("element_dtype")
    _sequence(node, dtype, 0)
    return repeated(node, _scalar(node, 1), _of_list(node, 0, dtype), dtype)


def _of_list(node: NodeToConvert, index: int, dtype: DType) -> str:
    """Return an element that was not written."""
    shape = node.constant(index)
    if shape is None and node.shapes[index].dim_values != ():
        sizes_value = node.add("Max", node.int64(index), node.value(0, np.int64))
        return node.add("ConstantOfShape", sizes_value, value=np.zeros(1, dtype.numpy_dtype))
    sizes: tuple[int, ...] = (0,)
    if shape is not None and shape.ndim == 1 and (shape >= 0).all():
        sizes = tuple(int(size) for size in shape)
    return node.value(np.zeros(sizes, dtype.numpy_dtype))


@converts("EmptyTensorList")
def list_empty(node: NodeToConvert) -> str:
    """Convert an empty list."""
    dtype = node.attr("element_dtype")
    _sequence(node, dtype, 0)
    return node.add("SequenceEmpty", dtype=onnx_type(dtype))


@converts("TensorListFromTensor")
def list_from_tensor(node: NodeToConvert) -> str:
    """Convert a list of the rows of a tensor."""
    _sequence(node, node.attr("element_dtype"), 0)
    return rows(node, node.inputs[0])


@converts("TensorListSetItem")
def list_set_item(node: NodeToConvert) -> str:
    """Convert a write."""
    dtype = node.attr("element_dtype")
    _sequence(node, dtype, 0)
    return written(node, node.inputs[0], _scalar(node, 1), node.inputs[2], dtype)


@converts("TensorListGetItem")
def list_get_item(node: NodeToConvert) -> str:
    """Convert a read."""
    return node.add("SequenceAt", node.inputs[0], _scalar(node, 1))


@converts("TensorListStack")
def list_stack(node: NodeToConvert) -> str:
    """Convert a stack of all elements."""
    return stacked(node, node.inputs[0], node.output_dtype())


@converts("TensorListGather")
def list_gather(node: NodeToConvert) -> str:
    """Convert a stack of some elements."""
    return node.add("Gather", stacked(node, node.inputs[0], node.output_dtype()), node.int64(1))


@converts("TensorListScatterV2", "TensorListScatter")
def list_scatter(node: NodeToConvert) -> str:
    """Convert a list made of rows at places; the places must be those of all rows."""
    dtype = node.attr("element_dtype")
    _sequence(node, dtype, 0)
    top = node.reduce("ReduceMax", node.int64(1), [0], dtypes.int64, False)
    number = node.add("Add", top, node.value(1, np.int64))
    first = repeated(node, number, node.value(np.zeros((_ZERO_TO,), dtype.numpy_dtype)), dtype)
    return scattered(node, first, node.int64(1), node.inputs[0], Kind(dtype, True))


@converts("TensorListElementShape")
def list_element_shape(node: NodeToConvert) -> str:
    """Convert the reading of the shape of elements: that of the first one."""
    first = node.add("SequenceAt", node.inputs[0], node.value(0, np.int64))
    return node.as_output(node.add("Shape", first))


@converts("TensorListLength")
def list_length(node: NodeToConvert) -> str:
    """Convert the reading of the number of elements."""
    return node.cast(node.add("SequenceLength", node.inputs[0]), dtypes.int32)


@converts("TensorListPushBack")
def list_push_back(node: NodeToConvert) -> str:
    """Convert an element added at the end."""
    _sequence(node, node.attr("element_dtype"), 0)
    return node.add("SequenceInsert", node.inputs[0], node.inputs[1])


@converts("TensorListPopBack")
def list_pop_back(node: NodeToConvert) -> list[str]:
    """Convert the removal of the last element."""
    _sequence(node, node.attr("element_dtype"), 0)
    last = node.value(-1, np.int64)
    return [
        node.add("SequenceErase", node.inputs[0], last),
        node.add("SequenceAt", node.inputs[0], last),
    ]


@converts("TensorListConcatV2", "TensorListConcat")
def list_concat(node: NodeToConvert) -> list[str]:
    """Convert a concatenation of elements, with their lengths."""
    return [
        node.add("ConcatFromSequence", node.inputs[0], axis=0, new_axis=0),
        lengths_of(node, node.inputs[0]),
    ]


@converts("TensorListSplit")
def list_split(node: NodeToConvert) -> str:
    """Convert a list made of parts of a tensor."""
    _sequence(node, node.attr("element_dtype"), 0)
    return node.add("SplitToSequence", node.inputs[0], node.int64(2), axis=0)


# -- stacks, which hold what a loop's gradient needs; the value of the handle is the sequence


@converts("StackV2", "Stack")
def stack(node: NodeToConvert) -> str:
    """Convert the making of a stack."""
    dtype = node.attr("elem_type")
    _sequence(node, dtype, 0)
    return node.add("SequenceEmpty", dtype=onnx_type(dtype))


@converts("StackPushV2", "StackPush")
def stack_push(node: NodeToConvert) -> list[str]:
    """Convert a push: the value, and the stack behind it."""
    _sequence(node, node.dtype(1), 1)
    if is_sequence(node, 1):  # a flow, whose popped value only orders
        nothing = node.value(0, node.dtype(1).numpy_dtype)
        return [node.inputs[1], node.add("SequenceInsert", node.inputs[0], nothing)]
    return [node.inputs[1], node.add("SequenceInsert", node.inputs[0], node.inputs[1])]


@converts("StackPopV2", "StackPop")
def stack_pop(node: NodeToConvert) -> list[str]:
    """Convert a pop: the value, and the stack behind it."""
    _sequence(node, node.output_dtype(), 1)
    last = node.value(-1, np.int64)
    return [
        node.add("SequenceAt", node.inputs[0], last),
        node.add("SequenceErase", node.inputs[0], last),
    ]


@converts("StackCloseV2", "StackClose")
def stack_close(node: NodeToConvert) -> list[str]:
    """Convert the end of a stack, which needs nothing."""
    return []
