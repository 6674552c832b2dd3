"""Datasets that call functions of the graph: map, filter, flat_map, interleave, scan and others."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import owned
from tfnb.ops.dataset.dataset_iterators import (
    UNKNOWN,
    BoundFunction,
    CapturedFunction,
    DatasetBase,
    DatasetIterator,
    EachIterator,
    IteratorScope,
    as_dataset,
    check_element,
    dataset_of,
    go_on_or_end,
    scalar_int,
    truth_of,
)
from tfnb.ops.dataset.dataset_sequence_ops import check_parallel_calls
from tfnb.ops.dataset.dataset_source_ops import (
    METADATA,
    OUTPUTS,
    RowsIterator,
    components_of_dataset,
    scalar_handle,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.ops.dataset.dataset_iterators import Element, type_of_next

_IN = "input_dataset: variant, other_arguments: Targuments"
_FUNCTION = ("f: func", "Targuments: list(type) >= 0", *OUTPUTS)


# ---------------------------------------------------------------------------------------------- map


class MapIterator(EachIterator):
    """The iterator of the results of a function for each element."""

    def __init__(
        self, inner: DatasetIterator, function: BoundFunction, preserve_cardinality: bool
    ) -> None:
        super().__init__(inner)
        self._function, self._preserve_cardinality = function, preserve_cardinality

    def make(self, element: Element) -> type_of_next:
        """Return f of an element; the function may raise OutOfRange to end the sequence."""
        try:
            return tuple((yield self._function.call(element)))
        except errors.OutOfRangeError as error:
            _end_with(error, self._preserve_cardinality)
            return None


def _end_with(error: errors.OutOfRangeError, preserve_cardinality: bool) -> None:
    """Convert a function's OutOfRangeError to the end of the sequence, or to another error."""
    if preserve_cardinality:
        raise errors.invalid_argument(
            f"Function invocation produced OutOfRangeError: {error.message}"
        ).naming(error.named_node) from error


def _map(
    input_dataset: Variant,
    other_arguments: list[Array],
    f: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    preserve_cardinality: bool,
) -> DatasetBase:
    source, function = as_dataset(input_dataset), CapturedFunction(f, other_arguments)
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: MapIterator(source.make(scope), function.bound(scope), preserve_cardinality),
        # Without ``preserve_cardinality``, f may end the sequence.
        source.cardinality if preserve_cardinality else UNKNOWN,
    )


