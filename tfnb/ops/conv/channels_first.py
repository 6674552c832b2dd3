"""Kernels of sliding windows for NCHW and NCDHW, made of the kernels for NHWC and NDHWC.

``also_channels_first`` registers a kernel for the nodes of an op whose channels come second.  It
moves the channels of images, and the entries of sizes, strides and paddings, to the end, and calls
the op's own kernel; ``channel_order.py`` says why this costs few copies.  TensorFlow computes
NCHW on GPUs only.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.channel_order import (
    channel_vectors_refused,
    channels_to_second,
    contiguous_channels_last,
)
from tfnb.ops.conv.windows import explicit_pairs

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.core.op_registry import OpDefinition

_FIRST = {4: "NCHW", 5: "NCDHW"}
_LAST = {4: "NHWC", 5: "NDHWC"}


def also_channels_first(
    op: OpDefinition, *, images: str, sizes: str = "", makes_image: bool = True, rank: int = 4
) -> None:
    """Register the kernel of an op for nodes whose channels come second.

    Args:
      op: the op, with its kernel for channels last.
      images: the kernel's parameters that are images or volumes, separated by spaces.
      sizes: its parameters that are vectors of one number per dimension, separated by spaces.
      makes_image: whether the output is an image or volume; a filter's gradient is none.
      rank: 4 for images, 5 for volumes.
    """
    kernel = op.function
    assert kernel is not None
    code = kernel.__code__
    names = code.co_varnames[1 : code.co_argcount]
    image_at = [names.index(name) for name in images.split()]
    sizes_at = [names.index(name) for name in sizes.split()]
    data_format = _FIRST[rank]

    @wraps(kernel)
    def channels_first(xp: Xp, *inputs: Array, **attrs: Attr) -> Array:
        args: list[Any] = list(inputs)
        for place in image_at:
            if args[place].ndim == rank:
                args[place] = contiguous_channels_last(xp, args[place])
        for place in sizes_at:
            if args[place].shape == (rank,):
                args[place] = args[place][_order(rank)]
        try:
            result = kernel(xp, *args, **_attrs_of_last(rank, attrs))
        except errors.OpError as error:
            error.add_note(
                f"The node has the data format {data_format}. The sizes above are in the order "
                f"{_LAST[rank]}, in which it is computed."
            )
            raise
        return channels_to_second(result) if makes_image else result

    op.kernel("CPU", "GPU", data_format=data_format)(channels_first)


def refuses_channel_vectors(op: OpDefinition) -> None:
    """Register the kernel of an op for nodes of NCHW_VECT_C: an error."""
    kernel = op.function
    assert kernel is not None

    @wraps(kernel)
    def refuse(xp: Xp, *inputs: Array, **attrs: Attr) -> Array:
        raise channel_vectors_refused(op.name)

    op.kernel("CPU", "GPU", data_format="NCHW_VECT_C")(refuse)


@lru_cache(maxsize=8)
def _order(rank: int) -> list[int]:
    """Return the positions, in a list of one entry per dimension, with the channels last."""
    return [0, *range(2, rank), 1]


def _attrs_of_last(rank: int, attrs: dict[str, Attr]) -> dict[str, Attr]:
    """Return the attributes of the node that computes the same with the channels last."""
    found = dict(attrs)
    for name in ("ksize", "strides", "dilations"):
        values = attrs.get(name)
        if values is not None and len(values) == rank:
            found[name] = [values[place] for place in _order(rank)]
    paddings = attrs.get("explicit_paddings")
    if paddings and len(paddings) == 2 * rank:
        pairs = explicit_pairs(paddings, rank)
        found["explicit_paddings"] = [one for place in _order(rank) for one in pairs[place]]
    if "data_format" in attrs:
        found["data_format"] = _LAST[rank]
    return found
