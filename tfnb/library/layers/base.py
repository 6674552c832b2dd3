"""``tf.layers.Layer``: the base of layers, which make variables in a scope of their own.

A layer finds its variable scope in its first call (or its first ``add_weight``): the scope it was
given, or one named after its class, made unique. ``tf.get_variable`` makes its variables there, so
that enclosing scopes, ``reuse`` and custom getters count. Its ops are in the name scope of the same
name. Every later call enters both again.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation import Operation
from tfnb.framework.scopes import add_to_collection, name_scope
from tfnb.framework.structures.nest import flatten, map_structure
from tfnb.framework.tensor import Tensor
from tfnb.library.layers.input_spec import InputSpec, assert_input_compatibility
from tfnb.library.layers.named_functions import initializer_from
from tfnb.library.variables.partitioned_variable import PartitionedVariable
from tfnb.library.variables.variable_scope import VariableScope, get_variable, variable_scope
from tfnb.library.variables.variables import (
    VariableAggregation,
    VariableSynchronization,
    global_variables,
    trainable_variables,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor_types import (
        Constraint,
        Initializer,
        Nested,
        Partitioner,
        Regularizer,
        ScopeLike,
        TensorLike,
        TensorResult,
        VariableLike,
    )

EXPORTS = {"layers": ["Layer"]}

__all__ = ["InputSpec", "Layer"]


def to_snake_case(name: str) -> str:
    """Return a class's name as layers use it.

    >>> to_snake_case("Conv2DTranspose"), to_snake_case("BasicLSTMCell")
    ('conv2d_transpose', 'basic_lstm_cell')
    """
    words = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub("([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{snake}" if snake.startswith("_") else snake


def layer_counts(graph: Graph) -> dict[str, int]:
    """Return the graph's own table: layer name -> number of layers with that name."""
    counts: dict[str, int] = graph.kept.setdefault("layer counts", {})
    return counts


def unique_layer_name(base: str) -> str:
    """Return ``base_1``, then ``base_2``, in the default graph."""
    counts = layer_counts(get_default_graph())
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


