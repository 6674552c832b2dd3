"""Fused ops of optimizers equal their parts."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tests.ops.samples import normal
from tfnb.proto import graph_pb2


def fused_depthwise(fused_ops, x, weights, *args, **attrs):
    """Build the op by its name, because Python has no function for it."""
    graph_def = graph_pb2.GraphDef()
    names = ["x", "filter", *(f"arg{number}" for number in range(len(args)))]
    node = graph_def.node.add(name="y", op="_FusedDepthwiseConv2dNative", input=names)
    node.attr["T"].type = tf.float32.as_datatype_enum
    node.attr["num_args"].i = len(args)
    node.attr["padding"].s = b"SAME"
    node.attr["strides"].list.i.extend([1, 2, 2, 1])
    node.attr["fused_ops"].list.s.extend(name.encode() for name in fused_ops)
    for name, value in attrs.items():
        node.attr[name].f = value
    inputs = dict(zip(names, map(tf.constant, (x, weights, *args)), strict=True))
    return tf.import_graph_def(graph_def, inputs, return_elements=["y:0"])[0]


@pytest.mark.parametrize(
    ("names", "activation"),
    [
        (["BiasAdd"], tf.identity),
        (["BiasAdd", "Relu"], tf.nn.relu),
        (["BiasAdd", "Relu6"], tf.nn.relu6),
        (["BiasAdd", "Elu"], tf.nn.elu),
    ],
)
def test_a_fused_depthwise_convolution_equals_its_parts(names, activation) -> None:
    """TensorFlow has a kernel only for graphs rewritten for oneDNN."""
    x, weights, bias = normal(2, 5, 6, 3), normal(3, 3, 3, 2), normal(6, seed=1)
    with tf.Graph().as_default(), tf.Session() as sess:
        found = fused_depthwise(names, x, weights, bias)
        assert found.shape.as_list() == [2, 3, 3, 6]
        plain = tf.nn.depthwise_conv2d(x, weights, [1, 2, 2, 1], "SAME")
        wanted = activation(tf.nn.bias_add(plain, bias))
        np.testing.assert_allclose(*sess.run([found, wanted]), rtol=1e-6, atol=1e-6)


def test_what_cannot_be_fused_is_refused() -> None:
    """The error gives the reason."""
    x, weights, bias = normal(1, 4, 4, 3), normal(3, 3, 3, 2), normal(6)
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(tf.errors.UnimplementedError, match=r"not implemented: \[Relu\]"):
            sess.run(fused_depthwise(["Relu"], x, weights, bias))
        with pytest.raises(tf.errors.InvalidArgumentError, match="one extra argument: bias"):
            sess.run(fused_depthwise(["BiasAdd"], x, weights, bias, bias))
        with pytest.raises(tf.errors.InvalidArgumentError, match="vector of 6 values"):
            sess.run(fused_depthwise(["BiasAdd"], x, weights, bias[:5]))
