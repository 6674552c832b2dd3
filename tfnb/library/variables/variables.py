"""``tf.Variable``: the common part of both kinds of variables, and functions over many of them.

``tf.Variable(...)`` makes a :class:`~tfnb.library.variables.ref_variable.RefVariable`, TensorFlow
1's default, or with ``use_resource=True`` a
:class:`~tfnb.library.variables.resource_variable.ResourceVariable`; both are instances of
:class:`Variable`. :func:`variable_creator_scope` intercepts the making of variables.
"""

from __future__ import annotations

import enum
import functools
import inspect
import itertools
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from tfnb.core import dtypes, errors
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.default_session import get_default_session
from tfnb.framework.scopes import (
    colocate_with,
    control_dependencies,
    device,
    get_collection,
    name_scope,
)
from tfnb.framework.tensor import Tensor
from tfnb.library.variables import resource_variables_toggle
from tfnb.ops.state import state_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import (
        Constraint,
        Nested,
        TensorLike,
        TensorResult,
        VariableLike,
    )
    from tfnb.proto import variable_pb2

EXPORTS = {
    "tf": [
        "Variable",
        "VariableV1:Variable",
        "VariableAggregation",
        "VariableSynchronization",
        "variable_creator_scope",
        "variable_creator_scope_v1:variable_creator_scope",
        "global_variables",
        "all_variables",
        "local_variables",
        "model_variables",
        "trainable_variables",
        "moving_average_variables",
        "variables_initializer",
        "initialize_variables",
        "global_variables_initializer",
        "initialize_all_variables",
        "local_variables_initializer",
        "initialize_local_variables",
        "assert_variables_initialized",
        "report_uninitialized_variables",
    ],
    "initializers": [
        "variables:variables_initializer",
        "global_variables:global_variables_initializer",
        "local_variables:local_variables_initializer",
    ],
}


class VariableSynchronization(enum.Enum):
    """When the copies of a distributed variable are synchronized."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How the copies of a distributed variable are aggregated."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796  # its old name


# ----------------------------------------------------------------------------------------- creators

# The key in ``graph.kept`` of the list of creators, outermost first.
_CREATORS = "variable creators"


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Make ``tf.Variable`` in the block call ``variable_creator(next_creator, **kwargs)``.

    Args:
      variable_creator: makes a variable, usually by calling ``next_creator(**kwargs)``.
    """
    graph = get_default_graph()
    stack = graph.kept.setdefault(_CREATORS, [])
    stack.append(variable_creator)
    try:
        yield
    finally:
        stack.remove(variable_creator)


def _create(**kwargs: Any) -> VariableLike:
    """Return the variable for ``tf.Variable(**kwargs)``."""
    creator: Any = _default_creator
    for one in get_default_graph().kept.get(_CREATORS, ()):
        creator = functools.partial(one, creator)
    return creator(**kwargs)


def _default_creator(**kwargs: Any) -> VariableLike:
    from tfnb.library.variables.ref_variable import RefVariable
    from tfnb.library.variables.resource_variable import ResourceVariable
    from tfnb.library.variables.variable_scope import get_variable_scope

    use_resource = kwargs.pop("use_resource", None)
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = resource_variables_toggle.resource_variables_enabled()
    kwargs.pop("expected_shape", None)
    made = ResourceVariable if use_resource else RefVariable
    return made(**kwargs)


class _VariableType(type):
    """The type of ``Variable``, whose call makes one of the kinds of variables."""

    def __call__(cls, *args: Any, **kwargs: Any) -> TensorResult:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        names = _PARAMETERS
        if len(args) > len(names):
            raise TypeError(f"Variable takes at most {len(names)} arguments, {len(args)} given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in _DEFAULTS:
                raise TypeError(f"Variable got an unexpected keyword argument {name!r}")
            if name in given:
                raise TypeError(f"Variable got two values for argument {name!r}")
            given[name] = value
        return _create(**{**_DEFAULTS, **given})


_PARAMETERS = (
    "initial_value",
    "trainable",
    "collections",
    "validate_shape",
    "caching_device",
    "name",
    "variable_def",
    "dtype",
    "expected_shape",
    "import_scope",
    "constraint",
    "use_resource",
    "synchronization",
    "aggregation",
    "shape",
)
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(_PARAMETERS),
    "validate_shape": True,
    "synchronization": VariableSynchronization.AUTO,
    "aggregation": VariableAggregation.NONE,
}


