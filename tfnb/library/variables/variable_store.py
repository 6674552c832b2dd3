"""The variables of a graph by name, for ``tf.get_variable``: finding them and making new ones."""

from __future__ import annotations

import enum
import functools
import inspect
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import (
    add_to_collection,
    colocate_with,
    control_dependencies,
    name_scope,
)
from tfnb.framework.tensor import Tensor
from tfnb.library.variables import resource_variables_toggle
from tfnb.library.variables.partition_info import PartitionInfo
from tfnb.library.variables.partitioned_variable import (
    PartitionedVariable,
    call_partitioner,
    slices_of,
)
from tfnb.library.variables.variables import (
    SaveSliceInfo,
    Variable,
    VariableAggregation,
    VariableSynchronization,
    settle_policies,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import (
        CollectionNames,
        Constraint,
        CustomGetter,
        DeviceLike,
        Initializer,
        Nested,
        Partitioner,
        Regularizer,
        Reuse,
        TensorLike,
        VariableLike,
    )

EXPORTS = {"tf": ["AUTO_REUSE", "no_regularizer"]}


class _ReuseMode(enum.Enum):
    """The mode in which variables are found or, if they do not exist, made."""

    AUTO_REUSE = 1

    def __repr__(self) -> str:
        return "<_ReuseMode.AUTO_REUSE: 1>"


AUTO_REUSE = _ReuseMode.AUTO_REUSE
"""The value of ``reuse`` with which a variable that does not exist is made."""


def no_regularizer(_: Any) -> None:
    """Return None: a regularizer without loss, which also overrides that of the scope."""


# ------------------------------------------------------------------------------ a graph's variables


class _VariableStore:
    """The variables of one graph by full name."""

    def __init__(self) -> None:
        self._vars: dict[str, Any] = {}
        self._partitioned_vars: dict[str, PartitionedVariable] = {}

    def get_variable(
        self, name: str, custom_getter: CustomGetter = None, **kwargs: Any
    ) -> VariableLike:
        """Return the variable of this name, found or made; see :func:`get_variable`.

        Raises:
          ValueError: it must not be made, must not be found, or differs from the arguments.
        """
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        kwargs["dtype"] = dtypes.as_dtype(kwargs["dtype"]).base_dtype
        policies = settle_policies(
            kwargs["synchronization"], kwargs["aggregation"], kwargs["trainable"], name
        )
        kwargs["synchronization"], kwargs["aggregation"], kwargs["trainable"] = policies
        if custom_getter is None:
            return self._true_getter(name, **kwargs)
        accepted = _accepted(custom_getter)
        if accepted is not None:
            # Getters older than these arguments do not accept them.
            for late in ("constraint", "synchronization", "aggregation"):
                if late not in accepted:
                    kwargs.pop(late)
        return custom_getter(getter=self._true_getter, name=name, **kwargs)

    def _true_getter(
        self,
        name: str,
        shape: TensorLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        initializer: Initializer | None = None,
        regularizer: Regularizer = None,
        reuse: Reuse | None = None,
        trainable: Any = None,
        collections: CollectionNames | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Partitioner = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Constraint = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        given: dict[str, Any] = {
            "shape": shape,
            "dtype": dtype,
            "initializer": initializer,
            "regularizer": regularizer,
            "reuse": reuse,
            "trainable": trainable,
            "collections": collections,
            "caching_device": caching_device,
            "validate_shape": validate_shape,
            "use_resource": use_resource,
            "constraint": constraint,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        is_scalar = isinstance(shape, (list, tuple)) and not shape
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with name_scope(None):
                return self._get_partitioned(name, partitioner, **given)
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned(name, None, **given)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. Perhaps a variable of the same name was already created with "
                "partitioning?"
            )
        return self._get_single(name, **given)

    def _get_single(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike,
        initializer: Initializer,
        regularizer: Regularizer,
        reuse: Reuse,
        use_resource: bool | None,
        partition_info: PartitionInfo | None = None,
        **kwargs: Any,
    ) -> Any:
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype = dtypes.as_dtype(dtype)
        shape = as_shape(shape)
        if name in self._vars:
            return self._found(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did "
                "you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = _default_initializer(name, dtype)
        with control_dependencies(None):
            value, variable_dtype = _initial_value(initializer, shape, dtype, partition_info)
        if use_resource is None:
            use_resource = resource_variables_toggle.resource_variables_enabled()
        variable = Variable(
            initial_value=value,
            name=name,
            dtype=variable_dtype,
            use_resource=use_resource,
            **kwargs,
        )
        self._vars[name] = variable
        if regularizer:
            with colocate_with(variable.op), name_scope(f"{name}/Regularizer/"):
                loss = regularizer(variable)
            if loss is not None:
                add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return variable

    def _found(self, name: str, shape: TensorShape, dtype: DType, reuse: Reuse) -> VariableLike:
        variable = self._vars[name]
        if reuse is False:
            raise ValueError(_already_exists(name, variable))
        _check_shared(f"share variable {name}", variable, shape, dtype)
        return variable

    def _get_partitioned(
        self,
        name: str,
        partitioner: Partitioner,
        shape: ShapeLike,
        dtype: DTypeLike,
        initializer: Initializer,
        reuse: Reuse,
        **kwargs: Any,
    ) -> PartitionedVariable:
        if name in self._vars:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}.  Perhaps a variable of the same name was already created without "
                "partitioning?"
            )
        shape = as_shape(shape)
        dtype = dtypes.as_dtype(dtype)
        own_dtype = dtype
        if initializer is not None and not callable(initializer):
            if isinstance(initializer, Tensor):
                own_dtype = initializer.dtype.base_dtype
            initializer = convert_to_tensor(initializer, dtype=own_dtype)
            shape = shape.merge_with(initializer.shape)
        partitions: Sequence[int] | None = None
        if not reuse or partitioner:
            partitions = call_partitioner(partitioner, shape, dtype)
        if name in self._partitioned_vars:
            return self._found_partitioned(name, shape, dtype, partitions, reuse)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with "
                "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in "
                "VarScope?"
            )
        assert partitions is not None
        sizes: list[int] = [int(size or 0) for size in shape.as_list()]
        parts = slices_of(sizes, partitions)
        self._check_parts(name, len(parts))
        variables = []
        for index, (offset, part) in enumerate(parts):
            full_name = f"{name}/part_{index}"
            with name_scope(f"{full_name}/PartitionedInitializer"):
                first, first_shape = _part_of(initializer, name, own_dtype, offset, part)
            with name_scope(None):
                variable = self._get_single(
                    full_name,
                    shape=first_shape,
                    dtype=own_dtype,
                    initializer=first,
                    reuse=reuse,
                    partition_info=PartitionInfo(sizes, offset),
                    **kwargs,
                )
            variable._set_save_slice_info(SaveSliceInfo(name, sizes, offset, part))
            variables.append(variable)
        made = PartitionedVariable(name, shape, own_dtype, variables, list(partitions))
        self._partitioned_vars[name] = made
        return made

    def _check_parts(self, name: str, count: int) -> None:
        if f"{name}/part_0" not in self._vars:
            return
        for index, wanted in ((count - 1, True), (count, False)):
            if (f"{name}/part_{index}" in self._vars) is not wanted:
                raise ValueError(
                    "Partitioner returned a different partitioning than what was already found.  "
                    f"Partitioner returned {count} shards, and shard {name}/part_0 was found, but "
                    f"{name}/part_{index} {'was not' if wanted else 'was too'}."
                )

    def _found_partitioned(
        self,
        name: str,
        shape: TensorShape,
        dtype: DType,
        partitions: Sequence[int] | None,
        reuse: Reuse,
    ) -> PartitionedVariable:
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set "
                "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
        found = self._partitioned_vars[name]
        _check_shared(f"reuse partitioned variable {name}", found, shape, dtype)
        if partitions is not None and list(found._get_partitions()) != list(partitions):
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified partitions "
                f"{partitions} and found partitions {found._get_partitions()}."
            )
        return found