@register_op(
    "MapDataset", f"{_IN} -> handle: variant", *_FUNCTION,
    "use_inter_op_parallelism: bool = true", "preserve_cardinality: bool = false",
    "force_synchronous: bool = false", METADATA, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def map_dataset(
    xp: Xp,
    input_dataset: Variant,
    other_arguments: list[Array],
    *,
    f: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    preserve_cardinality: bool = False,
) -> Variant:
    """Return f of every element."""
    return _map(
        input_dataset, other_arguments, f, output_types, output_shapes, preserve_cardinality
    )


def _parallel_map(
    xp: Xp,
    input_dataset: Variant,
    other_arguments: list[Array],
    num_parallel_calls: Array,
    *,
    f: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    preserve_cardinality: bool = False,
) -> Variant:
    """Return f of every element, in order.

    Raises:
      InvalidArgumentError: the number of calls is 0 or below -1.
    """
    check_parallel_calls(num_parallel_calls)
    return _map(
        input_dataset, other_arguments, f, output_types, output_shapes, preserve_cardinality
    )


parallel_map_dataset = register_op(
    "ParallelMapDataset", f"{_IN}, num_parallel_calls: int32 -> handle: variant", *_FUNCTION,
    "use_inter_op_parallelism: bool = true", "sloppy: bool = false",
    "preserve_cardinality: bool = false", METADATA, shape=scalar_handle, devices=("CPU",),
)(_parallel_map)  # fmt: skip
parallel_map_dataset_v2 = register_op(
    "ParallelMapDatasetV2", f"{_IN}, num_parallel_calls: int64 -> handle: variant", *_FUNCTION,
    "use_inter_op_parallelism: bool = true", "deterministic: string = 'default'",
    "preserve_cardinality: bool = false", "use_unbounded_threadpool: bool = false", METADATA,
    shape=scalar_handle, devices=("CPU",),
)(_parallel_map)  # fmt: skip


# ------------------------------------------------------------------------------ filter, take_while


class _FilterIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator, predicate: BoundFunction, ends: bool) -> None:
        self._inner, self._predicate, self._ends = inner, predicate, ends
        self._is_over = False

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element for which the predicate holds."""
        while not self._is_over:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                return None
            text = "`predicate` must returns a scalar bool tensor." if self._ends else ""
            if truth_of((yield self._predicate.call(element)), text):
                return element
            self._is_over = self._ends
            go_on_or_end(ctx)
        return None


def _filtering(ends: bool) -> Array:
    def kernel(
        xp: Xp,
        input_dataset: Variant,
        other_arguments: list[Array],
        *,
        predicate: NameAttrList,
        output_types: list[DType],
        output_shapes: list[TensorShape],
    ) -> Variant:
        """Return the elements for which a predicate holds, or those before the first failure."""
        source, function = as_dataset(input_dataset), CapturedFunction(predicate, other_arguments)
        return DatasetBase(
            output_types,
            output_shapes,
            lambda scope: _FilterIterator(source.make(scope), function.bound(scope), ends),
        )

    return kernel


_PREDICATE = ("predicate: func", "Targuments: list(type) >= 0", *OUTPUTS)
filter_dataset = register_op(
    "FilterDataset", f"{_IN} -> handle: variant", *_PREDICATE, METADATA, shape=scalar_handle,
    devices=("CPU",),
)(_filtering(ends=False))  # fmt: skip
take_while_dataset = register_op(
    "TakeWhileDataset", f"{_IN} -> handle: variant", *_PREDICATE, METADATA, shape=scalar_handle,
    devices=("CPU",),
)(_filtering(ends=True))  # fmt: skip
experimental_take_while_dataset = register_op(
    "ExperimentalTakeWhileDataset", f"{_IN} -> handle: variant", *_PREDICATE, shape=scalar_handle,
    devices=("CPU",),
)(_filtering(ends=True))  # fmt: skip


@register_op(
    "ParallelFilterDataset", f"{_IN}, num_parallel_calls: int64 -> handle: variant",
    "predicate: func", "deterministic: string = 'default'", "Targuments: list(type) >= 0",
    *OUTPUTS, METADATA, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def parallel_filter_dataset(
    xp: Xp,
    input_dataset: Variant,
    other_arguments: list[Array],
    num_parallel_calls: Array,
    *,
    predicate: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements for which a predicate holds, in order."""
    check_parallel_calls(num_parallel_calls)
    return _filtering(ends=False)(
        xp,
        input_dataset,
        other_arguments,
        predicate=predicate,
        output_types=output_types,
        output_shapes=output_shapes,
    )


# ----------------------------------------------------------------------------- flat_map, interleave


class _InterleaveIterator(DatasetIterator):
    """The iterator that interleaves a function's datasets, taking a block of each in turn."""

    def __init__(
        self,
        scope: IteratorScope,
        inner: DatasetIterator,
        function: BoundFunction,
        cycle_length: int,
        block_length: int,
    ) -> None:
        self._scope, self._inner, self._function = scope, inner, function
        self._open: list[DatasetIterator | None] = [None] * cycle_length
        self._block_length = block_length
        self._cycle = self._block = 0
        self._is_input_over = False

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Yield the next element of the dataset whose turn it is."""
        places = self._open
        while not self._is_input_over or any(places):
            current = places[self._cycle]
            if current is not None:
                element = yield from current.get_next(ctx)
                if element is not None:
                    self._block += 1
                    if self._block == self._block_length:
                        self._turn()
                    return element
                places[self._cycle] = None
                self._turn()
            elif self._is_input_over:
                self._turn()
            else:
                argument = yield from self._inner.get_next(ctx)
                if argument is None:
                    self._is_input_over = True
                else:
                    made = dataset_of((yield self._function.call(argument)))
                    places[self._cycle] = made.make(self._scope)
            go_on_or_end(ctx)
        return None

    def _turn(self) -> None:
        self._block = 0
        self._cycle = (self._cycle + 1) % len(self._open)


def _interleaved(
    source: Array,
    args: list[Array],
    f: NameAttrList,
    types: list[DType],
    shapes: list[TensorShape],
    cycle_length: int = 1,
    block_length: int = 1,
) -> DatasetBase:
    dataset, function = as_dataset(source), CapturedFunction(f, args)
    if cycle_length == -1:
        cycle_length = os.cpu_count() or 1
    return DatasetBase(
        types,
        shapes,
        lambda scope: _InterleaveIterator(
            scope, dataset.make(scope), function.bound(scope), cycle_length, block_length
        ),
    )


@register_op(
    "FlatMapDataset", f"{_IN} -> handle: variant", *_FUNCTION, METADATA, shape=scalar_handle,
    devices=("CPU",),
)  # fmt: skip
def flat_map_dataset(
    xp: Xp,
    input_dataset: Variant,
    other_arguments: list[Array],
    *,
    f: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of the datasets that f returns, one dataset after the other."""
    return _interleaved(input_dataset, other_arguments, f, output_types, output_shapes)


