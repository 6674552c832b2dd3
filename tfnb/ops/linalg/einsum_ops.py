"""Einstein summation: the Einsum op and tf.einsum, which adds several of them if necessary.

An equation names every axis of the inputs by a letter, ``...`` standing for any number of axes
that are broadcast. Axes that are missing from the output are summed. Corresponds to TensorFlow's
``einsum_op.cc`` and ``special_math_ops.py``.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, broadcast_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math import reduction_ops
from tfnb.ops.math.cwise_unary_ops import conj

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {"tf": ["einsum"], "linalg": ["einsum"]}

_DOTS = "..."


def _parts(equation: str, count: int) -> tuple[list[str], str]:
    """Return the subscripts of the inputs and of the output.

    Raises:
      InvalidArgumentError: the equation does not have one arrow, or has another number of inputs.
    """
    sides = equation.replace(" ", "").split("->")
    if len(sides) != 2:
        raise errors.invalid_argument(f"Expecting exactly one '->' in einsum equation: {equation}")
    inputs = sides[0].split(",")
    if len(inputs) > 2:
        raise errors.invalid_argument(
            f"Expecting 1 or 2 input subscripts in equation '{equation}' but got: {len(inputs)}"
        )
    if len(inputs) != count:
        raise errors.invalid_argument(
            f"Expected {len(inputs)} inputs for equation {equation} but got: {count}"
        )
    return inputs, sides[1]


def _named_axes(labels: str, rank: int) -> tuple[list[str], slice] | None:
    """Return the letter of each axis ("" under the dots) and the position of the dots.

    None if the rank does not fit.
    """
    before, dots, after = labels.partition(_DOTS)
    named = len(before) + len(after)
    if rank < named or (not dots and rank != named):
        return None
    end = rank - len(after)
    return [*before, *[""] * (end - len(before)), *after], slice(len(before), end)


# -------------------------------------------------------------------------------------------- shape


def _einsum_shape(c: InferenceContext) -> TensorShape:
    equation = c.attr("equation")
    try:
        inputs, output = _parts(equation, len(c.inputs))
    except errors.InvalidArgumentError as error:
        raise ValueError(error.message) from None
    sizes: dict[str, int | None] = {}
    dots = TensorShape([])
    is_known = True
    for index, (labels, shape) in enumerate(zip(inputs, c.inputs, strict=True)):
        dims = shape.dim_values
        if dims is None:
            is_known = is_known and _DOTS not in labels
            for letter in labels.replace(_DOTS, ""):
                sizes.setdefault(letter, None)
            continue
        axes = _named_axes(labels, len(dims))
        if axes is None:
            least = "at least " if _DOTS in labels else ""
            raise ValueError(
                f"Shape must be {least}rank {len(labels.replace(_DOTS, ''))} but is rank "
                f"{len(dims)}\n\t for {index}th input and equation: {equation}"
            )
        for letter, size in zip(axes[0], dims, strict=True):
            if letter:
                known = sizes.get(letter)
                if known is not None and size is not None and known != size:
                    raise ValueError(
                        f"Dimensions must be equal, but are {known} and {size}\n\t for "
                        f"equation: {equation}"
                    )
                sizes[letter] = size if known is None else known
        dots = broadcast_shapes(dots, TensorShape(dims[axes[1]]))
    if not is_known and _DOTS in output:
        return UNKNOWN_SHAPE
    before, _, after = output.partition(_DOTS)
    missing = [letter for letter in before + after if letter not in sizes]
    if missing:
        raise ValueError(
            f"Einsum output subscripts contain the label {missing[0]!r} that no input has: "
            f"{equation}"
        )
    if _DOTS not in output and dots.ndims:
        raise ValueError(
            f"Shape must be at most rank 0 but is rank {dots.ndims}\n\t for einsum equation "
            f"'{equation}' without ellipsis (...) in the output subscripts where input(s) have "
            "non-empty broadcasting shape"
        )
    middle = dots.dim_values if _DOTS in output else ()
    assert middle is not None
    return TensorShape([*(sizes[a] for a in before), *middle, *(sizes[a] for a in after)])


# ------------------------------------------------------------------------------------------- kernel


def _check_sizes(equation: str, labels: list[str], operands: Sequence[Array]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for index, (subscripts, operand) in enumerate(zip(labels, operands, strict=True)):
        axes = _named_axes(subscripts, operand.ndim)
        if axes is None:
            raise errors.invalid_argument(
                f"Expected input {index} to have rank {len(subscripts.replace(_DOTS, ''))} but "
                f"got: {operand.ndim} for equation: {equation}"
            )
        for axis, letter in enumerate(axes[0]):
            size = operand.shape[axis]
            # TensorFlow treats an axis of size 0 as one whose size is not known yet.
            known = sizes.setdefault(letter, size)
            if letter and known and known != size:
                raise errors.invalid_argument(
                    f"Expected dimension {known} at axis {axis} of the input shaped "
                    f"{shape_text(operand.shape)} but got dimension {size}"
                )
    return sizes


def _zeros(xp: Xp, labels: str, x: Array, sizes: dict[str, int]) -> Array:
    axes = _named_axes(labels, x.ndim)
    assert axes is not None
    shape = [sizes[a] if a else size for a, size in zip(axes[0], x.shape, strict=True)]
    return xp.zeros(shape, x.dtype)


def _spread_on_diagonal(xp: Xp, value: Array, output: str, plain: str) -> Array:
    """Return `value`, with axes `plain`, on the diagonals of repeated letters, zeros elsewhere."""
    rank = value.ndim - len(plain.replace(_DOTS, ""))
    full = output.replace(_DOTS, "." * rank)
    source = plain.replace(_DOTS, "." * rank)
    middle = len(output.partition(_DOTS)[0])
    sizes = dict(zip(source, value.shape, strict=True))
    dots = value.shape[source.find(".") : source.find(".") + rank] if rank else ()
    shape, index = [], []
    for axis, letter in enumerate(full):
        size = dots[axis - middle] if letter == "." else sizes[letter]
        shape.append(size)
        # A repeated letter gets the same running index on each of its axes.
        place = source.find(letter) if letter != "." else source.find(".") + axis - middle
        index.append(xp.arange(size).reshape([-1 if a == place else 1 for a in range(value.ndim)]))
    result = xp.zeros(shape, value.dtype)
    result[tuple(index)] = value
    return result


@register_op(
    "Einsum",
    "*inputs: N * T -> output: T",
    "equation: string",
    "N: int >= 1",
    "T: type",
    shape=_einsum_shape,
)
def einsum_op(xp: Xp, inputs: Array, *, equation: str) -> Array:
    """Return the sum of products over the letters that the output does not have."""
    labels, output = _parts(equation, len(inputs))
    operands = [xp.asarray(value) for value in inputs]
    dtype = operands[0].dtype
    sizes = _check_sizes(equation, labels, operands)
    if not all(x.size for x in operands):
        operands = [_zeros(xp, *pair, sizes) for pair in zip(labels, operands, strict=True)]
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        operands = [value.astype(np.float32) for value in operands]
    plain = "".join(dict.fromkeys(output.replace(_DOTS, "."))).replace(".", _DOTS)
    if _DOTS not in output:
        labels = [one.replace(_DOTS, "") for one in labels]
        if any(len(one) != x.ndim for one, x in zip(labels, operands, strict=True)):
            raise errors.invalid_argument(
                f"Einsum equation {equation} lacks '...' in the output subscripts, but inputs "
                "have axes there"
            )
    result = xp.einsum(f"{','.join(labels)}->{plain}", *operands, optimize=len(operands) > 1)
    if plain != output:
        result = _spread_on_diagonal(xp, result, output, plain)
    return xp.ascontiguousarray(result).astype(dtype, copy=False).reshape(result.shape)


# ----------------------------------------------------------------------------------------- gradient


def _axis_of(labels: str, letter: str) -> int:
    """Return the position of a letter; after the dots, counted from the end."""
    before, _, after = labels.partition(_DOTS)
    place = before.find(letter)
    return place if place >= 0 else after.find(letter) - len(after)


def _dots_of(labels: str) -> tuple[int, int | None]:
    """Return the first axis under the dots and the first one after them."""
    if _DOTS not in labels:
        return 0, 0
    before, _, after = labels.partition(_DOTS)
    return len(before), -len(after) if after else None


def _repeated(
    grad: TensorLike, have: str, labels: str, shape: TensorLike, summed: str
) -> TensorResult:
    """Return the gradient repeated along the letters of an operand that were summed over.

    Args:
      grad: the gradient, whose axes are `have`.
      have: the subscripts of the gradient.
      labels: the subscripts of the operand.
      shape: the shape of the operand.
      summed: the letters that `grad` does not have.
    """
    axes = [_axis_of(labels, letter) for letter in summed]
    sizes = array_ops.stack([shape[axis] for axis in axes])
    is_plain = len(set(labels)) + len(set(have)) == len(labels) + len(have)
    if is_plain and "".join(letter for letter in labels if letter not in summed) == have:
        kept = reduction_ops.reduced_shape(shape, convert_to_tensor(axes))
        return array_ops.broadcast_to(array_ops.reshape(grad, kept), shape)
    target = array_ops.concat([sizes, array_ops.shape(grad)], axis=0)
    ones = array_ops.ones(len(summed), dtype=dtypes.int32)
    kept = array_ops.concat([ones, array_ops.shape(grad)], axis=0)
    spread = array_ops.broadcast_to(array_ops.reshape(grad, kept), target)
    return einsum_op([spread], equation=f"{summed}{have}->{labels}")


def _letters_beyond(labels: str, known: str) -> str:
    """Return the letters of `labels` that are not in `known`, each once."""
    return "".join(a for a in dict.fromkeys(labels) if a not in known and a != ".")


@einsum_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    equation = op.get_attr("equation")
    equation = equation.decode() if isinstance(equation, bytes) else equation
    left, output = equation.split("->")
    if len(op.inputs) == 1:
        shape = array_ops.shape(op.inputs[0])
        summed = _letters_beyond(left, output)
        if not summed:
            return einsum_op([grad], equation=f"{output}->{left}")
        return _repeated(grad, output, left, shape, summed)
    labels = left.split(",")
    if _DOTS in output:
        labels = [one if _DOTS in one else one + _DOTS for one in labels]
    x, y = op.inputs
    if grad.dtype.is_complex:
        x, y = conj(x), conj(y)
    shapes = array_ops.shape(x), array_ops.shape(y)
    grad_x = _gradient_of_operand(grad, output, y, labels[1], labels[0], shapes[0])
    grad_y = _gradient_of_operand(grad, output, x, labels[0], labels[1], shapes[1])
    if _DOTS not in output:
        return grad_x, grad_y
    dots = [_dots_of(one) for one in labels]
    x_dims, y_dims = x.shape.dim_values, y.shape.dim_values
    if (
        x_dims is not None
        and y_dims is not None
        and None not in x_dims + y_dims
        and x_dims[slice(*dots[0])] == y_dims[slice(*dots[1])]
    ):
        return grad_x, grad_y
    # Axes that were broadcast under the dots are summed.
    axes = array_ops.broadcast_gradient_args(
        *(shape[slice(*place)] for shape, place in zip(shapes, dots, strict=True))
    )
    grad_x = array_ops.reshape(reduction_ops.reduce_sum(grad_x, dots[0][0] + axes[0]), shapes[0])
    grad_y = array_ops.reshape(reduction_ops.reduce_sum(grad_y, dots[1][0] + axes[1]), shapes[1])
    return grad_x, grad_y


def _gradient_of_operand(
    grad: TensorLike,
    output: str,
    other: TensorLike,
    other_labels: str,
    labels: str,
    shape: TensorLike,
) -> TensorResult:
    """Return the gradient of one of two operands.

    It is the product of the output's gradient and the other operand.
    """
    summed = _letters_beyond(labels, output + other_labels)
    kept = "".join(letter for letter in labels if letter not in summed)
    product = einsum_op([grad, other], equation=f"{output},{other_labels}->{kept}")
    return _repeated(product, kept, labels, shape, summed) if summed else product


# --------------------------------------------------------------------------------------- tf.einsum


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> TensorResult:
    """Return the sum of products that an equation like ``"ij,jk->ik"`` defines.

    Args:
      equation: letters for the axes of each input, then for those of the output. Without ``->`` the
        output has the letters that occur once, in alphabetical order. ``...`` stands for
        axes that are broadcast.
      *inputs: the tensors, or one list of them.
      **kwargs: name, and optimize (the order of more than two factors; the greedy one is used).

    Raises:
      ValueError: the equation is wrong, or does not fit the inputs.
      TypeError: a keyword is unknown.
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    kwargs.pop("greedy", None)
    if kwargs:
        raise TypeError(
            f"Invalid keyword arguments for einsum: {', '.join(kwargs)}. Valid arguments: name, "
            "optimize, greedy."
        )
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = tuple(inputs[0])
    if not inputs:
        raise ValueError("Must specify at least one input to einsum")
    with name_scope(name, "einsum", [equation, inputs]):
        tensors = [convert_to_tensor(value) for value in inputs]
        if len({tensor.dtype for tensor in tensors}) > 1:
            found = [tensor.dtype.name for tensor in tensors]
            raise ValueError(f"The inputs of einsum must have one dtype, not {found}")
        labels, output, sizes = _resolved(equation, tensors)
        if len(tensors) <= 2:
            return einsum_op(tensors, equation=_text(labels, output))
        return _contracted(tensors, labels, output, sizes)


