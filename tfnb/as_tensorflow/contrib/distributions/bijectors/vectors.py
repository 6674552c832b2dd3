"""Bijectors that map vectors: by matrices, in another order, with a coordinate more."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Bijector
from tfnb.client.public.api import tf


class AffineLinearOperator(Bijector):
    """``scale @ x + shift`` of vectors.

    Args:
      shift: added; nothing by default.
      scale: a linear operator; the identity by default.
      event_ndims: without effect.
      validate_args: without effect.
      name: of its scope.

    Raises:
      TypeError: the scale is no linear operator.
    """

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        event_ndims: int = 1,
        validate_args: bool = False,
        name: str = "affine_linear_operator",
    ) -> None:
        if scale is not None and not isinstance(scale, tf.linalg.LinearOperator):
            raise TypeError(f"scale must be a tf.linalg.LinearOperator, given: {scale!r}")
        self.shift = None if shift is None else tf.convert_to_tensor(shift)
        self.scale = scale
        super().__init__(None, True, validate_args, None, 1, name=name)

    def _forward(self, x: Any) -> Any:
        found = x if self.scale is None else self.scale.matvec(x)
        return found if self.shift is None else found + self.shift

    def _inverse(self, y: Any) -> Any:
        found = y if self.shift is None else y - self.shift
        return found if self.scale is None else _solved(self.scale, found)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self.scale is None:
            return tf.zeros([], x.dtype)
        return self.scale.log_abs_determinant()


def _solved(scale: Any, values: Any) -> Any:
    """Return the solution for vectors of any batch, as columns of one matrix where it is small."""
    if scale.batch_shape.ndims != 0:
        return scale.solvevec(values)
    size = tf.shape(values)[-1]
    columns = tf.transpose(tf.reshape(values, [-1, size]))
    found = tf.reshape(tf.transpose(scale.solve(columns)), tf.shape(values))
    found.set_shape(values.shape)
    return found


class Affine(AffineLinearOperator):
    """``scale @ x + shift`` of vectors, where the scale is the sum of simple matrices.

    Args:
      shift: added; nothing by default.
      scale_identity_multiplier: of the identity.
      scale_diag: the diagonal of a matrix.
      scale_tril: a lower triangular matrix.
      scale_perturb_factor: must be None.
      scale_perturb_diag: must be None.
      event_ndims: without effect.
      validate_args: without effect.
      name: of its scope.

    Raises:
      NotImplementedError: a perturbation is given.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        event_ndims: int = 1,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        if scale_perturb_factor is not None or scale_perturb_diag is not None:
            raise NotImplementedError(
                "Affine without perturbations: give scale_tril, or a linear operator of low rank "
                "to AffineLinearOperator."
            )
        with tf.name_scope(name):
            multiplier = scale_identity_multiplier
            if scale_tril is not None:
                matrix = tf.matrix_band_part(tf.convert_to_tensor(scale_tril), -1, 0)
                if scale_diag is not None:
                    matrix += tf.matrix_diag(tf.convert_to_tensor(scale_diag))
                if multiplier is not None:
                    size = tf.shape(matrix)[-1]
                    matrix += multiplier * tf.eye(size, dtype=matrix.dtype)
                scale: Any = tf.linalg.LinearOperatorLowerTriangular(matrix)
            elif scale_diag is not None:
                diagonal = tf.convert_to_tensor(scale_diag)
                if multiplier is not None:
                    diagonal += multiplier
                scale = tf.linalg.LinearOperatorDiag(diagonal)
            else:
                scale = None
        self._multiplier = None
        if scale is None and multiplier is not None:
            self._multiplier = tf.convert_to_tensor(multiplier)
        super().__init__(shift, scale, event_ndims, validate_args, name)

    def _forward(self, x: Any) -> Any:
        if self._multiplier is None:
            return super()._forward(x)
        return super()._forward(x * self._multiplier[..., None])

    def _inverse(self, y: Any) -> Any:
        found = super()._inverse(y)
        return found if self._multiplier is None else found / self._multiplier[..., None]

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._multiplier is None:
            return super()._forward_log_det_jacobian(x)
        size = tf.cast(tf.shape(x)[-1], x.dtype)
        return size * tf.log(tf.abs(self._multiplier))


