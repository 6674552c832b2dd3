"""``tf.vectorized_map``: maps a function over slices of tensors, with results of any type.

TensorFlow rewrites the function's ops into ops over all slices together; here they run slice by
slice in a loop, with the same results. The types of the results are known only after the body has
been built, so the TensorArrays for them are created then, outside of the loop; one flow orders the
writes to all of them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, dimension_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import is_composite
from tfnb.library.control_flow.control_flow_values import read_variables
from tfnb.library.control_flow.while_context import WhileContext
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.array.gather_ops import gather
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.array.where_ops import where_v2
from tfnb.ops.containers.tensor_array_ops import (
    tensor_array_gather_v3,
    tensor_array_read_v3,
    tensor_array_scatter_v3,
    tensor_array_v3,
    tensor_array_write_v3,
)
from tfnb.ops.math.comparison_ops import greater
from tfnb.ops.math.math_ops import add_n
from tfnb.ops.math.reduction_ops import reduce_max
from tfnb.ops.math.sequence_ops import range_

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"tf": ["vectorized_map"]}


def vectorized_map(
    fn: Callable[[Nested], Nested],
    elems: Nested,
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> Any:
    """Stack the results of ``fn`` for each slice of ``elems``.

    Behaves as ``pfor`` of TensorFlow's ``parallel_for/control_flow_ops.py``: if the first dimension
    of a tensor is 1, every call gets its only slice. Random ops draw slice by slice, so their
    numbers differ from TensorFlow's.

    Args:
      fn: takes a slice, or a structure of slices like ``elems``, and returns tensors.
      elems: tensors or ragged tensors, or a structure of these, with the same first dimension or 1.
      fallback_to_while_loop: ignored; there is always a loop.
      warn: ignored.

    Returns:
      The structure that ``fn`` returns; each tensor has an additional first dimension.

    Raises:
      IndexError: a tensor is a scalar.
      ValueError: there are no tensors.
      InvalidArgumentError: at run time, if one tensor has fewer slices than another.
    """
    elems = nest.map_structure(_tensor_of, read_variables(elems))
    with name_scope(None, "vectorized_map"):
        rows = [_Rows(one) for one in nest.flatten(elems)]
        static, count = _number_of_slices(rows)
        results = _Results(count)

        def body(i: TensorLike, flow: TensorLike) -> Nested:
            found = fn(nest.pack_sequence_as(elems, [one.slice(i) for one in rows]))
            return i + 1, results.write(i, flow, found)

        context = WhileContext(parallel_iterations=10)
        start = constant(0), constant(0.0)
        # Uses Switch and Merge also inside functions: the results are arrays, not loop variables.
        _, flow = context.build_loop(lambda i, _: i < count, body, start, None, True)
        return results.stacked(flow, static)


def _tensor_of(value: TensorLike) -> TensorResult:
    from tfnb.library.ragged.ragged_tensor import RaggedTensor

    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value)


class _Rows:
    """A tensor that is read slice by slice."""

    def __init__(self, value: TensorLike) -> None:
        self._spec: Nested = None
        if is_composite(value):
            from tfnb.library.data.structure import spec_of

            self._spec = spec_of(value)
            value = self._spec.to_rows(value)
        self.tensor: Tensor = value
        if self._spec is not None:
            self.static = self._spec.shape[0].value
        elif value.shape.rank == 0:
            raise IndexError(
                "list index out of range: `elems` are sliced along their first dimension, and "
                f"{value} is a scalar."
            )
        else:
            known = value.shape.rank is not None
            self.static = dimension_value(value.shape[0]) if known else None
        known = value.shape.rank is not None
        self._shape = TensorShape(value.shape[1:]) if known else TensorShape(None)
        if self.static == 1:
            self._only = gather(value, 0)
            return
        # A TensorArray, so that the gradient is one of slices, not of whole tensors.
        size, dtype = self.count(), value.dtype.base_dtype
        self._handle, flow = tensor_array_v3(
            size, dtype=dtype, element_shape=self._shape, clear_after_read=False
        )
        self._flow = tensor_array_scatter_v3(self._handle, range_(size), value, flow)

    def count(self) -> TensorResult:
        """Return the number of slices, computed at run time."""
        return shape(self.tensor)[0]

    def slice(self, i: TensorLike) -> Any:
        """Return slice ``i``; always the first one if there is only one."""
        if self.static == 1:
            found = self._only
        else:
            if self.static is None:
                i = where_v2(greater(self.count(), 1), i, 0)
            dtype = self.tensor.dtype.base_dtype
            found = tensor_array_read_v3(self._handle, i, self._flow, dtype=dtype)
            found.set_shape(self._shape)
        return found if self._spec is None else self._spec.unbatched().from_component(found)


def _number_of_slices(rows: list[_Rows]) -> tuple[int | None, Nested]:
    known = [one.static for one in rows]
    if None not in known:
        most = max(known)
        return most, constant(most, dtypes.int32)
    return None, reduce_max(convert_to_tensor([one.count() for one in rows]))


class _Results:
    """The TensorArrays for the results of all slices.

    Attributes:
      structure: the structure of the results of one slice; None in it stays None.
    """

    def __init__(self, count: TensorLike) -> None:
        self._graph, self._count = get_default_graph(), count
        self._context = self._graph._get_control_flow_context()
        self.structure: Nested = None
        self._specs: list[Nested] = []
        # (handle, dtype, shape of a slice)
        self._arrays: list[tuple[Tensor, Any, TensorShape]] = []

    def write(self, i: TensorLike, flow: TensorLike, found: Any) -> Any:
        """Write the results of a slice; return the flow after the writes."""
        self.structure, flows = found, []
        for one in nest.flatten(found):
            if one is None:
                continue
            spec, tensor = _component_of(one)
            with _built_outside(self._graph, self._context):
                handle, _ = tensor_array_v3(self._count, dtype=tensor.dtype.base_dtype)
            self._specs.append(spec)
            self._arrays.append((handle, tensor.dtype.base_dtype, tensor.shape))
            flows.append(tensor_array_write_v3(handle, i, tensor, flow))
        return add_n(flows) if flows else flow

    def stacked(self, flow: TensorLike, static: int | None) -> Any:
        """Return the stacked results of all slices."""
        indices, found = range_(self._count), []
        for (handle, dtype, one), spec in zip(self._arrays, self._specs, strict=True):
            tensor = tensor_array_gather_v3(handle, indices, flow, dtype=dtype, element_shape=one)
            tensor.set_shape(TensorShape([static]).concatenate(one))
            found.append(tensor if spec is None else spec.batched(static).from_component(tensor))
        whole = iter(found)
        flat = [None if one is None else next(whole) for one in nest.flatten(self.structure)]
        return nest.pack_sequence_as(self.structure, flat)


def _component_of(value: TensorLike) -> tuple[Nested, Tensor]:
    """Return the spec of a composite value, and the tensor that represents it."""
    from tfnb.framework.indexed_slices import IndexedSlices

    if not is_composite(value) or isinstance(value, IndexedSlices):
        return None, convert_to_tensor(value)
    from tfnb.library.data.structure import spec_of

    spec = spec_of(value)
    return spec, spec.to_component(value)


@contextlib.contextmanager
def _built_outside(graph: Graph, context: Any) -> Iterator[None]:
    """Open a context that adds new ops outside of the loop's body."""
    inside = graph._get_control_flow_context()
    graph._set_control_flow_context(context)
    try:
        # Control dependencies of the body do not apply to these ops.
        with graph.control_dependencies(None):
            graph._set_control_flow_context(context)
            yield
    finally:
        graph._set_control_flow_context(inside)
