"""Quantization beyond the samples: ops that TensorFlow no longer builds."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


def test_the_first_quantize_and_dequantize_rounds_as_the_second_does():
    """A graph of an old producer runs, and its op computes the successor's result."""
    x = np.linspace(-2, 2, 9, dtype=np.float32)
    with tf.Graph().as_default() as graph:
        graph_def = graph.as_graph_def()
        graph_def.versions.producer = 21
        node = graph_def.node.add(name="x", op="Placeholder")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node = graph_def.node.add(name="old", op="QuantizeAndDequantize", input=["x"])
        node.attr["T"].type = tf.float32.as_datatype_enum
        node.attr["range_given"].b = True
        node.attr["input_min"].f = -1.0
        node.attr["input_max"].f = 1.5
        old, fed = tf.import_graph_def(graph_def, name="", return_elements=["old:0", "x:0"])
        new = tf.quantization.quantize_and_dequantize(fed, -1.0, 1.5, range_given=True)
        with tf.Session() as session:
            values = session.run([old, new], {fed: x})
    np.testing.assert_array_equal(values[0], values[1])
    assert values[0].max() == np.float32(1.5)


def test_slices_have_ranges_of_their_own():
    """Along an axis each slice is quantized as if alone."""
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    lows, highs = np.float32([-5, -1, 0.5]), np.float32([-2, 3, 6])
    with tf.Graph().as_default(), tf.Session() as session:
        for mode in ("MIN_COMBINED", "SCALED"):
            made = tf.quantize(numbers, lows, highs, tf.qint8, mode=mode, axis=0)
            whole = tf.dequantize(*made, mode=mode, axis=0)
            rows = [tf.dequantize(made[0][i], made[1][i], made[2][i], mode=mode) for i in range(3)]
            values = session.run([whole, tf.stack(rows)])
            np.testing.assert_array_equal(values[0], values[1])
        rounded = tf.raw_ops.QuantizeAndDequantizeV3(
            input=numbers, input_min=lows, input_max=highs, num_bits=4, axis=0
        )
        rows = [
            tf.quantization.quantize_and_dequantize(
                numbers[i], lows[i], highs[i], range_given=True, num_bits=4
            )
            for i in range(3)
        ]
        values = session.run([rounded, tf.stack(rows)])
        np.testing.assert_array_equal(values[0], values[1])


def test_only_the_third_rounding_takes_ranges_by_slice():
    """V2 and V4 need scalars for any axis, as in TensorFlow; the error names V3."""
    numbers = np.zeros((2, 3), np.float32)
    for given, why in (([0.0] * 3, "must be a scalar.*V3"), (0.0, "rank 1 for input_min")):
        for function in ("quantize_and_dequantize", "quantize_and_dequantize_v2"):
            with tf.Graph().as_default(), tf.Session() as session:
                ends = tf.placeholder_with_default(np.float32(given), None)
                made = getattr(tf.quantization, function)(
                    numbers, ends, ends, range_given=True, axis=1
                )
                with pytest.raises(tf.errors.InvalidArgumentError, match=why):
                    session.run(made)


def test_an_axis_that_is_none_is_refused():
    """An axis beyond the rank, or below -1, is refused before anything is computed."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32)
        made = tf.quantize(fed, [0.0], [1.0], tf.quint8, axis=3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Axis must be less than"):
            session.run(made, {fed: np.zeros(2, np.float32)})
        with pytest.raises(ValueError, match="known rank to use negative axis"):
            tf.quantize(fed, [0.0], [1.0], tf.quint8, axis=-2)
