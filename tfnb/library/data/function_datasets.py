"""Datasets made by functions of elements: the methods of ``Dataset`` that take a function.

The methods document results and errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.library.data.attributes import deterministic_word, flat_attrs, shapes_equal
from tfnb.library.data.dataset import AUTOTUNE, Dataset
from tfnb.library.data.structure import (
    DatasetSpec,
    from_components,
    legacy_types,
    map_specs,
    normalized,
    spec_of,
    to_components,
)
from tfnb.library.data.structured_function import StructuredFunction
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.ops.dataset import dataset_function_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


def mapped(
    source: Dataset,
    map_func: Callable[..., Nested],
    num_parallel_calls: TensorLike,
    deterministic: bool | None,
) -> Dataset:
    """Implement ``Dataset.map``."""
    function = StructuredFunction(map_func, "Dataset.map", source.element_spec)
    given = (source._variant_tensor, function.captured_inputs)
    attrs = {"f": function.attr, **flat_attrs(function.output_spec)}
    if num_parallel_calls is None:
        variant = dataset_function_ops.map_dataset(*given, **attrs)
    else:
        calls = convert_to_tensor(num_parallel_calls, dtypes.int64, name="num_parallel_calls")
        variant = dataset_function_ops.parallel_map_dataset_v2(
            *given,
            calls,
            deterministic=deterministic_word(deterministic),
            **attrs,
        )
    return Dataset(variant, function.output_spec, [source])


def function_of_datasets(
    source: Dataset, map_func: Callable[..., Nested], transformation: str
) -> tuple[StructuredFunction, Any]:
    """Return a function that returns datasets, and the spec of their elements.

    Raises:
      TypeError: the function returns another value.
    """
    function = StructuredFunction(map_func, transformation, source.element_spec)
    if not isinstance(function.output_spec, DatasetSpec):
        raise TypeError(
            f"The `map_func` argument must return a `Dataset` object. Got {function.output_spec!r}."
        )
    return function, function.output_spec.element_spec


def flat_mapped(source: Dataset, map_func: Callable[..., Nested]) -> Dataset:
    """Implement ``Dataset.flat_map``."""
    function, spec = function_of_datasets(source, map_func, "Dataset.flat_map")
    variant = dataset_function_ops.flat_map_dataset(
        source._variant_tensor, function.captured_inputs, f=function.attr, **flat_attrs(spec)
    )
    return Dataset(variant, spec, [source])


def interleaved(
    source: Dataset,
    map_func: Callable[..., Nested],
    cycle_length: TensorLike,
    block_length: TensorLike,
    num_parallel_calls: TensorLike,
    deterministic: bool | None,
) -> Dataset:
    """Implement ``Dataset.interleave``."""
    function, spec = function_of_datasets(source, map_func, "Dataset.interleave")
    numbers = [
        convert_to_tensor(value, dtypes.int64, name=what)
        for value, what in (
            (AUTOTUNE if cycle_length is None else cycle_length, "cycle_length"),
            (1 if block_length is None else block_length, "block_length"),
        )
    ]
    given = (source._variant_tensor, function.captured_inputs)
    attrs = {"f": function.attr, **flat_attrs(spec)}
    if num_parallel_calls is None:
        variant = dataset_function_ops.interleave_dataset(*given, *numbers, **attrs)
    else:
        numbers += [
            convert_to_tensor(value, dtypes.int64, name=what)
            for value, what in (
                (AUTOTUNE, "buffer_output_elements"),
                (AUTOTUNE, "prefetch_input_elements"),
                (num_parallel_calls, "num_parallel_calls"),
            )
        ]
        variant = dataset_function_ops.parallel_interleave_dataset_v4(
            *given, *numbers, deterministic=deterministic_word(deterministic), **attrs
        )
    return Dataset(variant, spec, [source])


def filtered(source: Dataset, predicate: Callable[..., Nested], kind: str, build: Any) -> Dataset:
    """Implement ``Dataset.filter`` and ``take_while``; ``build`` makes the op."""
    function = StructuredFunction(predicate, f"Dataset.{kind}", source.element_spec)
    spec = function.output_spec
    if not (isinstance(spec, TensorSpec) and spec.is_compatible_with(TensorSpec([], dtypes.bool))):
        raise ValueError(
            "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
            f"return type is {spec!r}."
        )
    variant = build(
        source._variant_tensor,
        function.captured_inputs,
        predicate=function.attr,
        **flat_attrs(source.element_spec),
    )
    return Dataset(variant, source.element_spec, [source])


def with_state(
    func: Callable[..., Nested],
    transformation: str,
    state_spec: TensorLike,
    element_spec: Nested,
    check: Callable[[Any], Any],
    state_of: Callable[[Any], Any],
) -> tuple[StructuredFunction, Nested]:
    """Return a function of a state and an element; generalize the state's shape until it holds."""
    while True:
        function = StructuredFunction(
            func, transformation, state_spec, element_spec, make_result=check
        )
        found = state_of(function.output_spec)
        try:
            nest.assert_same_structure(state_spec, found)
            common = map_specs(lambda one, other: one.most_general(other), state_spec, found)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "The element types for the new state must match the initial state. Expected "
                f"{legacy_types(state_spec)}, got {legacy_types(found)}."
            ) from error
        if shapes_equal(common, state_spec):
            return function, state_spec
        state_spec = common


