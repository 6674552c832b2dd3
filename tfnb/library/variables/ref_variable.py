"""Reference variables: VariableV2, an Assign for the initial value, an Identity to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, unknown_shape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scope_names import prepend_name_scope, strip_name_scope
from tfnb.framework.scopes import (
    add_to_collections,
    colocate_with,
    device,
    init_scope,
    name_scope,
)
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
from tfnb.ops.state import state_ops

# Defines the operators of tensors, which variables get, too.
import tfnb.ops.math.math_ops  # isort: skip
import tfnb.ops.array.slice_ops  # noqa: F401  # isort: skip

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
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


def check_arguments(
    initial_value: TensorLike, collections: CollectionNames, constraint: Constraint, trainable: bool
) -> Any:
    """Return the collections that a new variable is added to.

    Raises:
      ValueError: there is no initial value, or an argument has another type.
    """
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections} of type {type(collections)}"
        )
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
    return collections


def name_of_scope(scope: str) -> str:
    """Return the name that an op gets from a scope: without the slash at its end."""
    return scope.removesuffix("/")


class RefVariable(Variable):
    """A variable behind a reference edge."""

    def __init__(
        self,
        initial_value: TensorLike | None = None,
        trainable: bool | None = None,
        collections: CollectionNames | None = None,
        validate_shape: bool = True,
        caching_device: DeviceLike | None = None,
        name: str | None = None,
        variable_def: variable_pb2.VariableDef | None = None,
        dtype: DTypeLike | None = None,
        import_scope: str | None = None,
        constraint: Constraint = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: TensorLike | None = None,
    ) -> None:
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
        with init_scope():
            made_by_call = callable(initial_value)
            values = [] if made_by_call else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._make_buffer(scope, initial_value, made_by_call, dtype, shape, validate_shape)
                self._make_initializer(scope, validate_shape)
                self._make_snapshot(caching_device)
            self._graph_key = get_default_graph()._graph_key
        add_to_collections(collections, self)

    def _make_buffer(
        self,
        scope: str,
        initial_value: TensorLike,
        made_by_call: bool,
        dtype: DType | None,
        shape: ShapeLike,
        validate_shape: bool,
    ) -> None:
        # The initial value of a function call is made on the device of the variable, which does not
        # exist yet.
        where = {"_class": [f"loc:@{name_of_scope(scope)}".encode()]} if made_by_call else {}
        with get_default_graph()._attr_scope(where):
            if made_by_call:
                with name_scope("Initializer"), device(None):
                    value = convert_to_tensor(initial_value(), name="initial_value", dtype=dtype)
            else:
                value = convert_to_tensor(initial_value, name="initial_value", dtype=dtype)
                if value.op._get_control_flow_context() is not None:
                    raise ValueError(
                        f"Initializer for variable {scope} is from inside a control-flow "
                        "construct, such as a loop or conditional. When creating a variable inside "
                        "a loop or conditional, use a lambda as the initializer."
                    )
            if shape is None:
                shape = value.shape if validate_shape else unknown_shape()
            self._variable = state_ops.variable_v2(
                shape=shape if isinstance(shape, TensorShape) else TensorShape(shape),
                dtype=value.dtype.base_dtype,
                name=scope,
            )
        self._initial_value = value
        if validate_shape and not value.shape.is_fully_defined():
            raise ValueError(
                f"initial_value must have a shape specified: {value}. Pass validate_shape=False to "
                "tf.Variable for a variable whose shape may change."
            )

    def _make_initializer(self, scope: str, validate_shape: bool) -> None:
        value = guard_against_uninitialized(scope, self._initial_value)
        self._initializer_op: Operation = state_ops.assign_op(
            self._variable, value, validate_shape=validate_shape
        ).op

    def _make_snapshot(self, caching_device: DeviceLike) -> None:
        if caching_device is not None:
            with device(caching_device):
                self._snapshot = identity_op(self._variable, name="read")
        else:
            with colocate_with(self._variable.op):
                self._snapshot = identity_op(self._variable, name="read")

    # -- as a tensor -------------------------------------------------------------------------------

    def _as_graph_element(self) -> TensorResult:
        return self._variable

    def _ref(self) -> Tensor:
        found: Tensor = self._variable
        return found

    def value(self) -> Tensor:
        """Return the value, read once for the whole graph."""
        found: Tensor = self._snapshot
        return found

    def read_value(self) -> Tensor:
        """Return the value, read by a new op."""
        found: Tensor = identity_op(self._variable, name="read")
        return found

    @property
    def name(self) -> str:
        """The name of the variable's tensor, for example ``v:0``."""
        found: str = self._variable.name
        return found

    @property
    def _shared_name(self) -> str:
        return self.name[: self.name.index(":")]

    @property
    def _unique_id(self) -> str:
        return self.name

    @property
    def initializer(self) -> Operation:
        """The op that gives the variable its initial value."""
        return self._initializer_op

    @property
    def device(self) -> str:
        """The requested device."""
        found: str = self._variable.device
        return found

    @property
    def dtype(self) -> DType:
        """The type, as a reference type."""
        found: DType = self._variable.dtype
        return found

    @property
    def op(self) -> Operation:
        """The op that outputs the reference."""
        found: Operation = self._variable.op
        return found

    @property
    def graph(self) -> Graph:
        """The variable's graph."""
        found: Graph = self._variable.graph
        return found

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        found: TensorShape = self._variable.shape
        return found

    def set_shape(self, shape: TensorLike) -> None:
        """Merge a shape into the static shape."""
        self._ref().set_shape(shape)
        self.value().set_shape(shape)

    # -- changes -----------------------------------------------------------------------------------

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Assign a value.

        Args:
          value: the value.
          use_locking: whether the variable is locked meanwhile.
          name: the name of the op.
          read_value: whether to return the assigned variable, or only the op.
        """
        found = state_ops.assign(self._variable, value, use_locking=use_locking, name=name)
        return found if read_value else found.op

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Add to the variable; arguments as in :meth:`assign`."""
        found = state_ops.assign_add(self._variable, delta, use_locking=use_locking, name=name)
        return found if read_value else found.op

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Subtract from the variable; arguments as in :meth:`assign`."""
        found = state_ops.assign_sub(self._variable, delta, use_locking=use_locking, name=name)
        return found if read_value else found.op

    def count_up_to(self, limit: int) -> Tensor:
        """Return a counter's value and increment it; raise OutOfRangeError at the limit."""
        found: Tensor = state_ops.count_up_to(self._variable, limit=limit)
        return found

    def _scatter(
        self, kind: str, sparse_delta: TensorLike, use_locking: bool, name: str | None
    ) -> TensorResult:
        from tfnb.framework.indexed_slices import IndexedSlices

        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        scatter = getattr(state_ops, f"scatter_{kind}_op")
        return scatter(
            self._variable,
            sparse_delta.indices,
            sparse_delta.values,
            use_locking=use_locking,
            name=name,
        )

    def scatter_sub(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Subtract the rows of an IndexedSlices."""
        return self._scatter("sub", sparse_delta, use_locking, name)

    def scatter_add(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Add the rows of an IndexedSlices."""
        return self._scatter("add", sparse_delta, use_locking, name)

    def scatter_max(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by the maximum of them and the rows of an IndexedSlices."""
        return self._scatter("max", sparse_delta, use_locking, name)

    def scatter_min(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by the minimum of them and the rows of an IndexedSlices."""
        return self._scatter("min", sparse_delta, use_locking, name)

    def scatter_mul(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Multiply by the rows of an IndexedSlices."""
        return self._scatter("mul", sparse_delta, use_locking, name)

    def scatter_div(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Divide by the rows of an IndexedSlices."""
        return self._scatter("div", sparse_delta, use_locking, name)

    def scatter_update(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by those of an IndexedSlices."""
        return self._scatter("update", sparse_delta, use_locking, name)

    def batch_scatter_update(
        self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> TensorResult:
        """Replace rows by those of an IndexedSlices, separately for every leading batch."""
        return state_ops.batch_scatter_update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    def scatter_nd_sub(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Subtract updates at coordinates."""
        return state_ops.scatter_nd_sub_op(
            self._variable, indices, updates, use_locking=True, name=name
        )

    def scatter_nd_add(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Add updates at coordinates."""
        return state_ops.scatter_nd_add_op(
            self._variable, indices, updates, use_locking=True, name=name
        )

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Replace values at coordinates by updates."""
        return state_ops.scatter_nd_update_op(
            self._variable, indices, updates, use_locking=True, name=name
        )

    def scatter_nd_max(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Replace values at coordinates by the maximum of them and the updates."""
        return state_ops.scatter_nd_max_op(
            self._variable, indices, updates, use_locking=True, name=name
        )

    def scatter_nd_min(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Replace values at coordinates by the minimum of them and the updates."""
        return state_ops.scatter_nd_min_op(
            self._variable, indices, updates, use_locking=True, name=name
        )

    def _strided_slice_assign(
        self,
        begin: TensorLike,
        end: TensorLike,
        strides: IntsLike,
        value: TensorLike,
        name: str | None,
        **masks: int,
    ) -> TensorResult:
        from tfnb.ops.array.slice_ops import strided_slice_assign

        return strided_slice_assign(self._ref(), begin, end, strides, value, name=name, **masks)

    # -- as a message ------------------------------------------------------------------------------

    def _init_from_proto(
        self, variable_def: variable_pb2.VariableDef, import_scope: str | None
    ) -> None:
        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        graph = get_default_graph()
        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        if variable_def.initial_value_name:
            self._initial_value = element(variable_def.initial_value_name)
        self._synchronization, self._aggregation, self._trainable = settle_policies(
            VariableSynchronization(variable_def.synchronization),
            VariableAggregation(variable_def.aggregation),
            variable_def.trainable,
            variable_def.variable_name,
        )
        self._snapshot = element(variable_def.snapshot_name)
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._graph_key = graph._graph_key

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the VariableDef message; None for another scope than ``export_scope``."""
        from tfnb.proto import variable_pb2

        if export_scope is not None and not self._variable.name.startswith(export_scope):
            return None
        found = variable_pb2.VariableDef(
            variable_name=strip_name_scope(self._variable.name, export_scope),
            initializer_name=strip_name_scope(self.initializer.name, export_scope),
            snapshot_name=strip_name_scope(self._snapshot.name, export_scope),
            trainable=self._trainable,
            synchronization=cast("Any", self._synchronization.value),
            aggregation=cast("Any", self._aggregation.value),
        )
        if self._initial_value is not None:
            found.initial_value_name = strip_name_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            found.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return found


overload_operators(RefVariable)


def _to_tensor(
    variable: VariableLike,
    dtype: DType | None = None,
    name: str | None = None,
    as_ref: bool = False,
) -> TensorResult:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}' (Variable: {variable})"
        )
    return variable._ref() if as_ref else variable.value()


register_tensor_conversion_function(RefVariable, _to_tensor)
