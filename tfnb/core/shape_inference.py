"""Shape functions, which infer the shapes of an op's outputs while the graph is built.

A shape function takes an :class:`InferenceContext` and returns one ``TensorShape`` or a list with
one per output.  It raises ``ValueError`` for inputs that can never fit.  The stock functions below
serve most ops. Corresponds to TensorFlow's ``shape_inference.h`` and ``common_shape_fns.cc``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfnb.core.process.later import later
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.versions import GRAPH_DEF_VERSION

if TYPE_CHECKING:
    import numpy as np

    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Attr
    from tfnb.core.op_def import OpDef
else:
    node_text = later("tfnb.core.node_text", in_step=True)

type_of_handle_data = Sequence[tuple["DType", TensorShape]]
type_of_shape_function = Callable[["InferenceContext"], "TensorShape | Sequence[TensorShape]"]

UNKNOWN_SHAPE = TensorShape(None)
SCALAR_SHAPE = TensorShape([])
_LARGEST_SIZE = (1 << 63) - 1
# TensorFlow's tensors have no more dimensions than this.
MOST_DIMENSIONS = 254


class InferenceContext:
    """The view of one node that its shape function gets.

    Attributes:
      inputs: the shape of every input tensor, flat.
      input_types: the dtype of every input tensor.
      attrs: the node's attributes as Python values (strings are bytes).
      graph_def_version: the version of the oldest writer of the graph; some ops had another meaning
        in old versions.
    """

    __slots__ = (
        "_constant_as_shape",
        "_constant_value",
        "_input_handle_data",
        "attrs",
        "graph_def_version",
        "input_types",
        "inputs",
        "node_name",
        "op_def",
        "output_handle_data",
    )

    def __init__(
        self,
        op_def: OpDef,
        attrs: Mapping[str, Attr],
        inputs: Sequence[TensorShape],
        input_types: Sequence[DType] = (),
        *,
        node_name: str = "",
        constant_value: Callable[[int], np.ndarray | None] | None = None,
        constant_value_as_shape: Callable[[int], TensorShape] | None = None,
        input_handle_data: Callable[[int], type_of_handle_data | None] | None = None,
        graph_def_version: int = GRAPH_DEF_VERSION,
    ) -> None:
        self.op_def = op_def
        self.attrs = attrs
        self.inputs = inputs
        self.input_types = input_types
        self.node_name = node_name
        self.graph_def_version = graph_def_version
        self._constant_value = constant_value
        self._constant_as_shape = constant_value_as_shape
        self._input_handle_data = input_handle_data
        self.output_handle_data: dict[int, list[tuple[DType, TensorShape]]] = {}

    def attr(self, name: str) -> Attr:
        """Return an attribute; text as str."""
        value = self.attrs[name]
        return value.decode() if isinstance(value, bytes) else value

    def input_range(self, name: str) -> slice:
        """Return the flat positions of a named input."""
        found = self.op_def.input_ranges(self.attrs)[name]
        return slice(found.start, found.stop)

    @property
    def num_outputs(self) -> int:
        """The number of output tensors of the node."""
        return len(self.op_def.output_types(self.attrs))

    def constant_value(self, index: int) -> np.ndarray | None:
        """Return the value of an input if it is known during graph building, else None."""
        return None if self._constant_value is None else self._constant_value(index)

    def constant_value_as_shape(self, index: int) -> TensorShape:
        """Return an input's value read as a shape, as far as it is known.

        Raises:
          ValueError: the input does not have one dimension, or holds a size below -1.
        """
        dims = self.with_rank(index, 1).dim_values
        if self._constant_as_shape is not None:
            return self._constant_as_shape(index)
        value = self.constant_value(index)
        if value is None:
            if dims is not None and dims[0] is not None:
                return shape_of_rank(dims[0])
            return UNKNOWN_SHAPE
        return shape_of_vector(value)

    def input_handle_data(self, index: int) -> type_of_handle_data | None:
        """Return (dtype, shape) that a resource or variant input refers to, or None."""
        return None if self._input_handle_data is None else self._input_handle_data(index)

    def set_output_handle_data(self, index: int, data: type_of_handle_data) -> None:
        """Set (dtype, shape) of the value that a resource or variant output refers to."""
        self.output_handle_data[index] = list(data)

    # -- checks that raise TensorFlow's sentences --------------------------------------------------

    def with_rank(self, index: int, rank: int) -> TensorShape:
        """Return an input's shape; ValueError unless it can have this rank."""
        return require_rank(self.inputs[index], rank)

    def with_rank_at_least(self, index: int, rank: int) -> TensorShape:
        """Return an input's shape; ValueError unless it can have at least this rank."""
        shape = self.inputs[index]
        dims = shape.dim_values
        if dims is not None and len(dims) < rank:
            raise ValueError(f"Shape must be at least rank {rank} but is rank {len(dims)}")
        return shape

    def with_rank_at_most(self, index: int, rank: int) -> TensorShape:
        """Return an input's shape; ValueError unless it can have at most this rank."""
        shape = self.inputs[index]
        dims = shape.dim_values
        if dims is not None and len(dims) > rank:
            raise ValueError(f"Shape must be at most rank {rank} but is rank {len(dims)}")
        return shape


def shape_of_rank(rank: int | None) -> TensorShape:
    """Return a shape of which at most the rank is known.

    Nothing is known if a tensor cannot have this rank: the number comes from a graph, and the op
    fails when it runs.
    """
    if rank is None or rank > MOST_DIMENSIONS:
        return UNKNOWN_SHAPE
    return TensorShape([None] * rank)


