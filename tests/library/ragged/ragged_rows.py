"""Expressions over ragged tensors; TensorFlow's answers are stored.

``python scripts/oracle/ragged.py`` writes tests/golden/ragged.json.xz.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NAMES = """{
    "tf": tf, "R": tf.RaggedTensor,
    "r": tf.ragged.constant([[1, 2], [], [3, 4, 5]]),
    "f": tf.ragged.constant([[1.0, -2.0], [0.5], [3.0, 4.0, 5.0]]),
    "b": tf.ragged.constant([[True, False], [], [True, True, False]]),
    "n": tf.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6]], [[], [7]]]),
    "u": tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1),
    "w": tf.ragged.constant([["a", "bc"], [], ["d"]]),
    "d": tf.constant([[1, 2, 0], [4, 0, 0], [5, 6, 7]]),
    "t": tf.constant(["héllo", "", "wörld𝛂"]), "v": tf.constant([1, 2, 3, 4, 5, 6]),
}"""
ROWS = (
    # making
    "r", "n", "u", "w",
    "R.from_row_splits(v, [0, 2, 2, 6])",
    "R.from_row_lengths(v, [1, 0, 5])",
    "R.from_row_starts(v, [0, 3, 3])",
    "R.from_row_limits(v, [2, 2, 6])",
    "R.from_value_rowids(v, [0, 0, 2, 2, 2, 3])",
    "R.from_value_rowids(v, [0, 0, 2, 2, 2, 3], nrows=6)",
    "R.from_uniform_row_length(v, 3)",
    "R.from_uniform_row_length(v[:0], 0, nrows=2)",
    "R.from_nested_row_splits(v, [[0, 2, 3], [0, 2, 2, 6]])",
    "R.from_nested_row_lengths(v, [[2, 1], [2, 0, 4]])",
    "R.from_nested_value_rowids(v, [[0, 0, 1], [0, 0, 2, 2, 2, 2]])",
    "R.from_tensor(d)", "R.from_tensor(d, lengths=[1, 0, 3])", "R.from_tensor(d, padding=0)",
    "R.from_tensor(tf.reshape(v, [1, 3, 2]), ragged_rank=2)",
    "R.from_sparse(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [7, 8, 9], [4, 3]))",
    "R.from_sparse(tf.SparseTensor([[0, 1], [0, 2]], [7, 8], [1, 3]))",
    "R.from_row_splits(v, [0, 2, 1, 6])", "R.from_row_splits(v, [0, 2])",
    "R.from_row_lengths(v, [1, 2])", "R.from_value_rowids(v, [0, 1, 0, 1, 2, 2])",
    "R(v, [0, 6])",
    "tf.ragged.constant([[1, 2], [3]], dtype=tf.float32, row_splits_dtype=tf.int32)",
    "tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], inner_shape=(2,))",
    "tf.ragged.constant([[[], []], []])", "tf.ragged.constant([1, 2])", "tf.ragged.constant(3)",
    "tf.ragged.constant([[1], 2])", "tf.ragged.constant([[1, 2]], ragged_rank=2)",
    "tf.ragged.range([3, 0, 2])", "tf.ragged.range([1, 5], [4, 2], [1, -1])",
    "tf.ragged.range(0.5, [2.0, 3.0])",
    "tf.ragged.stack([r, r])", "tf.ragged.stack([r, n.values[:3]], axis=1)",
    "tf.ragged.stack([[1, 2], [3]])",
    "tf.ragged.stack_dynamic_partitions(v, [2, 0, 0, 2, 3, 3], 5)",
    "tf.ragged.row_splits_to_segment_ids([0, 2, 2, 5])",
    "tf.ragged.segment_ids_to_row_splits([0, 0, 2, 2, 3])",
    "tf.ragged.segment_ids_to_row_splits([0, 0, 2], 5)",
    "tf.ragged.boolean_mask(r, b)", "tf.ragged.boolean_mask(r, [True, False, True])",
    "tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])",
    "tf.ragged.boolean_mask(n, [True, False, True, True])",
    "tf.ragged.map_flat_values(tf.square, f)", "tf.ragged.map_flat_values(tf.add, r, 3)",
    "tf.ragged.map_flat_values(tf.add, r, r)", "tf.ragged.map_flat_values(tf.reduce_sum, r)",
    # properties
    "n.values", "n.flat_values", "n.row_splits", "n.nested_row_splits[1]", "n.value_rowids()",
    "n.nested_value_rowids()[1]", "n.nrows()", "n.row_starts()", "n.row_limits()",
    "n.row_lengths()", "n.row_lengths(axis=2)", "n.row_lengths(axis=-1)", "u.row_lengths(axis=2)",
    "n.nested_row_lengths()[1]", "n.bounding_shape()", "n.bounding_shape(axis=1)",
    "u.bounding_shape(out_type=tf.int32)", "str(r.shape)", "str(n.shape)", "str(u.shape)",
    "str(n.ragged_rank)", "repr(n.dtype)", "str(R.from_uniform_row_length(v, 3).shape)",
    "r.with_values(v[:5] * 2)", "n.with_flat_values(tf.ones([7]))",
    "r.with_row_splits_dtype(tf.int32).row_splits", "n.merge_dims(0, 1)", "n.merge_dims(1, 2)",
    "n.merge_dims(0, 2)", "u.merge_dims(1, 2)", "bool(r)", "r.to_list()",
    "r.to_tensor()", "r.to_tensor(default_value=-1)", "r.to_tensor(shape=[4, 2])",
    "r.to_tensor(shape=[None, 4])", "n.to_tensor()", "u.to_tensor()", "w.to_tensor()",
    "r.to_sparse()", "n.to_sparse()", "w.to_sparse()",
    # parts
    "r[0]", "r[-1]", "r[1:]", "r[::-1]", "r[:, 1:]", "r[:, :-1]", "r[:, ::2]", "r[:, -2:]",
    "r[2, 1]", "r[:, 0]", "n[0, 1]", "n[0]", "n[:, :1]", "n[:, :, :1]", "n[..., :1]", "u[:, :, 1]",
    "u[0, 1, 0]", "r[..., tf.newaxis]", "r[tf.newaxis]", "r[:, tf.newaxis]", "r[::-1, ::-1]",
    # functions
    "r + 1", "1 - r", "f * f", "f / 2.0", "r // 2", "r % 2", "f ** 2.0", "-r", "abs(f)", "r > 2",
    "b & b", "~b", "r + [[10], [20], [30]]", "u * [1, 10]",
    "n + tf.expand_dims(r.row_lengths(), 0)[0]",
    "r + tf.ragged.constant([[1], [2], [3]])", "r == 2",
    "tf.add(r, 1)", "tf.sqrt(abs(f))", "tf.cast(r, tf.float32)", "tf.equal(r, 2)",
    "tf.maximum(r, 2)",
    "tf.logical_not(b)", "tf.nn.relu(f)", "tf.strings.upper(w)", "tf.zeros_like(r)",
    "tf.clip_by_value(r, 2, 4)", "tf.identity(n)", "tf.as_string(r)",
    "tf.reduce_sum(r)", "tf.reduce_sum(r, axis=1)", "tf.reduce_sum(r, axis=0)",
    "tf.reduce_sum(n, axis=0)", "tf.reduce_sum(n, axis=1)", "tf.reduce_sum(n, axis=2)",
    "tf.reduce_sum(n, axis=[1, 2])", "tf.reduce_sum(u, axis=1)", "tf.reduce_sum(r, axis=-1)",
    "tf.reduce_sum(r, axis=1, keepdims=True)", "tf.reduce_mean(f, axis=1)",
    "tf.reduce_max(f, axis=1)", "tf.reduce_min(f, axis=0)", "tf.reduce_prod(r, axis=1)",
    "tf.reduce_all(b, axis=1)", "tf.reduce_any(b, axis=0)",
    "tf.concat([r, r], 0)", "tf.concat([r, d], 1)", "tf.concat([n, n], 2)", "tf.concat([n, n], 1)",
    "tf.stack([r, r], 0)", "tf.stack([r, r], 1)", "tf.stack([r, r], 2)",
    "tf.expand_dims(r, 0)", "tf.expand_dims(r, 1)", "tf.expand_dims(r, 2)", "tf.expand_dims(r, -1)",
    "tf.gather(r, [2, 0])", "tf.gather(n, [3, 0, 0])", "tf.gather(v, r)", "tf.gather(r, 2)",
    "tf.gather(r, tf.ragged.constant([[0], [2, 1]]))", "tf.gather(u, [1])",
    "tf.size(n)", "tf.rank(n)", "tf.nn.embedding_lookup(tf.ones([6, 2]), r)",
    "tf.gradients(tf.reduce_sum(f * f, axis=1), f.flat_values)[0]",
    # counts
    "tf.sparse.bincount([[1, 2, 1], [0, 0, 5]], axis=-1)",
    "tf.sparse.bincount([[1, 2, 1], [0, 0, 5]])",
    "tf.sparse.bincount(r)", "tf.sparse.bincount(r, axis=-1)",
    "tf.sparse.bincount(r, weights=tf.cast(r, tf.float32), axis=-1)",
    "tf.sparse.bincount(r.to_sparse(), axis=-1)",
    "tf.sparse.bincount(r.to_sparse(), weights=r.to_sparse(), axis=-1)",
    "tf.sparse.bincount([[1, 2, 1]], weights=[[1.0, 2.0, 3.0]], axis=-1)",
    "tf.sparse.bincount([[1, 2, 9]], axis=-1, minlength=4, maxlength=6, binary_output=True)",
    "tf.sparse.bincount([1, 2], axis=1)", "tf.sparse.bincount(r, weights=[1.0])",
    "tf.image.is_jpeg(b'\\xff\\xd8\\xff1')", "tf.io.is_jpeg(b'abc')",
    # strings
    "tf.strings.unicode_decode(t, 'UTF-8')", "tf.strings.unicode_decode(t[0], 'UTF-8')",
    "tf.strings.unicode_decode([[b'a\\xff', b'b']], 'UTF-8', replacement_char=63)",
    "tf.strings.unicode_decode(w, 'UTF-8')",
    "tf.strings.unicode_decode_with_offsets(t, 'UTF-8')[1]",
    "tf.strings.unicode_split(t, 'UTF-8')", "tf.strings.unicode_split(t[2], 'UTF-8')",
    "tf.strings.unicode_split_with_offsets(t, 'UTF-8')[0]",
    "tf.strings.unicode_encode([[104, 105], [0x1d6c2, 64]], 'UTF-8')",
    "tf.strings.unicode_encode([104, 105], 'UTF-16-BE')",
    "tf.strings.unicode_encode(tf.ragged.constant([[104, 105], [], [233]]), 'UTF-8')",
    "tf.strings.unicode_encode(tf.ragged.constant([[[104, 105], []], [[233]]]), 'UTF-8')",
    "tf.strings.bytes_split(t)", "tf.strings.bytes_split('é')", "tf.strings.bytes_split(w)",
    "tf.strings.split(['a b', ''], result_type='RaggedTensor')",
    "tf.string_split(['a b', 'c'], result_type='RaggedTensor')",
    "tf.strings.split('a b', result_type='RaggedTensor')",
    "tf.strings.split([['a b'], ['c']], result_type='RaggedTensor')",
    "tf.strings.split(tf.ragged.constant([['a b'], [], ['c']]), 'b', result_type='RaggedTensor')",
    "tf.strings.split([['a b'], ['c']])", "tf.strings.split(['a'], result_type='Other')",
    "tf.strings.ngrams(w, 2)", "tf.strings.ngrams(['a', 'b', 'c'], 2)",
    "tf.strings.ngrams([['a', 'b', 'c'], ['d', 'e', 'f']], [1, 2], separator='|')",
    "tf.strings.ngrams(w, 2, pad_values='-')",
    "tf.strings.ngrams(w, 3, pad_values=('<', '>'), padding_width=1)",
    "tf.strings.ngrams(w, 3, preserve_short_sequences=True)", "tf.strings.ngrams(w, 0)",
    "tf.strings.ngrams(w, 2, padding_width=1)",
)  # fmt: skip


def _plain(value: Any) -> Any:
    if hasattr(value, "to_list"):
        return ["ragged", _plain(np.array(value.flat_values).dtype.name), _texts(value.to_list())]
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, (str, int)):
        return value
    array = np.asarray(value)
    return [array.dtype.name, _texts(array.tolist())]


def _texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_texts(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value


def describe(tf: Any, row: str) -> Any:
    """The value of an expression, or its error."""
    with tf.Graph().as_default(), tf.Session() as session:
        names = eval(_NAMES, {"tf": tf})
        try:
            made = eval(row, names)
        except Exception as error:
            return {"error": type(error).__name__}
        if isinstance(made, (str, bool, list)):
            return {"text": str(made)}
        try:
            value = session.run(made)
        except tf.errors.OpError as error:
            return {"error": type(error).__name__}
        found: dict[str, Any] = {"value": _plain(value)}
        if hasattr(made, "row_splits"):
            found["splits"] = [splits.dtype.name for splits in made.nested_row_splits]
            found["rank"] = made.ragged_rank
            found["shape"] = str(made.shape)
        return found
