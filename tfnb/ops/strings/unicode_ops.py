"""Text in encodings: code points from bytes, bytes from code points, transcoding.

Malformed input is divided as Unicode recommends: every maximal part of a possible character counts
as one error. The op's ``errors`` attribute determines the result of an error: an
exception (strict), a replacement character, or nothing (ignore).
"""

from __future__ import annotations

import codecs
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors as status
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, unchanged_shape
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.string_arrays import mapped, strings
from tfnb.ops.strings.unicode_scripts import script_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp

EXPORTS = {"strings": ["unicode_script", "unicode_transcode"]}

_MAX_CODE_POINT = 0x10FFFF
# Control characters up to this one are replaced on request.
_LAST_CONTROL = 0x1F
_BAD_INPUT = "Invalid formatting on input string"


class Errors:
    """The treatment of malformed input.

    Attributes:
      policy: "strict", "replace" or "ignore".
      replacement: the code point that replaces malformed input.
      replaces_controls: whether control characters count as malformed.
    """

    def __init__(self, policy: str, replacement: int, replaces_controls: bool = False) -> None:
        if not 0 <= replacement <= _MAX_CODE_POINT:
            raise status.invalid_argument("replacement_char out of unicode codepoint range")
        self.policy = policy
        self.replacement = replacement
        self.replaces_controls = replaces_controls