def settle_policies(
    synchronization: Any, aggregation: Any, trainable: Any, name: str | None
) -> Any:
    """Return (synchronization, aggregation, trainable) with the unset ones decided.

    Raises:
      ValueError: ``synchronization`` or ``aggregation`` has another type.
    """
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, VariableAggregation):
        raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}")
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    elif not isinstance(synchronization, VariableSynchronization):
        raise ValueError(
            f"Invalid variable synchronization mode: {synchronization} for variable: {name}"
        )
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, bool(trainable)


# ----------------------------------------------------------------------------------- the base class


class Variable(metaclass=_VariableType):
    """A tensor that lives in a session and can be assigned to.

    ``Variable(initial_value, trainable=None, collections=None, validate_shape=True,
    caching_device=None, name=None, variable_def=None, dtype=None, expected_shape=None,
    import_scope=None, constraint=None, use_resource=None, synchronization=AUTO, aggregation=NONE,
    shape=None)``

    Args:
      initial_value: the initial value, or a function without arguments that returns it.
      trainable: whether optimizers may change it; True by default.
      collections: the graph's collections to add it to; ``GLOBAL_VARIABLES`` by default.
      validate_shape: whether its shape is fixed to that of the initial value.
      caching_device: the device to read it on.
      name: its name.
      variable_def: a VariableDef message that replaces all other arguments.
      dtype: its type; by default that of the initial value.
      expected_shape: ignored.
      import_scope: a name to prepend to the names in ``variable_def``.
      constraint: a function that an optimizer applies to a computed value.
      use_resource: whether it is a resource variable.
      synchronization: for distributed variables.
      aggregation: for distributed variables.
      shape: its shape, if that of the initial value is too specific.
    """

    is_tensor_like = True
    # In a list that becomes a tensor, a variable counts as a tensor.
    _is_packable = True
    __array_priority__ = 100

    _save_slice_info: Any = None
    _constraint: Constraint = None
    _initial_value: Any = None
    _synchronization: VariableSynchronization = VariableSynchronization.AUTO
    _aggregation: VariableAggregation = VariableAggregation.NONE
    _trainable: bool = True
    _caching_device: Any = None

    if TYPE_CHECKING:
        SaveSliceInfo: ClassVar[type]

        assign: Any

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def __getitem__(self, key: TensorLike) -> Tensor: ...
        def __add__(self, other: TensorLike) -> Tensor: ...
        def __radd__(self, other: TensorLike) -> Tensor: ...
        def __sub__(self, other: TensorLike) -> Tensor: ...
        def __rsub__(self, other: TensorLike) -> Tensor: ...
        def __mul__(self, other: TensorLike) -> Tensor: ...
        def __rmul__(self, other: TensorLike) -> Tensor: ...
        def __truediv__(self, other: TensorLike) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike) -> Tensor: ...
        def __pow__(self, other: TensorLike) -> Tensor: ...
        def __neg__(self) -> Tensor: ...

    # The parameters of a call of the class; each kind of variable accepts these and more by
    # keyword.
    __signature__ = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
            for name, default in _DEFAULTS.items()
        ]
    )

    def _as_graph_element(self) -> TensorResult:
        raise NotImplementedError

    def value(self) -> Tensor:
        """Return the value as a tensor."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """Return the value, read by a new op."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name, for example ``v:0``."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The type."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        raise NotImplementedError

    @property
    def op(self) -> Operation:
        """The op of the variable."""
        raise NotImplementedError

    @property
    def graph(self) -> Graph:
        """The variable's graph."""
        raise NotImplementedError

    @property
    def initializer(self) -> Operation:
        """The op that gives the variable its initial value."""
        raise NotImplementedError

    def __iter__(self) -> NoReturn:
        """Raise: use ``tf.unstack``."""
        raise errors.OperatorNotAllowedInGraphError(
            f"Iterating over a symbolic `tf.Tensor` is not allowed ({self.name}). Use `tf.unstack` "
            "where the size is known, else `tf.map_fn` or `tf.while_loop`."
        )

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    @property
    def initial_value(self) -> TensorResult:
        """The tensor of the initial value; using it does not read the variable."""
        return self._initial_value

    @property
    def constraint(self) -> Constraint:
        """The function that an optimizer applies to a computed value, or None."""
        return self._constraint

    @property
    def trainable(self) -> bool:
        """Whether optimizers may change it."""
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        """When the copies of a distributed variable are synchronized."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """How the copies of a distributed variable are aggregated."""
        return self._aggregation

    @property
    def device(self) -> str:
        """The requested device."""
        raise NotImplementedError

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self.shape

    def is_initialized(self, name: str | None = None) -> TensorResult:
        """Return whether the variable has a value, as a tensor."""
        return state_ops.is_variable_initialized_op(ref=self, name=name)

    def eval(self, session: SessionLike | None = None) -> Any:
        """Return the value in a session, by default in the default session."""
        return self._as_graph_element().eval(session=session)

    def initialized_value(self) -> Tensor:
        """Return the value, or the initial value if the variable has none yet."""
        from tfnb.library.control_flow.cond import cond

        with control_dependencies(None):
            found: Tensor = cond(
                state_ops.is_variable_initialized(self),
                self.read_value,
                lambda: self.initial_value,
            )
        return found

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Assign a value in a session, outside of the program's own steps.

        Raises:
          ValueError: there is no session.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def ref(self) -> Any:
        """Return a hashable object that stands for the variable."""
        from tfnb.framework.tensor import Reference

        return Reference(self)

    def experimental_ref(self) -> Any:
        """See :meth:`ref`."""
        return self.ref()

    @staticmethod
    def from_proto(variable_def: variable_pb2.VariableDef, import_scope: str | None = None) -> Any:
        """Return the variable of the default graph that a VariableDef message describes."""
        from tfnb.library.variables.ref_variable import RefVariable
        from tfnb.library.variables.resource_variable import ResourceVariable

        made = ResourceVariable if variable_def.is_resource else RefVariable
        return made(variable_def=variable_def, import_scope=import_scope)


def _integer_of(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        must_be = "a sequence of integers" if what == "full_shape" else "an integer"
        raise ValueError(
            f"Spec string {what} must be {must_be}. Found '{text}', which is not an integer."
        ) from None


class SaveSliceInfo:
    """The part of a whole that a variable is, for saving.

    Attributes:
      full_name: the name of the whole.
      full_shape: its shape.
      var_offset: the offset of the part, per dimension.
      var_shape: the part's shape.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Any = None,
        var_offset: Any = None,
        var_shape: Any = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            from tfnb.framework.scope_names import prepend_name_scope

            self.full_name = prepend_name_scope(save_slice_info_def.full_name, import_scope)
            self.full_shape = list(save_slice_info_def.full_shape)
            self.var_offset = list(save_slice_info_def.var_offset)
            self.var_shape = list(save_slice_info_def.var_shape)
        else:
            self.full_name = full_name or ""
            self.full_shape = full_shape
            self.var_offset = var_offset
            self.var_shape = var_shape

    @classmethod
    def from_spec(cls, spec: str) -> SaveSliceInfo:
        """Return the information in a text of the form of ``spec``.

        Args:
          spec: the whole's sizes, then a pair of start and size for each dimension:
            ``"4 10 0,2:0,10"``.

        Raises:
          ValueError: the text has another form.
        """
        if not spec:
            return cls()
        whole, space, parts = spec.rpartition(" ")
        if not space:
            raise ValueError("Spec string must contain space-separated full_shape info.")
        sizes = [_integer_of(size, "full_shape") for size in whole.split()]
        pairs = [part.split(",") for part in parts.split(":")]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError(
                "Spec string must contain comma-separated pairs of offsets and shapes."
            )
        offsets = [_integer_of(start, "var_offset") for start, _ in pairs]
        shape = [_integer_of(size, "var_shape") for _, size in pairs]
        return cls(full_shape=sizes, var_offset=offsets, var_shape=shape)

    @property
    def spec(self) -> str:
        """The text for Save and Restore ops: ``"4 10 0,2:0,10"``."""
        whole = " ".join(f"{size:d}" for size in self.full_shape) + " "
        return whole + ":".join(
            f"{start:d},{size:d}" for start, size in zip(self.var_offset, self.var_shape)
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the SaveSliceInfoDef message; None for another scope than ``export_scope``."""
        from tfnb.framework.scope_names import strip_name_scope
        from tfnb.proto import variable_pb2

        if export_scope is not None and not self.full_name.startswith(export_scope):
            return None
        return variable_pb2.SaveSliceInfoDef(
            full_name=strip_name_scope(self.full_name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


Variable.SaveSliceInfo = SaveSliceInfo

# --------------------------------------------------- initial values made from other variables


def guard_against_uninitialized(name: str, initial_value: Tensor) -> Tensor:
    """Return an initial value that reads other variables only after they are initialized.

    Args:
      name: the name of the variable that it is for.
      initial_value: the tensor as the program computed it.
    """
    if _has_cycle(initial_value.op, {}):
        return initial_value
    return _safe_tensor(name, initial_value, {})


def _has_cycle(op: Operation, finished: dict[Operation, bool]) -> bool:
    """Return whether a loop can be reached backwards; without recursion."""
    stack: list[tuple[Operation, Iterator[Operation]]] = [(op, _sources(op))]
    finished[op] = False
    while stack:
        current, sources = stack[-1]
        source = next(sources, None)
        if source is None:
            finished[current] = True
            stack.pop()
        elif source not in finished:
            finished[source] = False
            stack.append((source, _sources(source)))
        elif not finished[source]:
            return True
    return False


def _sources(op: Operation) -> Iterator[Operation]:
    return itertools.chain((one.op for one in op.inputs), op.control_inputs)


def _safe_tensor(name: str, tensor: Tensor, cache: dict[Operation, Operation]) -> Tensor:
    # Sources first, so that long chains need no deep recursion.
    stack = [tensor.op]
    while stack:
        op = stack[-1]
        if op in cache:
            stack.pop()
            continue
        missing = [] if _is_kept(op) else [one.op for one in op.inputs if one.op not in cache]
        if missing:
            stack += missing
            continue
        cache[op] = _safe_op(name, op, cache)
        stack.pop()
    return cache[tensor.op].outputs[tensor.value_index]


_KEPT = frozenset(("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If"))
_VARIABLE_OPS = frozenset(("Variable", "VariableV2", "VarHandleOp"))


def _is_kept(op: Operation) -> bool:
    return op.type in _KEPT or op.type in _VARIABLE_OPS


def _safe_op(name: str, op: Operation, cache: dict[Operation, Operation]) -> Operation:
    if op.type in _KEPT:
        return op
    if op.type in _VARIABLE_OPS:
        value = _initialized_value_of(op)
        return op if value is None else value.op
    inputs = [cache[one.op].outputs[one.value_index] for one in op.inputs]
    if all(new is old for new, old in zip(inputs, op.inputs)):
        return op
    made: Operation = op.graph.create_op(
        "Switch" if op.type == "RefSwitch" else op.type,
        inputs,
        name=f"{op.name}_{name}".replace(":", "_"),
        attrs=dict(op.attrs),
    )
    return made


def _initialized_value_of(op: Operation) -> Tensor | None:
    names = (op.name, f"{op.name}:0")
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(key):
            if getattr(variable, "name", None) in names:
                found: Tensor = variable.initialized_value()
                return found
    return None


# -------------------------------------------------------------------------------- operators on them


def overload_operators(cls: type[Variable]) -> None:
    """Give a class of variables the operators of tensors, applied to the variable's value."""
    for operator in Tensor.OVERLOADABLE_OPERATORS:
        if operator in ("__eq__", "__ne__"):
            # Like tensors, variables are equal only to themselves.
            continue
        if operator == "__getitem__":
            cls.__getitem__ = _getitem  # type: ignore[method-assign]
            continue
        function = getattr(Tensor, operator, None)
        if function is not None:
            setattr(cls, operator, _on_value(function))


def _on_value(function: Callable[..., Nested]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(variable: VariableLike, *args: Any, **kwargs: Any) -> Any:
        return function(variable.value(), *args, **kwargs)

    return run


def _getitem(variable: VariableLike, slice_spec: TensorLike) -> TensorResult:
    from tfnb.ops.array.slice_ops import slice_helper

    return slice_helper(variable.value(), slice_spec, variable)


# -------------------------------------------------------------------------------------- collections


def global_variables(scope: str | None = None) -> list[VariableLike]:
    """Return the variables of ``GLOBAL_VARIABLES``.

    Args:
      scope: a regular expression that names must match at their beginning.
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[VariableLike]:
    """Call :func:`global_variables`; the old name of that function."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[VariableLike]:
    """Return the variables of ``LOCAL_VARIABLES``, which are not saved."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[VariableLike]:
    """Return the variables of ``MODEL_VARIABLES``."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[VariableLike]:
    """Return the variables that optimizers change by default."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[VariableLike]:
    """Return the variables that have moving averages."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Iterable[VariableLike], name: str = "init") -> Operation:
    """Return an op that gives variables their initial values."""
    from tfnb.library.control_flow.control_flow import group
    from tfnb.ops.control.control_flow_ops import no_op

    var_list = list(var_list or ())
    if var_list:
        return group(*[variable.initializer for variable in var_list], name=name)
    found: Operation = no_op(name=name)
    return found


def initialize_variables(var_list: Iterable[VariableLike], name: str = "init") -> Operation:
    """Call :func:`variables_initializer`; the old name of that function."""
    return variables_initializer(var_list, name=name)


def global_variables_initializer() -> Operation:
    """Return an op that gives all global variables their initial values."""
    return variables_initializer(global_variables())


def initialize_all_variables() -> Operation:
    """Call :func:`global_variables_initializer`; the old name of that function."""
    return global_variables_initializer()


def local_variables_initializer() -> Operation:
    """Return an op that gives all local variables their initial values."""
    return variables_initializer(local_variables())


def initialize_local_variables() -> Operation:
    """Call :func:`local_variables_initializer`; the old name of that function."""
    return local_variables_initializer()


def _known_variables() -> list[Nested]:
    found = global_variables() + local_variables()
    if found:
        return found
    kinds = ("Variable", "VariableV2", "AutoReloadVariable")
    return [op.outputs[0] for op in get_default_graph().get_operations() if op.type in kinds]


def assert_variables_initialized(var_list: Iterable[VariableLike] | None = None) -> Tensor | None:
    """Return a tensor that requires values of all variables; None if there are none."""
    from tfnb.ops.array import concat_ops, shape_ops

    variables = _known_variables() if var_list is None else list(var_list)
    if not variables:
        return None
    ranks = []
    for variable in variables:
        with colocate_with(variable.op):
            ranks.append(shape_ops.rank_internal(variable, optimize=False))
    return ranks[0] if len(ranks) == 1 else concat_ops.stack(ranks)


def report_uninitialized_variables(
    var_list: Iterable[VariableLike] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return the names of the variables that have no value, as a vector of strings."""
    from tfnb.ops.array import concat_ops
    from tfnb.ops.array.constant_ops import constant
    from tfnb.ops.array.where_ops import boolean_mask
    from tfnb.ops.math import cwise_unary_ops

    variables = _known_variables() if var_list is None else list(var_list)
    with name_scope(name):
        flags = [state_ops.is_variable_initialized(variable) for variable in variables]
        where = os.environ.get("TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING", "/cpu:0")
        with device(where):
            if not variables:
                return constant([], dtype=dtypes.string)
            mask = cwise_unary_ops.logical_not(concat_ops.stack(flags))
            names = constant([variable.op.name for variable in variables])
            return boolean_mask(names, mask)
