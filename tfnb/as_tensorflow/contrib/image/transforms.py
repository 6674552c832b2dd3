"""Projective transformations of images.

A transformation is eight numbers: the output's point (x, y) has the colour of the input's point
((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), with k = c0 x + c1 y + 1.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf

_DTYPES = ("uint8", "int32", "int64", "float16", "float32", "float64")


def _as_batch(images: Any) -> tuple[Any, int]:
    """Return images [batch, height, width, channels], and their rank.

    Raises:
      TypeError: the type or the rank is not supported.
    """
    images = tf.convert_to_tensor(images, name="images")
    if images.dtype.base_dtype.name not in _DTYPES:
        raise TypeError(f"Invalid dtype {images.dtype}.")
    rank = images.shape.ndims
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if rank not in (2, 3, 4):
        raise TypeError("Images should have rank between 2 and 4.")
    if rank == 2:
        images = tf.expand_dims(images, -1)
    return (images if rank == 4 else tf.expand_dims(images, 0)), rank


def _of_rank(images: Any, rank: int) -> Any:
    if rank == 4:
        return images
    return images[0] if rank == 3 else images[0, :, :, 0]


def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Return images that are turned counterclockwise around their centres.

    Args:
      images: [batch, height, width, channels], or without batch, or without channels too.
      angles: in radians, one or one for each image.
      interpolation: "NEAREST" or "BILINEAR".
      name: the name of the scope.

    Raises:
      TypeError: the images' type or a rank is not supported.
    """
    with tf.name_scope(name, "rotate"):
        batch, rank = _as_batch(images)
        size = tf.cast(tf.shape(batch), tf.float32)
        transforms = angles_to_projective_transforms(angles, size[1], size[2])
        return _of_rank(transform(batch, transforms, interpolation), rank)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Return images that are moved.

    Args:
      images: [batch, height, width, channels], or without batch, or without channels too.
      translations: [dx, dy], or one for each image.
      interpolation: "NEAREST" or "BILINEAR".
      name: the name of the scope.

    Raises:
      TypeError: the images' type or a rank is not supported.
    """
    with tf.name_scope(name, "translate"):
        transforms = translations_to_projective_transforms(translations)
        return transform(images, transforms, interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Any:
    """Return the transformations [batch, 8] that turn images around their centres.

    Args:
      angles: in radians, one or a vector.
      image_height: the height, as a float.
      image_width: the width, as a float.
      name: the name of the scope.

    Raises:
      TypeError: the angles are no scalar and no vector.
    """
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = tf.convert_to_tensor(angles, tf.float32, name="angles")
        if angles.shape.ndims not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        angles = tf.reshape(angles, [-1])
        cos, sin = tf.cos(angles), tf.sin(angles)
        right, bottom = image_width - 1, image_height - 1
        x = (right - (cos * right - sin * bottom)) / 2.0
        y = (bottom - (sin * right + cos * bottom)) / 2.0
        zeros = tf.zeros_like(angles)
        return tf.stack([cos, -sin, x, sin, cos, y, zeros, zeros], 1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Any:
    """Return the transformations [batch, 8] that move images.

    Args:
      translations: [dx, dy], or [batch, 2].
      name: the name of the scope.

    Raises:
      TypeError: they are no vector and no matrix.
    """
    with tf.name_scope(name, "translations_to_projective_transforms"):
        moves = tf.convert_to_tensor(translations, tf.float32, name="translations")
        if moves.shape.ndims not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        moves = tf.reshape(moves, [-1, 2])
        zeros, ones = tf.zeros_like(moves[:, 0]), tf.ones_like(moves[:, 0])
        return tf.stack([ones, zeros, -moves[:, 0], zeros, ones, -moves[:, 1], zeros, zeros], 1)


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Return images after projective transformations, with zeros outside of the inputs.

    Args:
      images: [batch, height, width, channels], or without batch, or without channels too.
      transforms: [8], or [batch, 8].
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: [height, width]; the inputs' by default.
      name: the name of the scope.

    Raises:
      TypeError: the images' type or a rank is not supported.
      ValueError: ``output_shape`` is not two numbers.
    """
    with tf.name_scope(name, "transform"):
        batch, rank = _as_batch(images)
        flat = tf.convert_to_tensor(transforms, tf.float32, name="transforms")
        if flat.shape.ndims not in (1, 2):
            raise TypeError("Transforms should have rank 1 or 2.")
        if flat.shape.ndims == 1:
            flat = tf.expand_dims(flat, 0)
        if output_shape is None:
            static = batch.shape[1:3]
            known = static.is_fully_defined()
            output_shape = static.as_list() if known else tf.shape(batch)[1:3]
        size = tf.convert_to_tensor(output_shape, tf.int32, name="output_shape")
        if not size.shape.is_compatible_with([2]):
            raise ValueError(
                "output_shape must be a 1-D Tensor of 2 elements: new_height, new_width"
            )
        found = tf.raw_ops.ImageProjectiveTransformV2(
            images=batch, transforms=flat, output_shape=size, interpolation=interpolation.upper()
        )
        return _of_rank(found, rank)


def compose_transforms(*transforms: Any) -> Any:
    """Return the transformation that applies all of them, the last one to the input first.

    Args:
      *transforms: [8] or [batch, 8] each.

    Raises:
      ValueError: there are none.
    """
    if not transforms:
        raise ValueError("transforms cannot be empty")
    with tf.name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for one in transforms[1:]:
            composed = tf.matmul(composed, flat_transforms_to_matrices(one))
        return matrices_to_flat_transforms(composed)


def flat_transforms_to_matrices(transforms: Any) -> Any:
    """Return matrices [batch, 3, 3] of transformations.

    Args:
      transforms: [8], or [batch, 8].

    Raises:
      ValueError: they are no vector and no matrix.
    """
    with tf.name_scope("flat_transforms_to_matrices"):
        flat = tf.convert_to_tensor(transforms, name="transforms")
        if flat.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {flat}")
        flat = tf.reshape(flat, [-1, 8])
        return tf.reshape(tf.concat([flat, tf.ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Any:
    """Return transformations [batch, 8] of matrices, whose last elements become 1.

    Args:
      transform_matrices: [3, 3], or [batch, 3, 3].

    Raises:
      ValueError: they have another rank.
    """
    with tf.name_scope("matrices_to_flat_transforms"):
        matrices = tf.convert_to_tensor(transform_matrices, name="transform_matrices")
        if matrices.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {matrices}")
        flat = tf.reshape(matrices, [-1, 9])
        return (flat / flat[:, 8:])[:, :8]
