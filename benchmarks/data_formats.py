"""The time of NCHW beside that of NHWC: the same models in both formats, step by step in turn.

    python -m benchmarks.data_formats

Processor time of a training step in milliseconds, the fastest of twenty, and the median of the
ratios of neighbouring steps, on one thread of two cores that other processes used as well
(Python 3.11)::

                                                            NHWC    NCHW   ratio
    ResNet, 8 pictures of 32 x 32, 16 to 64 channels        64.3    72.1    1.00
    ResNet, 16 pictures of 32 x 32, 32 to 128 channels     235.8   218.9    1.00
    styles and upsampling, 8 pictures of 32 x 32            62.0    73.4    1.19
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

    type_of_network = Callable[["Builder", Any], Any]

_WARM, _STEPS = 4, 20


class Builder:
    """Layers in one data format."""

    def __init__(self, data_format: str) -> None:
        self.data_format = data_format
        self.is_last = data_format == "NHWC"
        self.axes = [1, 2] if self.is_last else [2, 3]
        self.random = np.random.RandomState(1)

    def around(self, *spatial: Any, batch: Any = 1, channels: Any = 1) -> list[Any]:
        """Return a list of one entry per dimension."""
        return [batch, *spatial, channels] if self.is_last else [batch, channels, *spatial]

    def channels(self, x: Any) -> int:
        """Return the number of channels."""
        return int(x.shape[3 if self.is_last else 1])

    def variable(self, *shape: int, scale: float = 1.0) -> Any:
        """Return a variable of normal numbers."""
        return tf.Variable((self.random.standard_normal(shape) * scale).astype("f4"))

    def conv(self, x: Any, filters: int, size: int = 3, stride: int = 1) -> Any:
        """Return a convolution without a bias."""
        scale = (2 / (size * size * self.channels(x))) ** 0.5
        kernel = self.variable(size, size, self.channels(x), filters, scale=scale)
        strides = self.around(stride, stride)
        return tf.nn.conv2d(
            x, kernel, strides=strides, padding="SAME", data_format=self.data_format
        )

    def bias(self, x: Any) -> Any:
        """Return the tensor plus a bias for each channel."""
        zeros = tf.Variable(tf.zeros([self.channels(x)]))
        return tf.nn.bias_add(x, zeros, data_format=self.data_format)

    def norm(self, x: Any) -> Any:
        """Return a batch norm."""
        ones, zeros = (tf.Variable(make([self.channels(x)])) for make in (tf.ones, tf.zeros))
        return tf.nn.fused_batch_norm(x, ones, zeros, data_format=self.data_format)[0]


def resnet(widths: tuple[int, ...]) -> type_of_network:
    """Return a ResNet with two blocks for each number of channels."""

    def network(b: Builder, x: Any) -> Any:
        y = b.bias(b.conv(x, widths[0]))
        for number, width in enumerate(widths):
            for stride in (2 if number else 1, 1):
                z = tf.nn.relu(b.norm(y))
                y = b.conv(z, width, 1, stride) if stride > 1 else y
                z = tf.nn.relu(b.norm(b.conv(z, width, 3, stride)))
                y = y + b.conv(z, width)
        y = tf.reduce_mean(tf.nn.relu(b.norm(y)), b.axes)
        logits = tf.matmul(y, b.variable(widths[-1], 10, scale=0.1))
        labels = tf.constant(np.arange(int(x.shape[0])) % 10)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    return network


def style(b: Builder, x: Any) -> Any:
    """Return a loss of pictures: instance norms, leaky activations, upsampling, average pools."""

    def styled(y: Any) -> Any:
        y = tf.nn.leaky_relu(b.bias(y))
        mean, variance = tf.nn.moments(y, b.axes, keep_dims=True)
        return (y - mean) * tf.rsqrt(variance + 1e-5)

    y = styled(b.conv(styled(b.conv(x, 32)), 32))
    size = int(y.shape[b.axes[0]])
    batch = int(y.shape[0])
    y = tf.reshape(y, b.around(size, 1, size, 1, batch=batch, channels=32))
    y = tf.tile(y, b.around(1, 2, 1, 2))
    y = tf.reshape(y, b.around(2 * size, 2 * size, batch=batch, channels=32))
    y = styled(b.conv(y, 16))
    window = b.around(2, 2)
    y = tf.nn.avg_pool(y, window, window, "SAME", data_format=b.data_format)
    return tf.square(tf.tanh(b.bias(b.conv(y, 8, 1))))


def step_of(network: type_of_network, data_format: str, batch: int, size: int) -> Callable[[], Any]:
    """Return a function that runs one training step."""
    with tf.Graph().as_default() as graph:
        b = Builder(data_format)
        images = b.random.standard_normal([batch, size, size, 3]).astype("f4")
        if not b.is_last:
            images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
        x = tf.placeholder(tf.float32, images.shape)
        loss = tf.reduce_mean(network(b, x))
        train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
        session = tf.Session(graph=graph)
        session.run(tf.global_variables_initializer())
    return lambda: session.run([train, loss], {x: images})


def compare(network: type_of_network, batch: int, size: int) -> tuple[float, float, float]:
    """Return seconds of a step of NHWC and of NCHW, and the median of their ratios."""
    steps = [step_of(network, form, batch, size) for form in ("NHWC", "NCHW")]
    times: list[list[float]] = [[], []]
    for number in range(_WARM + _STEPS):
        for step, taken in zip(steps, times, strict=True):
            begin = time.process_time()
            step()
            if number >= _WARM:
                taken.append(time.process_time() - begin)
    last, first = times
    return min(last), min(first), median(b / a for a, b in zip(last, first, strict=True))


def main() -> None:
    """Print one line for each model."""
    models: list[tuple[str, type_of_network, int, int]] = [
        ("ResNet, 8 pictures of 32 x 32, 16 to 64 channels", resnet((16, 32, 64)), 8, 32),
        ("ResNet, 16 pictures of 32 x 32, 32 to 128 channels", resnet((32, 64, 128)), 16, 32),
        ("styles and upsampling, 8 pictures of 32 x 32", style, 8, 32),
    ]
    print(f"{'':52}{'NHWC':>8}{'NCHW':>8}{'ratio':>8}")
    for name, network, batch, size in models:
        last, first, ratio = compare(network, batch, size)
        print(f"{name:52}{last * 1e3:8.1f}{first * 1e3:8.1f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