def _check_interleave(cycle: int, block: int, settings: dict[str, int]) -> None:
    """Refuse invalid numbers; -1 lets the runtime choose."""
    calls = settings.get("num_parallel_calls")
    limits = {"cycle_length": (cycle, 1), "block_length": (block, 1)}
    if not settings:
        for name, (number, least) in limits.items():
            if number < least and (name, number) != ("cycle_length", -1):
                raise errors.invalid_argument(f"{name} must be greater than zero.")
        return
    for name, least in (("buffer_output_elements", 1), ("prefetch_input_elements", 0)):
        if name in settings:
            limits[name] = settings[name], least
    for name, (number, least) in limits.items():
        chooses = calls is not None and name != "block_length"
        if number >= least or (chooses and number == -1):
            continue
        text = "> 0" if least else ">= 0"
        if chooses:
            text = "greater than 0" if name == "cycle_length" else text
            text = f"`tf.data.AUTOTUNE` or {text} but is {number}"
        raise errors.invalid_argument(f"`{name}` must be {text}")
    if calls is not None:
        check_parallel_calls(calls)
        if calls > cycle != -1:
            raise errors.invalid_argument(
                "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be either "
                "`tf.data.AUTOTUNE` or a value less than or equal to `cycle_length`. However, "
                f"`num_parallel_calls` is {calls} and `cycle_length` is {cycle}"
            )


def _interleaving(*names: str) -> Any:
    def kernel(
        xp: Xp,
        input_dataset: Variant,
        other_arguments: list[Array],
        cycle_length: Array,
        block_length: Array,
        *settings: Array,
        f: NameAttrList,
        output_types: list[DType],
        output_shapes: list[TensorShape],
    ) -> Variant:
        """Return the elements of the datasets that f returns, interleaved."""
        cycle = scalar_int(cycle_length, "cycle_length")
        block = scalar_int(block_length, "block_length")
        given = {name: scalar_int(v, name) for name, v in zip(names, settings, strict=True)}
        _check_interleave(cycle, block, given)
        return _interleaved(
            input_dataset, other_arguments, f, output_types, output_shapes, cycle, block
        )

    return kernel


_CYCLE = f"{_IN}, cycle_length: int64, block_length: int64"
_BUFFERS = "buffer_output_elements: int64, prefetch_input_elements: int64"
_DETERMINISTIC = "deterministic: string = 'default'"
_INTERLEAVES: dict[str, tuple[str, ...]] = {
    "InterleaveDataset": (f"{_CYCLE} -> handle: variant", *_FUNCTION, METADATA),
    "ParallelInterleaveDataset": (
        f"{_CYCLE}, sloppy: bool, {_BUFFERS} -> handle: variant", *_FUNCTION, METADATA,
    ),
    "ExperimentalParallelInterleaveDataset": (
        f"{_CYCLE}, sloppy: bool, {_BUFFERS} -> handle: variant", *_FUNCTION,
    ),
    "ParallelInterleaveDatasetV2": (
        f"{_CYCLE}, num_parallel_calls: int64 -> handle: variant", *_FUNCTION,
        "sloppy: bool = false", METADATA,
    ),
    "ParallelInterleaveDatasetV3": (
        f"{_CYCLE}, num_parallel_calls: int64 -> handle: variant", "f: func", _DETERMINISTIC,
        *_FUNCTION[1:], METADATA,
    ),
    "ParallelInterleaveDatasetV4": (
        f"{_CYCLE}, {_BUFFERS}, num_parallel_calls: int64 -> handle: variant", "f: func",
        _DETERMINISTIC, *_FUNCTION[1:], METADATA,
    ),
    "LegacyParallelInterleaveDatasetV2": (
        f"{_CYCLE}, {_BUFFERS} -> handle: variant", "f: func", _DETERMINISTIC, *_FUNCTION[1:],
        METADATA,
    ),
}  # fmt: skip
(
    interleave_dataset,
    parallel_interleave_dataset,
    experimental_parallel_interleave_dataset,
    parallel_interleave_dataset_v2,
    parallel_interleave_dataset_v3,
    parallel_interleave_dataset_v4,
    legacy_parallel_interleave_dataset_v2,
) = (
    register_op(name, *specs, shape=scalar_handle, devices=("CPU",))(
        _interleaving(*re.findall(r"(\w+): \w+", specs[0][len(_CYCLE) :].split("->")[0]))
    )
    for name, specs in _INTERLEAVES.items()
)


