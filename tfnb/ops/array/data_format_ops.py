"""Axes and sizes converted from one data format to another, as graph optimizers insert them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import unchanged_shape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp

_FORMATS = ("src_format: string = 'NHWC'", "dst_format: string = 'NCHW'")
_T = "T: {int32, int64} = DT_INT32"


def _check_formats(src_format: str, dst_format: str) -> None:
    for kind, name, value in (
        ("Source", "src_format", src_format),
        ("Destination", "dst_format", dst_format),
    ):
        if len(value) not in (4, 5):
            raise errors.invalid_argument(
                f"{kind} format must be of length 4 or 5, received {name} = {value}"
            )
    if len(set(src_format)) != len(src_format) or sorted(src_format) != sorted(dst_format):
        raise errors.invalid_argument(
            "Destination and source format must determine a permutation, got "
            f"{src_format} and {dst_format}"
        )


@register_op("DataFormatDimMap", "x: T -> y: T", _T, *_FORMATS, shape=unchanged_shape)
def data_format_dim_map(xp: Xp, x: Array, *, src_format: str, dst_format: str) -> Array:
    """Return the position in another format of an axis of one; negative axes count from the end."""
    _check_formats(src_format, dst_format)
    places = np.array([dst_format.index(axis) for axis in src_format], x.dtype)
    return xp.asarray(places)[x % x.dtype.type(len(places))]


@register_op("DataFormatVecPermute", "x: T -> y: T", _T, *_FORMATS, shape=unchanged_shape)
def data_format_vec_permute(xp: Xp, x: Array, *, src_format: str, dst_format: str) -> Array:
    """Return the rows, one per axis of a format, in the order of another format.

    The rows may be those of the spatial axes only.
    """
    _check_formats(src_format, dst_format)
    if x.ndim not in (1, 2):
        raise errors.invalid_argument(
            f"input must be a vector or 2D tensor, but got shape {shape_text(x.shape)}"
        )
    full, spatial = len(src_format), len(src_format) - 2
    if x.shape[0] not in (full, spatial):
        raise errors.invalid_argument(
            f"{x.ndim}D input must have {spatial} or {full} rows, but got shape "
            f"{shape_text(x.shape)}"
        )
    if x.ndim == 2 and x.shape[1] != 2:
        raise errors.invalid_argument(
            f"Second dimension of 2D input must be of size 2, but got shape {shape_text(x.shape)}"
        )
    if x.shape[0] == spatial:
        kept = "HW" if spatial == 2 else "DHW"
        src_format, dst_format = (
            "".join(axis for axis in text if axis in kept) for text in (src_format, dst_format)
        )
        if len(src_format) != spatial or len(dst_format) != spatial:
            raise errors.invalid_argument(
                f"Format specifier must contain {' and '.join(kept)} for {spatial}D case"
            )
    return x[xp.asarray([src_format.index(axis) for axis in dst_format])]
