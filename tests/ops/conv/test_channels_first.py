"""Channels first, which only GPUs compute, is refused on a CPU with TensorFlow's errors."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

_IMAGE = np.ones((1, 2, 6, 6), np.float32)
_FILTER = np.ones((3, 3, 2, 2), np.float32)
_CONV = {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NCHW"}


@pytest.mark.parametrize("which", ["Input", "Filter"])
def test_gradients_of_a_convolution_are_invalid_arguments(which: str) -> None:
    """The forward convolution raises UnimplementedError; its gradients are refused when built."""
    given = {
        "Input": {"input_sizes": [1, 2, 6, 6], "filter": _FILTER},
        "Filter": {"input": _IMAGE, "filter_sizes": [3, 3, 2, 2]},
    }[which]
    make = getattr(tf.raw_ops, f"Conv2DBackprop{which}")
    with tf.Graph().as_default(), tf.Session() as session:
        refused = make(out_backprop=_IMAGE, **given, **_CONV)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"Conv2DCustomBackprop{which}Op only supports"
        ):
            session.run(refused)
        with pytest.raises(tf.errors.UnimplementedError, match="NHWC"):
            session.run(tf.raw_ops.Conv2D(input=_IMAGE, filter=_FILTER, **_CONV))


def test_pooling_of_a_volume_is_an_invalid_argument() -> None:
    """The format is refused, because the window's last size is not a depth here."""
    with tf.Graph().as_default(), tf.Session() as session:
        pooled = tf.raw_ops.MaxPool3D(
            input=_IMAGE[:, :, None],
            ksize=[1, 1, 1, 2, 2],
            strides=[1, 1, 1, 2, 2],
            padding="SAME",
            data_format="NCDHW",
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="only supports NDHWC"):
            session.run(pooled)
