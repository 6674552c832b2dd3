"""Datasets and iterators at run time, and the elements that pass through them.

A dataset is a variant: a description from which iterators are made.  An iterator's ``get_next`` is
a
generator like a kernel that calls functions: it yields the calls of map, filter and similar ones,
and returns the next element, a tuple of tensors, or None at the end.  The functions of a pipeline
therefore run in the step and thread that request an element, in order: TensorFlow computes some
elements ahead (prefetch, parallel map); here they are computed on request, with the same values.

An iterator keeps its position in fields, not in a suspended generator: an error or an interrupt
ends one ``get_next``, and the following call continues after it.  After an interrupt
(:data:`INTERRUPTS`), map and batch restart with the elements they had taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.dtypes import as_dtype
from tfnb.core.op_kernel import FunctionCall
from tfnb.core.process.records import record
from tfnb.core.process.work_limit import count_round
from tfnb.core.resource_mgr import owned
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr
    from tfnb.core.op_kernel import FunctionCaller, OpKernelContext

Element = tuple[Any, ...]
type_of_next = Generator[FunctionCall, list[Any], Element | None]

# Exceptions that end a get_next whose elements must not be lost.
INTERRUPTS = (GeneratorExit, KeyboardInterrupt)

INFINITE = -1
UNKNOWN = -2

_scope_numbers = itertools.count()


class IteratorScope:
    """The state shared by a pipeline's iterators: the kernels of the functions they call.

    A random op in a mapped function continues its sequence when the pipeline is repeated; another
    iterator over the same dataset has its own sequence.

    Attributes:
      state_handle: the identifier of these kernels in the runtime; "" for shared ones.
      home: the functions of the graph that the pipeline belongs to. On a server, another graph may
        take its elements, which does not know them. None: that graph takes them.
    """

    __slots__ = ("_attrs", "_kept", "home", "state_handle")

    def __init__(self, home: FunctionCaller | None = None, *, is_lasting: bool = True) -> None:
        """Prepare for a pipeline.

        Args:
          home: the functions of its graph.
          is_lasting: whether the functions get kernels of their own; else they share the kernels
            that the pipeline's caller already has.
        """
        self.home = home
        self._kept = None if home is None else home.kept_by_pipelines
        self.state_handle = f"iterator_{next(_scope_numbers)}" if is_lasting else ""
        self._attrs: dict[int, tuple[Attr, dict[str, Attr]]] = {}

    def attrs_of(self, function: NameAttrList) -> Array:
        """Return the attributes that select the function's kernels for this pipeline."""
        if not self.state_handle:
            return function.attrs
        found = self._attrs.get(id(function))
        if found is None:
            # Keeping the function alive keeps its id unique.
            found = function, {**function.attrs, "_state_handle": self.state_handle}
            self._attrs[id(function)] = found
        return found[1]


class DatasetIterator:
    """A position in a dataset."""

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element, or None at the end; yield calls of functions."""
        raise NotImplementedError


class ImmediateIterator(DatasetIterator):
    """A position in a dataset that calls no function."""

    def take(self, ctx: OpKernelContext) -> Element | None:
        """Return the next element, or None at the end."""
        raise NotImplementedError

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element, or None at the end."""
        yield from ()
        return self.take(ctx)


class EachIterator(DatasetIterator):
    """The iterator that transforms each element of another dataset.

    After an interrupt it transforms the interrupted element again.
    """

    def __init__(self, inner: DatasetIterator) -> None:
        self._inner = inner
        self._kept: Element | None = None  # the element of an interrupted call

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next transformed element, or None at the end."""
        element, self._kept = self._kept, None
        if element is None:
            element = yield from self._inner.get_next(ctx)
        if element is None:
            return None
        try:
            return (yield from self.make(element))
        except INTERRUPTS:
            self._kept = element
            raise

    def make(self, element: Element) -> type_of_next:
        """Transform an element; None ends the sequence."""
        raise NotImplementedError


@record(slots=True, eq=False)
class DatasetBase:
    """A dataset as a tensor: a variant.

    Attributes:
      types: dtypes of an element's components.
      shapes: shapes of an element's components.
      make: returns a new iterator, which starts at the first element.
      cardinality: the number of elements, INFINITE or UNKNOWN.
    """

    types: Sequence[DType]
    shapes: Sequence[TensorShape]
    make: Callable[[IteratorScope], DatasetIterator]
    cardinality: int = UNKNOWN

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dataset as a tensor: a scalar."""
        return ()