# --------------------------------------------------------------------------------------------- scan


class _ScanIterator(DatasetIterator):
    def __init__(
        self,
        inner: DatasetIterator,
        function: BoundFunction,
        state: Sequence[Array],
        preserve_cardinality: bool,
    ) -> None:
        self._inner, self._function, self._state = inner, function, list(state)
        self._preserve_cardinality = preserve_cardinality

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the output of f for the state and the next element; update the state."""
        element = yield from self._inner.get_next(ctx)
        if element is None:
            return None
        try:
            results = yield self._function.call([*self._state, *element])
        except errors.OutOfRangeError as error:
            _end_with(error, self._preserve_cardinality)
            return None
        count = len(self._state)
        self._state = results[:count]
        return tuple(results[count:])


def _scan(
    xp: Xp,
    input_dataset: Variant,
    initial_state: list[Array],
    other_arguments: list[Array],
    *,
    f: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    preserve_cardinality: bool = False,
) -> Variant:
    """Return the outputs of f for each element and a state that f updates."""
    source, function = as_dataset(input_dataset), CapturedFunction(f, other_arguments)
    state = [owned(value) for value in initial_state]
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _ScanIterator(
            source.make(scope), function.bound(scope), state, preserve_cardinality
        ),
        source.cardinality if preserve_cardinality else UNKNOWN,
    )


_SCAN = (
    "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments "
    "-> handle: variant",
    "f: func", "Tstate: list(type) >= 1", "Targuments: list(type) >= 0", *OUTPUTS,
    "preserve_cardinality: bool = false",
)  # fmt: skip
scan_dataset = register_op(
    "ScanDataset", *_SCAN, "use_default_device: bool = true", METADATA, shape=scalar_handle,
    devices=("CPU",),
)(_scan)  # fmt: skip
experimental_scan_dataset = register_op(
    "ExperimentalScanDataset", *_SCAN, shape=scalar_handle, devices=("CPU",)
)(_scan)


# --------------------------------------------------------------------------------- group_by_window


class _GroupIterator(DatasetIterator):
    """The iterator of groups: a function maps each full group, as a dataset, to a dataset."""

    def __init__(
        self,
        scope: IteratorScope,
        source: DatasetBase,
        functions: Sequence[CapturedFunction],
    ) -> None:
        self._scope, self._inner = scope, source.make(scope)
        self._source = source
        self._key, self._reduce, self._size = (one.bound(scope) for one in functions)
        self._sizes: dict[int, int] = {}
        self._groups: dict[int, list[Element]] = {}
        self._current: DatasetIterator | None = None
        self._is_input_over = False

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element of the full group; at the end, remaining groups follow by key."""
        while True:
            if self._current is not None:
                element = yield from self._current.get_next(ctx)
                if element is not None:
                    return element
                self._current = None
            key = yield from self._full_group(ctx)
            if key is None:
                if not self._groups:
                    return None
                key = min(self._groups)
            group = self._groups.pop(key)
            results = yield self._reduce.call([np.int64(key), window_of(group, self._source)])
            self._current = dataset_of(results).make(self._scope)

    def _full_group(self, ctx: OpKernelContext) -> Array:
        """Return the key of the next group that becomes full; None at the end of the input."""
        while not self._is_input_over:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                self._is_input_over = True
                return None
            key = _int_of((yield self._key.call(element)), "`key_func` must return a scalar int64.")
            size = self._sizes.get(key)
            if size is None:
                size = _int_of(
                    (yield self._size.call([np.int64(key)])),
                    "`window_size_func` must return a scalar int64.",
                )
                if size <= 0:
                    raise errors.invalid_argument(
                        f"Window size must be greater than zero, but got {size}."
                    )
                self._sizes[key] = size
            group = self._groups.setdefault(key, [])
            group.append(element)
            if len(group) == size:
                return key
            go_on_or_end(ctx)
        return None


def _int_of(results: Sequence[Array], text: str) -> int:
    if len(results) != 1 or np.shape(results[0]) or np.asarray(results[0]).dtype != np.int64:
        raise errors.invalid_argument(text)
    return int(results[0])


def window_of(elements: Sequence[Element], like: DatasetBase) -> DatasetBase:
    """Return elements as a new dataset."""
    kept = list(elements)
    return DatasetBase(
        like.types,
        like.shapes,
        lambda scope: RowsIterator(len(kept), kept.__getitem__),
        len(kept),
    )


