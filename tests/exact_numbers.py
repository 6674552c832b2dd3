"""Inputs of stored answers: numbers with the same bits on every processor.

LAPACK, products of matrices, and functions like `log` and `sin` round differently on different
processors, and so do generators that use them. The functions here use integers and the operations
that IEEE 754 rounds exactly: +, -, *, / and the square root, one at a time, so that no compiler
joins two of them. Only NumPy is imported, because TensorFlow's Python reads the rows, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# pi / 2 in parts of 33 bits; small multiples of the parts are exact.
_HALF_PI = 1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21


def log(x: Any) -> Any:
    """The natural logarithm of positive numbers, within a unit or two in the last place."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    is_low = mantissa < 0.7071067811865476
    mantissa = np.where(is_low, mantissa * 2, mantissa)
    exponent = exponent - is_low
    ratio = (mantissa - 1) / (mantissa + 1)
    square = ratio * ratio
    series = np.zeros_like(square)
    for power in range(25, 1, -2):
        series = (series + 1 / power) * square
    return exponent * _LN2_HIGH + (2 * ratio + (2 * ratio * series + exponent * _LN2_LOW))


def sin(x: Any) -> Any:
    """The sine of numbers below a few thousand, within a unit or two in the last place."""
    return _circle(x, 0)


def cos(x: Any) -> Any:
    """Return the cosine of numbers below a few thousand, within a unit or two in the last place."""
    return _circle(x, 1)


def _circle(x: Any, quarter: int) -> Any:
    x = np.asarray(x, np.float64)
    quarters = np.rint(x / (_HALF_PI[0] + _HALF_PI[1]))
    for part in _HALF_PI:
        x = x - quarters * part
    square = x * x
    sine, cosine = np.zeros_like(x), np.zeros_like(x)
    for power in range(20, 0, -2):
        sine = (1 + sine) * square * (-1 / (power * (power + 1)))
        cosine = (1 + cosine) * square * (-1 / (power * (power - 1)))
    turn = (quarters.astype(np.int64) + quarter) % 4
    found = np.where(turn % 2 == 0, x + x * sine, 1 + cosine)
    return np.where(turn >= 2, -found, found)


def matmul(a: Any, b: Any) -> Any:
    """The product of (batches of) matrices, term after term."""
    found = a[..., :, :1] * b[..., :1, :]
    for index in range(1, a.shape[-1]):
        found = found + a[..., :, index : index + 1] * b[..., index : index + 1, :]
    return found


def cholesky(a: Any) -> Any:
    """The lower triangle L of (batches of) positive matrices, L L^T = a."""
    lower = np.zeros_like(a)
    for row in range(a.shape[-1]):
        for column in range(row + 1):
            rest = a[..., row, column]
            for index in range(column):
                rest = rest - lower[..., row, index] * lower[..., column, index]
            is_diagonal = row == column
            lower[..., row, column] = (
                np.sqrt(rest) if is_diagonal else rest / lower[..., column, column]
            )
    return lower


class RandomNumbers:
    """The numbers of `numpy.random.RandomState`, without the C library's logarithm.

    Uniform and normally distributed numbers and integers come in the order of that generator.
    """

    def __init__(self, seed: int) -> None:
        self._state = np.random.RandomState(seed)
        self._left_over: float | None = None

    def random_sample(self, size: Any = None) -> Any:
        """Uniformly distributed in [0, 1): integers divided by a power of two."""
        return self._state.random_sample(size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """Uniformly distributed in [low, high)."""
        return self._state.random_sample(size) * (high - low) + low

    def randint(self, low: int, high: int, size: Any = None, dtype: Any = int) -> Any:
        """Integers in [low, high)."""
        return self._state.randint(low, high, size, dtype)

    def standard_normal(self, size: Any) -> Any:
        """Normally distributed numbers, by Marsaglia's polar method."""
        shape = (size,) if np.ndim(size) == 0 else tuple(size)
        count = int(np.prod(shape, dtype=np.int64))
        numbers = [] if self._left_over is None or not count else [self._left_over]
        pairs = (count - len(numbers) + 1) // 2
        found = self._pairs(pairs).reshape(-1).tolist()
        numbers += found
        if count:
            self._left_over = numbers[count] if len(numbers) > count else None
        return np.array(numbers[:count], np.float64).reshape(shape)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = ()) -> Any:
        """Return normally distributed numbers with this mean and standard deviation."""
        return self.standard_normal(size) * scale + loc

    def randn(self, *shape: int) -> Any:
        """Return normally distributed numbers, with the shape as arguments."""
        return self.standard_normal(shape)

    def _pairs(self, count: int) -> Any:
        """Return pairs of normally distributed numbers; draw only as many points as needed."""
        found = np.empty((0, 2))
        while len(found) < count:
            points = self._state.random_sample((count - len(found), 2)) * 2.0 - 1.0
            square = points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1]
            is_inside = (square < 1.0) & (square != 0.0)
            points, square = points[is_inside], square[is_inside]
            scale = np.sqrt(-2.0 * log(square) / square)
            found = np.concatenate([found, points[:, ::-1] * scale[:, None]])
        return found
