"""Points that fill a cube evenly: Sobol's sequences, equal to TensorFlow's.

A coordinate of a point is the exclusive or of the direction numbers that the Gray code of the
point's number selects. A dimension's direction numbers follow from a primitive polynomial over two
elements and as many first ones as its degree (Joe and Kuo, 2008). ``sobol_directions.bin`` holds
both for the first dimensions, by degree: the polynomials' inner coefficients, then each first
number's upper bits, bit by bit for all polynomials. For more dimensions SciPy's table is read.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import name_scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {"math": ["sobol_sample"]}

# The number of polynomials of degree 1, 2, ... in the file; the first dimension needs none.
_COUNTS = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630)
_OWN_DIMS = 1 + sum(_COUNTS)
_MAX_DIM = 21200
# Bits of a direction number; the first one is the highest bit.
_BITS = 31
_MAX_INT = 2**31 - 1


def _of_degree(degree: int, bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the direction numbers of polynomials of a degree: one row per number."""
    count = bits.shape[1]
    found = np.zeros((_BITS, count), np.uint32)
    coefficients, rest = bits[: degree - 1], bits[degree - 1 :]
    at = 0
    for k in range(degree):
        number = np.ones(count, np.uint32)
        for place in range(1, k + 1):
            number |= rest[at] << np.uint32(place)
            at += 1
        found[k] = number << np.uint32(_BITS - 1 - k)
    for k in range(degree, _BITS):
        row = found[k - degree] ^ (found[k - degree] >> np.uint32(degree))
        for i in range(1, degree):
            # The coefficient of x**(degree - i); the table begins with x**1.
            row ^= coefficients[degree - i - 1] * found[k - i]
        found[k] = row
    return found


@cache
def _directions() -> NDArray[np.uint32]:
    packed = np.frombuffer(Path(__file__).with_name("sobol_directions.bin").read_bytes(), np.uint8)
    first = np.uint32(1) << np.arange(_BITS - 1, -1, -1, dtype=np.uint32)
    columns = [first[:, None]]
    for degree, count in enumerate(_COUNTS, 1):
        rows = degree - 1 + degree * (degree - 1) // 2
        used = (rows * count + 7) // 8
        bits = np.unpackbits(packed[:used], count=rows * count).reshape(rows, count)
        packed = packed[used:]
        columns.append(_of_degree(degree, bits.astype(np.uint32)))
    return np.concatenate(columns, axis=1)


@cache
def _all_directions() -> NDArray[np.uint32]:
    """Return the direction numbers of all dimensions, from SciPy's table.

    Raises:
      UnimplementedError: SciPy is not installed.
    """
    try:
        folder = resources.files("scipy.stats")
    except ModuleNotFoundError:
        raise errors.unimplemented(
            f"Sobol's sequences of more than {_OWN_DIMS} dimensions need SciPy's table: "
            "pip install scipy"
        ) from None
    with resources.as_file(folder / "_sobol_direction_numbers.npz") as path, np.load(path) as table:
        polynomials, first = table["poly"], table["vinit"]
    columns = [_directions()]
    degrees = np.array([int(one).bit_length() - 1 for one in polynomials])
    for degree in range(len(_COUNTS) + 1, int(degrees.max()) + 1):
        mine = np.flatnonzero(degrees == degree)
        rows = [polynomials[mine] >> place & 1 for place in range(1, degree)]
        rows += [first[mine, k] >> place & 1 for k in range(degree) for place in range(1, k + 1)]
        columns.append(_of_degree(degree, np.array(rows).astype(np.uint32)))
    return np.concatenate(columns, axis=1)


def _sample_shape(c: InferenceContext) -> TensorShape:
    for index in range(3):
        c.with_rank(index, 0)
    known = [c.constant_value(index) for index in (1, 0)]
    return TensorShape([None if value is None else int(value) for value in known])


@register_op(
    "SobolSample",
    "dim: int32, num_results: int32, skip: int32 -> samples: dtype",
    "dtype: {float, double} = DT_FLOAT",
    shape=_sample_shape,
    devices=("CPU",),
)
def sobol_sample_op(xp: Xp, dim: Array, num_results: Array, skip: Array, *, dtype: DType) -> Array:
    """Return points of Sobol's sequence, one in each row."""
    for name, value in (("dim", dim), ("num_results", num_results), ("skip", skip)):
        if value.ndim:
            raise errors.invalid_argument(f"{name} must be a scalar")
    dim, count, skipped = int(dim), int(num_results), int(skip)
    if dim < 1:
        raise errors.invalid_argument("dim must be at least one")
    if dim > _MAX_DIM:
        raise errors.invalid_argument(f"dim must be at most {_MAX_DIM}")
    if count < 1:
        raise errors.invalid_argument("num_results must be at least one")
    if skipped < 0:
        raise errors.invalid_argument("skip must be non-negative")
    if count * dim >= _MAX_INT:
        raise errors.invalid_argument(f"num_results*dim must be less than {_MAX_INT}")
    if skipped >= _MAX_INT - count:
        raise errors.invalid_argument(f"num_results+skip must be less than {_MAX_INT}")
    numbers = np.arange(skipped + 1, skipped + count + 1, dtype=np.uint32)
    picked = (numbers ^ (numbers >> np.uint32(1)))[:, None]
    points = np.zeros((count, dim), np.uint32)
    table = _directions() if dim <= _OWN_DIMS else _all_directions()
    for k, directions in enumerate(table[:, :dim]):
        if not int(numbers[-1]) >> k:
            break
        points ^= (picked >> np.uint32(k) & np.uint32(1)) * directions
    kind = dtype.as_numpy_dtype
    return points.astype(kind) * kind(2.0**-_BITS)


def sobol_sample(
    dim: TensorLike,
    num_results: TensorLike,
    skip: TensorLike = 0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return points of Sobol's sequence in ``dim`` dimensions, after the first ``skip`` ones.

    Returns:
      A tensor of shape ``[num_results, dim]`` with numbers in (0, 1).
    """
    with name_scope(name, "sobol", [dim, num_results, skip]):
        points: Tensor = sobol_sample_op(dim, num_results, skip, dtype=dtype)
    return points