def _group_by_window(
    xp: Xp,
    input_dataset: Variant,
    key_func_other_arguments: list[Array],
    reduce_func_other_arguments: list[Array],
    window_size_func_other_arguments: list[Array],
    *,
    key_func: NameAttrList,
    reduce_func: NameAttrList,
    window_size_func: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return elements grouped by key; reduce_func maps each full group to its results."""
    source = as_dataset(input_dataset)
    functions = (
        CapturedFunction(key_func, key_func_other_arguments),
        CapturedFunction(reduce_func, reduce_func_other_arguments),
        CapturedFunction(window_size_func, window_size_func_other_arguments),
    )
    return DatasetBase(
        output_types, output_shapes, lambda scope: _GroupIterator(scope, source, functions)
    )


_GROUPS = (
    "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
    "reduce_func_other_arguments: Treduce_func_other_arguments, "
    "window_size_func_other_arguments: Twindow_size_func_other_arguments -> handle: variant",
    "key_func: func", "reduce_func: func", "window_size_func: func",
    "Tkey_func_other_arguments: list(type) >= 0",
    "Treduce_func_other_arguments: list(type) >= 0",
    "Twindow_size_func_other_arguments: list(type) >= 0", *OUTPUTS,
)  # fmt: skip
group_by_window_dataset = register_op(
    "GroupByWindowDataset", *_GROUPS, METADATA, shape=scalar_handle, devices=("CPU",)
)(_group_by_window)
experimental_group_by_window_dataset = register_op(
    "ExperimentalGroupByWindowDataset", *_GROUPS, shape=scalar_handle, devices=("CPU",)
)(_group_by_window)


# -------------------------------------------------------------------- ops that read a whole dataset


@register_op(
    "ReduceDataset",
    "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments "
    "-> components: output_types",
    "f: func", "Tstate: list(type) >= 1", "Targuments: list(type) >= 0", *OUTPUTS,
    "use_inter_op_parallelism: bool = true", METADATA,
    stateful=True, shape=components_of_dataset, devices=("CPU",),
)  # fmt: skip
def reduce_dataset(
    ctx: OpKernelContext,
    input_dataset: Variant,
    initial_state: list[Array],
    other_arguments: list[Array],
    *,
    f: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Outputs:
    """Yield the state after f has processed all elements."""
    scope = IteratorScope(is_lasting=False)
    iterator = as_dataset(input_dataset).make(scope)
    function = CapturedFunction(f, other_arguments).bound(scope)
    state: Sequence[Array] = initial_state
    while (element := (yield from iterator.get_next(ctx))) is not None:
        state = yield function.call([*state, *element])
        go_on_or_end(ctx)
    check_element(tuple(state), output_types, output_shapes)
    return tuple(state)


reduce_dataset.not_differentiable()


@register_op(
    "DatasetToSingleElement", "dataset: variant -> components: output_types", *OUTPUTS, METADATA,
    stateful=True, shape=components_of_dataset, devices=("CPU",),
)  # fmt: skip
def dataset_to_single_element(
    ctx: OpKernelContext,
    dataset: Variant,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Outputs:
    """Yield the only element of a dataset.

    Raises:
      InvalidArgumentError: the dataset has no element, or more than one.
    """
    iterator = as_dataset(dataset).make(IteratorScope(is_lasting=False))
    element = yield from iterator.get_next(ctx)
    if element is None:
        raise errors.invalid_argument("Dataset was empty.")
    check_element(element, output_types, output_shapes)
    if (yield from iterator.get_next(ctx)) is not None:
        raise errors.invalid_argument("Dataset had more than one element.")
    return element


def _cardinality(xp: Xp, input_dataset: Variant) -> Array:
    """Return the number of elements; -1 if infinite, -2 if unknown."""
    # Products of counts overflow as in TensorFlow.
    count = as_dataset(input_dataset).cardinality
    return np.int64((count + (1 << 63)) % (1 << 64) - (1 << 63))


dataset_cardinality = register_op(
    "DatasetCardinality", "input_dataset: variant -> cardinality: int64",
    "cardinality_options: string = ''", shape=scalar_handle, devices=("CPU",),
)(_cardinality)  # fmt: skip
experimental_dataset_cardinality = register_op(
    "ExperimentalDatasetCardinality", "input_dataset: variant -> cardinality: int64",
    shape=scalar_handle, devices=("CPU",),
)(_cardinality)  # fmt: skip
