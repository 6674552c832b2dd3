"""``tf.get_variable`` and ``tf.variable_scope``: variables that are found again by name.

A :class:`VariableScope` has a prefix for names and defaults for new variables. The variables of a
graph are in its one store. The scope's ``reuse`` decides whether a name must be new, must exist, or
either.
"""

from __future__ import annotations

import copy
import functools
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.graph_elements import graph_of_inputs
from tfnb.framework.scopes import (
    get_name_scope,
    name_scope,
)
from tfnb.library.control_flow.control_flow_values import is_resource_variable
from tfnb.library.variables.variable_store import AUTO_REUSE, _VariableStore
from tfnb.library.variables.variables import (
    VariableAggregation,
    VariableSynchronization,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.graph import Graph
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
        ScopeLike,
        TensorLike,
        TensorResult,
        VariableLike,
    )


EXPORTS = {
    "tf": [
        "VariableScope",
        "get_variable",
        "get_local_variable",
        "get_variable_scope",
        "variable_scope",
        "variable_op_scope",
    ],
}


# ------------------------------------------------------------------------------------------- scopes


class VariableScope:
    """A prefix for the names of variables, and defaults for new ones."""

    def __init__(
        self,
        reuse: Reuse,
        name: str = "",
        initializer: Initializer | None = None,
        regularizer: Regularizer = None,
        caching_device: DeviceLike | None = None,
        partitioner: Partitioner = None,
        custom_getter: CustomGetter = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Constraint = None,
    ) -> None:
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse = reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self) -> str:
        """The prefix, without a slash at its end."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was opened together with this scope."""
        return self._name_scope

    @property
    def reuse(self) -> Reuse:
        """Whether variables are found (True), made or found (AUTO_REUSE), or made."""
        return self._reuse

    @property
    def initializer(self) -> Initializer:
        """The default initializer."""
        return self._initializer

    @property
    def dtype(self) -> Any:
        """The default type."""
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        """Whether variables are resource variables."""
        return self._use_resource

    @property
    def regularizer(self) -> Regularizer:
        """The default regularizer."""
        return self._regularizer

    @property
    def caching_device(self) -> DeviceLike:
        """The device that variables are read on."""
        return self._caching_device

    @property
    def partitioner(self) -> Partitioner:
        """The function that divides variables into parts."""
        return self._partitioner

    @property
    def custom_getter(self) -> CustomGetter:
        """The first getter for variables."""
        return self._custom_getter

    @property
    def constraint(self) -> Constraint:
        """The default constraint."""
        return self._constraint

    def reuse_variables(self) -> None:
        """Make :func:`get_variable` find this scope's variables, not make them, from now on."""
        self._reuse = True

    def set_initializer(self, initializer: Initializer) -> None:
        """Set the default initializer."""
        self._initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Set the default type."""
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool) -> None:
        """Set whether variables are resource variables."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Regularizer) -> None:
        """Set whether variables are resource variables."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: DeviceLike) -> None:
        """Set the device that variables are read on."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Partitioner) -> None:
        """Set the function that divides variables into parts."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: CustomGetter) -> None:
        """Set the first getter for variables."""
        self._custom_getter = custom_getter

    def get_collection(self, name: str) -> list[TensorResult]:
        """Return the entries of a collection whose names are in this scope."""
        scope = f"{self._name}/" if self._name else ""
        return get_default_graph().get_collection(name, scope)

    def trainable_variables(self) -> list[VariableLike]:
        """Return the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[VariableLike]:
        """Return the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[VariableLike]:
        """Return the local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: _VariableStore,
        name: str | None,
        shape: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        initializer: Initializer | None = None,
        regularizer: Regularizer = None,
        reuse: Reuse | None = None,
        trainable: Any = None,
        collections: CollectionNames | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Partitioner = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: CustomGetter = None,
        constraint: Constraint = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> VariableLike:
        """Return the variable of this name in this scope; see :func:`get_variable`."""

        def either(given: Any, default: Any) -> Any:
            return default if given is None else given

        # An empty name gives "scope/": the variable gets the name of the scope.
        full_name = f"{self.name}/{name}" if self.name and name is not None else name or self.name
        # Only the variable scope is part of the names of variables.
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = convert_to_tensor(initializer).dtype.base_dtype
                if found is not dtypes.as_dtype(dtype).base_dtype:
                    raise ValueError(
                        f"Initializer type '{found}' and explicit dtype '{dtype}' don't match."
                    )
            return var_store.get_variable(
                full_name,
                custom_getter=either(custom_getter, self._custom_getter),
                shape=shape,
                dtype=either(dtype, self._dtype),
                initializer=either(initializer, self._initializer),
                regularizer=either(regularizer, self._regularizer),
                reuse=either(reuse, self._reuse),
                trainable=trainable,
                collections=collections,
                caching_device=either(caching_device, self._caching_device),
                partitioner=either(partitioner, self._partitioner),
                validate_shape=validate_shape,
                use_resource=either(use_resource, self._use_resource),
                constraint=either(constraint, self._constraint),
                synchronization=synchronization,
                aggregation=aggregation,
            )


