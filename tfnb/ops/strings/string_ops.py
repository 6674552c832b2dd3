"""Ops on strings: parts, length, case, base64, formatting, splitting."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    broadcast_shapes,
    merge_shapes,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import is_tensor
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.string_arrays import as_text, bytes_of, mapped, strings
from tfnb.ops.base.tensor_text import format_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "decode_base64", "encode_base64", "string_strip", "substr",
    ],
    "io": ["decode_base64", "encode_base64"],
    "strings": [
        "format:string_format", "length:string_length_v1", "lower:string_lower",
        "strip:string_strip", "substr:substr", "upper:string_upper",
    ],
}  # fmt: skip

# ---------------------------------------------------------------------------------------- case etc.


def _case(input: Array, encoding: str, change: Callable[[Array], Array]) -> Array:
    if encoding == "":
        return mapped(change, input)
    if encoding.lower() not in ("utf-8", "utf8"):
        raise errors.invalid_argument(
            f"only utf-8 or '' (no encoding) is supported, received {encoding}"
        )

    def changed(value: bytes) -> bytes:
        # As in TensorFlow, a zero byte ends the text.
        text: str = change(value.partition(b"\0")[0].decode("utf-8", "replace"))
        return text.encode("utf-8")

    return mapped(changed, input)


@register_op(
    "StringLower",
    "input: string -> output: string",
    "encoding: string = ''",
    shape=unchanged_shape,
    devices=("CPU",),
)
def string_lower(xp: Xp, input: Array, *, encoding: str) -> Array:
    """Return lower-case letters: of ASCII, or of Unicode if the encoding is utf-8."""
    return _case(input, encoding, lambda value: value.lower())


@register_op(
    "StringUpper",
    "input: string -> output: string",
    "encoding: string = ''",
    shape=unchanged_shape,
    devices=("CPU",),
)
def string_upper(xp: Xp, input: Array, *, encoding: str) -> Array:
    """Return upper-case letters: of ASCII, or of Unicode if the encoding is utf-8."""
    return _case(input, encoding, lambda value: value.upper())


@register_op(
    "StringStrip", "input: string -> output: string", shape=unchanged_shape, devices=("CPU",)
)
def string_strip(xp: Xp, input: Array) -> Array:
    """Return strings without white space at both ends."""
    return mapped(lambda value: value.strip(b" \t\n\v\f\r"), input)


def _character_starts(value: bytes) -> list[int]:
    """Return the starts of UTF-8 characters: all bytes that do not continue one."""
    return [index for index, byte in enumerate(value) if byte & 0xC0 != 0x80]


@register_op(
    "StringLength",
    "input: string -> output: int32",
    "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
    shape=unchanged_shape,
    devices=("CPU",),
)
def string_length(xp: Xp, input: Array, *, unit: str) -> Array:
    """Return the number of bytes or characters of the strings."""
    if unit == "BYTE":
        return mapped(len, input, np.int32)
    return mapped(lambda value: len(_character_starts(value)), input, np.int32)


def string_length_v1(
    input: TensorLike, name: str | None = None, unit: str = "BYTE"
) -> TensorResult:
    """Return the number of bytes or characters of the strings."""
    return string_length(input, unit=unit, name=name)


# ------------------------------------------------------------------------------------------- Substr


def _substr_shape(c: InferenceContext) -> TensorShape:
    position, length = c.inputs[1], c.inputs[2]
    if position.dim_values is not None and length.dim_values is not None:
        if len(position.dim_values) != len(length.dim_values):
            raise ValueError(
                f"Shape must be rank {len(length.dim_values)} but is rank "
                f"{len(position.dim_values)}"
            )
        merge_shapes(position, length)
    if position.dim_values is None:
        return UNKNOWN_SHAPE
    return broadcast_shapes(c.inputs[0], position)


@register_op(
    "Substr",
    "input: string, pos: T, len: T -> output: string",
    "T: {int32, int64}",
    "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
    shape=_substr_shape,
    devices=("CPU",),
)
def substr_op(xp: Xp, input: Array, pos: Array, len: Array, *, unit: str) -> Array:
    """Return parts of strings; a negative position counts from the end."""
    if pos.shape != len.shape:
        raise errors.invalid_argument(
            f"pos and len should have the same shape, got: {shape_text(pos.shape)} vs. "
            f"{shape_text(len.shape)}"
        )
    try:
        values, places, lengths = np.broadcast_arrays(input, pos, len)
    except ValueError:
        raise errors.invalid_argument(
            f"Incompatible shapes: {shape_text(input.shape)} vs. {shape_text(pos.shape)}"
        ) from None
    part = _part_of_bytes if unit == "BYTE" else _part_of_characters
    rows = zip(values.reshape(-1), places.reshape(-1), lengths.reshape(-1), strict=True)
    found = [part(value, int(p), int(n), index) for index, (value, p, n) in enumerate(rows)]
    return strings(found, values.shape)


def _part_of_bytes(value: bytes, position: int, length: int, index: int) -> bytes:
    size = len(value)
    if not -size <= position <= size:
        shown = value.decode("utf-8", "replace")
        raise errors.invalid_argument(
            f"pos {position} out of range for string b'{shown}' at index {index}"
        )
    start = position if position >= 0 else size + position
    # A negative length counts as a very large one.
    return value[start:] if length < 0 else value[start : start + length]


def _part_of_characters(value: bytes, position: int, length: int, index: int) -> bytes:
    starts = [*_character_starts(value), len(value)]
    size = len(starts) - 1
    if not -size <= position <= size or max(position, length) < 0:
        raise errors.invalid_argument(f"pos {position} out of range for string at index {index}")
    start = position if position >= 0 else size + position
    return value[starts[start] : starts[min(start + max(length, 0), size)]]


def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE"
) -> TensorResult:
    """Return parts of strings; a negative position counts from the end."""
    return substr_op(input, pos, len, unit=unit, name=name)


# ------------------------------------------------------------------------------------------- base64


@register_op(
    "EncodeBase64",
    "input: string -> output: string",
    "pad: bool = false",
    shape=unchanged_shape,
    devices=("CPU",),
)
def encode_base64(xp: Xp, input: Array, *, pad: bool) -> Array:
    """Return strings in base64 for URLs, with padding if requested."""

    def encode(value: bytes) -> bytes:
        text = base64.urlsafe_b64encode(value)
        return text if pad else text.rstrip(b"=")

    return mapped(encode, input)


_BASE64 = re.compile(rb"[A-Za-z0-9_-]*")


@register_op(
    "DecodeBase64", "input: string -> output: string", shape=unchanged_shape, devices=("CPU",)
)
def decode_base64(xp: Xp, input: Array) -> Array:
    """Return the contents of strings in base64 for URLs, with or without padding."""

    def decode(value: bytes) -> bytes:
        if len(value) % 4 == 1:
            raise errors.invalid_argument("Base64 string length cannot be 1 modulo 4.")
        text = value
        if len(value) % 4 == 0:
            text = value[:-2] if value.endswith(b"==") else value.removesuffix(b"=")
        if not _BASE64.fullmatch(text):
            raise errors.invalid_argument("Invalid character found in base64.")
        return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))

    return mapped(decode, input)


# ------------------------------------------------------------------------------------------- format


def _format_shape(c: InferenceContext) -> TensorShape:
    placeholder, template = c.attr("placeholder"), c.attr("template")
    count = as_text(template).count(as_text(placeholder)) if placeholder else 0
    if count != len(c.inputs):
        raise ValueError(
            f"num placeholders in template and num inputs must match: {count} vs. {len(c.inputs)}"
        )
    return SCALAR_SHAPE


@register_op(
    "StringFormat",
    "inputs: T -> output: string",
    "T: list(type) >= 0",
    "template: string = '%s'",
    "placeholder: string = '%s'",
    "summarize: int = 3",
    shape=_format_shape,
    devices=("CPU",),
)
def string_format_op(
    xp: Xp, inputs: list[Array], *, template: str, placeholder: str, summarize: int
) -> Array:
    """Return a text whose placeholders are replaced by tensors."""
    parts = as_text(template).split(as_text(placeholder))
    text = parts[0]
    for value, part in zip(inputs, parts[1:], strict=True):
        text += format_tensor(value, summarize) + part
    return strings([bytes_of(text)], ())


string_format_op.not_differentiable()


def string_format(
    template: str,
    inputs: TensorLike,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> TensorResult:
    """Return a text whose placeholders are replaced by tensors.

    Raises:
      ValueError: there are more or fewer tensors than placeholders.
    """
    if is_tensor(inputs):
        inputs = [inputs]
    count = template.count(placeholder)
    if count != len(inputs):
        raise ValueError(
            f"The template expects {count} tensors, but the inputs only has {len(inputs)}. Please "
            "ensure the number of placeholders in template matches inputs length."
        )
    return string_format_op(
        inputs, template=template, placeholder=placeholder, summarize=summarize, name=name
    )


# -------------------------------------------------------------------------------------------- split


def _split_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 1)
    c.with_rank(1, 0)
    return [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])]


def _as_sparse(rows: list[list[bytes]]) -> tuple[Array, Array, Array]:
    """Return rows of different lengths as indices, values and shape of a sparse matrix."""
    places = [(row, column) for row, words in enumerate(rows) for column in range(len(words))]
    values = [word for words in rows for word in words]
    shape = (len(rows), max(map(len, rows), default=0))
    return (
        np.array(places, np.int64).reshape(-1, 2),
        strings(values, (len(values),)),
        np.array(shape, np.int64),
    )


def _check_split(input: Array, separator: Array, name: str) -> None:
    if input.ndim != 1:
        raise errors.invalid_argument(
            f"input must be a vector, got shape: {shape_text(input.shape)}"
        )
    if separator.ndim:
        raise errors.invalid_argument(
            f"{name} must be a scalar, got shape: {shape_text(separator.shape)}"
        )


@register_op(
    "StringSplit",
    "input: string, delimiter: string -> indices: int64, values: string, shape: int64",
    "skip_empty: bool = true",
    shape=_split_shape,
    devices=("CPU",),
)
def string_split_op(xp: Xp, input: Array, delimiter: Array, *, skip_empty: bool) -> Outputs:
    """Return strings split at any byte of the delimiter; into bytes if it is empty."""
    _check_split(input, delimiter, "delimiter")
    bytes_ = delimiter.item()
    anywhere = re.compile(b"[" + re.escape(bytes_) + b"]") if bytes_ else None

    def split(value: bytes) -> list[bytes]:
        if anywhere is None:
            return [value[index : index + 1] for index in range(len(value))]
        words = anywhere.split(value) if value else []
        return [word for word in words if word] if skip_empty else words

    return _as_sparse([split(value) for value in input.tolist()])


@register_op(
    "StringSplitV2",
    "input: string, sep: string -> indices: int64, values: string, shape: int64",
    "maxsplit: int = -1",
    shape=_split_shape,
    devices=("CPU",),
)
def string_split_v2_op(xp: Xp, input: Array, sep: Array, *, maxsplit: int) -> Outputs:
    """Return strings split at a separator, or, if it is empty, at white space as in Python."""
    _check_split(input, sep, "sep")
    separator = sep.item()

    def split(value: bytes) -> list[bytes]:
        if maxsplit == 0:
            return [value]
        if separator:
            return value.split(separator, maxsplit)
        return _split_at_space(value, maxsplit)

    return _as_sparse([split(value) for value in input.tolist()])


_SPACE = b" \t\n\v\f\r"
_WORD = re.compile(rb"[^ \t\n\v\f\r]+")


def _split_at_space(value: bytes, maxsplit: int) -> list[bytes]:
    words = []
    text = value.lstrip(_SPACE)
    while text:
        word = _WORD.match(text)
        assert word is not None
        words.append(word.group())
        text = text[word.end() :].lstrip(_SPACE)
        if len(words) == maxsplit:
            # The remaining text is the last part, even if it is empty.
            words.append(text)
            break
    return words


for _op in (
    string_lower,
    string_upper,
    string_strip,
    string_length,
    substr_op,
    encode_base64,
    decode_base64,
    string_split_op,
    string_split_v2_op,
):
    _op.not_differentiable()