def shape_of_vector(sizes: np.ndarray) -> TensorShape:
    """Return the shape with the sizes of a vector; -1 is unknown.

    Nothing is known of a shape with more dimensions than a tensor can have.

    Raises:
      ValueError: a size is below -1.
    """
    return UNKNOWN_SHAPE if sizes.size > MOST_DIMENSIONS else shape_of_sizes(sizes.tolist())


def shape_of_sizes(sizes: Sequence[int]) -> TensorShape:
    """Return the shape with these sizes; -1 is unknown.

    Raises:
      ValueError: a size is below -1.
    """
    for size in sizes:
        if size < -1:
            raise ValueError(f"Invalid value in tensor used for shape: {size}")
    return TensorShape([None if size < 0 else size for size in sizes])


def require_rank(shape: TensorShape, rank: int) -> TensorShape:
    """Return ``shape`` with exactly this rank; all sizes are unknown where the rank was unknown.

    Raises:
      ValueError: it has another rank.
    """
    dims = shape.dim_values
    if dims is None:
        return TensorShape([None] * rank)
    if len(dims) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(dims)}")
    return shape


def require_rank_at_least(shape: TensorShape, rank: int) -> TensorShape:
    """Return ``shape`` with at least this rank.

    Raises:
      ValueError: it has a lower rank.
    """
    dims = shape.dim_values
    if dims is not None and len(dims) < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {len(dims)}")
    return shape


def merge_dims(a: int | None, b: int | None) -> int | None:
    """Return one dimension merged from two: the known size, if either is known.

    Raises:
      ValueError: both are known and differ.
    """
    if a is None:
        return b
    if b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return a


def merge_shapes(a: TensorShape, b: TensorShape) -> TensorShape:
    """Return one shape merged from two, with the known sizes of both.

    Raises:
      ValueError: ranks or dimensions differ.
    """
    x, y = a.dim_values, b.dim_values
    if x is None:
        return b
    if y is None or x == y:
        return a
    if len(x) != len(y):
        raise ValueError(f"Shapes must be equal rank, but are {len(x)} and {len(y)}")
    merged = []
    for index, (p, q) in enumerate(zip(x, y, strict=True)):
        if p is not None and q is not None and p != q:
            raise ValueError(
                f"Dimension {index} in both shapes must be equal, but are {p} and {q}. "
                f"Shapes are {node_text.shape_text(a)} and {node_text.shape_text(b)}."
            )
        merged.append(q if p is None else p)
    return TensorShape(merged)


# ---------------------------------------------------------------------------------- stock functions


def unchanged_shape(c: InferenceContext) -> TensorShape:
    """Return the first input's shape."""
    return c.inputs[0]


def scalar_shape(c: InferenceContext) -> list[TensorShape]:
    """Return a scalar shape for every output."""
    return [SCALAR_SHAPE] * c.num_outputs


def unknown_shapes(c: InferenceContext) -> list[TensorShape]:
    """Return an unknown shape for every output."""
    return [UNKNOWN_SHAPE] * c.num_outputs


def no_outputs(c: InferenceContext) -> list[TensorShape]:
    """Return no shapes, for an op without outputs."""
    return []


def merge_both_inputs(c: InferenceContext) -> TensorShape:
    """Return the one shape that all inputs and the output have."""
    shape = c.inputs[0]
    for other in c.inputs[1:]:
        shape = merge_shapes(shape, other)
    return shape


def broadcast_shape(c: InferenceContext) -> TensorShape:
    """Return the shape that the first two inputs broadcast to."""
    return broadcast_shapes(c.inputs[0], c.inputs[1])


def broadcast_shapes(a: TensorShape, b: TensorShape) -> TensorShape:
    """Return the shape that ``a`` and ``b`` broadcast to, as far as it is known.

    Raises:
      ValueError: a pair of known dimensions differs and neither is 1.
    """
    x, y = a.dim_values, b.dim_values
    if x is None or y is None:
        return UNKNOWN_SHAPE
    if x == y and None not in x:
        return a
    if not y:
        return a
    if not x:
        return b
    size = max(len(x), len(y))
    x = (1,) * (size - len(x)) + x
    y = (1,) * (size - len(y)) + y
    out: list[int | None] = []
    for p, q in zip(x, y, strict=True):
        if p == 1:
            out.append(q)
        elif q == 1:
            out.append(p)
        elif p is None:
            # Where one dimension is known and above 1, the other, if unknown, must be 1 or equal to
            # it.
            out.append(q)
        elif q is None or p == q:
            out.append(p)
        else:
            raise ValueError(f"Dimensions must be equal, but are {p} and {q}")
    return TensorShape(out)


def run_shape_function(
    function: type_of_shape_function | None, c: InferenceContext
) -> list[TensorShape]:
    """Call a shape function and return one shape per output.

    Raises:
      ValueError: the inputs do not fit, or a size exceeds 64 bits.
    """
    if function is None:
        return [UNKNOWN_SHAPE] * c.num_outputs
    found = function(c)
    shapes = [found] if isinstance(found, TensorShape) else list(found)
    check_sizes(shapes)
    return shapes


def check_sizes(shapes: Iterable[TensorShape]) -> None:
    """Refuse shapes with a size that does not fit in 64 bits.

    Raises:
      ValueError: there is a size that does not fit.
    """
    for shape in shapes:
        for size in shape.dim_values or ():
            if size is not None and size > _LARGEST_SIZE:
                raise ValueError(f"Dimension size overflow: {size} is more than 2**63 - 1")
