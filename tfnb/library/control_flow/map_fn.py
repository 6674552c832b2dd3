"""A function for each element of a tensor: ``map_fn``, ``foldl``, ``foldr`` and ``scan``.

All of them are while loops over TensorArrays: the elements are unstacked into one, and the results,
where there is one for each element, are stacked from another.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfnb.core.tensor_shape import Dimension, TensorShape, dimension_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import is_composite
from tfnb.library.control_flow.control_flow_values import read_variables
from tfnb.library.control_flow.functions_above import get_variable_scope, map_fn_of_parts
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.library.control_flow.while_loop import while_loop
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.array.shape_ops import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Initializer, Nested, TensorLike

EXPORTS = {"tf": ["foldl", "foldr", "map_fn", "scan"]}


@contextlib.contextmanager
def _variables_cached() -> Iterator[None]:
    """Read variables on the device of their consumers once, not in every iteration."""
    scope = get_variable_scope()
    if scope.caching_device is not None:
        yield
        return
    scope.set_caching_device(lambda op: op.device)
    try:
        yield
    finally:
        scope.set_caching_device(None)


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable. Please provide a callable function.")


def _first_dimension(tensors: Sequence[Tensor]) -> Dimension:
    """Return the number of elements, which must be equal for all of the tensors.

    Raises:
      ValueError: the numbers differ, or a tensor is a scalar.
    """
    found = [
        Dimension(dimension_value(one.get_shape().with_rank_at_least(1)[0])) for one in tensors
    ]
    for other in found[1:]:
        found[0].assert_is_compatible_with(other)
    return found[0]


def _number_of(tensors: Sequence[Tensor], static: int | None) -> Nested:
    whole: Any = shape(tensors[0]) if static is None else None
    return static if static is not None else whole[0]


def map_fn(
    fn: Callable[..., Nested],
    elems: Nested,
    dtype: Nested = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Return the results of ``fn`` for each element, stacked.

    Args:
      fn: takes an element (or a structure of elements, if ``elems`` is a structure) and returns a
        tensor or a structure.
      elems: a tensor, or a structure of tensors with the same first dimension.
      dtype: the types of the results of ``fn``, in their structure; by default those of
        ``elems``.
      parallel_iterations: how many elements may be processed at the same time, 10 if not given.
      back_prop: whether gradients pass.
      swap_memory: whether values kept for the gradient may leave the device.
      infer_shape: whether all results have the same shape.
      name: a name scope for all new nodes.
      fn_output_signature: the newer name of ``dtype``.

    Raises:
      TypeError: ``fn`` cannot be called, or returns another structure than ``dtype``.
      ValueError: ``elems`` is empty, or contains a value without a first dimension.
    """
    _check_callable(fn)
    signature = dtype if fn_output_signature is None else fn_output_signature
    elems = read_variables(elems)
    flat = nest.flatten(elems)
    if not flat:
        raise ValueError(
            "elems must be a Tensor or (possibly nested) sequence of Tensors. Got "
            f"{elems}, which does not contain any Tensors."
        )
    wanted = [] if signature is None else nest.flatten(signature)
    if any(is_composite(one) for one in flat) or any(hasattr(one, "flat_type") for one in wanted):
        return map_fn_of_parts(
            fn, elems, signature, name,
            parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory,
            infer_shape=infer_shape,
        )  # fmt: skip
    with name_scope(name, "map", flat), _variables_cached():
        tensors = [convert_to_tensor(one, name="elem") for one in flat]
        if tensors[0].shape.ndims == 0:
            raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
        static = _first_dimension(tensors)
        n = _number_of(tensors, static.value or None)
        arrays = [_unstacked(one, n) for one in tensors]
        first = constant(0)
        types = [one.dtype for one in tensors] if signature is None else nest.flatten(signature)
        results = [TensorArray(one, size=n, infer_shape=infer_shape) for one in types]

        def compute(i: TensorLike, results: list[TensorArray]) -> Nested:
            values = [array.read(i) for array in arrays]
            result = fn(nest.pack_sequence_as(elems, values))
            nest.assert_same_structure(signature or elems, result)
            pairs = zip(results, nest.flatten(result), strict=True)
            written = [array.write(i, value) for array, value in pairs]
            return i + 1, written

        _, results = while_loop(
            lambda i, _: i < n,
            compute,
            (first, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )
        stacked = [array.stack() for array in results]
        _set_first_dimension(stacked, static)
        return nest.pack_sequence_as(elems if signature is None else signature, stacked)


def _unstacked(
    tensor: Tensor, n: TensorLike, element_shape: TensorLike | None = None
) -> TensorArray:
    array = TensorArray(tensor.dtype, size=n, element_shape=element_shape, infer_shape=True)
    return array.unstack(tensor)


def _set_first_dimension(tensors: Sequence[Tensor], static: Dimension) -> None:
    for one in tensors:
        one.set_shape(TensorShape([static.value]).concatenate(TensorShape(one.get_shape()[1:])))


def foldl(
    fn: Callable[..., Nested],
    elems: Nested,
    initializer: Initializer | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return ``fn(... fn(fn(initializer, elems[0]), elems[1]) ..., elems[n - 1])``.

    Args:
      fn: takes the accumulated value and an element; returns the next accumulated value.
      elems: a tensor, or a structure of tensors with the same first dimension.
      initializer: the first accumulated value; by default, the first element.
      parallel_iterations: how many iterations may overlap.
      back_prop: whether gradients pass.
      swap_memory: whether values kept for the gradient may leave the device.
      name: a name scope for all new nodes.

    Raises:
      TypeError: ``fn`` cannot be called.
    """
    _check_callable(fn)
    with name_scope(name, "foldl", [elems]), _variables_cached():
        n, arrays = _elements(elems)
        if initializer is None:
            start = nest.map_structure(lambda array: array.read(0), arrays)
            first = constant(1)
        else:
            start, first = initializer, constant(0)

        def compute(i: TensorLike, a: TensorLike) -> list[Nested]:
            element = nest.map_structure(lambda array: array.read(i), arrays)
            a = fn(a, element)
            return [i + 1, a]

        return while_loop(
            lambda i, _: i < n,
            compute,
            [first, start],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )[1]


def foldr(
    fn: Callable[..., Nested],
    elems: Nested,
    initializer: Initializer | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return :func:`foldl` from the last element to the first."""
    _check_callable(fn)
    with name_scope(name, "foldr", [elems]), _variables_cached():
        n, arrays = _elements(elems)
        if initializer is None:
            last = n - 1
            start = nest.map_structure(lambda array: array.read(last), arrays)
        else:
            last, start = n, initializer

        def compute(i: TensorLike, a: TensorLike) -> list[Nested]:
            i -= 1
            element = nest.map_structure(lambda array: array.read(i), arrays)
            return [i, fn(a, element)]

        return while_loop(
            lambda i, _: i > 0,
            compute,
            [last, start],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )[1]


def _elements(elems: Nested) -> tuple[Nested, Nested]:
    """Return the number of elements, and TensorArrays of them in the structure of ``elems``."""
    tensors = [convert_to_tensor(one, name="elem") for one in nest.flatten(elems)]
    n = _number_of(tensors, dimension_value(tensors[0].shape[0]) or None)
    return n, nest.pack_sequence_as(elems, [_unstacked(one, n) for one in tensors])


def scan(
    fn: Callable[..., Nested],
    elems: Nested,
    initializer: Initializer | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return all intermediate results of :func:`foldl`, stacked.

    Args:
      fn: takes the accumulated value and an element; returns the next accumulated value.
      elems: a tensor, or a structure of tensors with the same first dimension.
      initializer: the first accumulated value; by default, the first element, which is then also
        the first result.
      parallel_iterations: how many iterations may overlap.
      back_prop: whether gradients pass.
      swap_memory: whether values kept for the gradient may leave the device.
      infer_shape: whether all results have the shape of the initializer.
      reverse: whether to go from the last element to the first; results keep the positions of
        their elements.
      name: a name scope for all new nodes.

    Raises:
      TypeError: ``fn`` cannot be called, or returns another structure.
      ValueError: the first dimensions of ``elems`` differ.
    """
    _check_callable(fn)
    like = elems if initializer is None else initializer
    with name_scope(name, "scan", nest.flatten(elems)), _variables_cached():
        tensors = [convert_to_tensor(one, name="elem") for one in nest.flatten(elems)]
        n = _number_of(tensors, dimension_value(tensors[0].shape[0]))
        arrays = [_unstacked(one, n, TensorShape(one.shape[1:])) for one in tensors]
        if initializer is None:
            start = [array.read(n - 1 if reverse else 0) for array in arrays]
            i: TensorLike = 1
        else:
            start = [convert_to_tensor(one) for one in nest.flatten(initializer)]
            i = 0
        results = [
            TensorArray(
                one.dtype,
                size=n,
                element_shape=one.shape if infer_shape else None,
                infer_shape=infer_shape,
            )
            for one in start
        ]
        if initializer is None:
            pairs = zip(results, start, strict=True)
            results = [array.write(n - 1 if reverse else 0, one) for array, one in pairs]

        def compute(i: TensorLike, a: list[TensorLike], results: list[TensorArray]) -> Nested:
            element = nest.pack_sequence_as(elems, [array.read(i) for array in arrays])
            out = fn(nest.pack_sequence_as(like, a), element)
            nest.assert_same_structure(like, out)
            flat = nest.flatten(out)
            written = [array.write(i, one) for array, one in zip(results, flat, strict=True)]
            return i - 1 if reverse else i + 1, flat, written

        _, _, results = while_loop(
            (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < n),
            compute,
            (n - 1 - i if reverse else i, start, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )
        stacked = [array.stack() for array in results]
        _set_first_dimension(stacked, _first_dimension(tensors))
        return nest.pack_sequence_as(like, stacked)
