"""Strings as pieces: characters, code points, bytes, n-grams, in ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.ragged.dispatch import with_tensors_for_values
from tfnb.library.ragged.ragged_tensor import RaggedTensor
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.strings.string_join_ops import string_ngrams
from tfnb.ops.strings.string_ops import string_split_v2_op as string_split_v2
from tfnb.ops.strings.unicode_ops import (
    unicode_decode as unicode_decode_op,
)
from tfnb.ops.strings.unicode_ops import (
    unicode_decode_with_offsets as unicode_decode_with_offsets_op,
)
from tfnb.ops.strings.unicode_ops import (
    unicode_encode as unicode_encode_op,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "strings": [
        "bytes_split", "ngrams", "unicode_decode", "unicode_decode_with_offsets", "unicode_encode",
        "unicode_split", "unicode_split_with_offsets",
    ]
}  # fmt: skip


def _decoded(
    input: TensorLike,
    encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    with_offsets: bool,
) -> Nested:
    """Return code points, and perhaps where each begins; a vector for one string, else ragged."""
    input = with_tensors_for_values(input)
    if not isinstance(input, RaggedTensor):
        input = convert_to_tensor(input, dtypes.string, name="input")
        rank = input.shape.ndims
        if rank is None:
            raise ValueError("Rank of `input` must be statically known.")
    else:
        rank = input.shape.ndims or 2

    def both(value: TensorLike, of_part: Any) -> TensorResult:
        if isinstance(value, tuple):
            return tuple(of_part(part) for part in value)
        return of_part(value)

    given = (encoding, errors, replacement_char, replace_control_characters, with_offsets)
    if isinstance(input, RaggedTensor):
        return both(_decoded(input.flat_values, *given), input.with_flat_values)
    if rank == 0:
        return both(_decoded(input[None], *given), lambda one: one.values)
    if rank > 1:
        flat = _decoded(array_ops.reshape(input, [-1]), *given)
        sizes = array_ops.shape(input, out_type=dtypes.int64)

        def outer(one: TensorLike) -> TensorResult:
            for axis in reversed(range(1, rank)):
                count = math_ops.reduce_prod(sizes[:axis])
                one = RaggedTensor.from_uniform_row_length(
                    one, sizes[axis], nrows=count, validate=False
                )
            return one

        return both(flat, outer)
    attrs = {
        "input_encoding": encoding,
        "errors": errors,
        "replacement_char": replacement_char,
        "replace_control_characters": replace_control_characters,
    }
    if with_offsets:
        splits, points, offsets = unicode_decode_with_offsets_op(input, **attrs)
        return (RaggedTensor.of_splits(points, splits), RaggedTensor.of_splits(offsets, splits))
    splits, points = unicode_decode_op(input, **attrs)
    return RaggedTensor.of_splits(points, splits)


def unicode_decode(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return the code points of strings.

    Args:
      input: the strings.
      input_encoding: ``UTF-8``, ``UTF-16-BE``, ``UTF-32-BE`` or another one.
      errors: the treatment of invalid bytes: ``replace``, ``ignore`` or ``strict``.
      replacement_char: the code point that replaces them.
      replace_control_characters: whether control characters are replaced, too.
      name: of the scope.

    Returns:
      int32; a ragged tensor, or a vector for a single string.
    """
    with name_scope(name, "UnicodeDecode", [input]):
        return _decoded(
            input, input_encoding, errors, replacement_char, replace_control_characters, False
        )


def unicode_decode_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return code points as :func:`unicode_decode` does, and the byte where each begins."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        return _decoded(
            input, input_encoding, errors, replacement_char, replace_control_characters, True
        )


def unicode_encode(
    input: TensorLike,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> TensorResult:
    """Encode code points as strings.

    Args:
      input: code points, a vector per string; dense or ragged.
      output_encoding: ``UTF-8``, ``UTF-16-BE`` or ``UTF-32-BE``.
      errors: the treatment of invalid code points: ``replace``, ``ignore`` or ``strict``.
      replacement_char: the code point that replaces them.
      name: of the scope.
    """
    attrs = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
    }
    with name_scope(name, "UnicodeEncode", [input]):
        input = with_tensors_for_values(input)
        if isinstance(input, RaggedTensor):
            if isinstance(input.values, RaggedTensor):
                inner = unicode_encode(input.values, output_encoding, errors, replacement_char)
                return input.with_values(inner)
            if (input.flat_values.shape.ndims or 1) > 1:
                inner = unicode_encode(input.values, output_encoding, errors, replacement_char)
                return input.with_values(inner)
            return unicode_encode_op(input.values, input.row_splits, **attrs)
        input = convert_to_tensor(input, name="input")
        rank = input.shape.ndims
        if rank is None:
            raise ValueError("Rank of `input_tensor` must be statically known.")
        if rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        if rank == 1:
            count = array_ops.shape(input, out_type=dtypes.int64)[0]
            splits = array_ops.stack([array_ops.constant(0, dtypes.int64), count])
            return unicode_encode_op(input, splits, **attrs)[0]
        sizes = array_ops.shape(input)
        rows = array_ops.reshape(input, array_ops.stack([-1, sizes[-1]]))
        ragged = RaggedTensor.from_tensor(rows)
        flat = unicode_encode_op(ragged.values, ragged.row_splits, **attrs)
        return array_ops.reshape(flat, sizes[:-1])


