"""The loss of unaligned labels given as a dense matrix, and functions that prepare these labels.

Corresponds to ``ctc_loss_v2`` and related functions in TensorFlow's ``ctc_ops.py``. The sum over
alignments is a scan over the frames, one state per label and per blank between labels, in
logarithms. Labels that cannot be aligned cost TensorFlow's substitute of an infinite loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.control_flow.map_fn import map_fn, scan
from tfnb.ops.array import array_ops
from tfnb.ops.array.array_extras import sequence_mask
from tfnb.ops.array.pad_ops import pad
from tfnb.ops.array.unique_ops import unique
from tfnb.ops.math import math_ops
from tfnb.ops.math.reduction_ops import reduce_logsumexp
from tfnb.ops.nn.ctc_ops import ctc_loss
from tfnb.ops.nn.softmax_ops import log_softmax

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"nn": ["collapse_repeated", "ctc_loss_v2", "ctc_unique_labels"]}

# The number that TensorFlow uses as the logarithm of zero.
_NEVER = -707.0


def ctc_loss_v2(
    labels: TensorLike,
    logits: TensorLike,
    label_length: TensorLike,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the loss of each row of a batch; its gradient comes from the ops it is made of.

    Args:
      labels: integers [batch, longest], or a SparseTensor.
      logits: [frames, batch, classes].
      label_length: [batch], the number of labels; unused for a SparseTensor.
      logit_length: [batch], the number of frames.
      logits_time_major: False if the logits are [batch, frames, classes].
      unique: the result of ctc_unique_labels; it does not change the loss.
      blank_index: the class of the blank, from the end if negative; 0 by default. A SparseTensor
        needs it.
      name: a name for the scope.

    Raises:
      ValueError: sparse labels without `blank_index`, or a class out of range.
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError(
                "Argument `blank_index` must be provided when labels is a SparseTensor."
            )
        return _sparse_loss(labels, logits, logit_length, logits_time_major, blank_index)
    with name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        labels = convert_to_tensor(labels, name="labels")
        logits = convert_to_tensor(logits, name="logits")
        label_length = convert_to_tensor(label_length, name="label_length")
        logit_length = convert_to_tensor(logit_length, name="logit_length")
        original = logits.dtype
        if original in (dtypes.float16, dtypes.bfloat16):
            logits = math_ops.cast(logits, dtypes.float32)
        if not logits_time_major:
            logits = array_ops.transpose(logits, [1, 0, 2])
        loss = _dense_loss(
            labels, logits, label_length, logit_length, _class_of(blank_index or 0, logits)
        )
        loss.set_shape(logits.shape[1:2])
        return loss if loss.dtype is original else math_ops.cast(loss, original)


def _class_of(blank: int, logits: TensorLike) -> TensorResult:
    """Return the blank's class, counted from the first one."""
    classes = logits.shape[-1].value
    if classes is None:
        return blank if blank >= 0 else array_ops.shape(logits)[2] + blank
    if not -classes <= blank < classes:
        raise ValueError(f"blank_index must be in [{-classes}, {classes}), got {blank}")
    return blank % classes


def _sparse_loss(
    labels: SparseTensor, logits: TensorLike, lengths: TensorLike, time_major: bool, blank: int
) -> TensorResult:
    """Return the loss by the op, whose blank is the last class."""
    logits = convert_to_tensor(logits, name="logits")
    place = _class_of(blank, logits)
    if not (isinstance(place, int) and place + 1 == logits.shape[-1].value):
        parts = logits[:, :, :place], logits[:, :, place + 1 :], logits[:, :, place : place + 1]
        logits = array_ops.concat(parts, axis=2)
        values = labels.values
        moved = array_ops.where_v2(values < math_ops.cast(place, values.dtype), values, values - 1)
        labels = SparseTensor(labels.indices, moved, labels.dense_shape)
    return ctc_loss(labels, inputs=logits, sequence_length=lengths, time_major=time_major)