# Encodings whose strings may begin with a byte order mark; without one, the high byte comes first.
_MARKED: dict[str, tuple[tuple[bytes, str], ...]] = {
    "utf-16": ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")),
    "utf-32": ((b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be")),
}
_OTHER_NAMES = {
    **dict.fromkeys(("utf16", "ucs-2", "iso-10646-ucs-2", "unicode", "csunicode"), "utf-16"),
    **dict.fromkeys(("utf32", "ucs-4", "iso-10646-ucs-4", "csucs4"), "utf-32"),
}
# Other names in ICU of codecs that Python has.
_NAMES_OF_ICU = {"ibm-037": "cp037"}
# Codecs of Python that ICU does not have, and names of codecs that ICU does not accept.
_NO_CODECS_OF_ICU = frozenset(
    [
        "base64", "bz2", "charmap", "cp720", "euc_jis_2004", "euc_jisx0213", "hex", "idna",
        "iso2022_jp_2004", "iso2022_jp_3", "iso2022_jp_ext", "iso8859-16", "johab", "koi8-t",
        "kz1048", "mac-arabic", "mac-croatian", "mac-farsi", "mac-greek", "mac-iceland",
        "mac-romanian", "mac-turkish", "palmos", "ptcp154", "punycode", "quopri",
        "raw-unicode-escape", "rot-13", "shift_jis_2004", "shift_jisx0213", "undefined",
        "unicode-escape", "utf-8-sig", "uu", "zlib",
    ]
)  # fmt: skip
_NO_NAMES_OF_ICU = frozenset(
    [
        "1125", "1140", "1250", "1251", "1252", "1253", "1254", "1255", "1256", "1257", "1258",
        "858", "864", "8859", "932", "936", "big5_tw", "cp1051", "cp65001", "cp866u",
        "csibm858", "eucgb2312_cn", "gb18030_2000", "hkscs", "hz_gb", "hzgb", "ibm039",
        "iso8859", "iso_ir_166", "ks_x_1001", "ksx1001", "l7", "latin", "latin7",
        "mac_centeuro", "mac_latin2", "maclatin2", "ruscii", "thai", "tis_620_0",
        "tis_620_2529_0", "tis_620_2529_1", "u16", "u32", "u7", "u8", "uhc", "utf", "utf8_ucs2",
        "utf8_ucs4", "x_mac_japanese", "x_mac_korean", "x_mac_simp_chinese",
        "x_mac_trad_chinese",
    ]
)  # fmt: skip
# ICU's result for a byte order mark without any text after it.
_ONLY_A_MARK = 0xFFFF


def _codec(name: str) -> codecs.CodecInfo | str:
    """Return a codec, or the name of an encoding whose strings each define their codec."""
    plain = name.lower().replace("_", "-").partition(",version=")[0]
    plain = _OTHER_NAMES.get(plain, plain)
    if plain in _MARKED:
        return plain
    try:
        found = codecs.lookup(_NAMES_OF_ICU.get(plain, name))
    except (LookupError, ValueError):  # a name with a zero byte raises ValueError
        found = None
    if (
        found is None
        or found.name in _NO_CODECS_OF_ICU
        or plain.replace("-", "_") in _NO_NAMES_OF_ICU
    ):
        raise status.invalid_argument(f"Could not create converter for input encoding: {name}")
    return found


def _characters(data: bytes, codec: codecs.CodecInfo | str) -> Iterator[tuple[int | None, int]]:
    """Yield the code points of a string and their starts; None for a malformed part."""
    if isinstance(codec, str):
        yield from _marked_characters(data, codec)
        return
    position = 0
    while position < len(data):
        try:
            text, _ = codec.decode(data[position:], "strict")
            stop, bad_end = len(data), len(data)
        except UnicodeDecodeError as error:
            stop, bad_end = position + error.start, position + error.end
            text, _ = codec.decode(data[position:stop], "strict")
        for char in text:
            yield ord(char), position
            position += len(codec.encode(char, "surrogatepass")[0])
        if stop < len(data):
            yield None, stop
        position = bad_end


def _marked_characters(data: bytes, encoding: str) -> Iterator[tuple[int | None, int]]:
    marks = (pair for pair in _MARKED[encoding] if data.startswith(pair[0]))
    mark, name = next(marks, (b"", f"{encoding}-be"))
    if data and data == mark:
        yield _ONLY_A_MARK, 0
        return
    for code_point, start in _characters(data[len(mark) :], codecs.lookup(name)):
        # The byte order mark belongs to the first character.
        yield code_point, start + len(mark) if start else 0


def _decoded(data: bytes, codec: codecs.CodecInfo | str, errors: Errors) -> list[tuple[int, int]]:
    """Return code points and their starts, after the treatment of errors.

    Raises:
      InvalidArgumentError: the input is malformed and the policy is strict.
    """
    found = []
    for code_point, start in _characters(data, codec):
        if code_point is None and errors.policy == "strict":
            raise status.invalid_argument(_BAD_INPUT)
        if code_point is None or (errors.replaces_controls and code_point <= _LAST_CONTROL):
            if errors.policy != "ignore":
                found.append((errors.replacement, start))
        else:
            found.append((code_point, start))
    return found


def _encoded(code_points: list[int], encoding: str) -> bytes:
    text = "".join(map(chr, code_points))
    return text.encode(encoding.lower(), "surrogatepass")


# ---------------------------------------------------------------------------------------------- ops


@register_op(
    "UnicodeScript", "input: int32 -> output: int32", shape=unchanged_shape, devices=("CPU",)
)
def unicode_script(xp: Xp, input: Array) -> Array:
    """Return the script of every code point, in ICU's numbers."""
    return script_numbers(input)


@register_op(
    "UnicodeTranscode",
    "input: string -> output: string",
    "input_encoding: string",
    "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
    "errors: {'strict', 'replace', 'ignore'} = 'replace'",
    "replacement_char: int = 65533",
    "replace_control_characters: bool = false",
    shape=unchanged_shape,
    devices=("CPU",),
)
def unicode_transcode(
    xp: Xp,
    input: Array,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> Array:
    """Return strings in another encoding."""
    how = Errors(errors, replacement_char, replace_control_characters)
    codec = _codec(input_encoding)

    def transcode(data: bytes) -> bytes:
        return _encoded([point for point, _ in _decoded(data, codec, how)], output_encoding)

    return mapped(transcode, input)


def _decode_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.inputs[0].dim_values
    count: int | None = None
    if dims is not None and None not in dims:
        count = 1
        for size in dims:
            count *= size or 0
    rows = TensorShape([None if count is None else count + 1])
    return [rows, *[TensorShape([None])] * (c.num_outputs - 1)]


def _decode_rows(
    input: Array, encoding: str, errors: Errors, splits_type: DType
) -> tuple[Array, Array, Array]:
    codec = _codec(encoding)
    points: list[int] = []
    starts: list[int] = []
    splits = [0]
    for data in input.reshape(-1):
        for point, start in _decoded(data, codec, errors):
            points.append(point)
            starts.append(start)
        splits.append(len(points))
    return (
        np.array(splits, splits_type.as_numpy_dtype),
        np.array(points, np.int32),
        np.array(starts, np.int64),
    )


@register_op(
    "UnicodeDecode",
    "input: string -> row_splits: Tsplits, char_values: int32",
    "input_encoding: string",
    "errors: {'strict', 'replace', 'ignore'} = 'replace'",
    "replacement_char: int = 65533",
    "replace_control_characters: bool = false",
    "Tsplits: {int32, int64} = DT_INT64",
    shape=_decode_shape,
    devices=("CPU",),
)
def unicode_decode(
    xp: Xp,
    input: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> Outputs:
    """Return the code points of all strings in a row, and the start of each string among them."""
    how = Errors(errors, replacement_char, replace_control_characters)
    return _decode_rows(input, input_encoding, how, Tsplits)[:2]


@register_op(
    "UnicodeDecodeWithOffsets",
    "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64",
    "input_encoding: string",
    "errors: {'strict', 'replace', 'ignore'} = 'replace'",
    "replacement_char: int = 65533",
    "replace_control_characters: bool = false",
    "Tsplits: {int32, int64} = DT_INT64",
    shape=_decode_shape,
    devices=("CPU",),
)
def unicode_decode_with_offsets(
    xp: Xp,
    input: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,
) -> Outputs:
    """Return the code points of all strings, and the byte in its string where each begins."""
    how = Errors(errors, replacement_char, replace_control_characters)
    return _decode_rows(input, input_encoding, how, Tsplits)


def _encode_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 1)
    splits = c.with_rank(1, 1).dim_values
    rows = splits[0] if splits else None
    return TensorShape([None if rows is None else rows - 1])


@register_op(
    "UnicodeEncode",
    "input_values: int32, input_splits: Tsplits -> output: string",
    "errors: {'ignore', 'replace', 'strict'} = 'replace'",
    "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
    "replacement_char: int = 65533",
    "Tsplits: {int32, int64} = DT_INT64",
    shape=_encode_shape,
    devices=("CPU",),
)
def unicode_encode(
    xp: Xp,
    input_values: Array,
    input_splits: Array,
    *,
    errors: str,
    output_encoding: str,
    replacement_char: int,
) -> Array:
    """Return strings of rows of code points."""
    how = Errors(errors, replacement_char)
    if input_values.ndim != 1 or input_splits.ndim != 1:
        raise status.invalid_argument(
            "Both the input_tensor and input_splits should be of rank 1, not "
            f"{input_values.ndim} and {input_splits.ndim}"
        )
    splits = input_splits.tolist()
    if not splits:
        raise status.invalid_argument("input_splits should have elements, but given 0 elements")
    if splits[0] != 0:
        raise status.invalid_argument("First value in input_splits must be zero.")
    if splits[-1] != input_values.size:
        raise status.invalid_argument(
            "Last value in input_splits must be equal to length of input_tensor."
        )
    if any(later < earlier for earlier, later in pairwise(splits)):
        raise status.invalid_argument("Values in input_splits must be equal or in ascending order.")
    points = input_values.reshape(-1).tolist()
    rows = [
        _encoded(_valid_points(points[start:stop], how), output_encoding)
        for start, stop in pairwise(splits)
    ]
    return strings(rows, (len(rows),))


def _valid_points(points: list[int], errors: Errors) -> list[int]:
    found = []
    for point in points:
        if 0 <= point <= _MAX_CODE_POINT and not 0xD800 <= point <= 0xDFFF:
            found.append(point)
        elif errors.policy == "strict":
            raise status.invalid_argument(
                "Code point is out of range for Unicode, or is a surrogate."
            )
        elif errors.policy == "replace":
            found.append(errors.replacement)
    return found


for _op in (
    unicode_script,
    unicode_transcode,
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
):
    _op.not_differentiable()
