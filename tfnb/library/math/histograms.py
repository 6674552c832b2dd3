"""Histograms of values over a range: ``tf.histogram_fixed_width``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math.cwise_binary_ops import maximum, minimum
from tfnb.ops.math.cwise_unary_ops import floor_op
from tfnb.ops.math.histogram_ops import histogram_fixed_width_op
from tfnb.ops.math.math_ops import truediv

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"tf": ["histogram_fixed_width", "histogram_fixed_width_bins"]}


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> TensorResult:
    """Return the index of the bin of a range that each value falls into.

    The indices are int32: as in TensorFlow, ``dtype`` has no effect.
    """
    from tfnb.ops.math.comparison_ops import greater

    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        shape = array_ops.shape(values)
        values = array_ops.reshape(values, [-1])
        value_range = convert_to_tensor(value_range, name="value_range")
        nbins = convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins")
        check = assert_(greater(nbins, 0), [f"nbins {nbins!s} must > 0"])
        nbins = with_dependencies([check], nbins)
        nbins_float = cast(nbins, values.dtype)
        scaled = truediv(
            values - value_range[0], value_range[1] - value_range[0], name="scaled_values"
        )
        places = floor_op(nbins_float * scaled, name="indices")
        places = cast(clip(places, nbins_float), dtypes.int32)
        return array_ops.reshape(places, shape)


def clip(places: TensorLike, nbins: TensorLike) -> TensorResult:
    """Limit indices to the first and the last bin."""
    return maximum(minimum(places, nbins - 1), cast(0, places.dtype))


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> TensorResult:
    """Return the number of values in each of nbins equal bins of a range."""
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return histogram_fixed_width_op(values, value_range, nbins, dtype=dtype, name=scope)
