"""Warps of images by flows, and flows between points that are known."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf

_SMALL = 1e-10


def _interpolate_bilinear(
    grid: Any, query_points: Any, name: str = "interpolate_bilinear", indexing: str = "ij"
) -> Any:
    """Return the values of a grid at points, between its four nearest places.

    Args:
      grid: [batch, height, width, channels]; two rows and columns at least.
      query_points: [batch, points, 2].
      name: the name of the scope.
      indexing: "ij" if points are (row, column), "xy" if they are (column, row).

    Raises:
      ValueError: another indexing, or another rank.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError("Indexing mode must be 'ij' or 'xy'")
    with tf.name_scope(name):
        grid, points = tf.convert_to_tensor(grid), tf.convert_to_tensor(query_points)
        if grid.shape.ndims != 4:
            raise ValueError(f"Grid must be 4 dimensional. Received size: {grid.shape}")
        if points.shape.ndims != 3:
            raise ValueError(f"Query points must be 3 dimensional: {points.shape}")
        shape = tf.shape(grid)
        checks = [
            tf.assert_greater_equal(
                shape[1:3], 2, message="Grid height and width must be at least 2."
            )
        ]
        with tf.control_dependencies(checks):
            rows, columns = tf.unstack(points, 2, axis=2)
        if indexing == "xy":
            rows, columns = columns, rows
        top, down = _place(rows, shape[1], grid.dtype)
        left, across = _place(columns, shape[2], grid.dtype)
        batch = tf.tile(tf.expand_dims(tf.range(shape[0]), 1), [1, tf.shape(points)[1]])

        def at(row: Any, column: Any) -> Any:
            return tf.gather_nd(grid, tf.stack([batch, row, column], 2))

        above = _between(at(top, left), at(top, left + 1), across)
        below = _between(at(top + 1, left), at(top + 1, left + 1), across)
        return _between(above, below, down)


