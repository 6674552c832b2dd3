"""Convolutions between SpaceToBatchND and BatchToSpaceND, as dilated convolutions.

``tf.nn.convolution`` with a dilation rate makes these three nodes, and in one spatial dimension an
ExpandDims and a Squeeze around the convolution.  They are a convolution whose filter has gaps: the
block is the dilation, and the paddings less the crops are its padding.  Each sum has the same terms
in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.lowering.recognise.program import Compute

# The ops of the first and the last of these nodes.
_FIRST = "SpaceToBatchND"
_TO_SPACE = "BatchToSpaceND"


@record(slots=True)
class Gaps:
    """The nodes around a convolution, as arguments of a cluster.

    Attributes:
      before: how many arguments belong to the nodes before it.
      is_line: whether an ExpandDims and a Squeeze make images of one row.
    """

    before: int
    is_line: bool

    def split(self, args: Sequence[Any]) -> tuple[tuple[Any, Mapping[str, Any]], Any, Any] | None:
        """Return (images, attributes of the convolution), the filter, and the other arguments.

        None if the nodes do not fit: they run, and report errors.
        """
        x, block, paddings = args[:3]
        kernel, block_after, crops = args[self.before : self.before + 3]
        found = self._attributes(x, block, paddings, block_after, crops)
        if found is None:
            return None
        return (x[:, None] if self.is_line else x, found), kernel, args[self.before + 3 :]

    def _attributes(
        self, x: Any, block: Any, paddings: Any, block_after: Any, crops: Any
    ) -> Mapping[str, Any] | None:
        for arg in (x, block, paddings, block_after, crops):
            if arg.__class__ is not np.ndarray:
                return None
        count = len(block) if block.ndim == 1 else 0
        if x.ndim != (3 if self.is_line else 4) or not 1 <= count <= x.ndim - 2:
            return None
        if not paddings.shape == crops.shape == (count, 2):
            return None
        sides = block.tolist()
        if block_after.tolist() != sides:
            return None
        pairs = [(0, 0)] * self.is_line
        rates = [1] * self.is_line
        rows = zip(x.shape[1:], sides, paddings.tolist(), crops.tolist(), strict=False)
        for size, side, (before, after), (first, last) in rows:
            if min(side - 1, first, last, before - first, after - last) < 0:
                return None
            if (size + before + after) % side:
                return None
            pairs.append((before - first, after - last))
            rates.append(side)
        missing = 2 - len(rates)
        pairs += [(0, 0)] * missing
        rates += [1] * missing
        return {
            "strides": [1, 1, 1, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, *pairs[0], *pairs[1], 0, 0],
            "dilations": [1, *rates, 1],
        }


def gaps_of(members: Sequence[Compute]) -> Gaps | None:
    """Return the nodes around a convolution that is one of these members, if there are any."""
    if members[0].item.op != _FIRST:
        return None
    is_line = members[1].item.op == "ExpandDims"
    return Gaps(len(members[0].args) + is_line, is_line)


def begins(compute: Compute) -> bool:
    """Return whether a node puts space into the batch."""
    return compute.item.op == _FIRST


def ends(compute: Compute) -> bool:
    """Return whether a node puts the batch into space."""
    return compute.item.op == _TO_SPACE


def makes_rows(compute: Compute, constants: Mapping[str, Any]) -> bool:
    """Return whether a node makes images of one row from [batch, width, channels]."""
    if compute.item.op != "ExpandDims" or len(compute.args) != 2:
        return False
    axis = constants.get(compute.args[1])
    return axis is not None and np.ndim(axis) == 0 and int(axis) in (1, -3)


def drops_rows(compute: Compute) -> bool:
    """Return whether a node takes the one row out of images."""
    kernel = compute.item.kernel
    if compute.item.op != "Squeeze" or kernel is None:
        return False
    return list(kernel.attrs.get("squeeze_dims", ())) in ([1], [-3])


def has_single_steps(attributes: Mapping[str, Any]) -> bool:
    """Return whether a convolution of images reads each cell, and nothing around them."""
    steps = (*attributes["strides"], *attributes["dilations"])
    is_of_images = len(steps) == 8  # volumes have strides of five dimensions
    return is_of_images and attributes["padding"] in ("VALID", b"VALID") and set(steps) == {1}
