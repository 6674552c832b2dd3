"""Layers and recurrent networks are built, and compute, as in TensorFlow.

The programs are in layer_scenarios.py and rnn_scenarios.py, TensorFlow's answers in
golden/layers.json.xz.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.library.layers import (
    lookup_scenarios,  # noqa: F401  # adds programs
    rnn_scenarios,  # noqa: F401  # adds programs
)
from tests.library.layers.layer_scenarios import PROGRAMS, VALUES_ONLY, answer

_GOLDEN = Path(__file__).parents[2] / "golden" / "layers.json.xz"
_ANSWERS: dict[str, Any] = json.loads(lzma.decompress(_GOLDEN.read_bytes()))


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_is_as_in_tensorflow(name: str) -> None:
    """Nodes, attributes, collections, shapes, values and errors equal TensorFlow's."""
    expected = _ANSWERS[name]
    actual = json.loads(json.dumps(answer(tf, PROGRAMS[name])))
    assert expected.get("error") == actual.get("error")
    if "error" in expected:
        return
    if name not in VALUES_ONLY:
        assert list(expected["nodes"]) == list(actual["nodes"])
        for node, wanted in expected["nodes"].items():
            assert wanted == actual["nodes"][node], node
        assert expected["shapes"] == actual["shapes"]
    assert expected["collections"] == actual["collections"]
    assert len(expected["values"]) == len(actual["values"])
    for wanted, found in zip(expected["values"], actual["values"], strict=True):
        for one, other in zip(wanted, found, strict=True):
            np.testing.assert_allclose(np.array(other), np.array(one), rtol=1e-4, atol=1e-5)


def test_layer_tells_its_variables_and_sizes() -> None:
    """A layer that is not trainable has no trainable weights; count_params counts all."""
    with tf.Graph().as_default():
        layer = tf.layers.Dense(2, name="d")
        with pytest.raises(ValueError, match="has not been used yet"):
            _ = layer.scope_name
        with pytest.raises(ValueError, match="isn't built"):
            layer.count_params()
        layer(tf.zeros([1, 3]))
        assert [v.name for v in layer.trainable_variables] == ["d/kernel:0", "d/bias:0"]
        assert layer.count_params() == 8
        assert layer.compute_output_shape([None, 3]).as_list() == [None, 2]
        layer.trainable = False
        assert layer.trainable_variables == []
        assert [v.name for v in layer.non_trainable_variables] == ["d/kernel:0", "d/bias:0"]


def test_losses_and_updates_know_their_inputs() -> None:
    """A loss or update is found by each tensor that it is computed from."""

    class Counting(tf.layers.Layer):
        def build(self, input_shape: object) -> None:
            self.seen = tf.get_variable("seen", ())
            self.add_loss(lambda: tf.identity(self.seen, name="size"))
            self.add_update(tf.assign_add(self.seen, 1.0, name="one_more"))
            self.built = True

        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            self.add_loss(tf.reduce_sum(inputs, name="total"), inputs=True)
            self.add_update(tf.no_op(name="nothing"), inputs=inputs)
            self.add_update(tf.assign_add(self.seen, tf.reduce_sum(inputs), name="count"))
            return inputs + 1.0

    def found_for(inputs: object) -> tuple[list[str], list[str]]:
        updates = [op.name.rpartition("/")[2] for op in layer.get_updates_for(inputs)]
        return updates, [x.op.name.rpartition("/")[2] for x in layer.get_losses_for(inputs)]

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        first, layer = x + 1.0, Counting()
        outputs = layer(first)
        second = x + 2.0
        layer(second)
        assert found_for([x]) == (["count", "count_1"], ["total", "total_1"])
        assert found_for(first) == (["count"], ["total"])
        assert found_for([second]) == (["count_1"], ["total_1"])
        assert found_for(outputs) == ([], [])
        updates, losses = found_for(None)
        assert updates == ["one_more", "nothing", "nothing_1"]
        assert len(losses) == 1


@pytest.mark.parametrize(
    ("build", "error", "match"),
    [
        (lambda: tf.layers.Dense(2, units_=1), TypeError, "not understood"),
        (lambda: tf.layers.Dense(-1), ValueError, "positive integer"),
        (
            lambda: tf.layers.MaxPooling2D(3, strides=None),
            ValueError,
            "Argument `strides` must not be None",
        ),
        (lambda: tf.layers.Dense(2, "no_such"), ValueError, "Unknown activation function"),
        (lambda: tf.layers.Dense(2, 5), ValueError, "interpret activation"),
        (
            lambda: tf.layers.Dense(2, kernel_initializer="no_such"),
            ValueError,
            "Unknown initializer",
        ),
        (lambda: tf.layers.Conv2D(2, "a"), ValueError, "must be a tuple of 2 integers"),
        (lambda: tf.layers.Conv2D(2, 0), ValueError, "requirement `> 0`"),
        (lambda: tf.layers.Conv2D(0, 1), ValueError, "strictly positive"),
        (lambda: tf.layers.Conv2D(2, 3, 2, dilation_rate=2), ValueError, "not supported in conj"),
        (lambda: tf.layers.Conv2D(2, 3, data_format="NHWC"), ValueError, "must be one of"),
        (lambda: tf.layers.BatchNormalization("a"), TypeError, "Expected an int"),
        (
            lambda: tf.layers.BatchNormalization(renorm=True, renorm_clipping={"r": 1}),
            ValueError,
            "Received invalid keys",
        ),
        (lambda: tf.layers.InputSpec(ndim=2, axes={2: 3}), ValueError, "maximum allowed value: 1"),
        (lambda: tf.layers.conv2d(tf.zeros([1, 2, 2, 1]), 1, 5), ValueError, "is <= 0"),
        (
            lambda: tf.layers.conv2d(tf.placeholder(tf.float32), 1, 5),
            ValueError,
            "channel dimension of the inputs should be defined",
        ),
    ],
)
def test_arguments_that_make_no_layer(build: Any, error: type[Exception], match: str) -> None:
    """Wrong arguments are refused when the layer is made."""
    with tf.Graph().as_default(), pytest.raises(error, match=match):
        build()