def as_dataset(value: Array) -> DatasetBase:
    """Return a variant as a dataset.

    Raises:
      InvalidArgumentError: the value is not a dataset.
    """
    if isinstance(value, DatasetBase):
        return value
    raise errors.invalid_argument(
        "Tensor must be a Dataset object. The given variant is not a dataset, but a "
        f"{type(value).__name__}."
    )


def scalar_of(value: Array, name: str) -> Array:
    """Return an input that must be a scalar.

    Raises:
      InvalidArgumentError: the input is not a scalar.
    """
    if np.ndim(value):
        raise errors.invalid_argument(f"{name} must be a scalar")
    return value


def scalar_int(value: Array, name: str) -> int:
    """Return a scalar's value as an int.

    Raises:
      InvalidArgumentError: the input is not a scalar.
    """
    return int(scalar_of(value, name))


def go_on_or_end(ctx: OpKernelContext) -> None:
    """Raise if the step is to end; for loops that may take long.

    Raises:
      OpError: the error that ends the step.
    """
    count_round()
    run_state: Any = ctx.step.run_state
    if getattr(run_state, "stop", None) is not None:
        run_state.heed_stop()


# ---------------------------------------------------------------------------------------- functions


class CapturedFunction:
    """A function with its captured tensors."""

    __slots__ = ("_args", "_function")

    def __init__(self, function: NameAttrList, args: Sequence[Array]) -> None:
        self._function = function
        self._args = [owned(value) for value in args]

    def bound(self, scope: IteratorScope) -> BoundFunction:
        """Return the function with its kernels for a pipeline."""
        return BoundFunction(
            self._function.name, scope.attrs_of(self._function), self._args, scope.home
        )


class BoundFunction:
    """A function ready to be called by an iterator."""

    __slots__ = ("_args", "_attrs", "_home", "_name")

    def __init__(
        self, name: str, attrs: Attr, args: list[Array], home: FunctionCaller | None = None
    ) -> None:
        self._home = home
        self._name = name
        self._attrs = attrs
        self._args = args

    def call(self, values: Sequence[Array]) -> FunctionCall:
        """Return the call for the iterator to yield."""
        return FunctionCall(self._name, self._attrs, [*values, *self._args], home=self._home)


def truth_of(results: Sequence[Array], text: str = "") -> bool:
    """Return a predicate's result.

    Raises:
      InvalidArgumentError: the result is not a bool.
    """
    if len(results) != 1 or np.size(results[0]) != 1 or np.asarray(results[0]).dtype != np.bool_:
        text = text or "Filter predicate `f` must return a scalar bool."
        raise errors.invalid_argument(text)
    return bool(results[0])


def dataset_of(results: Sequence[Array]) -> DatasetBase:
    """Return the dataset that a function returned.

    Raises:
      InvalidArgumentError: the result is not a dataset.
    """
    if len(results) != 1 or not isinstance(results[0], DatasetBase):
        raise errors.invalid_argument("Function must return a single scalar of dtype DT_VARIANT.")
    return results[0]


# ---------------------------------------------------------------------------- tensors of an element


def bracketed(shape: Sequence[int | None] | TensorShape) -> str:
    """Return a shape in the notation of TensorFlow's runtime: [2,?]."""
    dims = shape.dim_values if isinstance(shape, TensorShape) else shape
    if dims is None:
        return "<unknown>"
    return f"[{','.join('?' if size is None else str(size) for size in dims)}]"


