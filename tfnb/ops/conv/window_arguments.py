"""Arguments that convolutions and pools share: numbers per dimension, and paddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import PaddingLike, TensorLike


def spread_over_dims(
    value: TensorLike, num_spatial: int, channel_index: int, name: str
) -> list[Any]:
    """Return a number, or one per spatial dimension, as one per dimension of the input.

    Raises:
      ValueError: the count is not 1, the number of spatial dimensions, or the number of dimensions.
    """
    if value is None:
        return [1] * (num_spatial + 2)
    values: list[TensorLike] = [*value] if hasattr(value, "__len__") else [value]
    if len(values) == num_spatial + 2:
        return values
    if len(values) == 1:
        values = values * num_spatial
    elif len(values) != num_spatial:
        raise ValueError(
            f"{name} should be of length 1, {num_spatial} or {num_spatial + 2}. Received: "
            f"{name}={values} of length {len(values)}"
        )
    return [1, 1, *values] if channel_index == 1 else [1, *values, 1]


def convert_padding(padding: PaddingLike, expected_length: int = 4) -> tuple[Any, list[int]]:
    """Convert a padding word or list of pairs to (the padding attr, explicit paddings).

    Raises:
      ValueError: the list has another form.
    """
    if padding == "EXPLICIT":
        raise ValueError(
            "'EXPLICIT' is not a valid value for `padding`. To use explicit padding, `padding` "
            "must be a list."
        )
    if not isinstance(padding, (list, tuple)):
        return padding, []
    explicit: list[int] = []
    message = "When `padding` is a list, each element of `padding` must be a list/tuple of size 2. "
    for index, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)):
            raise ValueError(
                f"{message}Received: padding={padding} with element at index {index} of type "
                f"{type(pair)}"
            )
        if len(pair) != 2:
            raise ValueError(
                f"{message}Received: padding={padding} with element at index {index} of size "
                f"{len(pair)}"
            )
        explicit.extend(pair)
    if len(padding) != expected_length:
        raise ValueError(
            f"When padding is a list, it must be of size {expected_length}. Received: "
            f"padding={padding} of size {len(padding)}"
        )
    return "EXPLICIT", explicit