class Layer:
    """The base of all layers; subclasses define ``build(input_shape)`` and ``call(inputs)``."""

    def __init__(
        self,
        trainable: bool = True,
        name: Any = None,
        dtype: DTypeLike | None = None,
        *,
        activity_regularizer: Regularizer = None,
        _scope: Any = None,
        _reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Prepare a layer; its variables are made in the first call.

        Args:
          trainable: whether optimizers may change its variables.
          name: its name, and that of its scope; made from the class otherwise.
          dtype: the type of its variables; that of the first input by default.
          activity_regularizer: a function of the outputs that returns a loss.
          _scope: the variable scope to use.
          _reuse: whether its variables exist already.
          **kwargs: must be empty.

        Raises:
          TypeError: an argument is unknown.
        """
        for unknown in kwargs:
            raise TypeError("Keyword argument not understood:", unknown)
        self.trainable = trainable
        self.built = False
        self.stateful = False
        self.input_spec: Any = None
        self.activity_regularizer = activity_regularizer
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype.name
        self._reuse = _reuse
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Operation] = []
        self._update_needs_inputs: list[bool] = []
        self._call_inputs: TensorLike | None = None  # None outside of a call
        self._losses: list[TensorLike] = []
        self._loss_needs_inputs: list[bool] = []
        self._loss_functions: list[Callable[[], Any]] = []
        if isinstance(name, VariableScope):
            self._base_name: str = name.name
            self._name = unique_layer_name(to_snake_case(type(self).__name__))
        elif name:
            self._base_name = self._name = name
        else:
            self._base_name = to_snake_case(type(self).__name__)
            self._name = unique_layer_name(self._base_name)
        self._scope: VariableScope | None = None
        self._current_scope: VariableScope | None = None
        self._reusing_scope: Any = None
        if _scope:
            with variable_scope(_scope) as captured:
                self._scope = captured

    # ----------------------------------------------------------------------------- properties

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def dtype(self) -> str | None:
        """The name of its variables' type; None before it is known."""
        return self._dtype

    @property
    def scope_name(self) -> str:
        """The name of its variable scope.

        Raises:
          ValueError: the layer has not been called yet.
        """
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been '
                "used yet. The scope name is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    @property
    def graph(self) -> None:
        """None: a layer does not belong to a graph."""

    def _nested(self) -> list[Layer]:
        """Return the layers among its attributes, in order."""
        own = [
            value
            for key, value in vars(self).items()
            if key not in ("_trainable_weights", "_non_trainable_weights")
        ]
        found: list[Layer] = []
        for value in own:
            members = value if isinstance(value, (list, tuple)) else [value]
            for member in members:
                if isinstance(member, Layer) and not any(member is other for other in found):
                    found.append(member)
        return found

    @property
    def trainable_weights(self) -> list[VariableLike]:
        """Its variables that optimizers may change; none if it is not trainable."""
        if not self.trainable:
            return []
        nested = [w for layer in self._nested() for w in layer.trainable_weights]
        return _without_repeats(self._trainable_weights + nested)

    @property
    def non_trainable_weights(self) -> list[VariableLike]:
        """Its other variables."""
        if self.trainable:
            nested = [w for layer in self._nested() for w in layer.non_trainable_weights]
            return _without_repeats(self._non_trainable_weights + nested)
        own = self._trainable_weights + self._non_trainable_weights
        return _without_repeats(own + [w for layer in self._nested() for w in layer.weights])

    @property
    def weights(self) -> list[VariableLike]:
        """All its variables, trainable ones first."""
        return _without_repeats(self.trainable_weights + self.non_trainable_weights)

    @property
    def variables(self) -> list[VariableLike]:
        """All its variables, trainable ones first."""
        return self.weights

    @property
    def trainable_variables(self) -> list[TensorResult]:
        """Its variables that optimizers may change."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[TensorResult]:
        """Its other variables."""
        return self.non_trainable_weights

    @property
    def updates(self) -> list[Operation]:
        """The ops that update its averages; they are in ``UPDATE_OPS`` too."""
        if not self.trainable and not self.stateful:
            return []
        return self._updates + [u for layer in self._nested() for u in layer.updates]

    @property
    def losses(self) -> list[TensorResult]:
        """Its losses; those of variables are computed again at each access."""
        made = [function() for function in self._loss_functions]
        own = self._losses + [loss for loss in made if loss is not None]
        return own + [loss for layer in self._nested() for loss in layer.losses]

    def get_updates_for(self, inputs: TensorLike) -> list[Operation]:
        """Return the updates that need any of these inputs; with None those that need none."""
        return _needing(self._updates, self._update_needs_inputs, inputs)

    def get_losses_for(self, inputs: TensorLike) -> list[Nested]:
        """Return the losses that need any of these inputs; with None those that need none."""
        found = _needing(self._losses, self._loss_needs_inputs, inputs)
        if inputs is None:
            found.extend(x for f in self._loss_functions if (x := f()) is not None)
        return found

    def count_params(self) -> int:
        """Return the number of elements of all its variables.

        Raises:
          ValueError: the layer has not been called yet.
        """
        if not self.built:
            raise ValueError(
                "You tried to call `count_params` on layer "
                f"{self.name}, but the layer isn't built. You can build it manually via: "
                f"`{self.name}.build(batch_input_shape)`."
            )
        return int(sum(np.prod(weight.shape.as_list()) for weight in self.weights))

    # ------------------------------------------------------------------------- construction

    def build(self, input_shape: TensorLike) -> None:
        """Make the variables; called once, before the first ``call``."""
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> TensorResult:
        """Return the outputs."""
        return inputs

    def compute_output_shape(self, input_shape: TensorLike) -> TensorShape:
        """Return the outputs' shape for inputs of a shape."""
        raise NotImplementedError

    def add_loss(self, losses: TensorLike, inputs: TensorLike | None = None) -> None:
        """Add losses, which enter ``REGULARIZATION_LOSSES`` as well.

        Args:
          losses: tensors, or functions without arguments.
          inputs: the tensors that they are computed from; None if from variables alone.
        """
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            made = loss
            if callable(loss):
                self._loss_functions.append(loss)
                made = loss()
            elif loss is not None:
                self._losses.append(loss)
                self._loss_needs_inputs.append(inputs is not None)
            if made is not None:
                _add_new_to_collection([made], GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: TensorLike, inputs: TensorLike | None = None) -> None:
        """Add ops that update averages; a call adds them to ``UPDATE_OPS``.

        Args:
          updates: ops, tensors, or functions that build them.
          inputs: the tensors that they are computed from; in a call it is the call's inputs.
        """
        given = inputs if self._call_inputs is None else self._call_inputs
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            made = update() if callable(update) else update
            op = made if isinstance(made, Operation) else made.op
            self._updates.append(op)
            self._update_needs_inputs.append(op in _reached_from(given))

    def add_weight(
        self,
        name: str,
        shape: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        initializer: Initializer | None = None,
        regularizer: Regularizer = None,
        trainable: bool | None = None,
        constraint: Constraint = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        partitioner: Partitioner = None,
    ) -> TensorResult:
        """Return a variable of this layer, made or found in its scope.

        Args:
          name: its name in the scope.
          shape: its shape.
          dtype: its type; the layer's by default.
          initializer: its initializer, or the name of one; the scope's by default.
          regularizer: a function of the variable that returns a loss.
          trainable: whether optimizers may change it; True by default.
          constraint: a function that an optimizer applies to a computed value.
          use_resource: whether it is a resource variable.
          synchronization: for distributed variables.
          aggregation: for distributed variables.
          partitioner: a function that divides it into parts.

        Raises:
          ValueError: a variable with synchronization ON_READ is trainable, or there is no
            default initializer for the type.
        """
        if synchronization is VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                    "non-trainable variables. You have specified trainable=True and "
                    "synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        elif trainable is None:
            trainable = True
        dtype = dtypes.as_dtype(dtype or self._dtype or dtypes.float32)
        known = {id(v) for v in global_variables()}
        self._set_scope(None)
        reuse = self.built or self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with name_scope(scope.original_name_scope):
                initializer = initializer_from(initializer) or scope.initializer
                variable = get_variable(
                    name,
                    shape=() if shape is None else shape,
                    dtype=dtype,
                    initializer=initializer or _default_initializer(name, dtype),
                    trainable=trainable and self.trainable,
                    constraint=constraint,
                    partitioner=partitioner,
                    use_resource=use_resource or scope.use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                )
                parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
                if regularizer and not any(id(part) in known for part in parts):
                    self._regularize(name, variable, regularizer)
        trained = trainable and self.trainable
        if trained:
            # A custom getter may have made a variable that is not trainable.
            chosen = {id(v) for v in trainable_variables()}
            trained = all(id(part) in chosen for part in parts)
        (self._trainable_weights if trained else self._non_trainable_weights).append(variable)
        return variable

    add_variable = add_weight

    def _regularize(
        self, name: str, variable: VariableLike, regularizer: Callable[..., TensorResult]
    ) -> None:
        def loss(part: TensorLike) -> TensorResult:
            with name_scope(f"{name}/Regularizer"):
                return regularizer(part)

        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        for part in parts:
            self.add_loss(functools.partial(loss, part))

    # ---------------------------------------------------------------------------------- calls

    def _set_scope(self, scope: ScopeLike) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            manager = variable_scope(self._base_name if scope is None else scope)
        else:
            manager = variable_scope(scope, default_name=self._base_name)
        with manager as captured:
            self._scope = captured

    def __call__(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> TensorResult:
        """Return the outputs for inputs; the first call makes the variables.

        Args:
          inputs: a tensor, or a nested structure of tensors.
          *args: for ``call``.
          **kwargs: for ``call``, except ``scope``, the variable scope of the first call.

        Raises:
          ValueError: the layer does not accept the inputs.
        """
        self._set_scope(kwargs.pop("scope", None))
        if self.built:
            if self._reusing_scope is None:
                self._reusing_scope = variable_scope(
                    self._scope, reuse=True, auxiliary_name_scope=False
                )
            manager = self._reusing_scope
        else:
            manager = variable_scope(self._scope, reuse=self._reuse, auxiliary_name_scope=False)
        with manager as scope:
            self._current_scope = scope
            if "scope" in inspect.signature(self.call).parameters:
                kwargs["scope"] = scope
            outputs = self._call_in_scope(scope, inputs, args, kwargs)
        _add_new_to_collection(self.updates, GraphKeys.UPDATE_OPS)
        return outputs

    def _call_in_scope(
        self, scope: ScopeLike, inputs: TensorLike, args: Any, kwargs: Any
    ) -> TensorResult:
        inputs = map_structure(_as_tensor, inputs)
        with name_scope(scope.original_name_scope):
            if not self.built:
                self._build_for(inputs)
            assert_input_compatibility(self.input_spec, inputs, self._name)
            self._call_inputs = inputs
            try:
                outputs = self.call(inputs, *args, **kwargs)
            finally:
                self._call_inputs = None
            if outputs is None:
                raise ValueError(
                    f"A layer's `call` method should return a Tensor or a list of Tensors, not "
                    f"None (layer: {self._name})."
                )
            if self.activity_regularizer is not None:
                self._regularize_activity(inputs, outputs)
        return outputs

    def _build_for(self, inputs: TensorLike) -> None:
        assert_input_compatibility(self.input_spec, inputs, self._name)
        flat = flatten(inputs)
        if flat and self._dtype is None and hasattr(flat[0], "dtype"):
            self._dtype = dtypes.as_dtype(flat[0].dtype).base_dtype.name
        shapes = None
        if all(hasattr(value, "shape") for value in flat):
            shapes = map_structure(lambda value: value.shape, inputs)
        self.build(shapes)
        # Set here for a build method that does not call that of its base class.
        self.built = True

    def _regularize_activity(self, inputs: TensorLike, outputs: TensorLike) -> None:
        from tfnb.ops.array import cast_ops, shape_ops

        regularizer = self.activity_regularizer
        assert regularizer is not None
        with name_scope("ActivityRegularizer"):
            for output in flatten(outputs):
                loss = regularizer(output)
                size = cast_ops.cast(shape_ops.shape(output)[0], loss.dtype)
                self.add_loss(loss / size, inputs=inputs)

    def apply(self, *args: Any, **kwargs: Any) -> TensorResult:
        """Call the layer."""
        return self(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> TensorResult:
        """Return a copy that has the same scopes."""
        result = self.__class__.__new__(self.__class__)
        memo[id(self)] = result
        for key, value in vars(self).items():
            shared = key in ("_scope", "_reusing_scope")
            vars(result)[key] = copy.copy(value) if shared else copy.deepcopy(value, memo)
        return result


def _reached_from(inputs: TensorLike) -> set[Any]:
    """Return the tensors and ops that a graph computes from any of the inputs, and these."""
    reached = {each for each in flatten(inputs) if isinstance(each, (Operation, Tensor))}
    waiting = list(reached)
    while waiting:
        one = waiting.pop()
        following = one.outputs if isinstance(one, Operation) else one.consumers()
        new = [each for each in following if each not in reached]
        reached.update(new)
        waiting.extend(new)
    return reached


def _needing(values: list[Any], conditional: list[bool], inputs: TensorLike) -> list[Any]:
    """Return the conditional values that need an input; with None those that are not."""
    pairs = zip(values, conditional, strict=True)
    if inputs is None:
        return [value for value, needs_inputs in pairs if not needs_inputs]
    reached = _reached_from(inputs)
    return [value for value, needs_inputs in pairs if needs_inputs and value in reached]


def _as_tensor(value: TensorLike) -> TensorResult:
    if isinstance(value, (np.ndarray, np.generic, float, int)) and not isinstance(value, bool):
        return convert_to_tensor(value)
    return value


def _default_initializer(name: str, dtype: DType) -> Any:
    from tfnb.library.variables import init_ops

    if dtype.is_floating:
        return init_ops.glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool:
        return init_ops.zeros_initializer()
    raise ValueError(
        f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer"
    )


def _without_repeats(values: Iterable[TensorLike]) -> list[TensorResult]:
    return list({id(value): value for value in values}.values())


def _add_new_to_collection(values: list[TensorLike], key: str) -> None:
    known = {id(value) for value in get_default_graph().get_collection_ref(key)}
    for value in values:
        if id(value) not in known:
            known.add(id(value))
            add_to_collection(key, value)
