"""Rejection of elements at random, so that classes have the requested frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.library.data.dataset import Dataset
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.random.random_ops import random_uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {"data.experimental": ["rejection_resample:rejection_resample_transformation"]}


def rejection_resample(
    dataset: Dataset,
    class_func: Callable[..., Nested],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: TensorLike | None = None,
) -> Dataset:
    """Implement :meth:`Dataset.rejection_resample`.

    Without ``initial_dist`` the classes are counted as elements come; each count starts at one.
    """
    target = convert_to_tensor(target_dist, name="target_dist")
    classes = dataset.map(class_func)
    pairs = Dataset.zip((classes, dataset))
    if initial_dist is None:

        def count(counts: TensorLike, pair: TensorLike) -> Nested:
            counts += array_ops.one_hot(pair[0], array_ops.shape(counts)[0], dtype=counts.dtype)
            return counts, (pair, counts / math_ops.reduce_sum(counts))

        start = array_ops.ones_like(target, dtypes.float32)
        found = pairs.scan(start, count)
    else:
        initial = convert_to_tensor(initial_dist, target.dtype, name="initial_dist")
        found = pairs.map(lambda *pair: (pair, initial))

    def is_kept(pair: TensorLike, share: TensorLike) -> Any:
        share = math_ops.cast(share, target.dtype)
        tiny = target.dtype.as_numpy_dtype(1e-30) if target.dtype is not dtypes.float16 else 1e-7
        ratio = target / math_ops.maximum(share, tiny)
        chance = ratio / math_ops.reduce_max(ratio)
        return random_uniform([], seed=seed, dtype=target.dtype) < array_ops.gather(chance, pair[0])

    return found.filter(is_kept).map(lambda pair, _: pair)


def rejection_resample_transformation(
    class_func: Callable[..., Nested],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: TensorLike | None = None,
) -> Callable[[Dataset], Dataset]:
    """Return :meth:`Dataset.rejection_resample` for ``apply``."""
    return lambda dataset: rejection_resample(dataset, class_func, target_dist, initial_dist, seed)
