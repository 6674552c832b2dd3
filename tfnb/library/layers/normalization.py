"""Batch normalization as a layer, with moving averages of mean and variance.

In training, the mean and variance of the batch are used, and ops in ``UPDATE_OPS`` update the
moving averages. A program runs these ops itself, usually as a dependency of its training op. Images
are normalized by the fused op unless an argument forbids it. With ``renorm`` the batch's statistics
are pulled towards the moving ones (Batch Renormalization, arXiv:1702.03275).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import colocate_with, control_dependencies, name_scope
from tfnb.library.control_flow.smart_cond import smart_cond, smart_constant_value
from tfnb.library.layers.base import InputSpec, Layer
from tfnb.library.layers.named_functions import initializer_from
from tfnb.library.nn import nn_ops
from tfnb.library.variables import init_ops
from tfnb.library.variables.variables import VariableAggregation, VariableSynchronization
from tfnb.ops.array import array_ops, cast_ops, concat_ops, constant_ops, shape_ops
from tfnb.ops.array.identity_ops import identity, stop_gradient
from tfnb.ops.math import math_ops
from tfnb.ops.nn.activation_ops import relu
from tfnb.ops.state import state_ops

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import (
        Constraint,
        Initializer,
        Nested,
        Regularizer,
        TensorLike,
        TensorResult,
        VariableLike,
    )

EXPORTS = {"layers": ["BatchNormalization", "batch_normalization"]}

_ZEROS = init_ops.zeros_initializer()
_ONES = init_ops.ones_initializer()
_HALVES = (dtypes.float16, dtypes.bfloat16)


class BatchNormalization(Layer):
    """A layer that scales inputs to mean 0 and variance 1; see :func:`batch_normalization`."""

    def __init__(
        self,
        axis: TensorLike = -1,
        momentum: TensorLike = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initializer = _ZEROS,
        gamma_initializer: Initializer = _ONES,
        moving_mean_initializer: Initializer = _ZEROS,
        moving_variance_initializer: Initializer = _ONES,
        beta_regularizer: Regularizer = None,
        gamma_regularizer: Regularizer = None,
        beta_constraint: Constraint = None,
        gamma_constraint: Constraint = None,
        renorm: bool = False,
        renorm_clipping: dict[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """See :func:`batch_normalization` for the arguments.

        Raises:
          TypeError: ``axis`` is neither an int nor a list of ints.
          ValueError: a key of ``renorm_clipping`` is unknown.
        """
        super().__init__(trainable=trainable, name=name, **kwargs)
        if not isinstance(axis, (list, tuple, int)):
            raise TypeError(
                "Expected an int or a list/tuple of ints for the argument 'axis', but received: "
                f"{axis!r}"
            )
        self.axis: TensorLike = axis if isinstance(axis, int) else list(axis)
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = initializer_from(beta_initializer)
        self.gamma_initializer = initializer_from(gamma_initializer)
        self.moving_mean_initializer = initializer_from(moving_mean_initializer)
        self.moving_variance_initializer = initializer_from(moving_variance_initializer)
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.renorm = renorm
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self.fused = True if fused is None else fused
        if renorm:
            renorm_clipping = renorm_clipping or {}
            known = ["rmax", "rmin", "dmax"]
            if set(renorm_clipping) - set(known):
                raise ValueError(
                    "Received invalid keys for `renorm_clipping` argument: "
                    f"{renorm_clipping}. Supported values: {known}."
                )
            self.renorm_clipping = renorm_clipping
            self.renorm_momentum = renorm_momentum

    # -------------------------------------------------------------------------------- variables

    @property
    def _param_dtype(self) -> Any:
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        return dtypes.float32 if dtype in _HALVES else dtype

    def _axes(self, rank: int) -> list[int]:
        given = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        axes = [axis + rank if axis < 0 else axis for axis in given]
        for axis in axes:
            if not 0 <= axis < rank:
                raise ValueError(
                    f"Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank (with "
                    f"inputs.rank={rank}). Received: axis={tuple(given)}"
                )
        if len(axes) != len(set(axes)):
            raise ValueError(f"Duplicate axis: {tuple(given)}")
        return axes

    def _format_if_fused(self, rank: int, axes: list[int]) -> str | None:
        """Return the format of the fused op; None where the plain ops are used."""
        is_special = (
            self.renorm or self.virtual_batch_size is not None or self.adjustment is not None
        )
        if not self.fused or rank not in (4, 5) or len(axes) > 1 or is_special:
            return None
        if dtypes.as_dtype(self.dtype or dtypes.float32) not in (*_HALVES, dtypes.float32):
            return None
        formats = {(4, 1): "NCHW", (4, 3): "NHWC", (5, 1): "NCDHW", (5, 4): "NDHWC"}
        return formats.get((rank, axes[0]))

    def build(self, input_shape: ShapeLike) -> None:
        """Make ``gamma``, ``beta``, ``moving_mean``, ``moving_variance``, and those of renorm.

        Raises:
          ValueError: the rank or the size of an axis is unknown, or arguments contradict each
            other.
        """
        shape = TensorShape(input_shape)
        if shape.ndims is None:
            raise ValueError(f"Input has undefined rank. Received: input_shape={shape}")
        rank = shape.ndims
        axes = self._axes(rank)
        if self.virtual_batch_size is not None:
            self._check_virtual_batch(axes)
        data_format = self._format_if_fused(rank, axes)
        self.fused = data_format is not None
        self._data_format = data_format or ""
        sizes = {axis: shape.as_list()[axis] for axis in axes}
        if None in sizes.values():
            raise ValueError(
                "Input has undefined `axis` dimension. Received input with shape "
                f"{tuple(shape.as_list())} and axis={tuple(axes)}"
            )
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        if len(axes) == 1 and self.virtual_batch_size is None:
            param_shape = [sizes[axes[0]]]
        else:
            param_shape = [sizes.get(i, 1) for i in range(rank)]
        if self.virtual_batch_size is not None:
            param_shape.insert(1, 1)
            axes = [axis + 1 for axis in axes]
        self.axis = axes
        self._param_shape = param_shape
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                "gamma",
                shape=param_shape,
                dtype=self._param_dtype,
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                "beta",
                shape=param_shape,
                dtype=self._param_dtype,
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
            )
        assert self._scope is not None
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)  # averages are never partitioned
        try:
            self._make_averages()
        finally:
            self._scope.set_partitioner(partitioner)
        super().build(shape)

    def _check_virtual_batch(self, axes: list[int]) -> None:
        assert self.virtual_batch_size is not None
        if self.virtual_batch_size <= 0:
            raise ValueError(
                "`virtual_batch_size` must be a positive integer that divides the true batch size "
                f"of the input tensor. Received: virtual_batch_size={self.virtual_batch_size}"
            )
        if 0 in axes:
            raise ValueError(
                "When using `virtual_batch_size`, the batch dimension must be 0 and thus axis "
                f"cannot include 0. Received axis={axes}"
            )
        if self.adjustment is not None:
            raise ValueError("When using `virtual_batch_size`, adjustment cannot be specified")

    def _make_averages(self) -> None:
        def average(name: str, initializer: Initializer) -> TensorResult:
            return self.add_weight(
                name,
                shape=self._param_shape,
                dtype=self._param_dtype,
                initializer=initializer,
                synchronization=VariableSynchronization.ON_READ,
                trainable=False,
                aggregation=VariableAggregation.MEAN,
            )

        def deviation(*args: Any, **kwargs: Any) -> TensorResult:
            return math_ops.sqrt(self.moving_variance_initializer(*args, **kwargs))

        self.moving_mean = average("moving_mean", self.moving_mean_initializer)
        self.moving_variance = average("moving_variance", self.moving_variance_initializer)
        if self.renorm:
            with colocate_with(self.moving_variance):
                self.moving_stddev = average("moving_stddev", deviation)
            with colocate_with(self.moving_mean):
                self.renorm_mean = average("renorm_mean", self.moving_mean_initializer)
            with colocate_with(self.moving_stddev):
                self.renorm_stddev = average("renorm_stddev", deviation)

    # ------------------------------------------------------------------------------------- calling

    def call(self, inputs: TensorLike, training: TensorLike = False) -> TensorResult:
        """Return the normalized inputs."""
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        inputs = cast_ops.cast(inputs, dtype)
        if self.virtual_batch_size is not None:
            sizes = shape_ops.shape(inputs)
            original = concat_ops.concat([constant_ops.constant([-1]), sizes[1:]], axis=0)
            expanded = concat_ops.concat(
                [constant_ops.constant([self.virtual_batch_size, -1]), original[1:]], axis=0
            )
            outputs = self._plain(array_ops.reshape(inputs, expanded), training)
            return array_ops.reshape(outputs, original)
        return self._fused(inputs, training) if self.fused else self._plain(inputs, training)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the inputs' shape."""
        return TensorShape(input_shape)

    def _move_average(
        self, variable: VariableLike, value: TensorLike, momentum: TensorLike
    ) -> TensorResult:
        with name_scope("AssignMovingAvg") as scope, colocate_with(variable):
            decay = convert_to_tensor(1.0 - momentum, name="decay")
            if decay.dtype is not variable.dtype.base_dtype:
                decay = cast_ops.cast(decay, variable.dtype.base_dtype)
            change = (variable - cast_ops.cast(value, variable.dtype.base_dtype)) * decay
            return state_ops.assign_sub(variable, change, name=scope)

    def _fused(self, inputs: TensorLike, training: TensorLike) -> TensorResult:
        def constant(value: float) -> TensorResult:
            return constant_ops.constant(value, dtype=self._param_dtype, shape=self._param_shape)

        beta = self.beta if self.center else constant(0.0)
        gamma = self.gamma if self.scale else constant(1.0)

        def normalized(is_training: bool) -> TensorResult:
            return nn_ops.fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=is_training,
                data_format=self._data_format,
            )

        outputs, mean, variance = smart_cond(
            training, lambda: normalized(True), lambda: normalized(False)
        )
        is_training = smart_constant_value(training)
        if is_training is False:
            return outputs
        if is_training is None:
            momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(self.momentum)
        self.add_update(lambda: self._move_average(self.moving_mean, mean, momentum))
        self.add_update(lambda: self._move_average(self.moving_variance, variance, momentum))
        return outputs

    def _plain(self, inputs: TensorLike, training: TensorLike) -> TensorResult:
        given_dtype = inputs.dtype.base_dtype
        if given_dtype in _HALVES:
            inputs = cast_ops.cast(inputs, dtypes.float32)
        shape = inputs.shape
        rank = shape.ndims
        reduced = [axis for axis in range(rank) if axis not in self.axis]
        if self.virtual_batch_size is not None:
            del reduced[1]  # each virtual batch has a mean of its own
        broadcast_shape = [1] * rank
        broadcast_shape[self.axis[0]] = shape.as_list()[self.axis[0]]

        def broadcast(value: TensorLike) -> TensorResult:
            is_last = reduced == list(range(rank - 1))
            if value is None or value.shape.ndims == rank or is_last:
                return value
            return array_ops.reshape(value, broadcast_shape)

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        if smart_constant_value(training) is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            if self.adjustment:
                factor, bias = self._adjusted(inputs, training)
                scale, offset = _then(factor, bias, scale, offset)
            mean, variance, correction = self._statistics(inputs, reduced, training)
            if correction is not None:
                r, d = correction
                r = broadcast(stop_gradient(r, name="renorm_r"))
                d = broadcast(stop_gradient(d, name="renorm_d"))
                scale, offset = _then(r, d, scale, offset)
            self._update_averages(training)
        outputs = nn_ops.batch_normalization(
            inputs,
            broadcast(cast_ops.cast(mean, inputs.dtype)),
            broadcast(cast_ops.cast(variance, inputs.dtype)),
            None if offset is None else cast_ops.cast(offset, inputs.dtype),
            None if scale is None else cast_ops.cast(scale, inputs.dtype),
            self.epsilon,
        )
        if given_dtype in _HALVES:
            outputs = cast_ops.cast(outputs, given_dtype)
        outputs.set_shape(shape)
        return outputs

    def _adjusted(self, inputs: TensorLike, training: TensorLike) -> tuple[Nested, Nested]:
        factor, bias = self.adjustment(shape_ops.shape(inputs))
        return (
            smart_cond(training, lambda: factor, lambda: array_ops.ones_like(factor)),
            smart_cond(training, lambda: bias, lambda: array_ops.zeros_like(bias)),
        )

    def _statistics(
        self, inputs: TensorLike, reduced: list[int], training: TensorLike
    ) -> tuple[Nested, Nested, Nested]:
        """Return (mean, variance, (r, d) of renorm or None); record the averages' updates."""
        keep = self.virtual_batch_size is not None or len(self.axis) > 1
        mean, variance = nn_ops.moments(
            cast_ops.cast(inputs, self._param_dtype), reduced, keepdims=keep
        )
        batch_mean, batch_variance = mean, variance
        mean = smart_cond(training, lambda: batch_mean, lambda: convert_to_tensor(self.moving_mean))
        variance = smart_cond(
            training, lambda: batch_variance, lambda: convert_to_tensor(self.moving_variance)
        )
        new_mean, new_variance = mean, variance
        if self.virtual_batch_size is not None:
            new_mean = math_ops.reduce_mean(mean, axis=1, keepdims=True)
            new_variance = math_ops.reduce_mean(variance, axis=1, keepdims=True)
        correction = None
        if self.renorm:
            correction, new_mean, new_variance = self._renorm_correction(
                new_mean, new_variance, training
            )
        self._news = (new_mean, new_variance)
        return mean, variance, correction

    def _update_averages(self, training: TensorLike) -> None:
        new_mean, new_variance = self._news

        def move(variable: VariableLike, value: TensorLike) -> TensorResult:
            return self._move_average(variable, value, self.momentum)

        def new_variance_of_renorm() -> TensorResult:
            deviation = move(self.moving_stddev, math_ops.sqrt(new_variance + self.epsilon))
            value = relu(deviation * deviation - self.epsilon)
            with name_scope("AssignNewValue") as scope, colocate_with(self.moving_variance):
                return state_ops.assign(self.moving_variance, value, name=scope)

        def moved_variance() -> TensorResult:
            if self.renorm:
                return new_variance_of_renorm()
            return move(self.moving_variance, new_variance)

        self.add_update(
            lambda: smart_cond(
                training, lambda: move(self.moving_mean, new_mean), lambda: self.moving_mean
            )
        )
        self.add_update(lambda: smart_cond(training, moved_variance, lambda: self.moving_variance))

    def _renorm_correction(
        self, mean: TensorLike, variance: TensorLike, training: TensorLike
    ) -> tuple[tuple[Nested, Nested], Nested, Nested]:
        """Return ((r, d), new mean, new variance): the batch's statistics relative to averages."""
        stddev = math_ops.sqrt(variance + self.epsilon)
        renorm_stddev = math_ops.maximum(self.renorm_stddev, math_ops.sqrt(self.epsilon))
        r = stddev / renorm_stddev
        d = (mean - self.renorm_mean) / renorm_stddev
        with control_dependencies([r, d]):  # computed before the averages change
            mean = identity(mean)
            stddev = identity(stddev)
        rmin, rmax, dmax = (self.renorm_clipping.get(key) for key in ("rmin", "rmax", "dmax"))
        if rmin is not None:
            r = math_ops.maximum(r, rmin)
        if rmax is not None:
            r = math_ops.minimum(r, rmax)
        if dmax is not None:
            d = math_ops.maximum(d, -dmax)
            d = math_ops.minimum(d, dmax)
        clipped_r, clipped_d = r, d
        r = smart_cond(training, lambda: clipped_r, lambda: array_ops.ones_like(clipped_r))
        d = smart_cond(training, lambda: clipped_d, lambda: array_ops.zeros_like(clipped_d))

        def moved(variable: VariableLike, value: TensorLike) -> TensorResult:
            value = identity(value)
            return smart_cond(
                training,
                lambda: self._move_average(variable, value, self.renorm_momentum),
                lambda: identity(variable),
            )

        updates = [moved(self.renorm_mean, mean), moved(self.renorm_stddev, stddev)]
        with control_dependencies(updates):
            return (r, d), identity(mean), identity(variance)


