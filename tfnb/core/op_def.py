"""The signature of an op: arguments, attributes and flags, and the language they are written in.

An :class:`OpDef` is the plain form of TensorFlow's ``OpDef`` message.  Ops write it in the text
that TensorFlow's ``REGISTER_OP`` uses, so that a signature greps to the original::

    parse_op_def("Relu", "features: T -> activations: T", ("T: {realnumbertype, qint8}",))

Grammar of a signature: ``[*]name: type, ... -> name: type, ...`` where a type is a dtype's name,
the name of a type attribute, ``N * type`` (a list of N tensors), the name of a ``list(type)``
attribute, or ``Ref(type)``.  Grammar of an attribute: ``name: kind [>= minimum] [= default]``.

Everything here is made once per op and never changes afterwards.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tfnb.core import dtypes
from tfnb.core.process.later import pattern_later
from tfnb.core.process.records import field, record
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.dtypes import DType


class _Missing:
    """The type of ``MISSING``, the default of an attribute that has none."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()

NUMBER_TYPES: Final = [
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "complex64",
    "int64",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "half",
    "uint32",
    "uint64",
]
REAL_NUMBER_TYPES: Final = [
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "int64",
    "bfloat16",
    "uint16",
    "half",
    "uint32",
    "uint64",
]
QUANTIZED_TYPES: Final = ["qint8", "quint8", "qint32", "qint16", "quint16"]

_TYPE_SETS: Final = {
    "numbertype": NUMBER_TYPES,
    "numbertypes": NUMBER_TYPES,
    "realnumbertype": REAL_NUMBER_TYPES,
    "realnumbertypes": REAL_NUMBER_TYPES,
    "quantizedtype": QUANTIZED_TYPES,
    "quantizedtypes": QUANTIZED_TYPES,
}

# TensorFlow's words for dtypes inside signatures, where they differ from the dtype's own name.
_TYPE_WORDS: Final = {"float": "float32", "double": "float64", "half": "float16"}


def dtype_of_word(word: str) -> DType | None:
    """Return the dtype that a word of a signature (``float``, ``DT_INT32``) names, or None."""
    word = word.removeprefix("DT_").lower() if word.startswith("DT_") else word
    try:
        return dtypes.as_dtype(_TYPE_WORDS.get(word, word))
    except TypeError:
        return None


MAX_TENSORS = 1 << 22
"""Maximum number of tensors of one argument of a node: each takes memory when it is built."""


@record(slots=True)
class ArgDef:
    """One input or output: a tensor, N tensors of one type, or a list of tensors of many types."""

    name: str
    type: DType | None = None
    type_attr: str = ""
    number_attr: str = ""
    type_list_attr: str = ""
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        """Whether the argument stands for a list of tensors."""
        return bool(self.number_attr or self.type_list_attr)

    def types(self, attrs: Mapping[str, Any]) -> list[DType]:
        """Return the dtypes of the tensors of this argument, given the node's attributes."""
        if self.type_list_attr:
            found = list(attrs[self.type_list_attr])
        else:
            one = self.type if self.type is not None else attrs[self.type_attr]
            count = attrs[self.number_attr] if self.number_attr else 1
            if count > MAX_TENSORS:
                raise ValueError(f"Number of outputs is too big: {count}")
            found = [one] * count
        return [t._as_ref for t in found] if self.is_ref else found


@record(slots=True)
class AttrDef:
    """One attribute: its kind, default, and allowed values."""

    name: str
    type: str
    default: Any = MISSING
    allowed: tuple[Any, ...] = ()
    minimum: int | None = None

    @property
    def has_default(self) -> bool:
        """Whether the attribute may be left out."""
        return self.default is not MISSING