def _check_shared(what: str, variable: VariableLike, shape: TensorShape, dtype: DType) -> None:
    if not shape.is_compatible_with(variable.get_shape()):
        raise ValueError(
            f"Trying to {what}, but specified shape {shape} and found shape {variable.get_shape()}."
        )
    if not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Trying to {what}, but specified dtype {dtype.name} and found dtype "
            f"{variable.dtype.name}."
        )


def _already_exists(name: str, variable: VariableLike) -> str:
    text = (
        f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
        "reuse=tf.AUTO_REUSE in VarScope?"
    )
    site = variable.op.creation_site
    if site is None:
        return text
    return f"{text} Originally defined at:\n\n  {site}: {site.text}"


def _accepted(function: Any) -> set[str] | None:
    """Return the names of a function's parameters; None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    return set(parameters)


def _default_initializer(name: str, dtype: DType) -> Any:
    from tfnb.library.variables import init_ops

    if dtype.is_floating:
        return init_ops.glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype is dtypes.string:
        return init_ops.zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _initial_value(
    initializer: Initializer, shape: TensorShape, dtype: DType, partition_info: PartitionInfo | None
) -> tuple[Nested, DType | None]:
    """Return (the initial value for tf.Variable, the dtype to pass)."""
    if not callable(initializer):
        return initializer, None
    if isinstance(initializer, type):
        initializer = initializer()
    if shape.is_fully_defined():
        options: dict[str, Any] = {"dtype": dtype}
        accepted = _accepted(initializer)
        if accepted is not None and "partition_info" in accepted:
            options["partition_info"] = partition_info
        return functools.partial(initializer, shape.as_list(), **options), dtype.base_dtype
    if _needs_no_arguments(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the "
        "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` "
        "should be fully defined."
    )


def _needs_no_arguments(function: Callable[..., Nested]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def _part_of(
    initializer: Initializer, name: str, dtype: DType, offset: list[int], part: list[int]
) -> tuple[Nested, list[int] | None]:
    """Return (the initializer of a part, the shape to pass to it)."""
    from tfnb.ops.array.slice_ops import slice_op

    if initializer is None:
        return _default_initializer(name, dtype), part
    if callable(initializer):
        return initializer, part
    return slice_op(initializer, offset, part), None
