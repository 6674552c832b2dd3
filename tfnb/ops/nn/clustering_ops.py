"""Ops for k-means: the nearest centers of points, and the choice of initial centers.

Distances are squared.  Corresponds to ``clustering_ops.cc``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import scalar_shape
from tfnb.ops.nn.range_samplers import WordStream
from tfnb.ops.random.philox import Philox

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array, Xp

# Number of points compared with all centers at once.
_POINTS_AT_ONCE = 4096


def _require_matrix(value: Array, name: str) -> None:
    if value.ndim != 2:
        raise errors.invalid_argument(f"Input {name} should be a matrix.")


def _scalar(value: Array, name: str) -> int:
    if np.ndim(value):
        raise errors.invalid_argument(f"Input {name} should be a scalar.")
    return int(value)


@register_op(
    "NearestNeighbors",
    "points: float, centers: float, k: int64 -> "
    "nearest_center_indices: int64, nearest_center_distances: float",
    devices=("CPU",),
)
def nearest_neighbors(xp: Xp, points: Array, centers: Array, k: Array) -> tuple[Array, Array]:
    """Return the k nearest centers of each point, nearest first, and the squared distances."""
    _require_matrix(points, "points")
    _require_matrix(centers, "centers")
    if points.shape[1] != centers.shape[1]:
        raise errors.invalid_argument("Points and centers should have the same number of columns.")
    if not len(points):
        raise errors.invalid_argument("There should be at least one point.")
    wanted = min(_scalar(k, "k"), len(centers))
    if wanted < 0:
        raise errors.invalid_argument("k should not be negative.")
    indices = np.empty((len(points), wanted), np.int64)
    distances = np.empty((len(points), wanted), np.float32)
    half_squares = np.float32(0.5) * np.square(centers).sum(1)
    for start in range(0, len(points), _POINTS_AT_ONCE):
        some = points[start : start + _POINTS_AT_ONCE]
        rows = slice(start, start + len(some))
        # |p - c|^2 / 2 without the term |p|^2 / 2, which does not affect the order.
        scores = half_squares - some @ centers.T
        if wanted == 1:
            chosen = scores.argmin(1)[:, np.newaxis]
        else:
            chosen = np.argsort(scores, axis=1, kind="stable")[:, :wanted]
        indices[rows] = chosen
        own = np.float32(0.5) * np.square(some).sum(1, keepdims=True)
        distances[rows] = 2 * (np.take_along_axis(scores, chosen, 1) + own)
    return indices, distances


nearest_neighbors.not_differentiable()


def _sum(values: Array) -> Array:
    """Sum in TensorFlow's order: 2 times 8 at a time, then halves of the remainder, then the rest.

    When nearly all points are taken, rounding alone decides which is next.
    """
    pairs = len(values) // 16 * 16
    lanes = values[:pairs].reshape(-1, 2, 8).sum(0).sum(0)
    if len(values) - pairs >= 8:
        lanes += values[pairs : pairs + 8]
    fours = lanes[:4] + lanes[4:]
    total = fours[0] + fours[2] + (fours[1] + fours[3])
    for value in values[len(values) // 8 * 8 :]:
        total += value
    return total


@register_op(
    "KmeansPlusPlusInitialization",
    "points: float, num_to_sample: int64, seed: int64, num_retries_per_sample: int64 -> "
    "samples: float",
    devices=("CPU",),
)
def kmeans_plus_plus_initialization(
    xp: Xp, points: Array, num_to_sample: Array, seed: Array, num_retries_per_sample: Array
) -> Array:
    """Choose points by k-means++: the probability is proportional to the squared distance.

    Among several candidates, the one with the smallest remaining sum of distances is taken.
    """
    _require_matrix(points, "points")
    count = _scalar(num_to_sample, "num_to_sample")
    seed = _scalar(seed, "seed")
    retries = _scalar(num_retries_per_sample, "num_retries_per_sample")
    words = WordStream(Philox.from_seeds(seed, 0))
    if count <= 0:
        raise errors.invalid_argument("num_to_sample should be positive.")
    if len(points) < count:
        raise errors.invalid_argument(
            f"num_to_sample is {count}, but there are {len(points)} points only."
        )
    if retries < 0:
        retries = 2 + int(math.log(count))
    # TensorFlow counts the rounds in 32 bits.
    rounds = ((1 + retries + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
    half_squares = np.float32(0.5) * np.square(points).sum(1)
    nearest = np.full(len(points), np.inf, np.float32)
    sampled: list[int] = []

    def draw(sums: NDArray[np.float32]) -> int:
        if not sampled:
            return words.below_wide(len(points))
        while True:
            limit = words.fraction() * sums[-1]
            found = int(np.searchsorted(sums, limit, side="right"))
            # With NaN sums this is the index after the last, which stands for the last point.
            if found not in sampled:
                return found

    def nearest_with(index: int) -> NDArray[np.float32]:
        index = min(index, len(points) - 1)
        few = points.shape[1] < 8  # summed sequentially, as in TensorFlow
        products = (points * points[index]).sum(1) if few else points @ points[index]
        distances = half_squares - products + half_squares[index]
        closer: NDArray[np.float32] = np.minimum(nearest, distances)
        return closer

    for _ in range(count):
        sums = np.cumsum(nearest, dtype=np.float32) if sampled else nearest
        best, best_nearest, least = 0, nearest, np.float32(np.inf)
        for _ in range(rounds):
            index = draw(sums)
            candidate = nearest_with(index)
            potential = _sum(candidate)
            if potential < least or not retries:
                best, best_nearest, least = index, candidate, potential
        sampled.append(min(best, len(points) - 1))
        nearest = best_nearest
    return points[sampled]


kmeans_plus_plus_initialization.not_differentiable()


@register_op(
    "KMC2ChainInitialization",
    "distances: float, seed: int64 -> index: int64",
    shape=scalar_shape,
    devices=("CPU",),
)
def kmc2_chain_initialization(xp: Xp, distances: Array, seed: Array) -> Array:
    """Return the last state of a Markov chain over candidates, drawn by squared distance."""
    if distances.ndim != 1:
        raise errors.invalid_argument("Input distances should be a vector.")
    if not distances.size:
        raise errors.invalid_argument("There should be at least one distance.")
    words = WordStream(Philox.from_seeds(_scalar(seed, "seed"), 0))
    index = 0
    for candidate in range(1, len(distances)):
        if distances[candidate] > words.fraction() * distances[index]:
            index = candidate
    return np.int64(index)


kmc2_chain_initialization.not_differentiable()
