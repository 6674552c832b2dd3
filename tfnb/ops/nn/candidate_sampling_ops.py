"""Candidate sampling: classes that are drawn to represent all others in a loss.

For equal seeds the classes are TensorFlow's. In each execution a sampler draws from one range of
the generator's words (``RangeSampler`` in TensorFlow); without repetition it draws until there are
enough different classes, and the expected counts follow from the number of trials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.random_seed import get_seed
from tfnb.ops.nn.range_samplers import (
    AllSampler,
    FixedUnigramSampler,
    LearnedUnigramSampler,
    LogUniformSampler,
    RangeSampler,
    UniformSampler,
    WordStream,
    read_unigrams,
)
from tfnb.ops.random.philox import generator_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.tensor_types import TensorLike, TensorResult

_FUNCTIONS = [
    "all_candidate_sampler", "compute_accidental_hits", "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler", "log_uniform_candidate_sampler",
    "uniform_candidate_sampler",
]  # fmt: skip
EXPORTS = {
    "nn": _FUNCTIONS,
    "random": [name for name in _FUNCTIONS if name != "compute_accidental_hits"],
}  # fmt: skip

_SIGNATURE = (
    "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float, "
    "sampled_expected_count: float"
)
_COUNTS = ("num_true: int >= 1", "num_sampled: int >= 1", "unique: bool")
_RANGE = "range_max: int >= 1"
_SEEDS = ("seed: int = 0", "seed2: int = 0")
_CPU: dict[str, Any] = {"devices": ("CPU",), "stateful": True}


def _sampler_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank(0, 2).dim_values
    rows = None if dims is None else dims[0]
    sampled = TensorShape([c.attr("num_sampled")])
    return [sampled, TensorShape([rows, c.attr("num_true")]), sampled]


def _sample(
    ctx: OpKernelContext,
    true_classes: Array,
    attrs: tuple[int, int, bool, int, int],
    make: Callable[[], RangeSampler],
) -> tuple[Array, Array, Array]:
    num_true, num_sampled, is_unique, seed, seed2 = attrs
    if true_classes.ndim != 2:
        raise errors.invalid_argument("true_classes must be a matrix")
    if true_classes.shape[1] != num_true:
        raise errors.invalid_argument(
            f"true_classes must have num_true columns, expected: {num_true} was: "
            f"{true_classes.shape[1]}"
        )
    check_fits(np, (num_sampled,), np.dtype(np.int64))
    state = ctx.kernel_state
    sampler: RangeSampler | None = state.get("sampler")
    if sampler is None:
        sampler = state.setdefault("sampler", make())
    if is_unique and num_sampled > sampler.range:
        raise errors.invalid_argument("Sampler's range is too small.")
    outside = true_classes[(true_classes < 0) | (true_classes >= sampler.range)]
    if outside.size:
        raise errors.invalid_argument(
            f"`true_candidate` out of range [0, {sampler.range}), received {outside[0]}"
        )
    # 2048 words per class leave room for many rejections.
    words = WordStream(generator_of(ctx, seed, seed2).reserve_blocks(512 * num_sampled))
    return sampler.sample(words, num_sampled, is_unique, true_classes)


@register_op(
    "LogUniformCandidateSampler",
    _SIGNATURE,
    *_COUNTS,
    _RANGE,
    *_SEEDS,
    shape=_sampler_shape,
    **_CPU,
)
def log_uniform_candidate_sampler_op(
    ctx: OpKernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
) -> Outputs:
    """Draw class k with probability log((k + 2) / (k + 1)) / log(range_max + 1)."""
    attrs = (num_true, num_sampled, unique, seed, seed2)
    return _sample(ctx, true_classes, attrs, lambda: LogUniformSampler(range_max))


@register_op(
    "UniformCandidateSampler", _SIGNATURE, *_COUNTS, _RANGE, *_SEEDS, shape=_sampler_shape, **_CPU
)
def uniform_candidate_sampler_op(
    ctx: OpKernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
) -> Outputs:
    """Draw each class with the same probability."""
    attrs = (num_true, num_sampled, unique, seed, seed2)
    return _sample(ctx, true_classes, attrs, lambda: UniformSampler(range_max))


def _learned(name: str) -> Any:
    def sample(
        ctx: OpKernelContext,
        true_classes: Array,
        *,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int,
        seed2: int,
    ) -> Outputs:
        """Draw each class in proportion to 1 plus the number of times it was a true class."""
        attrs = (num_true, num_sampled, unique, seed, seed2)
        return _sample(ctx, true_classes, attrs, lambda: LearnedUnigramSampler(range_max))

    return register_op(name, _SIGNATURE, *_COUNTS, _RANGE, *_SEEDS, shape=_sampler_shape, **_CPU)(
        sample
    )


learned_unigram_candidate_sampler_op = _learned("LearnedUnigramCandidateSampler")
thread_unsafe_unigram_candidate_sampler = _learned("ThreadUnsafeUnigramCandidateSampler")


@register_op("AllCandidateSampler", _SIGNATURE, *_COUNTS, *_SEEDS, shape=_sampler_shape, **_CPU)
def all_candidate_sampler_op(
    ctx: OpKernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int,
    seed2: int,
) -> Outputs:
    """Return every class, in order."""
    attrs = (num_true, num_sampled, unique, seed, seed2)
    return _sample(ctx, true_classes, attrs, lambda: AllSampler(num_sampled))


@register_op(
    "FixedUnigramCandidateSampler",
    _SIGNATURE,
    *_COUNTS,
    _RANGE,
    "vocab_file: string = ''",
    "distortion: float = 1",
    "num_reserved_ids: int = 0",
    "num_shards: int >= 1 = 1",
    "shard: int >= 0 = 0",
    "unigrams: list(float) = []",
    *_SEEDS,
    shape=_sampler_shape,
    effects="read vocab_file",
    **_CPU,
    traits="path_optional",
)
def fixed_unigram_candidate_sampler_op(
    ctx: OpKernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str,
    distortion: float,
    num_reserved_ids: int,
    num_shards: int,
    shard: int,
    unigrams: list[float],
    seed: int,
    seed2: int,
) -> Outputs:
    """Draw classes with given weights, raised to the power `distortion`."""

    def make() -> FixedUnigramSampler:
        if bool(vocab_file) == bool(unigrams):
            raise errors.invalid_argument(
                "Must provide exactly one of 'vocab_file' and 'unigrams' attributes"
            )
        weights = read_unigrams(vocab_file) if vocab_file else unigrams
        return FixedUnigramSampler(
            range_max, weights, distortion, num_reserved_ids, num_shards, shard
        )

    attrs = (num_true, num_sampled, unique, seed, seed2)
    return _sample(ctx, true_classes, attrs, make)


def _hits_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank(0, 2).dim_values
    if dims is not None and dims[1] is not None and dims[1] != c.attr("num_true"):
        raise ValueError(f"Dimension must be {c.attr('num_true')} but is {dims[1]}")
    c.with_rank(1, 1)
    return [TensorShape([None])] * 3


@register_op(
    "ComputeAccidentalHits",
    "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, weights: float",
    "num_true: int",
    *_SEEDS,
    shape=_hits_shape,
    devices=("CPU",),
)
def compute_accidental_hits_op(
    xp: Xp, true_classes: Array, sampled_candidates: Array, *, num_true: int
) -> Outputs:
    """Return where a sampled class is a true class of a row.

    The results are the row, the position, and a weight near -inf.
    """
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise errors.invalid_argument("true_classes must be a batch_size * num_true matrix")
    if sampled_candidates.ndim != 1:
        raise errors.invalid_argument(
            "sampled_candidates must be a vector, which is typically an "
            "output from CandidateSampler"
        )
    positions = {value: place for place, value in enumerate(sampled_candidates.tolist())}
    hits = [
        (row, positions[value])
        for row, values in enumerate(true_classes.tolist())
        for value in values
        if value in positions
    ]
    weights = np.full(len(hits), -np.finfo(np.float32).max, np.float32)
    rows = np.array([row for row, _ in hits], np.int32)
    return rows, np.array([place for _, place in hits], np.int64), weights


# ------------------------------------------------------------------------------ functions of users


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return uniformly drawn classes, and the expected counts of true and drawn classes."""
    seed1, seed2 = get_seed(seed)
    return uniform_candidate_sampler_op(
        true_classes, num_true, num_sampled, unique, range_max, seed=seed1, seed2=seed2, name=name
    )


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return classes drawn by Zipf's law; classes must be sorted by falling frequency."""
    seed1, seed2 = get_seed(seed)
    return log_uniform_candidate_sampler_op(
        true_classes, num_true, num_sampled, unique, range_max, seed=seed1, seed2=seed2, name=name
    )


def learned_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return classes drawn in proportion to how often they were true classes before."""
    seed1, seed2 = get_seed(seed)
    return learned_unigram_candidate_sampler_op(
        true_classes, num_true, num_sampled, unique, range_max, seed=seed1, seed2=seed2, name=name
    )


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: TensorLike = (),
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return classes drawn with given weights, from a file (last column) or a list."""
    seed1, seed2 = get_seed(seed)
    return fixed_unigram_candidate_sampler_op(
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=list(unigrams),
        seed=seed1,
        seed2=seed2,
        name=name,
    )


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return every class, for tests."""
    seed1, seed2 = get_seed(seed)
    return all_candidate_sampler_op(
        true_classes, num_true, num_sampled, unique, seed=seed1, seed2=seed2, name=name
    )


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return the positions of drawn classes that are true: indices, ids, weights near -inf."""
    seed1, seed2 = get_seed(seed)
    return compute_accidental_hits_op(
        true_classes, sampled_candidates, num_true, seed=seed1, seed2=seed2, name=name
    )
