"""Connectionist temporal classification: the loss of unaligned labels, and the greedy decoder.

A labelling is aligned with the frames by repeating labels and inserting blanks between them; the
loss
is -log of the sum over all alignments, computed forward and backward in logarithms (Graves et al.,
2006). Corresponds to TensorFlow's ``ctc_loss_calculator.h`` and ``ctc_decoder_ops.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.renamed_arguments import renamed
from tfnb.ops.nn.ctc_beam_search import beam_search
from tfnb.ops.sparse.sparse_indices import check_valid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike

EXPORTS = {
    "nn": [
        "ctc_beam_search_decoder",
        "ctc_beam_search_decoder_v2",
        "ctc_greedy_decoder",
        "ctc_loss",
    ],
}

_FLAGS = (
    "preprocess_collapse_repeated: bool = false",
    "ctc_merge_repeated: bool = true",
    "ignore_longer_outputs_than_inputs: bool = false",
)
_T = "T: {float, double} = DT_FLOAT"
_CPU: dict[str, Any] = {"devices": ("CPU",)}

# The most states of alignments, in all frames and rows, that are computed together.
_MOST_STATES = 1 << 18


# --------------------------------------------------------------------------------------------- loss


def _loss_shape(c: InferenceContext) -> list[TensorShape]:
    inputs = c.with_rank(0, 3).dim_values
    indices, values = c.with_rank(1, 2).dim_values, c.with_rank(2, 1).dim_values
    lengths = c.with_rank(3, 1).dim_values
    if indices is not None and values is not None:
        merge_dims(indices[0], values[0])
    batch = merge_dims(
        None if inputs is None else inputs[1], None if lengths is None else lengths[0]
    )
    if inputs is None:
        return [TensorShape([batch]), TensorShape([None, batch, None])]
    return [TensorShape([batch]), TensorShape([inputs[0], batch, inputs[2]])]


def _labels_by_row(indices: TensorLike, values: TensorLike, batch: int) -> list[list[int]]:
    if indices.ndim != 2:
        raise errors.invalid_argument("labels_indices is not a matrix")
    if values.ndim != 1:
        raise errors.invalid_argument("labels_values is not a vector")
    if len(indices) != len(values):
        raise errors.invalid_argument("len(labels_indices) != len(labels_values)")
    rows: list[list[int]] = [[] for _ in range(batch)]
    # The number of columns follows from the indices, computed in int64.
    columns = max(0, *(np.append(indices[:, 1:], 0) + 1).tolist())
    check_valid(indices, [batch, columns], "label SparseTensor is not valid: ")
    for (row, _), value in zip(indices.tolist(), values.tolist(), strict=True):
        rows[row].append(value)
    return rows


def _softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return probabilities in the logits' precision; one that underflows is impossible."""
    found: NDArray[Any] = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found /= found.sum(axis=-1, keepdims=True)
    found[found < np.finfo(found.dtype).tiny] = 0
    return found