def _characters(points: TensorLike, encoding: str) -> TensorResult:
    """Return each code point as a string."""
    if isinstance(points, RaggedTensor):
        return points.with_flat_values(_characters(points.flat_values, encoding))
    count = array_ops.shape(points, out_type=dtypes.int64)[0]
    return unicode_encode_op(
        points, math_ops.range_(count + 1), output_encoding=encoding, errors="replace"
    )


def unicode_split(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> TensorResult:
    """Return the characters of strings, each as a string; see :func:`unicode_decode`."""
    with name_scope(name, "UnicodeSplit", [input]):
        points = _decoded(input, input_encoding, errors, replacement_char, False, False)
        return _characters(points, input_encoding)


def unicode_split_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Nested:
    """Return the characters of strings, and the byte where each begins."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        points, offsets = _decoded(input, input_encoding, errors, replacement_char, False, True)
        return _characters(points, input_encoding), offsets


def bytes_split(input: TensorLike, name: str | None = None) -> TensorResult:
    """Return the bytes of strings, each as a string."""
    with name_scope(name, "StringsByteSplit", [input]):
        # In this encoding every byte is the character with the same number.
        points = _decoded(input, "ISO-8859-1", "strict", 65533, False, False)
        return _map_flat(points, _bytes_of)


def _map_flat(value: TensorLike, function: Callable[..., Nested]) -> TensorResult:
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(function(value.flat_values))
    return function(value)


def _bytes_of(points: TensorLike) -> TensorResult:
    table = array_ops.constant([bytes([number]) for number in range(256)], dtypes.string)
    return array_ops.gather(table, points)


def ngrams(
    data: TensorLike,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Join each run of neighbouring words of each row.

    Args:
      data: words; the innermost dimension is that of a row.
      ngram_width: the number of words, or several of these numbers.
      separator: the text between words.
      pad_values: the text before and after a row: one text, or two.
      padding_width: the number of repetitions of the padding; as many as words need if None.
      preserve_short_sequences: whether a row that is too short gives one run of all its words.
      name: of the scope.

    Raises:
      TypeError: the pad values are not texts.
      ValueError: a number is less than 1, or there is a width of padding without padding.
    """
    with name_scope(name, "StringNGrams", [data]):
        left: Any = ""
        right: Any = ""
        if pad_values is not None:
            pair = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
            if not (isinstance(pair, (list, tuple)) and len(pair) == 2):
                raise TypeError("pad_values must be a string, tuple of strings, or None.")
            left, right = pair
        if padding_width is not None and padding_width < 1:
            raise ValueError("padding_width must be greater than 0.")
        if padding_width is not None and pad_values is None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
        if min(widths) < 1:
            raise ValueError("All ngram_widths must be greater than 0.")
        data = with_tensors_for_values(data)
        is_ragged = isinstance(data, RaggedTensor)
        if not is_ragged:
            data = convert_to_tensor(data, dtypes.string, name="data")
        rank = data.shape.ndims
        if rank == 0:
            raise ValueError("Data must have rank>0")
        width = -1 if pad_values is not None and padding_width is None else padding_width or 0

        def of_rows(rows: RaggedTensor) -> RaggedTensor:
            if isinstance(rows.values, RaggedTensor):
                return rows.with_values(of_rows(rows.values))
            found = string_ngrams(
                rows.values,
                rows.row_splits,
                separator=separator,
                ngram_widths=widths,
                left_pad=left,
                right_pad=right,
                pad_width=width,
                preserve_short_sequences=preserve_short_sequences,
            )
            return RaggedTensor.of_splits(found[0], found[1])

        if is_ragged:
            return of_rows(data)
        if rank == 1:
            return of_rows(RaggedTensor.from_tensor(data[None])).values
        if rank == 2:
            made = of_rows(RaggedTensor.from_tensor(data))
            return _dense_if_even(made)
        raise ValueError("tf.strings.ngrams takes dense data of rank 1 or 2, or ragged data")


def _dense_if_even(value: RaggedTensor) -> TensorResult:
    """Return a matrix for a dense input, whose rows all have equally many runs."""
    return value.to_tensor(default_value="")


def split_of_many(source: TensorLike, sep: TensorLike, maxsplit: int) -> RaggedTensor:
    """Split strings of a ragged tensor, or of a dense one of any rank, at a separator.

    Args:
      source: the strings.
      sep: the separator, a tensor.
      maxsplit: the maximum number of splits; -1 for no limit.
    """
    if isinstance(source, RaggedTensor):
        return source.with_values(split_of_many(source.values, sep, maxsplit))
    rank = source.shape.ndims
    if rank == 1:
        indices, values, shape = string_split_v2(source, sep, maxsplit=maxsplit)
        return RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0], validate=False)
    return split_of_many(RaggedTensor.from_tensor(source, ragged_rank=rank - 1), sep, maxsplit)
