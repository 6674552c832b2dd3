"""Nodes, attributes and signatures in one line, as TensorFlow's messages print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.attr_value import NameAttrList, TensorAttr, decode_attr
from tfnb.core.dtypes import DType, as_dtype
from tfnb.core.errors import InvalidArgumentError
from tfnb.core.tensor_shape import TensorShape
from tfnb.proto import attr_value_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tfnb.core.op_def import ArgDef, AttrDef, OpDef

_TYPE_WORDS = {"float32": "float", "float64": "double", "float16": "half"}
_MAX_VALUES = 3


def type_word(dtype: DType) -> str:
    """Return the name of a dtype in messages: ``float`` for float32, ``float_ref`` for a reference.

    >>> from tfnb.core import dtypes
    >>> type_word(dtypes.float32), type_word(dtypes.float64_ref), type_word(dtypes.int32)
    ('float', 'double_ref', 'int32')
    """
    base = dtype.base_dtype.name
    return _TYPE_WORDS.get(base, base) + ("_ref" if dtype.is_ref_dtype else "")


def shape_text(shape: TensorShape) -> str:
    """Return a shape in messages: ``[2,?]``, or ``?`` where the rank is unknown.

    >>> shape_text(TensorShape([2, None])), shape_text(TensorShape(None))
    ('[2,?]', '?')
    """
    dims = shape.dim_values
    if dims is None:
        return "?"
    return "[" + ",".join("?" if dim is None else str(dim) for dim in dims) + "]"


def attr_text(value: Any) -> str:
    """Return an attribute's value in messages.

    >>> from tfnb.core import dtypes
    >>> attr_text(dtypes.float32), attr_text(b"SAME"), attr_text([1, 2]), attr_text(True)
    ('DT_FLOAT', '"SAME"', '[1, 2]', 'true')
    """
    if isinstance(value, attr_value_pb2.AttrValue):
        value = decode_attr(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, DType):
        return f"DT_{type_word(value).upper()}"
    if isinstance(value, bytes):
        return '"' + value.decode("utf-8", "backslashreplace") + '"'
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, TensorShape):
        return "<unknown>" if value.rank is None else shape_text(value)
    if isinstance(value, TensorAttr):
        try:
            return tensor_text(value.value(), value.dtype)
        except InvalidArgumentError:  # the message is about this tensor, which cannot be read
            return "<Invalid TensorProto>"
    if isinstance(value, NameAttrList):
        inner = ", ".join(f"{name}={attr_text(value.attrs[name])}" for name in sorted(value.attrs))
        return f"{value.name}[{inner}]"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(attr_text, value)) + "]"
    return str(value)


def tensor_text(array: Any, dtype: DType | None = None) -> str:
    """Return a tensor in messages: ``Tensor<type: int32 shape: [2] values: 1 2>``."""
    array = np.asarray(array)
    shape = TensorShape(array.shape)
    word = type_word(as_dtype(array.dtype) if dtype is None else dtype)
    return f"Tensor<type: {word} shape: {shape_text(shape)} values: {values_text(array)}>"


def values_text(array: Any, limit: int = _MAX_VALUES) -> str:
    """Return the first elements of an array in messages, the rows of a matrix in brackets.

    >>> values_text(np.arange(6).reshape(2, 3), 4)
    '[0 1 2][3...]...'
    """
    array = np.asarray(array)
    text = nested_text([_element_text(one) for one in array.reshape(-1)[:limit]], array.shape)
    return f"{text}..." if array.size > limit else text


def nested_text(elements: Sequence[str], shape: Sequence[int]) -> str:
    """Return the first elements of a tensor as TensorFlow's runtime nests them.

    Args:
      elements: the text of the elements that are shown.
      shape: the shape of the whole tensor.
    """
    if not shape:
        return " ".join(elements)
    parts: list[str] = []
    _nest(elements, shape, 0, 0, parts)
    return "".join(parts)


def _nest(
    elements: Sequence[str], shape: Sequence[int], depth: int, start: int, parts: list[str]
) -> int:
    """Write one part of a tensor from flat position ``start`` on; return the next position."""
    if start >= len(elements):
        return start
    if depth == len(shape) - 1:
        end = min(start + shape[depth], len(elements))
        parts.append(" ".join(elements[start:end]))
        if depth and end < start + shape[depth]:
            parts.append("...")
        return end
    for _ in range(shape[depth]):
        if start >= len(elements):
            break
        parts.append("[")
        start = _nest(elements, shape, depth + 1, start, parts)
        parts.append("]")
    return start


def _element_text(value: Any) -> str:
    if isinstance(value, bytes):
        return '"' + value[:40].decode("utf-8", "backslashreplace") + '"'
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    return str(value)


def node_text(
    name: str, op: str, attrs: Mapping[str, Any], inputs: Iterable[str], device: str = ""
) -> str:
    """Return a node in messages: ``{{node y}} = Neg[T=DT_FLOAT](x)``."""
    shown = [f"{key}={attr_text(attrs[key])}" for key in sorted(attrs)]
    if device:
        shown.append(f'_device="{device}"')
    return f"{{{{node {name}}}}} = {op}[{', '.join(shown)}]({', '.join(inputs)})"


def op_def_text(op_def: OpDef) -> str:
    """Return a signature in messages: ``Op<name=Neg; signature=x:T -> y:T; attr=T:type>``."""
    parts = [
        f"Op<name={op_def.name}",
        f"signature={_args_text(op_def.inputs)} -> {_args_text(op_def.outputs)}",
        *(f"attr={_attr_def_text(attr)}" for attr in op_def.attrs),
    ]
    flags = ("is_commutative", "is_aggregate", "is_stateful", "allows_uninitialized_input")
    parts += [f"{flag}=true" for flag in flags if getattr(op_def, flag)]
    return "; ".join(parts) + ">"


def _args_text(args: Iterable[ArgDef]) -> str:
    return ", ".join(f"{arg.name}:{_arg_type_text(arg)}" for arg in args)


def _arg_type_text(arg: ArgDef) -> str:
    if arg.type_list_attr:
        text = arg.type_list_attr
    else:
        text = type_word(arg.type) if arg.type is not None else arg.type_attr
        if arg.number_attr:
            text = f"{arg.number_attr}*{text}"
    return f"Ref({text})" if arg.is_ref else text


def _attr_def_text(attr: AttrDef) -> str:
    text = f"{attr.name}:{attr.type}"
    if attr.has_default:
        text += f",default={attr_text(attr.default)}"
    if attr.minimum is not None:
        text += f",min={attr.minimum}"
    if attr.allowed:
        text += f",allowed={attr_text(list(attr.allowed))}"
    return text
