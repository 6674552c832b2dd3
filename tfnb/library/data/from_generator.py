"""Datasets of the elements of a Python generator, through ``py_func``."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_util import convert_to_ndarray
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.structures import nest
from tfnb.library.data.attributes import flat_attrs
from tfnb.library.data.dataset import Dataset
from tfnb.library.data.structure import flat_specs, from_components, map_values, spec_from_legacy
from tfnb.library.data.structured_function import StructuredFunction
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.ops.control.script_ops import py_func
from tfnb.ops.dataset import dataset_source_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.framework.tensor_types import Nested, TensorLike


class _GeneratorState:
    """The active generators, by number; thread safe."""

    def __init__(self, generator: Callable[..., Nested]) -> None:
        self._generator = generator
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._args: dict[int, Any] = {}
        self._iterators: dict[int, Iterator[Any]] = {}

    def begin(self, *args: Any) -> Any:
        """Return a number for a new generator with these arguments."""
        with self._lock:
            number = next(self._numbers)
            self._args[number] = args
        return np.array(number, np.int64)

    def iterator(self, number: int) -> Iterator[Any]:
        """Return the generator of a number; the first call makes it."""
        with self._lock:
            found = self._iterators.get(number)
            args = self._args.pop(number, ())
        if found is None:
            found = iter(self._generator(*args))
            with self._lock:
                self._iterators[number] = found
        return found

    def end(self, number: int) -> None:
        """Forget a generator."""
        with self._lock:
            self._iterators.pop(number, None)
            self._args.pop(number, None)


def from_generator(
    generator: Callable[..., Nested],
    output_types: Nested | None = None,
    output_shapes: Nested | None = None,
    args: Any = None,
    output_signature: Nested | None = None,
) -> Dataset:
    """Return a dataset of the elements of a Python generator.

    Args:
      generator: called without arguments or with arrays of ``args``; returns an iterable. It is
        called again for every epoch.
      output_types: a structure of the dtypes of an element.
      output_shapes: a structure of their shapes.
      args: a tuple of tensors whose values the generator gets as arrays.
      output_signature: a structure of specs, in place of types and shapes.

    Raises:
      TypeError: ``generator`` cannot be called, or dtypes are missing.
    """
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            raise TypeError(
                "The `output_signature` argument can not be used together with the `output_types` "
                "or `output_shapes` arguments."
            )
        spec = output_signature
        for one in flat_specs(spec):
            if not isinstance(one, TensorSpec):
                raise TypeError(
                    "`output_signature` must contain objects of type tf.TensorSpec here, but found "
                    f"{type(one)}."
                )
    elif output_types is None:
        raise TypeError(
            "To specify the output signature you need to provide either the `output_signature` "
            "argument or the `output_types` argument."
        )
    else:
        spec = spec_from_legacy(output_types, output_shapes)
    given = tuple(
        [convert_to_tensor(value, name=f"args_{n}") for n, value in enumerate(args or ())]
    )
    state = _GeneratorState(generator)
    specs = flat_specs(spec)

    def get_iterator_id_fn(unused: Any) -> Any:
        return py_func(state.begin, list(given), dtypes.int64, stateful=True)

    def next_element(number: TensorLike) -> Nested:
        value = next(state.iterator(int(number)))
        return [_component(part, one, value) for part, one in zip(_flat_parts(spec, value), specs)]

    def generator_next_fn(number: TensorLike) -> Any:
        results = py_func(next_element, [number], [one.dtype for one in specs], stateful=True)
        for tensor, one in zip(results, specs):
            tensor.set_shape(one.shape)
        return from_components(spec, results)

    def finalize(number: TensorLike) -> Any:
        state.end(int(number))
        return np.array(0, np.int64)

    def finalize_fn(number: TensorLike) -> Any:
        return py_func(finalize, [number], dtypes.int64, stateful=True)

    what = "Dataset.from_generator"

    def flat_map_fn(dummy: TensorLike) -> Dataset:
        begin = StructuredFunction(get_iterator_id_fn, what, TensorSpec([], dtypes.int32))
        number = TensorSpec(None, dtypes.int64)
        go_on = StructuredFunction(generator_next_fn, what, number)
        end = StructuredFunction(finalize_fn, what, number)
        variant = dataset_source_ops.generator_dataset(
            [dummy, *begin.captured_inputs],
            [*go_on.captured_inputs],
            [*end.captured_inputs],
            init_func=begin.attr,
            next_func=go_on.attr,
            finalize_func=end.attr,
            **flat_attrs(spec),
        )
        return Dataset(variant, spec)

    return Dataset.from_tensors(0).flat_map(flat_map_fn)


def _flat_parts(spec: Nested, value: TensorLike) -> list[Any]:
    """Return the generator's element, part by part.

    Raises:
      TypeError: its structure is not that of the spec.
    """
    try:
        if isinstance(value, list) and isinstance(spec, tuple):
            value = tuple(value)
        return nest.flatten_up_to(spec, value)
    except (TypeError, ValueError) as error:
        types = map_values(lambda one: one.dtype, spec)
        raise TypeError(
            "`generator` yielded an element that did not match the expected structure. The "
            f"expected structure was {types!r}, but the yielded element was {value!r}."
        ) from error


def _component(part: TensorLike, spec: TensorSpec, value: TensorLike) -> Any:
    """Return a part of an element as an array.

    Raises:
      TypeError: it cannot be converted, or its shape differs from the spec.
    """
    try:
        array = convert_to_ndarray(list(part) if isinstance(part, range) else part, spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The "
            f"expected type was {spec.dtype.name}, but the yielded element was {part!r}."
        ) from error
    if not spec.shape.is_compatible_with(np.shape(array)):
        raise TypeError(
            f"`generator` yielded an element of shape {np.shape(array)} where an element of shape "
            f"{spec.shape} was expected."
        )
    return array