def tensor_of(item: Array) -> Array:
    """Return one element of an array as a tensor: a string becomes an array of rank 0."""
    if isinstance(item, bytes):
        out = np.empty((), object)
        out[()] = item
        return out
    return item


def slice_of(value: Array, index: int) -> Array:
    """Return a tensor's slice along its first dimension."""
    return tensor_of(value[index])


def stack(values: Sequence[Array]) -> Array:
    """Stack tensors of one shape along a new first dimension."""
    first = values[0]
    if not hasattr(first, "dtype"):  # variants and resources are not arrays
        out = np.empty(len(values), object)
        for index, value in enumerate(values):
            out[index] = value
        return out
    if first.dtype == object:
        out = np.empty((len(values), *first.shape), object)
        for index, value in enumerate(values):
            out[index] = value[()] if value.ndim == 0 else value
        return out
    return np.stack(values) if first.ndim else np.array(values, first.dtype)


def batched(elements: Sequence[Element]) -> Element:
    """Return batch elements, component by component.

    Raises:
      InvalidArgumentError: shapes differ.
    """
    components = []
    for number, values in enumerate(zip(*elements)):
        shape = np.shape(values[0])
        for index, value in enumerate(values):
            if np.shape(value) != shape:
                raise errors.invalid_argument(
                    f"Cannot batch tensors with different shapes in component {number}. First "
                    f"element had shape {bracketed(shape)} and element {index} had shape "
                    f"{bracketed(np.shape(value))}."
                )
        components.append(stack(values))
    return tuple(components)


def check_element(element: Element, types: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
    """Check that an element has the components a node declares.

    Raises:
      InvalidArgumentError: the number of components, a dtype or a shape differs.
    """
    if len(element) != len(types):
        raise errors.invalid_argument(
            f"Number of components does not match: expected {len(types)} types but got "
            f"{len(element)}."
        )
    for index, (value, dtype, shape) in enumerate(zip(element, types, shapes)):
        kind, wanted_kind = getattr(value, "dtype", None), dtype.numpy_dtype
        # Lists and other variants have no NumPy dtype.
        if kind is not wanted_kind and kind != wanted_kind and isinstance(kind, np.dtype):
            raise errors.invalid_argument(
                f"Data type mismatch at component {index}: expected {_word(dtype)} but got "
                f"{_word(as_dtype(kind))}."
            )
        wanted = shape.dim_values
        if wanted is None:
            continue
        found = value.shape if isinstance(kind, np.dtype) else np.shape(value)
        if wanted == found:
            continue
        if len(wanted) != len(found) or any(
            one is not None and one != other for one, other in zip(wanted, found)
        ):
            raise errors.invalid_argument(
                f"Incompatible shapes at component {index}: expected {bracketed(shape)} but got "
                f"{bracketed(found)}."
            )


def check_signature(
    types: Sequence[DType],
    shapes: Sequence[TensorShape],
    wanted_types: Sequence[DType],
    wanted_shapes: Sequence[TensorShape],
) -> None:
    """Check that the elements of one object have the dtypes and shapes that another expects.

    Raises:
      InvalidArgumentError: they differ.
    """
    if len(types) != len(wanted_types):
        raise errors.invalid_argument(
            f"Number of components does not match: expected {len(wanted_types)} types but got "
            f"{len(types)}."
        )
    for index, (dtype, wanted) in enumerate(zip(types, wanted_types)):
        if dtype is not wanted:
            raise errors.invalid_argument(
                f"Data type mismatch at component {index}: expected {_word(wanted)} but got "
                f"{_word(dtype)}."
            )
    for index, (shape, expected) in enumerate(zip(shapes, wanted_shapes)):
        if not shape.is_compatible_with(expected):
            raise errors.invalid_argument(
                f"Incompatible shapes at component {index}: expected {bracketed(expected)} but "
                f"got {bracketed(shape)}."
            )


def _word(dtype: DType) -> str:
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
