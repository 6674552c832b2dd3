"""``scipy.misc`` as it was before SciPy 1.2: pictures as arrays, read and written by Pillow.

Functions that moved to ``scipy.special`` are those of today.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PIL import Image

_OF_SPECIAL = frozenset(("comb", "factorial", "factorial2", "factorialk", "logsumexp"))
# Number of points -> weights of a first and of a second derivative.
_WEIGHTS: dict[int, tuple[list[float], list[float]]] = {
    3: ([-1 / 2, 0, 1 / 2], [1, -2, 1]),
    5: ([1 / 12, -8 / 12, 0, 8 / 12, -1 / 12], [-1 / 12, 16 / 12, -30 / 12, 16 / 12, -1 / 12]),
}
_COLOURS = {3: "RGB", 4: "RGBA"}


def bytescale(
    data: Any, cmin: float | None = None, cmax: float | None = None, high: int = 255, low: int = 0
) -> Any:
    """Return an array as bytes: its smallest value becomes ``low``, its largest ``high``.

    An array of bytes stays as it is.

    Raises:
      ValueError: the limits are no limits of bytes.
    """
    array = np.asarray(data)
    if array.dtype == np.uint8:
        return array
    if not 0 <= low <= high <= 255:
        raise ValueError("`low` and `high` should be in [0, 255], `high` >= `low`.")
    least = array.min() if cmin is None else cmin
    most = array.max() if cmax is None else cmax
    if most < least:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scaled = (array - least) * ((high - low) / ((most - least) or 1.0)) + low
    return (np.clip(scaled, low, high) + 0.5).astype(np.uint8)


def fromimage(im: Image.Image, flatten: bool = False, mode: str | None = None) -> Any:
    """Return a picture of Pillow as an array."""
    if mode is not None and im.mode != mode:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Image.Image:
    """Return an array as a picture of Pillow, scaled to bytes.

    Args:
      arr: two axes, or three of which one has three or four channels.
      high: what the largest value becomes.
      low: what the smallest value becomes.
      cmin: the value that becomes ``low``.
      cmax: the value that becomes ``high``.
      pal: no palette is supported.
      mode: of the picture; "F" and "I" are not scaled.
      channel_axis: which axis has the channels; by default the last that can.

    Raises:
      ValueError: the array has no form of a picture.
    """
    from PIL import Image

    array = np.asarray(arr)
    if pal is not None:
        raise ValueError("a palette is not supported: give an array of three or four channels")
    if array.ndim == 2:
        if mode in ("F", "I"):
            return Image.fromarray(array.astype(np.float32 if mode == "F" else np.int32))
        found = Image.fromarray(bytescale(array, cmin, cmax, high, low))
        return found if mode in (None, "L", "P") else found.convert(mode)
    channels = [axis for axis in range(array.ndim) if array.shape[axis] in _COLOURS]
    if array.ndim != 3 or not channels:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    axis = channel_axis
    if axis is None:
        axis = 2 if 2 in channels else channels[0]
    scaled = np.ascontiguousarray(np.moveaxis(bytescale(array, cmin, cmax, high, low), axis, 2))
    return Image.fromarray(scaled, mode or _COLOURS[scaled.shape[2]])


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """Return the picture of a file as an array."""
    from PIL import Image

    with Image.open(name) as im:
        return fromimage(im, flatten, mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Write an array as a picture, scaled to bytes."""
    toimage(arr, channel_axis=2).save(name, **({} if format is None else {"format": format}))


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """Return a picture in another size.

    Args:
      arr: the picture; other types than bytes are scaled.
      size: percents as an integer, a factor as a float, or height and width.
      interp: "nearest", "lanczos", "bilinear", "bicubic" or "cubic".
      mode: of the picture.
    """
    im = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = size / 100.0
    if isinstance(size, (float, np.floating)):
        width, height = (int(one * size) for one in im.size)
    else:
        height, width = (int(one) for one in size[:2])
    return fromimage(im.resize((width, height), resample=_way(interp)))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    """Return a picture turned against the clock by an angle in degrees."""
    way = _way("nearest" if interp == "lanczos" else interp)
    return fromimage(toimage(arr).rotate(angle, resample=way))


def _way(interp: str) -> Image.Resampling:
    from PIL import Image

    return Image.Resampling["BICUBIC" if interp == "cubic" else interp.upper()]


def derivative(
    func: Callable[..., Any],
    x0: float,
    dx: float = 1.0,
    n: int = 1,
    args: Sequence[Any] = (),
    order: int = 3,
) -> Any:
    """Return a derivative of a function at a point, from central differences.

    Args:
      func: the function, of a number and ``args``.
      x0: the point.
      dx: the distance between points.
      n: 1 or 2, which derivative.
      args: further arguments of the function.
      order: 3 or 5, the number of points.

    Raises:
      ValueError: another number of points or another derivative.
    """
    if order not in _WEIGHTS or n not in (1, 2):
        raise ValueError(f"order must be 3 or 5, and n 1 or 2, not {order} and {n}")
    half = order // 2
    points = (func(x0 + (place - half) * dx, *args) for place in range(order))
    weights = _WEIGHTS[order][n - 1]
    return sum(weight * value for weight, value in zip(weights, points, strict=True)) / dx**n


def __getattr__(name: str) -> Any:
    if name not in _OF_SPECIAL:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scipy import special  # type: ignore[import-untyped]

    return getattr(special, name)