def _losses(
    logits: NDArray[Any], labels: list[list[int]], lengths: list[int], merge_repeated: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the losses of rows, and their gradients by the logits: (frames, rows, classes).

    All rows take each step of the recursion at once.  A row with fewer states or frames than
    others has impossible states beside its own.
    """
    blank = logits.shape[2] - 1
    counts = np.array([2 * len(one) + 1 for one in labels])[:, None]
    ends = np.array(lengths)[:, None]
    num_frames, num_rows, num_states = max(lengths), len(labels), int(counts.max())
    path = np.full((num_rows, num_states), blank)
    for row, one in enumerate(labels):
        path[row, 1 : 2 * len(one) : 2] = one
    place = np.arange(num_states)
    exists = place < counts
    is_blank = path == blank
    may_stay = (is_blank | merge_repeated) & exists
    # A label may follow the previous label without a blank, unless merging would join both.
    may_skip = ~is_blank[:, 2:]
    if merge_repeated:
        may_skip &= path[:, 2:] != path[:, :-2]
    probabilities = _softmax(logits[:num_frames])
    time = np.arange(num_frames)[:, None, None]
    is_there = exists & (time < ends)
    emitted = np.log(np.take_along_axis(probabilities, path[None], 2), dtype=np.float64)
    emitted[~is_there] = 0.0
    # Only states reachable from the start and to the end, so that NaN stays out of the others.
    useful = is_there & (place >= counts - 2 * (ends - time)) & (place < 2 * (time + 1))
    # Both recursions take each step at once: the one from the end sees frames and states turned.
    found = np.full((num_frames, 2, num_rows, num_states), -np.inf)
    forward, backward = found[:, 0], found[::-1, 1, :, ::-1]
    forward[0] = np.where(exists & (place < 2), emitted[0], -np.inf)
    rows = np.arange(num_rows)[:, None]
    backward[ends - 1, rows, np.maximum(counts - 2, 0)] = 0.0
    backward[ends - 1, rows, counts - 1] = 0.0
    stays, skips = (np.stack([one, one[:, ::-1]]) for one in (may_stay, may_skip))
    is_made = np.stack([useful, (useful & (time < ends - 1))[::-1, :, ::-1]], 1)
    added = np.stack([np.where(useful, emitted, 0.0), emitted[::-1, :, ::-1]], 1)
    # A path of one blank: TensorFlow's initialization of two states also sets the one before.
    alone = np.where(counts[:, 0] == 1, num_frames + 1 - ends[:, 0], -1)
    steps_alone = set(alone.tolist())
    last = np.stack([forward[0], found[0, 1] + added[0, 1]])
    for step in range(1, num_frames):
        total = np.where(stays, last, -np.inf)
        total[..., 1:] = np.logaddexp(total[..., 1:], last[..., :-1])
        total[..., 2:] = np.logaddexp(total[..., 2:], np.where(skips, last[..., :-2], -np.inf))
        if step in steps_alone:
            total[1, alone == step] = np.logaddexp(total[1, alone == step], 0.0)
        made = np.where(is_made[step], total, found[step])
        last = made + added[step]
        found[step, 0], found[step, 1] = last[0], made[1]
    likelihood = np.logaddexp.reduce(forward[0] + backward[0], axis=1)
    gradient = np.where(time < ends, probabilities, 0)
    possible = likelihood != -np.inf
    shares = np.exp(forward + backward - np.where(possible, likelihood, 0.0)[:, None])
    share = np.zeros(gradient.shape)
    for state in range(num_states):
        given = np.flatnonzero(possible & exists[:, state])
        share[:, given, path[given, state]] += shares[:, given, state]
    # NaN everywhere if the loss is NaN.
    share += np.where(np.isnan(likelihood), np.nan, 0.0)[:, None]
    gradient -= np.where(time < ends, share, 0.0)
    return -likelihood, gradient


def _ctc_loss(
    inputs: Array,
    indices: Array,
    values: Array,
    lengths: Array,
    flags: tuple[bool, bool, bool],
) -> tuple[Array, Array]:
    collapse, merge_repeated, ignore_longer = flags
    if inputs.ndim != 3:
        raise errors.invalid_argument("inputs is not a 3-Tensor")
    frames, batch, classes = inputs.shape
    if lengths.ndim != 1:
        raise errors.invalid_argument("sequence_length is not a vector")
    if len(lengths) != batch:
        raise errors.invalid_argument(f"len(sequence_length) != batch_size: {len(lengths)} {batch}")
    for word, size in (("batch_size", batch), ("max_time", frames)):
        if size == 0:
            raise errors.invalid_argument(f"{word} must not be 0")
    rows = _labels_by_row(indices, values, batch)
    blank = classes - 1
    loss = np.zeros(batch, inputs.dtype)
    gradient = np.zeros(inputs.shape, inputs.dtype)
    computed = list[tuple[int, list[int], int]]()
    for row, (labels, length) in enumerate(zip(rows, lengths.tolist(), strict=True)):
        if not 0 <= length <= frames:
            raise errors.invalid_argument(f"sequence_length({row}) <= {frames}")
        # Required steps: all labels, before equal neighbours are collapsed.
        needed = len(labels)
        if not needed:
            raise errors.invalid_argument(f"Labels length is zero in batch {row}")
        if collapse:
            labels = [a for i, a in enumerate(labels) if i == 0 or a != labels[i - 1]]
        labels = _until_blank(labels, blank, row)
        if needed > length:
            if ignore_longer:
                continue
            raise errors.invalid_argument(
                f"Not enough time for target transition sequence (required: {needed}, "
                f"available: {length}){row}You can turn this error into a warning by using the "
                "flag ignore_longer_outputs_than_inputs"
            )
        if not classes:
            raise errors.invalid_argument("inputs have no classes, not even the blank one")
        computed.append((row, labels, length))
    while computed:
        # Rows share a recursion as long as its arrays are small.
        longest = max(len(labels) for _, labels, _ in computed) * 2 + 1
        together = max(1, _MOST_STATES // (longest * frames))
        some, computed = computed[:together], computed[together:]
        places, labels_of, lengths_of = map(list, zip(*some, strict=True))
        found = _losses(inputs[:, places], labels_of, lengths_of, merge_repeated)
        loss[places], gradient[: max(lengths_of), places] = found
    return loss, gradient


def _until_blank(labels: list[int], blank: int, row: int) -> list[int]:
    """Return a row's labels up to the blank or a class out of range, which ends the row.

    Raises:
      InvalidArgumentError: a label follows the end of the row, or a label is negative.
    """
    end = next((at for at, label in enumerate(labels) if label >= blank), len(labels))
    if any(label < blank for label in labels[end:]):
        raise errors.invalid_argument(
            "Saw a non-null label (index >= num_classes - 1) following a null label, batch: "
            f"{row} num_classes: {blank + 1} labels: {labels}"
        )
    if any(label < 0 for label in labels):
        raise errors.invalid_argument(
            f"All labels must be nonnegative integers, batch: {row} labels: {labels}"
        )
    return labels[:end]


@register_op(
    "CTCLoss",
    "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32 -> loss: T, "
    "gradient: T",
    *_FLAGS,
    _T,
    shape=_loss_shape,
    **_CPU,
)
def ctc_loss_op(
    xp: Xp,
    inputs: Array,
    labels_indices: Array,
    labels_values: Array,
    sequence_length: Array,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> Outputs:
    """Return the loss of each row and its gradient by the logits; the last class is the blank."""
    flags = (preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs)
    return _ctc_loss(inputs, labels_indices, labels_values, sequence_length, flags)


# As in TensorFlow, the op whose blank is the first class has no CPU kernel.
ctc_loss_v2: OpDefinition = register_op(
    "CTCLossV2",
    "inputs: float, labels_indices: int64, labels_values: int32, sequence_length: int32 -> "
    "loss: float, gradient: float",
    *_FLAGS,
    shape=_loss_shape,
)(None)


@ctc_loss_v2.gradient
@ctc_loss_op.gradient
def _(op: Operation, grad_loss: Tensor, _: Tensor) -> Gradients:
    slopes = array_ops.prevent_gradient(
        op.outputs[1], message="There is no second derivative of ctc_loss"
    )
    return array_ops.expand_dims(grad_loss, -1) * slopes, None, None, None


# ----------------------------------------------------------------------------------------- decoders


def _batch_of(c: InferenceContext) -> int | None:
    inputs, lengths = c.with_rank(0, 3).dim_values, c.with_rank(1, 1).dim_values
    return merge_dims(
        None if inputs is None else inputs[1], None if lengths is None else lengths[0]
    )


def _greedy_shape(c: InferenceContext) -> list[TensorShape]:
    return [
        TensorShape([None, 2]),
        TensorShape([None]),
        TensorShape([2]),
        TensorShape([_batch_of(c), 1]),
    ]


def _checked_lengths(inputs: TensorLike, sequence_length: TensorLike) -> list[int]:
    """Return the number of valid frames of each row, after checks.

    Raises:
      InvalidArgumentError: logits or lengths have the wrong rank, or there are no logits.
      FailedPreconditionError: not one length per row, or a length exceeds the number of frames.
    """
    if inputs.ndim != 3:
        raise errors.invalid_argument("inputs is not a 3-Tensor")
    frames, batch, _ = inputs.shape
    if not inputs.size:
        raise errors.invalid_argument("inputs must not be empty")
    if sequence_length.ndim != 1:
        raise errors.invalid_argument("sequence_length is not a vector")
    if len(sequence_length) != batch:
        raise errors.failed_precondition(
            f"len(sequence_length) != batch_size. len(sequence_length): {len(sequence_length)} "
            f"batch_size: {batch}"
        )
    lengths: list[int] = np.maximum(sequence_length, 0).tolist()
    for row, length in enumerate(lengths):
        if length > frames:
            raise errors.failed_precondition(f"sequence_length({row}) <= {frames}")
    return lengths


def _as_sparse(rows: list[list[int]]) -> tuple[Array, Array, Array]:
    """Return rows of labels as a sparse matrix: indices, values, shape."""
    places = [(row, place) for row, labels in enumerate(rows) for place in range(len(labels))]
    return (
        np.array(places, np.int64).reshape(-1, 2),
        np.array([label for labels in rows for label in labels], np.int64),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
    )


@register_op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: int64, decoded_values: int64, "
    "decoded_shape: int64, log_probability: T",
    "merge_repeated: bool = false",
    "blank_index: int = -1",
    _T,
    shape=_greedy_shape,
    **_CPU,
)
def ctc_greedy_decoder_op(
    xp: Xp, inputs: Array, sequence_length: Array, *, merge_repeated: bool, blank_index: int
) -> Outputs:
    """Return the most likely class of every frame, without blanks, as a sparse matrix of labels."""
    lengths = _checked_lengths(inputs, sequence_length)
    classes = inputs.shape[2]
    blank = blank_index + classes if blank_index < 0 else blank_index
    if not 0 <= blank < classes:
        raise errors.invalid_argument(
            f"blank_index expected to be between {-classes} and {classes - 1}, inclusive, but was "
            f"{blank_index}"
        )
    rows: list[list[int]] = []
    scores = np.zeros((len(lengths), 1), inputs.dtype)
    for row, length in enumerate(lengths):
        frames = inputs[:length, row]
        if np.isnan(frames).any():
            # As in TensorFlow, NaN wins in the first class, and never in later ones.
            frames = np.where(np.isnan(frames), -np.inf, frames)
            frames[np.isnan(inputs[:length, row, 0])] = np.nan
        best = frames.argmax(axis=-1).tolist()
        scores[row, 0] -= frames.max(axis=-1).sum(dtype=inputs.dtype)
        rows.append(
            [
                label
                for t, label in enumerate(best)
                if label != blank and not (merge_repeated and t > 0 and best[t - 1] == label)
            ]
        )
    return *_as_sparse(rows), scores


ctc_greedy_decoder_op.not_differentiable()


@register_op(
    "CTCBeamSearchDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: top_paths * int64, "
    "decoded_values: top_paths * int64, decoded_shape: top_paths * int64, log_probability: T",
    "beam_width: int >= 1",
    "top_paths: int >= 1",
    "merge_repeated: bool = true",
    _T,
    **_CPU,
)
def ctc_beam_search_decoder_op(
    xp: Xp,
    inputs: Array,
    sequence_length: Array,
    *,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
) -> Outputs:
    """Return the most likely label sequences of every row as sparse matrices, in falling order."""
    lengths = _checked_lengths(inputs, sequence_length)
    scores = np.zeros((len(lengths), top_paths), inputs.dtype)
    if top_paths > beam_width:
        raise errors.invalid_argument("requested more paths than the beam width.")
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    for row, length in enumerate(lengths):
        found = beam_search(inputs[:length, row], beam_width, top_paths, merge_repeated)
        if found is None:
            raise errors.invalid_argument("Less leaves in the beam search than requested.")
        for path, labels in zip(paths, found[0], strict=True):
            path.append(labels)
        scores[row] = found[1]
    sparse = [_as_sparse(path) for path in paths]
    return *(part for parts in zip(*sparse, strict=True) for part in parts), scores


@ctc_beam_search_decoder_op.shape
def _(c: InferenceContext) -> list[TensorShape]:
    batch, count = _batch_of(c), c.attr("top_paths")
    parts = [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])]
    return [shape for shape in parts for _ in range(count)] + [TensorShape([batch, count])]


ctc_beam_search_decoder_op.not_differentiable()


# --------------------------------------------------------------------------------- public functions


def ctc_loss(
    labels: TensorLike,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Any:
    """Return the loss of each row of a batch.

    Args:
      labels: int32 SparseTensor, a row of labels per row of the batch.
      inputs: logits [frames, batch, classes]; the last class is the blank.
      sequence_length: int32 [batch], the number of valid frames.
      preprocess_collapse_repeated: whether to collapse repeated labels before the loss.
      ctc_merge_repeated: whether repeated frames of one label count as one label.
      ignore_longer_outputs_than_inputs: rows with more labels than frames have no loss, instead of
        being an error.
      time_major: False if the inputs are [batch, frames, classes].
      logits: an alias of `inputs`.

    Raises:
      TypeError: labels are not a SparseTensor.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError(
            f"Expected argument `labels` to be a SparseTensor. Received labels={labels} of type: "
            f"{type(labels).__name__}"
        )
    inputs = convert_to_tensor(renamed("logits", logits, "inputs", inputs), name="logits")
    original = inputs.dtype
    if original in (dtypes.float16, dtypes.bfloat16):
        inputs = cast(inputs, dtypes.float32)
    if not time_major:
        inputs = array_ops.transpose(inputs, [1, 0, 2])
    loss, _ = ctc_loss_op(
        inputs,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    return cast(loss, original) if loss.dtype is not original else loss


def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> Any:
    """Return the most likely label of each frame.

    The result is a list with one SparseTensor of labels, and -(sum of the largest logits) of each
    row.
    """
    indices, values, shape, scores = ctc_greedy_decoder_op(
        inputs,
        sequence_length,
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(indices, values, shape)], scores


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> Any:
    """Return the most likely label sequences of each row, by beam search.

    Args:
      inputs: logits [frames, batch, classes]; the last class is the blank.
      sequence_length: int32 [batch], the number of valid frames.
      beam_width: the number of sequences kept from frame to frame.
      top_paths: the number of sequences returned for each row.
      merge_repeated: whether to return only the first of repeated labels.

    Returns:
      A list with a SparseTensor [batch, longest] per path, the most likely first, and the
      logarithms
      of their probabilities [batch, top_paths].
    """
    *parts, scores = ctc_beam_search_decoder_op(
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    return [SparseTensor(*part) for part in zip(*parts, strict=True)], scores


def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> Any:
    """Return the results of ``ctc_beam_search_decoder``, but keep repeated labels."""
    return ctc_beam_search_decoder(
        inputs,
        sequence_length=sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=False,
    )
