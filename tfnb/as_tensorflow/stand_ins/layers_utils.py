"""``tensorflow.python.layers``, and Keras' ``tf_utils``: helpers of layers."""

from __future__ import annotations

from typing import Any

from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.smart_cond import smart_cond, smart_constant_value

smart_cond = smart_cond
constant_value = smart_constant_value


def convert_data_format(data_format: str, ndim: int) -> str:
    """Return TensorFlow's name of a data format, "NHWC" for "channels_last" with two dimensions.

    Raises:
      ValueError: the format or the number of dimensions is unknown.
    """
    spatial = {3: "W", 4: "HW", 5: "DHW"}.get(ndim)
    if spatial is None:
        raise ValueError(f"Input rank not supported: {ndim}")
    if data_format == "channels_last":
        return f"N{spatial}C"
    if data_format == "channels_first":
        return f"NC{spatial}"
    raise ValueError(f"Invalid data_format: {data_format}")


def normalize_data_format(value: str) -> str:
    """Return a data format in small letters.

    Raises:
      ValueError: it is neither "channels_first" nor "channels_last".
    """
    found = value.lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(
            "The `data_format` argument must be one of 'channels_first', 'channels_last'. "
            f"Received: {value}"
        )
    return found


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Return ``n`` numbers: the given ones, or one number n times.

    Raises:
      ValueError: the value is neither a number nor ``n`` numbers.
    """
    if isinstance(value, int):
        return (value,) * n
    try:
        found = tuple(int(one) for one in value)
    except (TypeError, ValueError):
        found = ()
    if len(found) != n:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
        )
    return found


def normalize_padding(value: str) -> str:
    """Return "valid", "same" or "causal".

    Raises:
      ValueError: it is none of them.
    """
    found = value.lower()
    if found not in ("valid", "same", "causal"):
        raise ValueError(
            f"The `padding` argument must be one of 'valid', 'same'. Received: {value}"
        )
    return found


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return the length of a convolution's output along one dimension."""
    if input_length is None:
        return None
    window = filter_size + (filter_size - 1) * (dilation - 1)
    length = input_length if padding in ("same", "causal") else input_length - window + 1
    if padding == "full":
        length = input_length + window - 1
    return (length + stride - 1) // stride


def deconv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """Return the length of a transposed convolution's output along one dimension."""
    if input_length is None:
        return None
    length = input_length * stride
    if padding == "valid":
        length += max(filter_size - stride, 0)
    elif padding == "full":
        length -= stride + filter_size - 2
    return length


_SYMBOLIC: list[type] = []


def register_symbolic_tensor_type(cls_type: type) -> None:
    """Remember that instances of a class stand for tensors."""
    if cls_type not in _SYMBOLIC:
        _SYMBOLIC.append(cls_type)


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return whether a value is a tensor of a graph, or an instance of a registered class."""
    return isinstance(tensor, (Tensor, *_SYMBOLIC))
