"""Draws the parts of random calls: dtypes, shapes, values with edges among them, axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Sample, op
from tfnb.core import op_registry

Maker = Callable[["Draw", str], Sample]
MAKERS: dict[str, Maker] = {}


def calls(names: str) -> Callable[[Maker], Maker]:
    """Register the maker of random calls of these ops."""

    def register(maker: Maker) -> Maker:
        for name in names.split():
            MAKERS[name] = maker
        return maker

    return register


class Draw:
    """Random parts of calls from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.RandomState(seed % 2**32)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.random.random_sample() < probability)

    def one(self, options: Sequence[Any] | str) -> Any:
        """One of the options; words of a string."""
        items = options.split() if isinstance(options, str) else options
        return items[self.random.randint(len(items))]

    def number(self, low: int, high: int) -> int:
        """An integer between low and high, both included."""
        return int(self.random.randint(low, high + 1))

    def types(self, name: str, attr: str = "T", without: str = "") -> str:
        """A type that the op's declaration allows for the attr."""
        definition = op_registry.get(name).op_def
        allowed = next(a.allowed for a in definition.attrs if a.name == attr)
        words = [getattr(t, "name", str(t)) for t in allowed or ()] or list(_ALL)
        skipped = without.split()
        words = [w for w in words if w in _ALL and w not in skipped]
        # Plain floats have the most kernels.
        return str(self.one(words + [w for w in ("float32", "float64", "int32") if w in words]))

    def shape(self, least: int = 0, most: int = 4, size: int = 5) -> tuple[int, ...]:
        """A shape: often small, sometimes with dimensions of 0 or 1, seldom of high rank."""
        rank = self.number(least, most)
        if self.chance(0.06) and most >= 4:
            rank = self.number(5, 7)
            return tuple(self.number(1, 2) for _ in range(rank))
        dims = [self.number(1, size) for _ in range(rank)]
        if dims and self.chance(0.12):
            dims[self.number(0, rank - 1)] = 0
        if dims and self.chance(0.2):
            dims[self.number(0, rank - 1)] = 1
        return tuple(dims)

    def broadcastable(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts with this one (nearly always)."""
        dims = [1 if self.chance(0.3) else d for d in shape]
        dims = dims[self.number(0, len(dims)) :] if self.chance(0.3) else dims
        if self.chance(0.05):
            dims = [2, *dims]
        if self.chance(0.05) and dims:
            dims[-1] += 1
        return tuple(dims)

    def values(
        self, word: str, shape: tuple[int, ...], edges: float = 0.3, scale: float = 2.0
    ) -> Any:
        """Return an array of the type; with the probability `edges` it has extreme values."""
        target = np.dtype(NUMPY_TYPES[word])
        size = int(np.prod(shape))
        if word == "string":
            found = np.empty(size, object)
            found[:] = [self.text() for _ in range(size)]
            return found.reshape(shape)
        if target.kind == "b":
            return self.random.randint(0, 2, shape).astype(bool)
        with np.errstate(all="ignore"):
            if target.kind in "iu":
                info = np.iinfo(target)
                low = 0 if info.min == 0 else -7
                array = self.random.randint(low, 8, shape).astype(target)
                if self.chance(edges):
                    extreme = [info.min, info.max, 0, 1, info.max // 2, info.min // 2 + 1]
                    self._sprinkle(array, np.array(extreme, target))
                return array
            if target.kind == "c":
                # Products and quotients of complex infinities depend on the compiler of TensorFlow.
                real = np.nan_to_num(
                    self.values("float64", shape, edges, scale), posinf=2, neginf=-3
                )
                real = np.clip(real, -30, 30)
                # The sign of an imaginary zero decides on which side of a branch cut a number is.
                imaginary = self.values("float64", shape, 0, scale) + 0.0
                array = np.empty(shape, np.complex128)
                array.real, array.imag = real, imaginary
                return array.astype(target)
            array = (self.random.normal(size=shape) * scale).astype(target)
            if self.chance(edges):
                extreme = [
                    0.0,
                    -0.0,
                    np.inf,
                    -np.inf,
                    np.nan,
                    1,
                    -1,
                    0.5,
                    -0.5,
                    1.5,
                    2.5,
                    1e-3,
                    1e4,
                ]
                self._sprinkle(np.atleast_1d(array), np.array(extreme).astype(target))
            if self.chance(0.1):
                array = np.round(array.astype(np.float64)).astype(target)
            return np.asarray(array)

    def _sprinkle(self, array: Any, extreme: Any) -> None:
        flat = array.reshape(-1)
        chosen = self.random.random_sample(flat.shape) < 0.3
        flat[chosen] = extreme[self.random.randint(len(extreme), size=int(chosen.sum()))]

    def text(self) -> bytes:
        """A short byte string."""
        words = (
            b"",
            b"a",
            b"abc",
            b"Hello World",
            b" x ",
            b"1.5",
            b"-7",
            b"\xc3\xa4",
            b"\xff",
            b"a,b",
        )
        return (
            bytes(self.one(words))
            if self.chance(0.7)
            else bytes(self.random.bytes(self.number(0, 6)))
        )

    def positive(self, word: str, shape: tuple[int, ...]) -> Any:
        """Numbers above zero."""
        return (np.abs(self.values(word, shape, 0)) + np.array(0.1, NUMPY_TYPES[word])).astype(
            NUMPY_TYPES[word]
        )

    def axis(self, rank: int) -> int:
        """An axis of an array of this rank, sometimes counted from the end, seldom outside."""
        if rank == 0 or self.chance(0.02):
            return self.number(-1 - rank, rank)
        return self.number(-rank, rank - 1)

    def axes(self, rank: int) -> Any:
        """Several different axes."""
        chosen = [a - (rank if self.chance(0.3) else 0) for a in range(rank) if self.chance(0.5)]
        if self.chance(0.02):
            chosen.append(self.number(-1 - rank, rank))
        return np.array(chosen, self.one([np.int32, np.int64]))

    def indices(self, shape: tuple[int, ...], limit: int, word: str | None = None) -> Any:
        """Indices below the limit; seldom one outside."""
        target = NUMPY_TYPES[word or self.one("int32 int64")]
        array = self.random.randint(0, max(limit, 1), shape).astype(target)
        if self.chance(0.03) and array.size:
            np.atleast_1d(array).reshape(-1)[-1] = limit if self.chance(0.5) else -1
        return np.asarray(array, target)


_ALL = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "bool", "complex64", "complex128", "string",
)  # fmt: skip

__all__ = ["MAKERS", "Draw", "Many", "calls", "op"]