def _text(labels: Sequence[str], output: str) -> str:
    return f"{','.join(labels)}->{output}".replace("0", _DOTS)


def _resolved(equation: str, tensors: list[TensorLike]) -> tuple[list[str], str, dict[str, int]]:
    """Return subscripts with 0 for the dots, and the size of every letter."""
    text = equation.replace(" ", "")
    if _DOTS in text:
        if "0" in text:
            raise ValueError(f'Invalid character "0" in equation: {equation}.')
        text = text.replace(_DOTS, "0")
    if not re.fullmatch(r"[a-zA-Z0]*(,[a-zA-Z0]*)*(->[a-zA-Z0]*)?", text):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    if "0" in text and _DOTS not in equation.replace(" ", ""):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    left, arrow, output = text.partition("->")
    labels = left.split(",")
    if len(labels) != len(tensors):
        raise ValueError(
            f'Got {len(tensors)} inputs for equation "{equation}", expecting {len(labels)}'
        )
    counts = Counter(left.replace(",", ""))
    if not arrow:
        output = "".join(sorted(a for a, n in counts.items() if n == 1))
    for letter, count in Counter(output).items():
        if letter not in counts and letter != "0":
            raise ValueError(
                f"Output subscripts contain the label {letter} not present in the input subscripts."
            )
        if count > 1:
            raise ValueError(
                f"Output subscripts contain a label appearing more than once: {equation}"
            )
    sizes: dict[str, int] = {}
    for subscripts, tensor in zip(labels, tensors, strict=True):
        rank = tensor.shape.ndims
        axes = None if rank is None else _named_axes(subscripts.replace("0", _DOTS), rank)
        if axes is not None:
            for letter, size in zip(axes[0], tensor.shape.dim_values, strict=True):
                if letter:
                    sizes[letter] = max(sizes.get(letter, 1), size or 1)
    return labels, output, {letter: sizes.get(letter, 1) for letter in counts}