def _dense_loss(
    labels: TensorLike,
    logits: TensorLike,
    label_length: TensorLike,
    logit_length: TensorLike,
    blank: Any,
) -> TensorResult:
    dtype = logits.dtype
    never = array_ops.constant(_NEVER, dtype)
    zero = array_ops.zeros([], dtype)
    labels = math_ops.cast(labels, dtypes.int32)
    blanks = array_ops.zeros_like(labels) + blank
    # Blank, label, blank, ..., label, blank.
    path = array_ops.reshape(
        array_ops.stack([blanks, labels], axis=2), [array_ops.shape(labels)[0], -1]
    )
    path = pad(path - blank, [[0, 0], [0, 1]]) + blank
    states = math_ops.range(array_ops.shape(path)[1])
    # A label may directly follow the one before, unless both are equal.
    before = pad(path[:, :-2], [[0, 0], [2, 0]])
    skips = math_ops.logical_and(
        math_ops.not_equal(path, before),
        math_ops.logical_and(math_ops.equal(states % 2, 1), states > 1),
    )
    skip_cost = array_ops.where_v2(skips, zero, never)
    emitted = array_ops.gather(
        array_ops.transpose(log_softmax(logits), [1, 0, 2]), path, axis=2, batch_dims=1
    )
    emitted = array_ops.transpose(emitted, [1, 0, 2])
    frames = math_ops.range(array_ops.shape(logits)[0])[:, None, None]
    is_live = frames < math_ops.cast(logit_length, dtypes.int32)[None, :, None]
    first = array_ops.where_v2(states < 2, zero, never) + emitted[0]
    nothing = array_ops.where_v2(math_ops.equal(states, 0), zero, never)
    start = array_ops.where_v2(is_live[0], first, nothing)

    def step(ways: TensorLike, frame: Any) -> TensorResult:
        emission, live = frame
        anywhere = reduce_logsumexp(ways, axis=1, keepdims=True) + never
        one = pad(ways[:, :-1], [[0, 0], [1, 0]], constant_values=_NEVER)
        two = pad(ways[:, :-2], [[0, 0], [2, 0]], constant_values=_NEVER) + skip_cost
        choices = array_ops.stack([ways, one, two, anywhere + array_ops.zeros_like(ways)])
        total = reduce_logsumexp(choices, axis=0) + emission
        return array_ops.where_v2(live, total, ways)

    ways = scan(step, [emitted[1:], is_live[1:]], start)
    ways = array_ops.concat([start[None], ways], axis=0)[-1]
    distance = 2 * math_ops.cast(label_length, dtypes.int32)[:, None] - states
    is_end = math_ops.logical_or(math_ops.equal(distance, 0), math_ops.equal(distance, 1))
    return -reduce_logsumexp(ways + array_ops.where_v2(is_end, zero, never), axis=1)


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> list[Nested]:
    """Return the distinct labels of each row, padded with zeros, and each label's index there."""
    with name_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def of_row(row: TensorLike) -> list[Nested]:
            found, places = unique(row)
            missing = array_ops.size(places) - array_ops.size(found)
            return [math_ops.cast(pad(found, [[0, missing]]), dtypes.int64), places]

        found, places = map_fn(of_row, labels, dtype=[dtypes.int64, dtypes.int32])
        found.set_shape(labels.shape)
        places.set_shape(labels.shape)
        return [found, places]


def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[Nested, Nested]:
    """Merge equal neighbouring labels in each row; return the rows and their new lengths."""
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert_to_tensor(labels, name="labels")
        seq_length = convert_to_tensor(seq_length, name="seq_length")
        changes = math_ops.not_equal(labels[:, 1:], labels[:, :-1])
        counts = sequence_mask(seq_length, maxlen=array_ops.shape(labels)[1])
        first = array_ops.ones_like(labels[:, :1], dtypes.bool)
        kept = math_ops.logical_and(counts, array_ops.concat([first, changes], axis=1))
        lengths = math_ops.reduce_sum(math_ops.cast(kept, seq_length.dtype), axis=1)
        longest = math_ops.reduce_max(lengths)
        places = array_ops.where_v2(sequence_mask(lengths, maxlen=longest))
        shape = array_ops.stack([array_ops.shape(labels)[0], math_ops.cast(longest, dtypes.int32)])
        collapsed = array_ops.scatter_nd(
            places, array_ops.boolean_mask(labels, kept), math_ops.cast(shape, places.dtype)
        )
        collapsed.set_shape([labels.shape[0], None])
        return collapsed, lengths