@record(slots=True)
class OpDef:
    """The signature of an op: TensorFlow's OpDef as plain objects."""

    name: str
    inputs: tuple[ArgDef, ...] = ()
    outputs: tuple[ArgDef, ...] = ()
    attrs: tuple[AttrDef, ...] = ()
    is_stateful: bool = False
    is_commutative: bool = False
    is_aggregate: bool = False
    allows_uninitialized_input: bool = False
    deprecated: tuple[int, str] | None = None
    attr_by_name: dict[str, AttrDef] = field(init=False, default_factory=dict)
    control_outputs: tuple[str, ...] = ()
    inferred_attrs: frozenset[str] = field(init=False, default=frozenset())
    has_input_lists: bool = field(init=False, default=False)
    has_output_lists: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.attr_by_name = {attr.name: attr for attr in self.attrs}
        names: set[str] = set()
        for arg in self.inputs:
            names |= {arg.type_attr, arg.number_attr, arg.type_list_attr}
        self.inferred_attrs = frozenset(names - {""})
        self.has_input_lists = any(arg.is_list for arg in self.inputs)
        self.has_output_lists = any(arg.is_list for arg in self.outputs)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the op's builder in order, each with its default or ``MISSING``.

        Inputs, attributes without a default, attributes with one; attributes inferred from the
        inputs are left out.
        """
        found: dict[str, Any] = dict.fromkeys((arg.name for arg in self.inputs), MISSING)
        settable = [attr for attr in self.attrs if attr.name not in self.inferred_attrs]
        found.update({attr.name: MISSING for attr in settable if not attr.has_default})
        found.update({attr.name: attr.default for attr in settable if attr.has_default})
        return found

    def input_types(self, attrs: Mapping[str, Any]) -> list[DType]:
        """Return the dtype of every input tensor in order; reference types for Ref arguments."""
        return [t for arg in self.inputs for t in arg.types(attrs)]

    def output_types(self, attrs: Mapping[str, Any]) -> list[DType]:
        """Return the dtype of every output tensor in order; reference types for Ref results."""
        return [t for arg in self.outputs for t in arg.types(attrs)]

    def num_outputs(self, attrs: Mapping[str, Any]) -> int:
        """Return the number of output tensors."""
        if not self.has_output_lists:
            return len(self.outputs)
        return sum(len(arg.types(attrs)) for arg in self.outputs)

    def output_ranges(self, attrs: Mapping[str, Any]) -> dict[str, range]:
        """Return the flat output positions that each named output covers."""
        return _ranges(self.outputs, attrs)

    def input_ranges(self, attrs: Mapping[str, Any]) -> dict[str, range]:
        """Return the flat input positions that each named input covers."""
        return _ranges(self.inputs, attrs)


def _ranges(args: Sequence[ArgDef], attrs: Mapping[str, Any]) -> dict[str, range]:
    ranges, start = {}, 0
    for arg in args:
        count = 1
        if arg.number_attr:
            count = attrs[arg.number_attr]
        elif arg.type_list_attr:
            count = len(attrs[arg.type_list_attr])
        ranges[arg.name] = range(start, start + count)
        start += count
    return ranges


# ---------------------------------------------------------------------------------------- the
# parser

_ARG = re.compile(r"\*?\s*(\w+)\s*:\s*(Ref\(\s*)?(?:(\w+)\s*\*\s*)?(\w+)\s*\)?$")
# Commas between the members of a list, not those inside of a message.
_COMMAS = pattern_later(r",(?![^{}]*\})")
_ATTR = re.compile(
    r"(\w+)\s*:\s*(list\([^)]*\)|\{[^}]*\}|\w+)\s*(?:>=\s*(-?\d+))?\s*(?:=\s*(.*))?$", re.S
)


def parse_op_def(
    name: str,
    signature: str,
    attr_specs: Sequence[str],
    *,
    stateful: bool = False,
    commutative: bool = False,
    aggregate: bool = False,
    allows_uninitialized_input: bool = False,
    deprecated: tuple[int, str] | None = None,
) -> OpDef:
    """Parse a signature and its attribute lines.

    Raises:
      ValueError: the text does not follow the grammar; names the op and the offending part.
    """
    attrs = tuple(_parse_attr(name, spec) for spec in attr_specs)
    kinds = {attr.name: attr.type for attr in attrs}
    left, arrow, right = signature.partition("->")
    if not arrow:
        raise ValueError(f"Op {name}: the signature {signature!r} has no '->'")
    inputs, outputs = _parse_args(name, left, kinds), _parse_args(name, right, kinds)
    _set_minimum_lengths((*inputs, *outputs), attrs)
    for attr in attrs:
        _check_default(name, attr)
    return OpDef(
        name,
        inputs=inputs,
        outputs=outputs,
        attrs=attrs,
        is_stateful=stateful,
        is_commutative=commutative,
        is_aggregate=aggregate,
        allows_uninitialized_input=allows_uninitialized_input,
        deprecated=deprecated,
    )


def _set_minimum_lengths(args: Sequence[ArgDef], attrs: Sequence[AttrDef]) -> None:
    """Require one tensor in each list, unless the attribute for its length says otherwise."""
    lengths = {arg.number_attr or arg.type_list_attr for arg in args}
    for attr in attrs:
        if attr.name in lengths and attr.minimum is None:
            attr.minimum = 1


def _check_default(op: str, attr: AttrDef) -> None:
    """Refuse a default that a node may not have.

    Raises:
      ValueError: it is less than the minimum, shorter than it, or not among the allowed values.
    """
    if attr.minimum is not None and attr.type != "int" and not attr.type.startswith("list("):
        raise ValueError(
            f"Op {op}: attribute {attr.name!r} of kind {attr.type} cannot have a minimum: only "
            "integers and lists can."
        )
    if attr.default in (MISSING, None):
        return
    values = attr.default if attr.type.startswith("list(") else [attr.default]
    if attr.minimum is not None:
        if attr.type == "int" and attr.default < attr.minimum:
            raise ValueError(
                f"Op {op}: Value for attr '{attr.name}' of {attr.default} must be at least minimum "
                f"{attr.minimum}"
            )
        if attr.type != "int" and len(values) < attr.minimum:
            raise ValueError(
                f"Op {op}: Length for attr '{attr.name}' of {len(values)} must be at least minimum "
                f"{attr.minimum}"
            )
    for value in values if attr.allowed else ():
        if value not in attr.allowed:
            raise ValueError(
                f"Op {op}: Value for attr '{attr.name}' of {value!r} is not in the list of allowed "
                f"values: {', '.join(map(str, attr.allowed))}"
            )


def _parse_args(op: str, text: str, kinds: Mapping[str, str]) -> tuple[ArgDef, ...]:
    return tuple(_parse_arg(op, part.strip(), kinds) for part in text.split(",") if part.strip())


def _parse_arg(op: str, text: str, kinds: Mapping[str, str]) -> ArgDef:
    match = _ARG.match(text)
    if match is None:
        raise ValueError(f"Op {op}: cannot read the argument {text!r}")
    name, ref, number, word = match.groups()
    arg = ArgDef(name, number_attr=number or "", is_ref=bool(ref))
    kind = kinds.get(word)
    if kind == "list(type)":
        arg.type_list_attr = word
    elif kind is not None:
        arg.type_attr = word
    else:
        arg.type = dtype_of_word(word)
        if arg.type is None:
            raise ValueError(f"Op {op}: argument {name!r} has the unknown type {word!r}")
    return arg


def _parse_attr(op: str, spec: str) -> AttrDef:
    match = _ATTR.match(spec.strip())
    if match is None:
        raise ValueError(f"Op {op}: cannot read the attribute {spec!r}")
    name, kind, minimum, default = match.groups()
    is_list = kind.startswith("list(")
    if is_list:
        kind = kind[5:-1].strip()
    kind, allowed = _parse_kind(op, kind)
    attr = AttrDef(name, f"list({kind})" if is_list else kind, allowed=allowed)
    if minimum is not None:
        attr.minimum = int(minimum)
    if default is not None:
        attr.default = _parse_default(op, attr.type, default.strip())
    return attr


def _parse_kind(op: str, text: str) -> tuple[str, tuple[Any, ...]]:
    if text in _TYPE_SETS:
        return "type", _types_of(op, [text])
    if not text.startswith("{"):
        return text, ()
    words = [word.strip() for word in text[1:-1].split(",") if word.strip()]
    if words and words[0][0] in "'\"":
        return "string", tuple(word[1:-1].encode() for word in words)
    return "type", _types_of(op, words)


def _types_of(op: str, words: Sequence[str]) -> tuple[DType, ...]:
    found: list[DType] = []
    for word in words:
        for name in _TYPE_SETS.get(word, [word]):
            dtype = dtype_of_word(name)
            if dtype is None:
                raise ValueError(f"Op {op}: unknown type {name!r}")
            found.append(dtype)
    return tuple(found)


def _parse_default(op: str, kind: str, text: str) -> Any:
    if kind.startswith("list("):
        parts = [part.strip() for part in _COMMAS.split(text.strip()[1:-1]) if part.strip()]
        return [_parse_default(op, kind[5:-1], part) for part in parts]
    if kind == "type":
        dtype = dtype_of_word(text)
        if dtype is None:
            raise ValueError(f"Op {op}: unknown default type {text!r}")
        return dtype
    if kind == "bool":
        return text == "true"
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(np.float32(text))
    if kind == "string":
        value = ast.literal_eval(text)
        return value.encode() if isinstance(value, str) else value
    if kind == "shape":
        return _parse_shape(text)
    if kind == "func":
        return None
    if kind == "tensor":
        return _parse_tensor(text)
    raise ValueError(f"Op {op}: a default for an attribute of kind {kind!r} cannot be written")


def _parse_tensor(text: str) -> Any:
    """Return a TensorProto in text form, braces around it."""
    from google.protobuf import text_format

    from tfnb.core.attr_value import TensorAttr
    from tfnb.proto import tensor_pb2

    return TensorAttr(text_format.Parse(text.strip()[1:-1], tensor_pb2.TensorProto()))


def _parse_shape(text: str) -> TensorShape:
    if "unknown_rank" in text:
        return TensorShape(None)
    sizes = [int(size) for size in re.findall(r"size\s*:\s*(-?\d+)", text)]
    return TensorShape([None if size < 0 else size for size in sizes])