def scanned(source: Dataset, initial_state: Nested, scan_func: Callable[..., Nested]) -> Dataset:
    """Implement ``Dataset.scan``."""
    state = normalized(initial_state)
    state_spec = spec_of(state)

    def check(found: Any) -> Any:
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise TypeError(
                "The scan function must return a pair comprising the new state and the output "
                "value."
            )
        return tuple(found)

    function, state_spec = with_state(
        scan_func, "Dataset.scan", state_spec, source.element_spec, check, lambda spec: spec[0]
    )
    spec = function.output_spec[1]
    variant = dataset_function_ops.scan_dataset(
        source._variant_tensor,
        to_components(state_spec, state),
        function.captured_inputs,
        f=function.attr,
        preserve_cardinality=True,
        **flat_attrs(spec),
    )
    return Dataset(variant, spec, [source])


def reduced(source: Dataset, initial_state: Nested, reduce_func: Callable[..., Nested]) -> Any:
    """Implement ``Dataset.reduce``."""
    with name_scope("initial_state"):
        state = normalized(initial_state)
    function, state_spec = with_state(
        reduce_func, "reduce", spec_of(state), source.element_spec, lambda found: found,
        lambda spec: spec,
    )  # fmt: skip
    results = dataset_function_ops.reduce_dataset(
        source._variant_tensor,
        to_components(state_spec, state),
        function.captured_inputs,
        f=function.attr,
        **flat_attrs(state_spec),
    )
    return from_components(state_spec, results)


def grouped(
    source: Dataset,
    key_func: Callable[..., Nested],
    reduce_func: Callable[..., Nested],
    window_size: TensorLike,
    window_size_func: Callable[..., Nested] | None,
) -> Dataset:
    """Implement ``Dataset.group_by_window``."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError(
            "Either the `window_size` argument or the `window_size_func` argument must be "
            "specified."
        )
    if window_size_func is None:

        def window_size_func(_: Any) -> TensorResult:
            return convert_to_tensor(window_size, dtypes.int64)

    def as_int64(value: TensorLike) -> TensorResult:
        return convert_to_tensor(value, dtypes.int64)

    def key_func_wrapper(*args: Any) -> Any:
        return as_int64(key_func(*args))

    def window_size_func_wrapper(key: TensorLike) -> Any:
        return as_int64(window_size_func(key))

    what = "Dataset.group_by_window"
    scalar = TensorSpec([], dtypes.int64)
    key = StructuredFunction(key_func_wrapper, what, source.element_spec)
    if not key.output_spec.is_compatible_with(scalar):
        raise ValueError(
            "Invalid `key_func`. `key_func` must return a single `tf.int64` scalar tensor but "
            f"its return type is {key.output_spec!r}."
        )
    size = StructuredFunction(window_size_func_wrapper, what, scalar)
    made = StructuredFunction(reduce_func, what, scalar, DatasetSpec(source.element_spec))
    if not isinstance(made.output_spec, DatasetSpec):
        raise TypeError(
            f"Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` "
            f"object but its return type is {made.output_spec!r}."
        )
    spec = made.output_spec.element_spec
    variant = dataset_function_ops.group_by_window_dataset(
        source._variant_tensor,
        key.captured_inputs,
        made.captured_inputs,
        size.captured_inputs,
        key_func=key.attr,
        reduce_func=made.attr,
        window_size_func=size.attr,
        **flat_attrs(spec),
    )
    return Dataset(variant, spec, [source])
