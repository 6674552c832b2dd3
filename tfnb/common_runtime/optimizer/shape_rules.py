"""Rules that simplify one node: types, shapes and the order of elements.

As in :mod:`arithmetic_rules`, no rule changes a result.  An op that could fail (a reshape that does
not fit, a permutation of the wrong length) is removed only if the graph alone proves that it does
not fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.optimizer.arithmetic_rules import folding_rule, forward, inner_of, rule
from tfnb.common_runtime.optimizer.static_shapes import constant_of, control_inputs_of

if TYPE_CHECKING:
    from tfnb.common_runtime.optimizer.graph_rewriter import GraphRewriter
    from tfnb.core.dtypes import DType
    from tfnb.graph.graph import Node

    type_of_tensor = tuple[Node, int]

# -- types -----------------------------------------------------------------------------------------

# Each type with the types that represent all of its values exactly.
_WIDER: dict[str, frozenset[str]] = {
    name: frozenset(wider.split())
    for name, wider in {
        "bool": "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64",
        "int8": "int16 int32 int64 float16 float32 float64",
        "uint8": "int16 uint16 int32 uint32 int64 uint64 float16 float32 float64",
        "int16": "int32 int64 float32 float64",
        "uint16": "int32 uint32 int64 uint64 float32 float64",
        "int32": "int64 float64",
        "uint32": "int64 uint64 float64",
        "float16": "float32 float64",
        "bfloat16": "float32 float64",
        "float32": "float64",
        "complex64": "complex128",
    }.items()
}


def _fits_into(inner: DType, outer: DType) -> bool:
    return inner is outer or outer.name in _WIDER.get(inner.name, ())


@rule("Cast")
def redundant_cast(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove a cast to the same type or back without loss; merge two casts into one."""
    inputs = rewriter.inputs(node)
    if inputs is None:
        return None
    if node.attrs["SrcT"] is node.attrs["DstT"]:
        return forward(rewriter, node, inputs[0], "is already of its type:", computes=False)
    inner = inner_of(rewriter, node, "Cast")
    if inner is None:
        return None
    sources = rewriter.inputs(inner)
    first, between, last = inner.attrs["SrcT"], inner.attrs["DstT"], node.attrs["DstT"]
    if sources is None or first is between or not _fits_into(first, between):
        return None
    if first is last:
        return forward(
            rewriter, node, sources[0], f"{between.name} and back is", control_inputs_of(inner)
        )
    if not _fits_into(between, last):
        return None
    if (last.is_floating or last.is_complex) and not rewriter.lies_in_order(sources[0]):
        return None
    attrs = {"SrcT": first, "DstT": last, "Truncate": node.attrs["Truncate"]}
    rewriter.become(node, "Cast", attrs, [sources[0]], control_inputs_of(inner))
    return f"'{node.name}' (Cast) does not need the Cast '{inner.name}'"