def _place(positions: Any, size: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the place before each position, and how far it is from there."""
    last = tf.cast(size - 2, positions.dtype)
    before = tf.minimum(tf.maximum(tf.floor(positions), 0.0), last)
    part = tf.clip_by_value(tf.cast(positions - before, dtype), 0.0, 1.0)
    return tf.cast(before, tf.int32), tf.expand_dims(part, 2)


def _between(one: Any, other: Any, part: Any) -> Any:
    return one + part * (other - one)


def _points(height: Any, width: Any, dtype: Any) -> Any:
    """Return the places of a grid, [height * width, 2], row by row."""
    columns, rows = tf.meshgrid(tf.range(width), tf.range(height))
    return tf.cast(tf.reshape(tf.stack([rows, columns], 2), [-1, 2]), dtype)


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Any:
    """Return an image whose place (b, i, j) has the colour of (b, i, j) minus the flow there.

    Args:
      image: [batch, height, width, channels].
      flow: [batch, height, width, 2].
      name: the name of the scope.
    """
    with tf.name_scope(name):
        image, flow = tf.convert_to_tensor(image), tf.convert_to_tensor(flow)
        shape = tf.shape(image)
        places = _points(shape[1], shape[2], flow.dtype)
        asked = tf.expand_dims(places, 0) - tf.reshape(flow, [shape[0], -1, 2])
        found = tf.reshape(_interpolate_bilinear(image, asked), shape)
        found.set_shape(image.shape)
        return found


def _distances(one: Any, other: Any) -> Any:
    """Return the squared distances [batch, n, m] of points."""
    squares = tf.reduce_sum(tf.square(one), 2, keepdims=True)
    others = tf.reduce_sum(tf.square(other), 2, keepdims=True)
    products = tf.matmul(one, other, transpose_b=True)
    return squares - 2 * products + tf.transpose(others, [0, 2, 1])


def _basis(squares: Any, order: int) -> Any:
    """Return a radial function of distances, of their squares."""
    positive = tf.maximum(squares, _SMALL)
    if order == 1:
        return tf.sqrt(positive)
    if order % 2:
        return tf.pow(positive, 0.5 * order)
    return 0.5 * tf.pow(positive, 0.5 * order) * tf.log(positive)


def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Any:
    """Return the values at points of a polyharmonic spline through known values.

    Args:
      train_points: [batch, n, dimensions].
      train_values: [batch, n, values].
      query_points: [batch, m, dimensions].
      order: of the spline; 2 is the thin plate.
      regularization_weight: how much the spline may miss the values to be smoother.
      name: the name of the scope.

    Returns:
      [batch, m, values].
    """
    with tf.name_scope(name):
        points, values = tf.convert_to_tensor(train_points), tf.convert_to_tensor(train_values)
        asked = tf.convert_to_tensor(query_points)
        number = tf.shape(points)[1]
        matrix = _basis(_distances(points, points), order)
        if regularization_weight > 0:
            matrix += regularization_weight * tf.eye(number, dtype=points.dtype)
        line = _with_one(points)
        depth = tf.shape(line)[2]
        batch = tf.shape(points)[0]
        corner = tf.zeros([batch, depth, depth], points.dtype)
        left = tf.concat(
            [
                tf.concat([matrix, line], 2),
                tf.concat([tf.transpose(line, [0, 2, 1]), corner], 2),
            ],
            1,
        )
        rest = tf.zeros([batch, depth, tf.shape(values)[2]], values.dtype)
        solved = tf.matrix_solve(left, tf.concat([values, rest], 1))
        near = tf.matmul(_basis(_distances(asked, points), order), solved[:, :number])
        return near + tf.matmul(_with_one(asked), solved[:, number:])


def _with_one(points: Any) -> Any:
    return tf.concat([points, tf.ones_like(points[:, :, :1])], 2)


def _boundary(height: Any, width: Any, per_edge: int, dtype: Any) -> Any:
    """Return the places [n, 2] on the edges of an image: corners, and some between them."""
    rows = tf.linspace(0.0, tf.cast(height - 1, tf.float32), per_edge + 2)
    columns = tf.linspace(0.0, tf.cast(width - 1, tf.float32), per_edge + 2)
    ys, xs = tf.meshgrid(rows, columns, indexing="ij")
    numbers = tf.range(per_edge + 2)
    is_end = tf.logical_or(tf.equal(numbers, 0), tf.equal(numbers, per_edge + 1))
    is_edge = tf.logical_or(tf.expand_dims(is_end, 0), tf.expand_dims(is_end, 1))
    chosen = tf.stack([tf.boolean_mask(ys, is_edge), tf.boolean_mask(xs, is_edge)], 1)
    chosen.set_shape([4 * (per_edge + 1), 2])
    return tf.cast(chosen, dtype)


def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Any, Any]:
    """Return an image whose points are moved to others, and the flow.

    Args:
      image: [batch, height, width, channels].
      source_control_point_locations: [batch, n, 2], rows and columns.
      dest_control_point_locations: [batch, n, 2], where they are moved.
      interpolation_order: of the spline between points.
      regularization_weight: of the spline.
      num_boundary_points: how many points of each edge stay; 1 for the corners.
      name: the name of the scope.

    Returns:
      The image, and [batch, height, width, 2].
    """
    with tf.name_scope(name):
        image = tf.convert_to_tensor(image)
        source = tf.convert_to_tensor(source_control_point_locations)
        moved = tf.convert_to_tensor(dest_control_point_locations)
        shape = tf.shape(image)
        flows = moved - source
        if num_boundary_points > 0:
            fixed = _boundary(shape[1], shape[2], num_boundary_points - 1, moved.dtype)
            fixed = tf.tile(tf.expand_dims(fixed, 0), [shape[0], 1, 1])
            moved = tf.concat([moved, fixed], 1)
            flows = tf.concat([flows, tf.zeros_like(fixed)], 1)
        places = tf.expand_dims(_points(shape[1], shape[2], moved.dtype), 0)
        asked = tf.tile(places, [shape[0], 1, 1])
        found = interpolate_spline(moved, flows, asked, interpolation_order, regularization_weight)
        dense = tf.reshape(found, [shape[0], shape[1], shape[2], 2])
        return dense_image_warp(image, dense), dense
