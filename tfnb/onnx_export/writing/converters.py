"""The table of converters, and what each of them gets: one node, and a writer of ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.problems import Refused

if TYPE_CHECKING:
    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.onnx_export.writing.onnx_nodes import Kind, Writer

type_of_converter = Callable[["NodeToConvert"], "str | Sequence[str]"]

CONVERTERS: dict[str, type_of_converter] = {}
"""Op -> what converts it."""


COMPLEX_CONVERTERS: dict[str, type_of_converter] = {}
"""Op -> what converts it where inputs or outputs are complex."""


def converter_of(item: NodeItem) -> type_of_converter | None:
    """Return what converts a node, or None."""
    types = (*item.input_types, *item.output_types)
    table = COMPLEX_CONVERTERS if any(one.is_complex for one in types) else CONVERTERS
    return table.get(item.op)


def converts_complex(*ops: str) -> Callable[[type_of_converter], type_of_converter]:
    """Return a decorator that registers a converter for ops of complex numbers."""
    return _registering(COMPLEX_CONVERTERS, ops)


def converts(*ops: str) -> Callable[[type_of_converter], type_of_converter]:
    """Return a decorator that registers a converter for ops."""
    return _registering(CONVERTERS, ops)


def _registering(
    table: dict[str, type_of_converter], ops: Sequence[str]
) -> Callable[[type_of_converter], type_of_converter]:
    def register(converter: type_of_converter) -> type_of_converter:
        for op in ops:
            assert op not in table, op
            table[op] = converter
        return converter

    return register


class NodeToConvert:
    """One TensorFlow node.

    Attributes:
      item: the node.
      op: its op.
      inputs: the values of its inputs.
      registers: the registers of its inputs.
      writer: adds nodes.
      opset: the version of the operators.
      kinds: the types of its outputs where they are not tensors of the node's own types.
    """

    def __init__(
        self,
        item: NodeItem,
        inputs: list[str],
        shapes: list[TensorShape],
        constants: list[Any],
        outputs: list[TensorShape],
        writer: Writer,
    ) -> None:
        self.item, self.op, self.inputs = item, item.op, inputs
        self.shapes, self.constants, self.output_shapes = shapes, constants, outputs
        self.writer = writer
        self.opset = writer.graph.opset
        self.kinds: dict[int, Kind] = {}
        self.registers: list[str] = []
        assert item.kernel is not None
        self.attrs = item.kernel.attrs

    # -- what is known about the node

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute; text as str."""
        value: Any = self.attrs.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def dtype(self, index: int) -> DType:
        """Return the type of an input."""
        return self.item.input_types[index]

    def output_dtype(self, index: int = 0) -> DType:
        """Return the type of an output."""
        return self.item.output_types[index]

    def dims(self, index: int) -> tuple[int | None, ...]:
        """Return the sizes of an input, None for unknown ones.

        Raises:
          Refused: its rank is unknown.
        """
        dims = self.shapes[index].dim_values
        if dims is None:
            raise Refused(f"the rank of its input {index} is not known")
        return tuple(dims)

    def rank(self, index: int) -> int:
        """Return the rank of an input."""
        return len(self.dims(index))

    def size(self, index: int, axis: int) -> int:
        """Return a size of an input.

        Raises:
          Refused: it is unknown.
        """
        found = self.dims(index)[axis]
        if found is None:
            raise Refused(f"the size {axis} of its input {index} is not known")
        return found

    def constant(self, index: int) -> Any:
        """Return the value of an input that is the same in each run, or None."""
        return self.constants[index]

    def needed(self, index: int, what: str) -> Any:
        """Return the value of an input that must be constant.

        Raises:
          Refused: it is not constant.
        """
        value = self.constants[index]
        if value is None:
            raise Refused(f"{what} (input {index}) is not constant")
        return value

    def needs_opset(self, opset: int) -> None:
        """Raise Refused unless the operators are at least of this version."""
        if self.opset < opset:
            raise Refused(f"it needs opset {opset}: --opset {opset}")

    # -- writing

    def add(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Add a node with one output; return the output."""
        return self.writer.add(op, inputs, attrs)[0]

    def add_many(self, op: str, outputs: int, *inputs: str, **attrs: Any) -> list[str]:
        """Add a node; return its outputs."""
        return self.writer.add(op, inputs, attrs, outputs)

    def value(self, array: Any, dtype: Any = None) -> str:
        """Return a constant."""
        return self.writer.constant(np.asarray(array, dtype))

    def ints(self, *numbers: int) -> str:
        """Return a constant vector of int64."""
        return self.value(numbers, np.int64)

    def scalar(self, number: Any, index: int = 0) -> str:
        """Return a constant scalar of an input's type."""
        return self.value(number, self.dtype(index).numpy_dtype)

    def cast(self, value: str, dtype: DType) -> str:
        """Return a value in another type."""
        return self.add("Cast", value, to=onnx_type(dtype))

    def int64(self, index: int) -> str:
        """Return an input of integers as int64."""
        known = self.constants[index]
        if known is not None:
            return self.value(known, np.int64)
        if self.dtype(index) == dtypes.int64:
            return self.inputs[index]
        return self.cast(self.inputs[index], dtypes.int64)

    def as_type(self, index: int, dtype: DType) -> str:
        """Return an input in another type."""
        value = self.inputs[index]
        return value if self.dtype(index) == dtype else self.cast(value, dtype)

    def as_output(self, value: str, output: int = 0, dtype: DType = dtypes.int64) -> str:
        """Return a value of a type, int64 if missing, in the type of an output."""
        wanted = self.output_dtype(output)
        return value if wanted == dtype else self.cast(value, wanted)

    def vector(self, index: int) -> str:
        """Return an input of integers as a vector of int64."""
        known = self.constants[index]
        if known is not None:
            return self.value(np.reshape(known, -1), np.int64)
        return self.add("Reshape", self.int64(index), self.ints(-1))

    def numeric(self, op: str, inputs: Sequence[str], dtype: DType, **attrs: Any) -> str:
        """Add a node whose inputs and output have one type, in a type that runtimes compute it in.

        Args:
          op: the operator.
          inputs: the inputs.
          dtype: their type.
          **attrs: attributes of the node.
        """
        wide = computed_as(op, dtype)
        if wide == dtype:
            return self.add(op, *inputs, **attrs)
        found = self.add(op, *(self.cast(one, wide) for one in inputs), **attrs)
        return self.cast(found, dtype)

    def numeric_first(self, op: str, inputs: Sequence[str], dtype: DType, **attrs: Any) -> str:
        """Add a node of which only the first input and the output have the type."""
        wide = computed_as(op, dtype)
        if wide == dtype:
            return self.add(op, *inputs, **attrs)
        found = self.add(op, self.cast(inputs[0], wide), *inputs[1:], **attrs)
        return self.cast(found, dtype)

    def numeric_where(self, condition: str, one: str, other: str, dtype: DType) -> str:
        """Add a choice; runtimes choose among few types."""
        halves = (dtypes.bfloat16, dtypes.float16)
        if dtype in (dtypes.int8, dtypes.uint16, dtypes.int16, *_LARGE, *halves):
            wide = dtypes.float32 if dtype in halves else dtypes.int64
            found = self.add("Where", condition, self.cast(one, wide), self.cast(other, wide))
            return self.cast(found, dtype)
        return self.add("Where", condition, one, other)

    def scattered(
        self, op: str, target: str, indices: str, updates: str, dtype: DType, reduction: str
    ) -> str:
        """Add a scatter that joins what meets at one place: add, mul, max or min.

        Args:
          op: ScatterND or ScatterElements.
          target: the values before it.
          indices: the places.
          updates: the values that are scattered.
          dtype: the type of both.
          reduction: how they are joined.
        """
        if reduction in ("max", "min"):
            self.needs_opset(18)
        wide = dtypes.float32 if dtype == dtypes.float16 else computed_as("Add", dtype)
        if wide != dtype:
            target, updates = self.cast(target, wide), self.cast(updates, wide)
        found = self.add(op, target, indices, updates, reduction=reduction)
        return found if wide == dtype else self.cast(found, dtype)

    def steps(self, length: str) -> str:
        """Return the numbers from 0 up to a length, which is a scalar of int64."""
        return self.add("Range", self.value(0, np.int64), length, self.value(1, np.int64))

    def compare(self, op: str, one: str, other: str, dtype: DType) -> str:
        """Add a comparison."""
        wide = computed_as(op, dtype)
        if wide != dtype:
            one, other = self.cast(one, wide), self.cast(other, wide)
        return self.add(op, one, other)

    def reduce(self, op: str, value: str, axes: Sequence[int], dtype: DType, keep: bool) -> str:
        """Add a reduction over constant axes."""
        return self.reduce_over(op, value, self.ints(*axes), dtype, keep, list(axes))

    def reduce_over(
        self,
        op: str,
        value: str,
        axes: str,
        dtype: DType,
        keep: bool,
        known: list[int] | None,
    ) -> str:
        """Add a reduction; before opset 18 most have their axes as an attribute."""
        if known == []:
            return self.add("Identity", value)
        if self.opset >= 18 or op == "ReduceSum":
            wide = computed_as(op, dtype)
            given = value if wide == dtype else self.cast(value, wide)
            found = self.add(op, given, axes, keepdims=int(keep), noop_with_empty_axes=1)
            return found if wide == dtype else self.cast(found, dtype)
        if known is None:
            raise Refused("its axes are not constant: --opset 18")
        return self.numeric(op, [value], dtype, axes=known, keepdims=int(keep))

    def transposed(self, value: str, perm: Sequence[int]) -> str:
        """Return a value with its axes in another order."""
        return self.add("Transpose", value, perm=list(perm))

    def shape_of(self, index: int) -> str:
        """Return the shape of an input as int64."""
        dims = self.shapes[index].dim_values
        if dims is not None and None not in dims:
            return self.value(dims, np.int64)
        return self.add("Shape", self.inputs[index])


_ENUMS = {
    dtypes.float32: 1,
    dtypes.uint8: 2,
    dtypes.int8: 3,
    dtypes.uint16: 4,
    dtypes.int16: 5,
    dtypes.int32: 6,
    dtypes.int64: 7,
    dtypes.string: 8,
    dtypes.bool: 9,
    dtypes.float16: 10,
    dtypes.float64: 11,
    dtypes.uint32: 12,
    dtypes.uint64: 13,
    dtypes.bfloat16: 16,
}


def onnx_type(dtype: DType) -> int:
    """Return ONNX's number of a type.

    Raises:
      Refused: ONNX has no such type.
    """
    found = _ENUMS.get(dtype)
    if found is None:
        raise Refused(f"ONNX runtimes have no type {dtype.name}")
    return found


def has_onnx_type(dtype: DType) -> bool:
    """Return whether ONNX runtimes compute with a type."""
    return dtype in _ENUMS


_SMALL = (dtypes.uint8, dtypes.int8, dtypes.uint16, dtypes.int16)
_LARGE = (dtypes.uint32, dtypes.uint64)
_ONLY_FLOAT = frozenset(
    (
        *("Conv", "ConvTranspose", "AveragePool", "Erf", "Elu", "Selu", "LRN", "Resize"),
        *("Softplus", "Softsign", "LeakyRelu", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh"),
        *("Asinh", "Acosh", "Atanh", "MaxPool", "Einsum", "Det", "ReduceL2", "HardSigmoid"),
        *("ReduceLogSumExp",),
    )
)
_FLOATING = frozenset(
    (
        *("Exp", "Log", "Sqrt", "Reciprocal", "Tanh", "Sigmoid", "Sin", "Cos", "Floor", "Ceil"),
        *("Round", "Softmax", "LogSoftmax", "BatchNormalization", "IsNaN", "IsInf"),
    )
)
_ANY = frozenset(["Abs", "Sign", "Where", "Relu"])


def computed_as(op: str, dtype: DType) -> DType:
    """Return the type in which runtimes compute an operator for a type.

    ONNX allows more types than the CPU kernels of onnxruntime have.
    """
    if dtype == dtypes.bfloat16:
        return dtypes.float32
    if op in _ONLY_FLOAT:
        return dtype if dtype in (dtypes.float16,) else dtypes.float32
    if op in _FLOATING:
        return dtype if dtype.is_floating else dtypes.float64
    if op == "ReduceMean" and not dtype.is_floating:
        return dtypes.float64
    if op == "ReduceProd" and dtype == dtypes.float64:
        return dtypes.float32
    if op == "Relu" and not dtype.is_floating:
        return dtypes.float64
    if op in _ANY:
        return dtype
    if dtype == dtypes.bool:
        return dtype if op in ("Equal", "Identity") else dtypes.int32
    if dtype in _SMALL:
        return dtypes.int32
    if dtype in _LARGE:
        return dtypes.int64
    return dtype