def _then(
    scale: TensorLike, offset: TensorLike, then_scale: Any, then_offset: Any
) -> tuple[Nested, Nested]:
    """Return two scale-and-shift steps as one."""
    if then_scale is not None:
        scale = scale * then_scale
        offset = offset * then_scale
    if then_offset is not None:
        offset = offset + then_offset
    return scale, offset


def batch_normalization(
    inputs: TensorLike,
    axis: TensorLike = -1,
    momentum: TensorLike = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Initializer = _ZEROS,
    gamma_initializer: Initializer = _ONES,
    moving_mean_initializer: Initializer = _ZEROS,
    moving_variance_initializer: Initializer = _ONES,
    beta_regularizer: Regularizer = None,
    gamma_regularizer: Regularizer = None,
    beta_constraint: Constraint = None,
    gamma_constraint: Constraint = None,
    training: TensorLike = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    renorm: bool = False,
    renorm_clipping: dict[str, Any] | None = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> TensorResult:
    """Scale inputs to mean 0 and variance 1, then scale and shift by ``gamma`` and ``beta``.

    Args:
      inputs: a tensor of known rank.
      axis: the axis, or axes, that keep statistics of their own; usually the channels.
      momentum: how much of the moving averages stays at each update.
      epsilon: added to the variance.
      center: whether ``beta`` is added.
      scale: whether ``gamma`` multiplies.
      beta_initializer: of ``beta``.
      gamma_initializer: of ``gamma``.
      moving_mean_initializer: of the moving mean.
      moving_variance_initializer: of the moving variance.
      beta_regularizer: a function of ``beta`` that returns a loss.
      gamma_regularizer: a function of ``gamma`` that returns a loss.
      beta_constraint: a function that an optimizer applies to a new ``beta``.
      gamma_constraint: a function that an optimizer applies to a new ``gamma``.
      training: whether the batch's statistics are used (and the updates made), or the moving ones;
        a bool, or a boolean scalar tensor.
      trainable: whether optimizers may change the variables.
      name: of the layer and its scope.
      reuse: whether the variables of the layer with that name are reused.
      renorm: whether the batch's statistics are corrected towards the moving ones.
      renorm_clipping: ``rmin``, ``rmax`` and ``dmax``, the limits of the correction.
      renorm_momentum: the momentum of the averages that the correction uses.
      fused: whether the fused op may be used; None: where it can.
      virtual_batch_size: the size of the parts that are normalized by themselves.
      adjustment: a function of the inputs' shape that gives a scale and an offset, in training.
    """
    layer = BatchNormalization(
        axis=axis,
        momentum=momentum,
        epsilon=epsilon,
        center=center,
        scale=scale,
        beta_initializer=beta_initializer,
        gamma_initializer=gamma_initializer,
        moving_mean_initializer=moving_mean_initializer,
        moving_variance_initializer=moving_variance_initializer,
        beta_regularizer=beta_regularizer,
        gamma_regularizer=gamma_regularizer,
        beta_constraint=beta_constraint,
        gamma_constraint=gamma_constraint,
        renorm=renorm,
        renorm_clipping=renorm_clipping,
        renorm_momentum=renorm_momentum,
        fused=fused,
        trainable=trainable,
        virtual_batch_size=virtual_batch_size,
        adjustment=adjustment,
        name=name,
        _reuse=reuse,
        _scope=name,
    )
    return layer(inputs, training=training)