class _ScopeStore(threading.local):
    """The current scope of one thread in one graph, and the number of scopes opened per name."""

    def __init__(self) -> None:
        self.current_scope = VariableScope(
            False, custom_getter=_hoisting_getter(get_default_graph())
        )
        self.counts: dict[str, int] = {}

    def open(self, name: str) -> None:
        """Count one more scope of this name."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_below(self, name: str) -> None:
        """Close the scopes inside the one of this name."""
        for other in self.counts:
            if other.startswith(f"{name}/"):
                self.counts[other] = 0


def _hoisting_getter(graph: Any) -> Callable[..., Any] | None:
    """Return a getter that makes a function's variables outside of it; None in other graphs."""
    if not (graph.building_function and graph.hoists_variables):
        return None
    # A template may bring the getter to the scope outside, which would ask the getter again.
    with graph.outer_graph.as_default():
        outer_scope = get_variable_scope()

    def get(
        getter: Any,
        name: str,
        shape: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        initializer: Initializer | None = None,
        reuse: Reuse | None = None,
        trainable: Any = True,
        collections: CollectionNames | None = None,
        use_resource: bool | None = None,
        **others: Any,  # not passed on, as in TensorFlow
    ) -> VariableLike:
        with graph.outer_graph.as_default():
            variable = outer_scope.get_variable(
                _get_default_variable_store(),
                name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                reuse=reuse,
                trainable=trainable,
                collections=collections,
                use_resource=use_resource,
            )
            graph.extra_vars.append(variable)
            # The read is outside, so that the function is pure and has a gradient.
            if graph.capture_resource_var_by_value and is_resource_variable(variable):
                return variable.value()
            return variable

    return get


_SCOPE_OPTIONS = (
    "initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype",
    "use_resource", "constraint",
)  # fmt: skip
_STORE_KEY = ("__variable_store",)
_SCOPE_KEY = ("__varscope",)


def _of_graph(key: tuple[str], make: Callable[[], Nested]) -> Any:
    graph = get_default_graph()
    found = graph.get_collection(key)
    if found:
        return found[0]
    store = make()
    graph.add_to_collection(key, store)
    return store


def stores_of(graph: Graph) -> tuple[list[_VariableStore], list[_ScopeStore]]:
    """Return a graph's tables of variables and of scopes, each in a list; empty if unused."""
    return graph.get_collection(_STORE_KEY), graph.get_collection(_SCOPE_KEY)


def _get_default_variable_store() -> _VariableStore:
    found: _VariableStore = _of_graph(_STORE_KEY, _VariableStore)
    return found


def _get_scope_store() -> _ScopeStore:
    found: _ScopeStore = _of_graph(_SCOPE_KEY, _ScopeStore)
    return found


def get_variable_scope() -> VariableScope:
    """Return the current variable scope."""
    return _get_scope_store().current_scope


