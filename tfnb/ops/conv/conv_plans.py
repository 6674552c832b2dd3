"""Plans of compiled routines over windows: what their calls of one form have in common.

A plan holds tables of where positions and windows lie, the sizes of the calls, and how images get
their padding.  A convolution that was computed by routines before is found with its plan by one
look (:class:`Ready`): Python's part of a small convolution takes as long as the routine.
"""

from __future__ import annotations

import math
import sys
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tfnb.core.compiled.routines import are_in_use, run_sizes, turn
from tfnb.core.process import forking
from tfnb.core.process.work_sharder import shard
from tfnb.ops.base.compiled_products import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array
    from tfnb.ops.conv.windows import Window

    # Rows, estimated nanoseconds of a row, and further sizes.
    type_of_call = tuple[int, float, tuple[int, ...]]
    type_of_tables = Callable[[Any], tuple[list[Array], list[type_of_call]]]

MOST_POSITIONS: Final = max(ROWS)
"""The most positions of a tile, and cells of a tile of a filter's gradient."""


def offsets(counts: tuple[int, ...], strides: tuple[int, ...], least: int = 1) -> NDArray[np.int64]:
    """Return the offset of each cell of a grid, the last one repeated up to a least number."""
    found = np.zeros(1, np.int64)
    for count, stride in zip(counts, strides, strict=True):
        found = (found[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    if len(found) < least:
        found = np.concatenate([found, np.repeat(found[-1:], least - len(found))])
    return found


class Places:
    """Where positions and windows lie in padded images.

    Attributes:
      count: the number of positions.
      seen: the offset of each position in the images, the last one repeated up to a full tile.
      targets: the offset of each position in the result, or in the gradient of the output.
      cells: the offset of each cell of a window.
      runs: the offset of each run of a window; the numbers of a run lie close to each other.
      length: the numbers of a run.
      nbytes: the memory of these tables.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        windows: Sequence[Window],
        target_strides: tuple[int, ...],
    ) -> None:
        """Compute the tables; strides are in bytes."""
        within = [one // ITEM for one in strides]
        counts = (shape[0], *(w.output for w in windows))
        steps = [s * w.stride for s, w in zip(within[1:-1], windows, strict=True)]
        self.count = math.prod(counts)
        self.seen = offsets(counts, (within[0], *steps), MOST_POSITIONS)
        to = tuple(one // ITEM for one in target_strides[:-1])
        self.targets = offsets(counts, to, MOST_POSITIONS)
        # Cells of the last dimension are a run, unless windows skip some.
        sizes = tuple(w.filter for w in windows)
        across = tuple(s * w.dilation for s, w in zip(within[1:-1], windows, strict=True))
        self.cells = offsets(sizes, across)
        is_joined = windows[-1].dilation == 1 and within[-2] == shape[-1]
        self.runs = offsets(sizes[:-1], across[:-1]) if is_joined else self.cells
        self.length = shape[-1] * (sizes[-1] if is_joined else 1)
        self.nbytes = sum(one.nbytes for one in self.tables())

    def tables(self) -> tuple[Array, ...]:
        """Return all tables."""
        return self.seen, self.targets, self.cells, self.runs


ITEM: Final = 4
"""The bytes of a float32."""
# The tables of the latest convolutions and poolings, and the limit in bytes of each dictionary.
_kept: dict[Any, Places] = {}
_MOST_BYTES = 1 << 26
_lock = threading.Lock()
forking.guard(sys.modules[__name__], "_lock")


def places_of(padded: Array, windows: Sequence[Window], target: Array) -> Places:
    """Return where positions lie in padded images and in a result."""
    key = (padded.shape, padded.strides, tuple(windows), target.strides)
    found = _kept.get(key)
    if found is None:
        found = Places(*key)
        with _lock:
            _kept[key] = found
            while sum(one.nbytes for one in _kept.values()) > _MOST_BYTES:
                del _kept[next(iter(_kept))]
    return found


def lies_close(x: Array) -> Array:
    """Return images of which the channels lie close to each other."""
    is_close = x.strides[-1] == ITEM and not any(one % ITEM for one in x.strides)
    return x if is_close else np.ascontiguousarray(x)


# Elements from which on filling the borders is faster than filling everything.
_LEAST_BORDERS = 1 << 14
# Elements that are worth a thread when images are copied.
_LEAST_COPIED = 1 << 18


def _borders(windows: Sequence[Window]) -> Iterator[tuple[slice, ...]]:
    """Yield the cells of padded images that are padding; those of later dimensions without it."""
    before: tuple[slice, ...] = (slice(None),)
    for w in windows:
        if w.pad_before:
            yield (*before, slice(0, w.pad_before))
        if w.pad_after:
            yield (*before, slice(w.pad_before + w.size, None))
        before = (*before, slice(w.pad_before, w.pad_before + w.size))


class Padding:
    """How images of one shape get the padding of windows.

    Args:
      shape: of the images.
      windows: the windows of the spatial dimensions.
      value: the number in cells that are padding.

    Attributes:
      shape: of the padded images.
      exists: whether there is any padding.
    """

    __slots__ = ("_borders", "_inner", "_value", "exists", "shape")

    def __init__(
        self, shape: tuple[int, ...], windows: Sequence[Window], value: float = 0.0
    ) -> None:
        self._value = value
        self._borders: list[tuple[slice, ...]] = []  # the padding of a large image
        self.exists = any(w.pad_before or w.pad_after for w in windows)
        self.shape = shape[0], *(w.padded for w in windows), shape[-1]
        cells = (slice(w.pad_before, w.pad_before + w.size) for w in windows)
        self._inner = slice(None), *cells
        if math.prod(self.shape) >= _LEAST_BORDERS:
            self._borders = list(_borders(windows))

    def of(self, x: Array) -> Array:
        """Return padded images; the images themselves if there is no padding."""
        if not self.exists:
            return x
        if not self._borders:
            # `np.full` takes a microsecond more.
            padded = np.zeros(self.shape, np.float32)
            if self._value:
                padded.fill(self._value)
            padded[self._inner] = x
            return padded
        padded = np.empty(self.shape, np.float32)

        def work(first: int, last: int) -> None:
            part = padded[first:last]
            for border in self._borders:
                part[border] = self._value
            part[self._inner] = x[first:last]

        shard(len(x), _LEAST_COPIED * len(x) // padded.size + 1, work)
        return padded


@lru_cache(maxsize=256)
def padding_of(shape: tuple[int, ...], windows: tuple[Window, ...]) -> Padding:
    """Return how images get zeros around them."""
    return Padding(shape, windows)


class Plan:
    """What the convolutions of one form have in common: tables, and the calls of routines.

    Args:
      x: the images.
      windows: the windows of the spatial dimensions.
      target: an array whose positions are those of the windows.
      tables: returns the tables and the calls.
      padding: the number in cells that are padding.

    Attributes:
      windows: kept, because forms are known by their identity.
      is_known: whether `plan_of` finds it.
      known_by: the keys by which `ready_for` finds it; both are guarded by the module's lock.
      nbytes: the memory of its tables.
    """

    __slots__ = (
        "_calls", "_is_close", "_padding", "_tables", "is_known", "known_by", "nbytes", "windows"
    )  # fmt: skip

    def __init__(
        self,
        x: Array,
        windows: Sequence[Window],
        target: Array,
        tables: type_of_tables,
        padding: float = 0.0,
    ) -> None:
        self.windows = tuple(windows)
        self.is_known = True
        self.known_by: list[Any] = []
        self._padding = Padding(x.shape, windows, padding)
        self._is_close = x.strides[-1] == ITEM and not any(one % ITEM for one in x.strides)
        # Only its strides are read.
        has_padding = self._padding.exists
        sample = np.empty(self._padding.shape, np.float32) if has_padding else self.padded(x)
        places = places_of(sample, windows, target)
        self._tables, calls = tables(places)
        self._calls = [
            (rows, ns, np.array([0, 0, rows, *sizes], np.int64)) for rows, ns, sizes in calls
        ]
        # Most tables are those of the places.
        own = {id(one): one for one in (*places.tables(), *self._tables)}
        self.nbytes = sum(one.nbytes for one in own.values())

    def padded(self, x: Array) -> Array:
        """Return images with their padding, of which the channels lie close to each other."""
        if self._padding.exists:
            return self._padding.of(x)
        return x if self._is_close else np.ascontiguousarray(x)

    def run(
        self,
        functions: Sequence[Callable[..., None]],
        *arrays: Array,
        after: Sequence[Array] = (),
    ) -> None:
        """Call the functions with arrays, the tables, and the arrays that follow these."""
        given = [*arrays, *self._tables, *after]
        for function, (rows, ns, sizes) in zip(functions, self._calls, strict=True):
            run_sizes(function, given, rows, ns, sizes)


# Plans by what they depend on: shapes, strides, and windows by identity.
_plans: dict[Any, Plan] = {}
_MOST_PLANS = 1024


def plan_of(
    kind: Any,
    x: Array,
    windows: Sequence[Window],
    target: Array,
    tables: type_of_tables,
    padding: float = 0.0,
) -> Plan:
    """Return the plan of a form, which is made at its first use.

    Args:
      kind: what the form depends on beside the other arguments.
      x: the images.
      windows: the windows of the spatial dimensions.
      target: an array whose positions are those of the windows.
      tables: returns the tables and the calls.
      padding: the number in cells that are padding, on which the kind depends.
    """
    key = (kind, x.shape, x.strides, target.strides, *map(id, windows))
    found = _plans.get(key)
    if found is not None:
        return found
    made = Plan(x, windows, target, tables, padding)
    with _lock:
        made = _plans.setdefault(key, made)  # another thread may have been first
        # The oldest ones are forgotten if they are many, or need too much memory.
        while len(_plans) > _MOST_PLANS or sum(one.nbytes for one in _plans.values()) > _MOST_BYTES:
            oldest = _plans.pop(next(iter(_plans)))
            oldest.is_known = False
            for other in oldest.known_by:
                _ready.pop(other, None)
    return made


class Ready:
    """The routines and the plan of convolutions of one form, which they computed before.

    Args:
      plan: the plan.
      functions: the routines.
      shape: the shape of the result.
      taps_of: returns a filter as the routines read it.
    """

    __slots__ = ("_functions", "_plan", "_shape", "_taps_of", "_turn")

    def __init__(
        self,
        plan: Plan,
        functions: Sequence[Callable[..., None]],
        shape: Sequence[int],
        taps_of: Callable[[Array], Array] | None,
    ) -> None:
        self._plan, self._functions, self._shape = plan, functions, tuple(shape)
        self._taps_of = taps_of
        self._turn = turn()

    @property
    def is_in_use(self) -> bool:
        """Whether the routines may be called now."""
        return are_in_use(self._turn)

    def convolve(self, x: Array, kernel: Array, after: Sequence[Array] = ()) -> Array:
        """Return a convolution, given the arrays of what follows it."""
        out = np.empty(self._shape, np.float32)
        taps = kernel if self._taps_of is None else self._taps_of(kernel)
        self._plan.run(self._functions, out, self._plan.padded(x), taps, after=after)
        return out


# The most orders of a filter's memory, and kinds of what follows, of one plan.
_MOST_KEYS = 8
# The key of a convolution has its kind, shapes, strides and the identities of its windows.  Plans
# keep the windows, so that identities are not used again.
_ready: dict[Any, Ready] = {}
_FLOAT = np.dtype(np.float32)


def ready_for(kind: str, x: Array, kernel: Array, windows: Sequence[Window]) -> Ready | None:
    """Return what computed convolutions of this form before, if it may do so again.

    Args:
      kind: what computes them, and what follows.
      x: the images.
      kernel: the filter.
      windows: the windows of the spatial dimensions.
    """
    key = kind, x.shape, x.strides, kernel.shape, kernel.strides, *map(id, windows)
    found = _ready.get(key)
    if found is None or x.dtype is not _FLOAT or kernel.dtype is not _FLOAT:
        return None
    return found if found.is_in_use else None


def keep_ready(
    kind: str,
    x: Array,
    kernel: Array,
    plan: Plan,
    functions: Sequence[Callable[..., None]],
    out: Array,
    taps_of: Callable[[Array], Array] | None = None,
) -> None:
    """Keep what computed a convolution for :func:`ready_for`.

    Args:
      kind: what computed it, and what followed.
      x: the images.
      kernel: the filter.
      plan: the plan.
      functions: the routines.
      out: the result.
      taps_of: returns the filter as the routines read it; if None, they read it where it lies.
    """
    if not out.flags.c_contiguous or not (taps_of or kernel.flags.c_contiguous):
        return
    key = kind, x.shape, x.strides, kernel.shape, kernel.strides, *map(id, plan.windows)
    made = Ready(plan, functions, out.shape, taps_of)
    with _lock:
        if not plan.is_known:
            return
        _ready[key] = made
        if key not in plan.known_by:
            plan.known_by.append(key)
        if len(plan.known_by) > _MOST_KEYS:
            del _ready[plan.known_by.pop(0)]
