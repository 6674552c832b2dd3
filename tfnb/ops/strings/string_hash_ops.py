"""Ops that hash strings to bucket numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import unchanged_shape
from tfnb.core.string_hashes import fingerprint64, hash64, strong_hash
from tfnb.ops.base.string_arrays import mapped

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "string_to_hash_bucket", "string_to_hash_bucket_fast", "string_to_hash_bucket_strong",
    ],
    "strings": [
        "to_hash_bucket:string_to_hash_bucket", "to_hash_bucket_fast:string_to_hash_bucket_fast",
        "to_hash_bucket_strong:string_to_hash_bucket_strong",
    ],
}  # fmt: skip


@register_op(
    "StringToHashBucketFast",
    "input: string -> output: int64",
    "num_buckets: int >= 1",
    shape=unchanged_shape,
    devices=("CPU",),
)
def string_to_hash_bucket_fast(xp: Xp, input: Array, *, num_buckets: int) -> Array:
    """Return a bucket for every string, which is the same on all machines and versions."""
    return (mapped(fingerprint64, input, np.uint64) % np.uint64(num_buckets)).astype(np.int64)


string_to_hash_bucket_fast.not_differentiable()


@register_op(
    "StringToHashBucketStrong",
    "input: string -> output: int64",
    "num_buckets: int >= 1",
    "key: list(int)",
    shape=unchanged_shape,
    devices=("CPU",),
)
def string_to_hash_bucket_strong(
    xp: Xp, input: Array, *, num_buckets: int, key: list[int]
) -> Array:
    """Return a bucket for every string, by a key that protects against crafted collisions."""
    if len(key) != 2:
        raise errors.invalid_argument("Key must have 2 elements")
    pair = (key[0], key[1])
    return mapped(lambda value: strong_hash(pair, value) % num_buckets, input, np.int64)


string_to_hash_bucket_strong.not_differentiable()


@register_op(
    "StringToHashBucket",
    "string_tensor: string -> output: int64",
    "num_buckets: int >= 1",
    shape=unchanged_shape,
    devices=("CPU",),
)
def string_to_hash_bucket_op(xp: Xp, string_tensor: Array, *, num_buckets: int) -> Array:
    """Return the bucket of every string."""
    return mapped(lambda value: hash64(value) % num_buckets, string_tensor, np.int64)


string_to_hash_bucket_op.not_differentiable()


def string_to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
) -> TensorResult:
    """Return the bucket of every string.

    Raises:
      ValueError: the strings were given under both names.
    """
    if input is not None:
        if string_tensor is not None:
            raise ValueError("Cannot specify both 'input' and 'string_tensor'")
        string_tensor = input
    return string_to_hash_bucket_op(string_tensor, num_buckets=num_buckets, name=name)
