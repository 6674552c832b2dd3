"""Resource variables: a handle, an initializer op, and a read op per use."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NoReturn, cast

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scope_names import prepend_name_scope, strip_name_scope
from tfnb.framework.scopes import (
    add_to_collections,
    colocate_with,
    control_dependencies,
    device,
    init_scope,
    name_scope,
)
from tfnb.framework.tensor import Tensor
from tfnb.library.variables.ref_variable import check_arguments, name_of_scope
from tfnb.library.variables.variables import (
    SaveSliceInfo,
    Variable,
    VariableAggregation,
    VariableSynchronization,
    guard_against_uninitialized,
    overload_operators,
    settle_policies,
)
from tfnb.ops.array.identity_ops import identity_op
from tfnb.ops.state import resource_variable_ops as ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import (
        CollectionNames,
        Constraint,
        DeviceLike,
        IntsLike,
        TensorLike,
        TensorResult,
        VariableLike,
    )
    from tfnb.proto import variable_pb2


def _handle_graph(handle: Tensor) -> Any:
    """Enter the variable's graph, except in a function body, which captures the handle."""
    if get_default_graph().building_function:
        return contextlib.nullcontext()
    return handle.graph.as_default()


class ResourceVariable(Variable):
    """A variable accessed through a resource handle.

    Attributes:
      handle: the handle, a tensor of dtype resource.
    """

    handle: Tensor

    def __init__(
        self,
        initial_value: TensorLike | None = None,
        trainable: bool | None = None,
        collections: CollectionNames | None = None,
        validate_shape: bool = True,
        caching_device: DeviceLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        variable_def: variable_pb2.VariableDef | None = None,
        import_scope: str | None = None,
        constraint: Constraint = None,
        distribute_strategy: Any = None,
        synchronization: VariableSynchronization | None = None,
        aggregation: VariableAggregation | None = None,
        shape: TensorLike | None = None,
    ) -> None:
        self._parent_op: Operation | None = None
        self._validate_shape = validate_shape
        self._cached_value: Tensor | None = None
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        self._synchronization, self._aggregation, self._trainable = settle_policies(
            synchronization, aggregation, trainable, name
        )
        collections = check_arguments(initial_value, collections, constraint, self._trainable)
        self._constraint = constraint
        self._caching_device = caching_device
        dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        made_by_call = callable(initial_value)
        if not made_by_call and isinstance(initial_value, Tensor):
            self._check_is_outside(initial_value)
        with init_scope():
            values = [] if made_by_call else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._make_handle(scope, initial_value, made_by_call, dtype, shape)
                self._make_ops(caching_device)
            self._graph_key = get_default_graph()._graph_key
        add_to_collections(collections, self)

    def _make_handle(
        self,
        scope: str,
        initial_value: TensorLike,
        made_by_call: bool,
        dtype: DType | None,
        shape: ShapeLike,
    ) -> None:
        name = name_of_scope(scope)
        # The initial value is placed with the variable, whose node does not exist yet.
        with get_default_graph()._attr_scope({"_class": [f"loc:@{name}".encode()]}):
            with name_scope("Initializer"), device(None):
                value = initial_value() if made_by_call else initial_value
                value = convert_to_tensor(value, name="initial_value", dtype=dtype)
            if shape is None:
                shape = value.shape
            else:
                shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
                if not value.shape.is_compatible_with(shape):
                    raise ValueError(
                        "In this `tf.Variable` creation, the initial value's shape "
                        f"({value.shape}) is not compatible with the explicitly supplied `shape` "
                        f"argument ({shape})."
                    )
            self._check_is_outside(value)
            self.handle = ops.var_handle_op(
                dtype=value.dtype.base_dtype,
                shape=shape,
                shared_name=name,
                debug_name=scope,
                name=scope,
            )
        self._initial_value = value
        self._dtype = value.dtype.base_dtype
        self._shape: TensorShape = shape
        self._handle_name = f"{name}:0"
        self._scope = scope

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Raise: a variable is a node of its graph."""
        raise NotImplementedError(
            "__deepcopy__() is only available when eager execution is enabled."
        )

    def _check_is_outside(self, value: Tensor) -> None:
        if value.op._get_control_flow_context() is not None:
            raise ValueError(
                f"The `initial_value` passed to `tf.Variable` {value} is from inside a "
                "control-flow  construct, such as a loop or conditional. When creating a "
                "`tf.Variable` inside a loop or conditional, use a lambda as the `initial_value`. "
                f"Got: initial_value=({value})"
            )

    def _make_ops(self, caching_device: DeviceLike) -> None:
        handle = self.handle
        with name_scope("IsInitialized"):
            self._is_initialized_op = ops.var_is_initialized_op(handle)
        with name_scope("Assign") as name, colocate_with(None, ignore_existing=True):
            with device(handle.device):
                self._initializer_op = ops.assign_variable_op(
                    handle,
                    guard_against_uninitialized(self._scope, self._initial_value),
                    name=name,
                )
        with name_scope("Read"):
            with device(handle.device):
                value = ops.read_variable_op(handle, dtype=self._dtype)
            self._graph_element = value
            if caching_device is not None:
                with colocate_with(None, ignore_existing=True), device(caching_device):
                    self._cached_value = identity_op(value)

    # -- as a tensor -------------------------------------------------------------------------------

    @property
    def _handle(self) -> Tensor:
        # Makes control_dependencies() wait for the variable's op.
        return self.handle

    def _as_graph_element(self) -> TensorResult:
        return self._graph_element

    def _read_variable_op(self) -> Tensor:
        with _handle_graph(self.handle):
            # Reads of the result of an assignment come after the assignment.
            with control_dependencies(self._parents()):
                found: Tensor = ops.read_variable_op(self.handle, dtype=self._dtype)
        return found

    def value(self) -> Tensor:
        """Return the value, read by a new op unless it is cached on a device."""
        if self._cached_value is not None:
            return self._cached_value
        with colocate_with(None, ignore_existing=True):
            return self._read_variable_op()

    def read_value(self) -> Tensor:
        """Return the value, read by a new op."""
        with name_scope("Read"):
            value = self._read_variable_op()
        found: Tensor = identity_op(value)
        return found

    def read_value_no_copy(self) -> Tensor:
        """Return the value, read by a new op; no read in tfnb copies."""
        return self.read_value()

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return rows of the value by index, without reading the rest."""
        with name_scope("Gather" if name is None else name) as scope:
            with control_dependencies(self._parents()):
                found: Tensor = ops.resource_gather(
                    self.handle, indices, dtype=self._dtype, name=scope
                )
        return found

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return parts of the value by coordinates, without reading the rest."""
        with name_scope("GatherNd" if name is None else name) as scope:
            with control_dependencies(self._parents()):
                value = ops.resource_gather_nd(self.handle, indices, dtype=self._dtype, name=scope)
        found: Tensor = identity_op(value)
        return found

    def _parents(self) -> list[Operation]:
        return [] if self._parent_op is None else [self._parent_op]

    def is_initialized(self, name: str | None = None) -> TensorResult:
        """Return whether the variable has a value, as a tensor."""
        return ops.var_is_initialized_op(self.handle, name=name)

    @property
    def name(self) -> str:
        """The name of the variable, for example ``v:0``."""
        return self._handle_name if self._parent_op is None else self._parent_op.name

    @property
    def _shared_name(self) -> str:
        return self._handle_name[: self._handle_name.index(":")]

    @property
    def _unique_id(self) -> str:
        return self._shared_name

    @property
    def initializer(self) -> Operation:
        """The op that assigns the initial value."""
        found: Operation = self._initializer_op
        return found

    @property
    def create(self) -> Operation:
        """The same as :attr:`initializer`."""
        return self.initializer

    @property
    def device(self) -> str:
        """The requested device."""
        return self.handle.device

    @property
    def dtype(self) -> DType:
        """The type."""
        return self._dtype

    @property
    def op(self) -> Operation:
        """The op that makes the handle, or the op that changed the variable last."""
        return self.handle.op if self._parent_op is None else self._parent_op

    @property
    def graph(self) -> Graph:
        """The variable's graph."""
        return self.handle.graph

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    def set_shape(self, shape: TensorLike) -> None:
        """Merge a shape into the static shape; raise if they do not match."""
        self._shape = self._shape.merge_with(shape)

    # -- changes -----------------------------------------------------------------------------------

    def _lazy_read(self, parent_op: Operation) -> ResourceVariable:
        """Return the variable with its value after an op."""
        found = ResourceVariable.__new__(ResourceVariable)
        found.__dict__.update(self.__dict__)
        found._parent_op = parent_op
        found._cached_value = None
        found._graph_element = None
        if get_default_graph().building_function:  # no fetches inside a function
            return found
        with control_dependencies([parent_op]):
            found._graph_element = ops.read_variable_op(self.handle, dtype=self._dtype)
        return found

    def _changed(self, op: Operation, read_value: bool) -> TensorResult:
        return self._lazy_read(op) if read_value else op

    def assign(
        self,
        value: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Assign a value.

        Args:
          value: the value.
          use_locking: ignored: assignments always lock.
          name: the name of the op.
          read_value: whether to return the assigned variable, or only the op.

        Raises:
          ValueError: the value has another shape.
        """
        with _handle_graph(self.handle), control_dependencies(self._parents()):
            tensor = convert_to_tensor(value, dtype=self._dtype)
            if not self._shape.is_compatible_with(tensor.shape):
                label = "" if self.name is None else f" {self.name}"
                raise ValueError(
                    f"Cannot assign value to variable '{label}': Shape mismatch."
                    f"The variable shape {self._shape}, and the assigned value shape "
                    f"{tensor.shape} are incompatible."
                )
            validate = self._validate_shape and self._shape.is_fully_defined()
            op = ops.assign_variable_op(self.handle, tensor, name=name, validate_shape=validate)
            return self._changed(op, read_value)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Add to the variable; arguments as in :meth:`assign`."""
        with _handle_graph(self.handle), control_dependencies(self._parents()):
            tensor = convert_to_tensor(delta, dtype=self._dtype)
            op = ops.assign_add_variable_op(self.handle, tensor, name=name)
        return self._changed(op, read_value)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Subtract from the variable; arguments as in :meth:`assign`."""
        with _handle_graph(self.handle), control_dependencies(self._parents()):
            tensor = convert_to_tensor(delta, dtype=self._dtype)
            op = ops.assign_sub_variable_op(self.handle, tensor, name=name)
        return self._changed(op, read_value)

    def count_up_to(self, limit: int) -> Tensor:
        """Return a counter's value and increment it; raise OutOfRangeError at the limit."""
        found: Tensor = ops.resource_count_up_to(self.handle, limit=limit, T=self._dtype)
        return found

    def _scatter(self, kind: str, sparse_delta: TensorLike, name: str | None) -> TensorResult:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        scatter = getattr(ops, f"resource_scatter_{kind}")
        with control_dependencies(self._parents()):
            values = convert_to_tensor(sparse_delta.values, self._dtype)
            return self._lazy_read(scatter(self.handle, sparse_delta.indices, values, name=name))

    def scatter_sub(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Subtract the rows of an IndexedSlices."""
        return self._scatter("sub", sparse_delta, name)

    def scatter_add(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Add the rows of an IndexedSlices."""
        return self._scatter("add", sparse_delta, name)

    def scatter_max(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by the maximum of them and the rows of an IndexedSlices."""
        return self._scatter("max", sparse_delta, name)

    def scatter_min(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by the minimum of them and the rows of an IndexedSlices."""
        return self._scatter("min", sparse_delta, name)

    def scatter_mul(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Multiply by the rows of an IndexedSlices."""
        return self._scatter("mul", sparse_delta, name)

    def scatter_div(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Divide by the rows of an IndexedSlices."""
        return self._scatter("div", sparse_delta, name)

    def scatter_update(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by those of an IndexedSlices."""
        return self._scatter("update", sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by those of an IndexedSlices, separately for every leading batch."""
        from tfnb.ops.state import state_ops

        return state_ops.batch_scatter_update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    def _scatter_nd(
        self, kind: str, indices: TensorLike, updates: TensorLike, name: str | None
    ) -> TensorResult:
        scatter = getattr(ops, f"resource_scatter_nd_{kind}")
        with control_dependencies(self._parents()):
            tensor = convert_to_tensor(updates, self._dtype)
            return self._lazy_read(scatter(self.handle, indices, tensor, name=name))

    def scatter_nd_sub(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Subtract updates at coordinates."""
        return self._scatter_nd("sub", indices, updates, name)

    def scatter_nd_add(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Add updates at coordinates."""
        return self._scatter_nd("add", indices, updates, name)

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Replace values at coordinates by updates."""
        return self._scatter_nd("update", indices, updates, name)

    def scatter_nd_max(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Replace values at coordinates by the maximum of them and the updates."""
        return self._scatter_nd("max", indices, updates, name)

    def scatter_nd_min(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Replace values at coordinates by the minimum of them and the updates."""
        return self._scatter_nd("min", indices, updates, name)

    def _strided_slice_assign(
        self,
        begin: TensorLike,
        end: TensorLike,
        strides: IntsLike,
        value: TensorLike,
        name: str | None,
        **masks: int,
    ) -> Any:
        from tfnb.ops.array.slice_ops import resource_strided_slice_assign

        with _handle_graph(self.handle), control_dependencies(self._parents()):
            tensor = convert_to_tensor(value, dtype=self._dtype)
            op = resource_strided_slice_assign(
                self.handle, begin, end, strides, tensor, name=name, **masks
            )
            return self._lazy_read(op)

    # -- as a message ------------------------------------------------------------------------------

    def _init_from_proto(
        self, variable_def: variable_pb2.VariableDef, import_scope: str | None
    ) -> None:
        if not variable_def.is_resource:
            raise ValueError(
                f"The `variable_def` you passed to `tf.Variable` is not a resource: {variable_def}"
            )

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        graph = get_default_graph()
        self.handle = element(variable_def.variable_name)
        self._handle_name = self.handle.name
        self._initializer_op = element(variable_def.initializer_name)
        if variable_def.initial_value_name:
            self._initial_value = element(variable_def.initial_value_name)
        self._synchronization, self._aggregation, self._trainable = settle_policies(
            VariableSynchronization(variable_def.synchronization),
            VariableAggregation(variable_def.aggregation),
            variable_def.trainable,
            variable_def.variable_name,
        )
        attrs = self.handle.op.attrs
        self._shape, self._dtype = attrs["shape"], attrs["dtype"]
        if variable_def.snapshot_name:
            snapshot = element(variable_def.snapshot_name)
            if snapshot.op.type != "ReadVariableOp":
                self._cached_value = snapshot
            self._graph_element = snapshot
        else:
            # The older form of the message names no read op.
            self._graph_element = graph.get_tensor_by_name(
                f"{self.handle.op.name}/Read/ReadVariableOp:0"
            )
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._graph_key = graph._graph_key

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the VariableDef message; None for another scope than ``export_scope``."""
        from tfnb.proto import variable_pb2

        if export_scope is not None and not self.handle.name.startswith(export_scope):
            return None
        snapshot = self._graph_element if self._cached_value is None else self._cached_value
        found = variable_pb2.VariableDef(
            variable_name=strip_name_scope(self.handle.name, export_scope),
            initializer_name=strip_name_scope(self.initializer.name, export_scope),
            snapshot_name=strip_name_scope(snapshot.name, export_scope),
            is_resource=True,
            trainable=self._trainable,
            synchronization=cast("Any", self._synchronization.value),
            aggregation=cast("Any", self._aggregation.value),
        )
        if self._initial_value is not None:
            found.initial_value_name = strip_name_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            found.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return found


overload_operators(ResourceVariable)


def is_resource_variable(value: TensorLike) -> bool:
    """Return whether a value is a resource variable."""
    return isinstance(value, ResourceVariable)


def _to_tensor(
    variable: VariableLike,
    dtype: DType | None = None,
    name: str | None = None,
    as_ref: bool = False,
) -> TensorResult:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name!r} for variable of type "
            f"{variable.dtype.name!r} (Variable: {variable})"
        )
    if as_ref:
        return variable.read_value().op.inputs[0]
    return variable.value()


register_tensor_conversion_function(ResourceVariable, _to_tensor)