def _contracted(
    tensors: list[TensorLike], labels: list[str], output: str, sizes: dict[str, int]
) -> TensorResult:
    """Return the result, multiplying two factors at a time in the greedy order."""
    # One letter stands for the dots.
    stand_in = next(a for a in "zyxwvutsrqponmlkjihgfedcba" if a not in sizes)
    sizes = {letter.replace("0", stand_in): size for letter, size in sizes.items()}
    is_product = False  # whether the last factor is a product
    while len(tensors) > 1:
        chosen = _alike(labels, is_product=is_product) or _cheapest(
            [one.replace("0", stand_in) for one in labels], output.replace("0", stand_in), sizes
        )
        picked = [(tensors.pop(i), labels.pop(i)) for i in sorted(chosen, reverse=True)]
        subscripts = [one for _, one in picked]
        wanted = set(output).union(*labels)
        result = "".join(a for a in dict.fromkeys("".join(subscripts)) if a in wanted)
        result = result if tensors else output
        product = einsum_op([x for x, _ in picked], equation=_text(subscripts, result))
        tensors.append(product)
        labels.append(result)
        is_product = True
    return tensors[0]


def _alike(labels: list[str], *, is_product: bool) -> tuple[int, int] | None:
    """Return two factors with the same letters: they are multiplied first, element by element.

    If the last factor is a product and has these letters, it is the second of the two.
    """
    groups: dict[frozenset[str], list[int]] = {}
    for index, one in enumerate(labels):
        groups.setdefault(frozenset(one), []).append(index)
    for letters, members in groups.items():
        if letters and len(members) > 1:
            product = members[-1] if members[-1] == len(labels) - 1 and is_product else members[1]
            return members[0], product
    return None


def _cheapest(labels: list[str], output: str, sizes: dict[str, int]) -> tuple[int, int]:
    """Return the pair that a greedy search multiplies first."""
    if len(labels) == 2:
        return 0, 1
    dummies = [np.broadcast_to(np.float32(0), [sizes[a] for a in one]) for one in labels]
    path, _ = np.einsum_path(f"{','.join(labels)}->{output}", *dummies, optimize="greedy")
    first = path[1]
    # If no pair reduces the cost, NumPy multiplies all factors at once.
    return (first[0], first[1]) if len(first) == 2 else (0, 1)