def _combined_getter(new: Any, old: Any) -> Any:
    """Return the getter ``new`` with ``old`` between it and the function that makes variables."""
    if old is None:
        return new

    def combined(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return new(functools.partial(old, getter), *args, **kwargs)

    return combined


class _PureVariableScope:
    """A variable scope without a name scope."""

    def __init__(
        self,
        name_or_scope: ScopeLike,
        reuse: Reuse,
        old_name_scope: str | None,
        options: dict[str, Any],
    ) -> None:
        self._name_or_scope = name_or_scope
        self._reuse = reuse
        self._old_name_scope = old_name_scope
        self._options = options
        self._store = _get_scope_store()

    def __enter__(self) -> VariableScope:
        store = self._store
        self._old = store.current_scope
        shared = self._name_or_scope if isinstance(self._name_or_scope, VariableScope) else None
        if shared is not None:
            # A jump to another scope enters a copy of it, so that changes end with this block.
            base = shared
            name = shared.name
            scope_name = shared._name_scope
            reuse = self._reuse or shared.reuse
        else:
            base = self._old
            part = self._name_or_scope
            name = f"{base.name}/{part}" if base.name else part
            scope_name = part if self._old_name_scope is None else self._old_name_scope
            reuse = self._reuse or base.reuse
        store.open(name)
        self._old_counts = copy.copy(store.counts) if shared is not None else None
        self._new_name = name
        values = {
            key: getattr(base, key) if given is None else given
            for key, given in self._options.items()
        }
        if self._options["custom_getter"] is not None:
            values["custom_getter"] = _combined_getter(
                self._options["custom_getter"], base.custom_getter
            )
        hoisting = _hoisting_getter(get_default_graph()) if shared is not None else None
        if hoisting is not None:  # the scope of a template may come from outside of the function
            getter = values["custom_getter"]
            values["custom_getter"] = _combined_getter(getter, hoisting) if getter else hoisting
        self._made = VariableScope(reuse, name=name, name_scope=scope_name, **values)
        store.current_scope = self._made
        return self._made

    def __exit__(self, *exc_info: object) -> None:
        store = self._store
        if store.current_scope is not self._made:
            raise RuntimeError("Improper nesting of variable_scope.")
        if self._old_counts is not None:
            store.counts = self._old_counts
        else:
            store.close_below(self._new_name)
        store.current_scope = self._old


def _unique_scope(prefix: str) -> str:
    store, scope = _get_scope_store(), get_variable_scope()
    name = f"{scope.name}/{prefix}" if scope.name else prefix
    if not store.counts.get(name):
        return prefix
    number = 1
    while store.counts.get(f"{name}_{number}"):
        number += 1
    return f"{prefix}_{number}"


def pure_variable_scope(
    name: str | None, default_name: str, custom_getter: CustomGetter
) -> _PureVariableScope:
    """Return a scope with a name, perhaps made unique, that opens no name scope."""
    options = dict.fromkeys(_SCOPE_OPTIONS) | {"custom_getter": custom_getter}
    return _PureVariableScope(name or _unique_scope(default_name), None, None, options)


class variable_scope:  # a function to its callers
    """A context manager: its name prefixes the variables inside, and its defaults apply to them."""

    def __init__(
        self,
        name_or_scope: ScopeLike,
        default_name: str | None = None,
        values: Iterable[TensorLike] | None = None,
        initializer: Initializer | None = None,
        regularizer: Regularizer = None,
        caching_device: DeviceLike | None = None,
        partitioner: Partitioner = None,
        custom_getter: CustomGetter = None,
        reuse: Reuse | None = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Constraint = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        """Prepare the scope.

        Args:
          name_or_scope: the name to add, or a scope to enter.
          default_name: the name if ``name_or_scope`` is None; made unique.
          values: tensors whose graph becomes the default one.
          initializer: the default initializer.
          regularizer: the default regularizer.
          caching_device: the device to read variables on.
          partitioner: the function that divides variables into parts.
          custom_getter: the first getter for variables.
          reuse: True: variables are found; AUTO_REUSE: made or found; None: as outside.
          dtype: the default type.
          use_resource: whether variables are resource variables.
          constraint: the default constraint.
          auxiliary_name_scope: whether a name scope is opened too.

        Raises:
          TypeError: there is neither a name nor a default name.
          ValueError: ``reuse`` has another value.
        """
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse is False:
            # A scope inside a reusing scope reuses, too.
            reuse = None
        if not (reuse is True or reuse is None or reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                "The auxiliary_name_scope must be `True` or `False`, while get "
                f"{auxiliary_name_scope}"
            )
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = list(values or ())
        self._reuse = reuse
        self._auxiliary_name_scope = auxiliary_name_scope
        self._options = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._entered: list[list[Any]] = []

    def __enter__(self) -> VariableScope:
        managers: list[Any] = []
        self._entered.append(managers)
        try:
            return self._enter(managers)
        except BaseException:
            self._entered.pop()
            for manager in reversed(managers):
                manager.__exit__(None, None, None)
            raise

    def _push(self, managers: list[Any], manager: Any) -> Any:
        found = manager.__enter__()
        managers.append(manager)
        return found

    def _enter(self, managers: list[Any]) -> VariableScope:
        graph = get_default_graph()
        if self._values and not graph._building_function:
            owner = graph_of_inputs(self._values)
            if owner is not graph:
                self._push(managers, owner.as_default())
        given = self._name_or_scope
        inner: TensorLike
        if given is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            opened = self._push(managers, self._name_scope(self._default_name))
            unique = _unique_scope(self._default_name or "")
            inner = _PureVariableScope(unique, None, opened, self._options)
        elif not isinstance(given, (VariableScope, str)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        else:
            part = given if isinstance(given, str) else given.name.split("/")[-1]
            opened = None
            if part or not self._auxiliary_name_scope:
                opened = self._push(managers, self._name_scope(part))
                if isinstance(given, VariableScope):
                    opened = given.original_name_scope
            inner = _PureVariableScope(given, self._reuse, opened, self._options)
        found: VariableScope = self._push(managers, inner)
        return found

    def _name_scope(self, name: str | None) -> name_scope:
        if self._auxiliary_name_scope:
            return name_scope(name)
        current = get_name_scope()
        return name_scope(f"{current}/" if current else "")

    def __exit__(self, *exc_info: object) -> None:
        # The entry is removed last: after an error, the scope can still be left in the right order.
        for manager in reversed(self._entered[-1]):
            manager.__exit__(*exc_info)
        self._entered.pop()

    def __call__(self, function: Callable[..., Nested]) -> Callable[..., Any]:
        """Decorate a function: every call runs inside the scope."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return run


@contextmanager
def variable_op_scope(
    values: Iterable[TensorLike],
    name_or_scope: ScopeLike,
    default_name: str | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner = None,
    custom_getter: CustomGetter = None,
    reuse: Reuse | None = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Constraint = None,
) -> Iterator[VariableScope]:
    """Open :class:`variable_scope` with its arguments in the old order."""
    with variable_scope(
        name_or_scope,
        default_name=default_name,
        values=values,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
    ) as scope:
        yield scope


# ---------------------------------------------------------------------------------- tf.get_variable


def get_variable(
    name: str,
    shape: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer = None,
    trainable: Any = None,
    collections: CollectionNames | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: CustomGetter = None,
    constraint: Constraint = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> VariableLike:
    """Return the variable of this name in the current scope; ``reuse`` decides if it is made.

    Args:
      name: its name in the scope.
      shape: its shape.
      dtype: its type; float32 by default.
      initializer: a function of shape and dtype, a function without arguments, or a value.
      regularizer: a function of the variable whose result is added to ``REGULARIZATION_LOSSES``.
      trainable: whether optimizers may change it; True by default.
      collections: the collections it is added to; ``GLOBAL_VARIABLES`` by default.
      caching_device: the device to read it on.
      partitioner: a function that divides it into parts.
      validate_shape: whether its shape is fixed to that of the initial value.
      use_resource: whether it is a resource variable.
      custom_getter: the first getter for the variable.
      constraint: a function that an optimizer applies to a computed value.
      synchronization: for distributed variables.
      aggregation: for distributed variables.

    Raises:
      ValueError: it exists and must be new, does not exist and must be found, or differs from the
        arguments.
    """
    return get_variable_scope().get_variable(
        _get_default_variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_local_variable(
    name: str,
    shape: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer = None,
    trainable: bool = False,
    collections: CollectionNames | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: CustomGetter = None,
    constraint: Constraint = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> VariableLike:
    """Call :func:`get_variable` for variables that are never trained and never saved."""
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_variable_of_scope(**kwargs: Any) -> VariableLike:
    """Call :func:`get_variable` for a variable that has the name of the current scope."""
    return get_variable_scope().get_variable(_get_default_variable_store(), None, **kwargs)
