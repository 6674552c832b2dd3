"""Arguments and sizes of layers that move a window: convolutions and pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import TensorLike


def sizes_of(value: TensorLike, count: int, name: str, allow_zero: bool = False) -> tuple[int, ...]:
    """Return one integer for each of ``count`` dimensions, from one integer or from ``count``.

    >>> sizes_of(3, 2, "kernel_size")
    (3, 3)

    Raises:
      ValueError: the value has another form.
    """
    text = f"The `{name}` argument must be a tuple of {count} integers. Received: {value}"
    if isinstance(value, int):
        found: tuple[Any, ...] = (value,) * count
    else:
        try:
            found = tuple(value)
        except TypeError:
            raise ValueError(text) from None
        if len(found) != count:
            raise ValueError(text)
    for size in found:
        try:
            int(size)
        except (ValueError, TypeError):
            raise ValueError(f"{text} including element {size} of type {type(size)}") from None
    bad = {size for size in found if size < 0 or (size == 0 and not allow_zero)}
    if bad:
        raise ValueError(
            f"{text} including {bad} that does not satisfy the requirement "
            f"`{'>= 0' if allow_zero else '> 0'}`."
        )
    return tuple(int(size) for size in found)


def checked_data_format(value: TensorLike) -> str:
    """Return ``channels_last`` or ``channels_first``, in lower case.

    Raises:
      ValueError: it is neither.
    """
    found = str(value).lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(
            "The `data_format` argument must be one of "
            f'"channels_first", "channels_last". Received: {value}'
        )
    return found


def checked_padding(value: TensorLike, *others: str) -> str:
    """Return ``valid``, ``same`` or one of ``others``, in lower case.

    Raises:
      ValueError: it is none of them.
    """
    found = str(value).lower()
    if found not in ("valid", "same", *others):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", '
            f"only for `Conv1D). Received: {found}"
        )
    return found


def format_of_ops(data_format: str, rank: int) -> str:
    """Return the ops' name of a format, ``NHWC``, for ``rank`` spatial dimensions."""
    spatial = "DHW"[-rank:]
    return f"N{spatial}C" if data_format == "channels_last" else f"NC{spatial}"


def output_length(
    length: int | None, window: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return the number of positions of a window."""
    if length is None:
        return None
    reach = window + (window - 1) * (dilation - 1)
    places = length if padding in ("same", "causal") else length - reach + 1
    return (places + stride - 1) // stride


def transposed_length(length: Any, window: int, padding: str, stride: int) -> Any:
    """Return the length whose convolution has ``length`` positions; a tensor for a tensor."""
    if length is None:
        return None
    length *= stride
    return length + max(window - stride, 0) if padding == "valid" else length


def channels_of(input_shape: ShapeLike, axis: int, text: str | None = None) -> int:
    """Return the size of the channel axis.

    Raises:
      ValueError: it is unknown.
    """
    shape = TensorShape(input_shape)
    size = None if shape.ndims is None else shape.as_list()[axis]
    if size is None:
        raise ValueError(
            f"{text or 'The channel dimension of the inputs should be defined.'} The input_shape "
            f"received is {shape}, where axis {axis} (0-based) is the channel dimension, which "
            "found to be `None`."
        )
    return int(size)


def with_spatial(
    input_shape: ShapeLike, data_format: str, spatial: list[int | None], channels: TensorLike
) -> TensorShape:
    """Return a shape of the same batch with other spatial sizes, and other channels if given."""
    sizes = TensorShape(input_shape).as_list()
    if data_format == "channels_last":
        return TensorShape([sizes[0], *spatial, channels or sizes[-1]])
    return TensorShape([sizes[0], channels or sizes[1], *spatial])


def spatial_of(input_shape: ShapeLike, data_format: str) -> list[int | None]:
    """Return the spatial sizes of a shape."""
    sizes = TensorShape(input_shape).as_list()
    return sizes[1:-1] if data_format == "channels_last" else sizes[2:]
