"""Ops that tools for rewriting graphs insert compute the results of the original ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.ops.samples import normal
from tfnb.core import errors
from tfnb.ops.nn.fused_ops import fused_batch_norm_ex

_PADDINGS = [[0, 0], [1, 2], [2, 0], [0, 0]]


def _run(*tensors: Any) -> list[Any]:
    with tf.Session() as session:
        found: list[Any] = session.run(list(tensors))
    return found


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_a_fused_convolution_is_resize_pad_and_convolution(
    mode: str, padding: str, align_corners: bool
) -> None:
    """Values and static shapes are those of the single ops."""
    with tf.Graph().as_default():
        x, kernel = tf.constant(normal(2, 5, 6, 3)), tf.constant(normal(3, 2, 3, 4))
        attrs = {"mode": mode, "strides": [1, 2, 1, 1], "padding": padding}
        resized = tf.image.resize_bilinear(x, [7, 9], align_corners=align_corners)
        pairs = [
            (tf.raw_ops.FusedPadConv2D(input=x, paddings=_PADDINGS, filter=kernel, **attrs), x),
            (
                tf.raw_ops.FusedResizeAndPadConv2D(
                    input=x,
                    size=[7, 9],
                    paddings=_PADDINGS,
                    filter=kernel,
                    resize_align_corners=align_corners,
                    **attrs,
                ),
                resized,
            ),
        ]
        for fused, source in pairs:
            padded = tf.pad(source, _PADDINGS, mode=mode)
            wanted = tf.nn.conv2d(padded, kernel, [1, 2, 1, 1], padding)
            assert wanted.shape.as_list() == fused.shape.as_list()
            found, expected = _run(fused, wanted)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_a_fused_convolution_refuses_paddings_that_do_not_fit() -> None:
    """Negative paddings and those of another rank are refused, while building or running."""
    with tf.Graph().as_default():
        x, kernel = tf.constant(normal(1, 5, 6, 3)), tf.constant(normal(3, 2, 3, 4))
        attrs = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "SAME"}
        with pytest.raises(ValueError, match="non-negative"):
            tf.raw_ops.FusedPadConv2D(
                input=x, paddings=[[0, 0], [-1, 0], [0, 0], [0, 0]], filter=kernel, **attrs
            )
        paddings = tf.placeholder(tf.int32, [4, 2])
        fused = tf.raw_ops.FusedPadConv2D(input=x, paddings=paddings, filter=kernel, **attrs)
        with (
            tf.Session() as session,
            pytest.raises(errors.InvalidArgumentError, match=r"greater than|less than"),
        ):
            session.run(fused, {paddings: [[0, 0], [9, 0], [0, 0], [0, 0]]})


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("is_training", [True, False])
def test_a_fused_batch_norm_adds_its_side_input_and_cuts_at_zero(
    data_format: str, is_training: bool
) -> None:
    """The result is relu(batch norm + side input); the statistics are the batch norm's."""
    with tf.Graph().as_default():
        x, side = tf.constant(normal(2, 3, 4, 5)), tf.constant(normal(2, 3, 4, 5, seed=1))
        channels = 5 if data_format == "NHWC" else 3
        vectors = {
            name: tf.constant(np.abs(normal(channels, seed=seed)) + 0.5)
            for seed, name in enumerate(("scale", "offset", "mean", "variance"))
        }
        attrs = {"data_format": data_format, "is_training": is_training, "epsilon": 0.01}
        plain = tf.raw_ops.FusedBatchNormV3(x=x, **vectors, **attrs)
        for sides, activation in (([], "Identity"), ([], "Relu"), ([side], "Relu")):
            fused = fused_batch_norm_ex(
                x, **vectors, side_input=sides, activation_mode=activation, **attrs, name="fused"
            )
            assert plain.y.shape.as_list() == fused.y.shape.as_list()
            wanted = tf.add_n([plain.y, *sides])
            wanted = tf.nn.relu(wanted) if activation == "Relu" else wanted
            found = _run(wanted, plain.batch_mean, fused.y, fused.batch_mean)
            np.testing.assert_allclose(found[2], found[0], rtol=1e-6, atol=1e-6)
            np.testing.assert_array_equal(found[3], found[1])