class Permute(Bijector):
    """Coordinates in another order.

    Args:
      permutation: where the result's coordinates come from.
      axis: the dimension; the last one by default.
      validate_args: without effect.
      name: of its scope.

    Raises:
      ValueError: the axis is not negative.
    """

    def __init__(
        self,
        permutation: Any,
        axis: int = -1,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if axis >= 0:
            raise ValueError(f"`axis` must be negative, given: {axis}")
        self.permutation = tf.convert_to_tensor(permutation)
        self._axis = axis
        super().__init__(None, True, validate_args, None, -axis, name=name or "permute")

    def _forward(self, x: Any) -> Any:
        return self._taken(x, self.permutation)

    def _inverse(self, y: Any) -> Any:
        return self._taken(y, tf.invert_permutation(self.permutation))

    def _taken(self, value: Any, order: Any) -> Any:
        if value.shape.ndims is None:
            raise ValueError("Permute needs values of a known rank: call set_shape on them.")
        return tf.gather(value, order, axis=value.shape.ndims + self._axis)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return tf.zeros([], x.dtype)


class Reshape(Bijector):
    """Events of another shape.

    Args:
      event_shape_out: the shape of the image; known numbers.
      event_shape_in: the shape of what is mapped; a vector by default.
      validate_args: without effect.
      name: of its scope.

    Raises:
      ValueError: a shape is not fully known.
    """

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        shapes = [
            tf.get_static_value(tf.convert_to_tensor(one, tf.int32))
            for one in (event_shape_out, event_shape_in)
        ]
        if any(one is None for one in shapes):
            raise ValueError("Reshape needs shapes of known numbers.")
        self._out, self._in = ([int(size) for size in one] for one in shapes)
        super().__init__(
            None, True, validate_args, None, len(self._in), len(self._out), name=name or "reshape"
        )

    def _forward(self, x: Any) -> Any:
        return _reshaped(x, len(self._in), self._out)

    def _inverse(self, y: Any) -> Any:
        return _reshaped(y, len(self._out), self._in)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return tf.zeros([], x.dtype)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return _known_shape(self._out, input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return _known_shape(self._in, output_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return tf.shape(tf.reshape(tf.zeros(input_shape, tf.bool), self._out))

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return tf.shape(tf.reshape(tf.zeros(output_shape, tf.bool), self._in))


def _reshaped(value: Any, ndims: int, shape: list[int]) -> Any:
    batch = tf.shape(value)[: tf.rank(value) - ndims]
    found = tf.reshape(value, tf.concat([batch, shape], 0))
    if value.shape.ndims is not None:
        known = _known_shape(shape, value.shape[value.shape.ndims - ndims :])
        found.set_shape(value.shape[: value.shape.ndims - ndims].concatenate(known))
    return found


def _known_shape(shape: list[int], given: Any) -> Any:
    """Return a shape whose size -1 is what remains of another shape."""
    if -1 not in shape:
        return tf.TensorShape(shape)
    number = given.num_elements()
    rest = 1
    for size in shape:
        rest *= 1 if size == -1 else size
    return tf.TensorShape(
        [(None if number is None else number // rest) if size == -1 else size for size in shape]
    )


class SoftmaxCentered(Bijector):
    """Vectors as probabilities of one class more, whose logit is 0.

    Args:
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(None, False, validate_args, None, 1, name=name)

    def _forward(self, x: Any) -> Any:
        return tf.nn.softmax(tf.concat([x, tf.zeros_like(x[..., :1])], -1))

    def _inverse(self, y: Any) -> Any:
        return tf.log(y[..., :-1]) - tf.log(y[..., -1:])

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -tf.reduce_sum(tf.log(y), -1)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        if input_shape.ndims is None:
            return input_shape
        size = input_shape[-1].value
        return input_shape[:-1].concatenate([None if size is None else size + 1])

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        if output_shape.ndims is None:
            return output_shape
        size = output_shape[-1].value
        return output_shape[:-1].concatenate([None if size is None else size - 1])

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return tf.concat([input_shape[:-1], [input_shape[-1] + 1]], 0)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return tf.concat([output_shape[:-1], [output_shape[-1] - 1]], 0)