@rule("Bitcast")
def redundant_bitcast(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove a bitcast to the same type; merge two bitcasts between types of one size."""
    inputs = rewriter.inputs(node)
    if inputs is None:
        return None
    dtype = node.output_types[0]
    if node.input_types[0] is dtype:
        return forward(rewriter, node, inputs[0], "is already of its type:")
    inner = inner_of(rewriter, node, "Bitcast")
    sources = None if inner is None else rewriter.inputs(inner)
    if inner is None or sources is None:
        return None
    first, between = inner.input_types[0], inner.output_types[0]
    if not first.size == between.size == dtype.size:
        return None
    if first is dtype:
        # The result of a bitcast is in C order.
        if not rewriter.lies_in_order(sources[0], c_order=True):
            return None
        return forward(rewriter, node, sources[0], "is the same bytes as", control_inputs_of(inner))
    rewriter.become(
        node, "Bitcast", {"T": first, "type": dtype}, [sources[0]], control_inputs_of(inner)
    )
    return f"'{node.name}' (Bitcast) does not need the Bitcast '{inner.name}'"


# -- order of dimensions ---------------------------------------------------------------------------


def _axes_of(value: Any, rank: int) -> list[int] | None:
    """Return a constant list of axes, counted from the front; None if an op would reject it."""
    if value is None or value.ndim > 1 or value.dtype.kind not in "iu":
        return None
    axes = np.atleast_1d(value).tolist()
    if not all(-rank <= axis < rank for axis in axes):
        return None
    axes = [axis % rank for axis in axes]
    return axes if len(set(axes)) == len(axes) else None


def _permutation(rewriter: GraphRewriter, node: Node) -> tuple[type_of_tensor, list[int]] | None:
    """Return the input of a Transpose and its permutation, if it is known to be valid."""
    inputs = rewriter.inputs(node)
    if inputs is None:
        return None
    rank = rewriter.shapes.rank(inputs[0])
    if not rank:
        return None
    axes = _axes_of(constant_of(inputs[1]), rank)
    return (inputs[0], axes) if axes is not None and len(axes) == rank else None


@rule("Transpose", "ConjugateTranspose")
def redundant_transpose(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove a transpose that moves nothing, or that undoes another one."""
    found = _permutation(rewriter, node)
    if found is None:
        return None
    conjugates = node.op == "ConjugateTranspose" and node.output_types[0].is_complex
    tensor, axes = found
    inputs = rewriter.inputs(node)
    assert inputs is not None
    controls = _controls_of_constant(inputs[1])
    if axes == sorted(axes) and not conjugates:
        return forward(rewriter, node, tensor, "moves nothing in", controls, computes=False)
    inner = tensor[0]
    if inner.op != node.op:
        return None
    before = _permutation(rewriter, inner)
    if before is None:
        return None
    first = rewriter.inputs(inner)
    assert first is not None
    if [before[1][axis] for axis in axes] != sorted(axes):
        return None
    controls += [*control_inputs_of(inner), *_controls_of_constant(first[1])]
    return forward(
        rewriter, node, before[0], f"takes '{inner.name}' back:", controls, computes=conjugates
    )


@rule("Conj")
def conjugate_of_transpose(rewriter: GraphRewriter, node: Node) -> str | None:
    """Replace Conj of Transpose by ConjugateTranspose."""
    inner = inner_of(rewriter, node, "Transpose")
    if inner is None or not rewriter.has_one_consumer(inner) or inner.name in rewriter.targets:
        return None
    inputs = rewriter.inputs(inner)
    if (
        inputs is None
        or not node.output_types[0].is_complex
        or _permutation(rewriter, inner) is None
    ):
        return None
    attrs = {"T": inner.attrs["T"], "Tperm": inner.attrs["Tperm"]}
    rewriter.become(node, "ConjugateTranspose", attrs, inputs, control_inputs_of(inner))
    return f"'{node.name}' (Conj) of '{inner.name}' (Transpose) became ConjugateTranspose"


@rule("ReverseV2")
def redundant_reverse(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove a reversal of no axis, or one that undoes another."""
    inputs = rewriter.inputs(node)
    rank = None if inputs is None else rewriter.shapes.rank(inputs[0])
    if inputs is None or rank is None:
        return None
    axes = _axes_of(constant_of(inputs[1]), rank)
    if axes is None:
        return None
    if not axes:
        controls = _controls_of_constant(inputs[1])
        return forward(rewriter, node, inputs[0], "reverses nothing in", controls, computes=False)
    inner = inputs[0][0]
    if inner.op != "ReverseV2":
        return None
    first = rewriter.inputs(inner)
    before = None if first is None else _axes_of(constant_of(first[1]), rank)
    if first is None or before is None or sorted(before) != sorted(axes):
        return None
    controls = [
        *_controls_of_constant(inputs[1]),
        *control_inputs_of(inner),
        *_controls_of_constant(first[1]),
    ]
    why = f"takes '{inner.name}' back:"
    return forward(rewriter, node, first[0], why, controls, computes=False)


# -- shapes ----------------------------------------------------------------------------------------


@folding_rule("Reshape", "BroadcastTo")
def reshape_to_the_same(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove a reshape or broadcast to the shape that its input already has."""
    inputs = rewriter.inputs(node)
    if inputs is None:
        return None
    shape = rewriter.shapes.dims(inputs[0])
    if shape is None or shape != rewriter.shapes.dims((node, 0)):
        return None
    if not _is_shape_for(constant_of(inputs[1]), shape):
        return None
    controls = _controls_of_constant(inputs[1])
    return forward(rewriter, node, inputs[0], "already has the shape:", controls)


@rule("Reshape")
def reshape_of_reshape(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove the inner one of two reshapes, if it cannot fail."""
    inner = inner_of(rewriter, node, "Reshape", "ExpandDims", "Squeeze")
    inputs, sources = rewriter.inputs(node), None if inner is None else rewriter.inputs(inner)
    if inner is None or inputs is None or sources is None or not _surely_fits(rewriter, inner):
        return None
    dtype = node.output_types[0]
    if (dtype.is_floating or dtype.is_complex) and not rewriter.lies_in_order(
        sources[0], c_order=True
    ):
        return None
    attrs = {key: value for key, value in node.attrs.items() if not key.startswith("_")}
    controls = control_inputs_of(inner)
    for one in sources[1:]:
        controls += _controls_of_constant(one)
    rewriter.become(node, "Reshape", attrs, [sources[0], inputs[1]], controls)
    return f"'{node.name}' (Reshape) does not need the {inner.op} '{inner.name}'"


def _surely_fits(rewriter: GraphRewriter, inner: Node) -> bool:
    """Return whether a reshaping node cannot fail."""
    sources = rewriter.inputs(inner)
    assert sources is not None
    if inner.op == "Reshape":
        value = constant_of(sources[1])
        if value is None or value.ndim != 1:
            return False
        # [-1], [1, -1], [-1, 1, 1] fit any tensor.
        sizes = value.tolist()
        if sizes.count(-1) == 1 and sizes.count(1) == len(sizes) - 1:
            return True
        dims = rewriter.shapes.dims(sources[0])
        return (
            dims is not None
            and min(sizes, default=0) >= 0
            and int(np.prod(sizes, dtype=np.int64)) == int(np.prod(dims, dtype=np.int64))
        )
    dims, after = rewriter.shapes.dims(sources[0]), rewriter.shapes.dims((inner, 0))
    return dims is not None and after is not None


def _is_shape_for(value: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a constant requests this shape; one size may be -1."""
    if value is None or value.ndim != 1 or value.shape[0] != len(shape):
        return False
    sizes = value.tolist()
    if sizes.count(-1) > 1 or (-1 in sizes and 0 in shape):
        return False
    return all(size in (-1, dim) for size, dim in zip(sizes, shape))


@rule("Squeeze", "ExpandDims")
def expanded_and_squeezed(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove an ExpandDims and a Squeeze that undo each other, in either order."""
    inner = inner_of(rewriter, node, "ExpandDims" if node.op == "Squeeze" else "Squeeze")
    sources = None if inner is None else rewriter.inputs(inner)
    inputs = rewriter.inputs(node)
    if inner is None or sources is None or inputs is None:
        return None
    before = rewriter.shapes.dims(sources[0])
    between, after = rewriter.shapes.dims((inner, 0)), rewriter.shapes.dims((node, 0))
    if before is None or between is None or after != before:
        return None
    if node.op == "ExpandDims" and constant_of(inputs[1]) is None:
        return None
    if node.op == "Squeeze" and constant_of(sources[1]) is None:
        return None
    controls = control_inputs_of(inner)
    for one in (*inputs[1:], *sources[1:]):
        controls += _controls_of_constant(one)
    why = f"takes '{inner.name}' back:"
    return forward(rewriter, node, sources[0], why, controls, computes=False)


@folding_rule("Tile", "Pad", "PadV2", "MirrorPad", "Slice")
def whole_tensor(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove a tiling by 1, a padding of size 0, or a slice of the whole tensor."""
    inputs = rewriter.inputs(node)
    if inputs is None:
        return None
    dims = rewriter.shapes.dims(inputs[0])
    if dims is None:
        return None
    rank = len(dims)
    arguments = [constant_of(one) for one in inputs[1:]]
    if any(value is None for value in arguments):
        return None
    first: Any = arguments[0]
    if node.op == "Tile":
        is_whole = first.shape == (rank,) and bool((first == 1).all())
    elif node.op == "Slice":
        sizes: Any = arguments[1]
        is_whole = (
            first.shape == sizes.shape == (rank,)
            and not first.any()
            and all(size in (-1, dim) for size, dim in zip(sizes.tolist(), dims))
        )
    else:
        is_whole = first.shape == (rank, 2) and not first.any()
        is_whole = is_whole and (node.op != "PadV2" or arguments[1].ndim == 0)  # type: ignore[union-attr]
    dtype = node.output_types[0]
    if not is_whole:
        return None
    if (dtype.is_floating or dtype.is_complex) and not rewriter.lies_in_order(
        inputs[0], c_order=True
    ):
        return None
    controls = [control for one in inputs[1:] for control in _controls_of_constant(one)]
    return forward(rewriter, node, inputs[0], "is all of", controls)


@folding_rule("Split")
def split_in_one(rewriter: GraphRewriter, node: Node) -> str | None:
    """Replace a Split into one part by its input."""
    inputs = rewriter.inputs(node)
    if inputs is None or node.num_outputs != 1:
        return None
    rank = rewriter.shapes.rank(inputs[1])
    axis = constant_of(inputs[0])
    if rank is None or axis is None or axis.ndim != 0 or not -rank <= int(axis) < rank:
        return None
    controls = _controls_of_constant(inputs[0])
    return forward(rewriter, node, inputs[1], "is the only part of", controls)


@folding_rule("Sum", "Prod", "Mean", "Max", "Min", "All", "Any")
def reduction_of_no_axis(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove a reduction over no axis."""
    inputs = rewriter.inputs(node)
    axes = None if inputs is None else constant_of(inputs[1])
    if inputs is None or axes is None or axes.shape != (0,):
        return None
    controls = _controls_of_constant(inputs[1])
    return forward(rewriter, node, inputs[0], "reduces no axis of", controls, computes=False)


@folding_rule("EnsureShape")
def ensured_shape(rewriter: GraphRewriter, node: Node) -> str | None:
    """Remove an EnsureShape if the graph alone proves that the shape fits."""
    inputs = rewriter.inputs(node)
    dims = None if inputs is None else rewriter.shapes.dims(inputs[0])
    if inputs is None or dims is None:
        return None
    wanted = node.attrs["shape"].dim_values
    if wanted is not None:
        if len(wanted) != len(dims):
            return None
        if any(size not in (None, dim) for size, dim in zip(wanted, dims)):
            return None
    return forward(rewriter, node, inputs[0], "surely has the shape:", computes=False)


def _controls_of_constant(tensor: type_of_tensor) -> list[Node]:
    node, _ = tensor
    return control_inputs_of(node) if node.is_constant else []
