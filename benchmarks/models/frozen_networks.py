"""Networks of pictures as they are deployed: one picture, constant weights, given statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.models.layers import numbers
from benchmarks.models.programs import Model, program

if TYPE_CHECKING:
    from collections.abc import Callable


class _Layers:
    """Builds layers with constant weights, which come from a seeded generator."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf = tf
        self._random = numbers(seed)

    def image(self, size: int, channels: int = 3) -> tuple[Any, dict[Any, Any]]:
        """Return a picture, and its feed."""
        x = self.tf.placeholder(self.tf.float32, [1, size, size, channels])
        return x, {x: self._random.standard_normal([1, size, size, channels]).astype("f4")}

    def filter(self, *shape: int) -> Any:
        """Return the weights of a layer."""
        scale = np.sqrt(2 / np.prod(shape[:-1]))
        return self.tf.constant((self._random.standard_normal(shape) * scale).astype("f4"))

    def vector(self, size: int, value: float) -> Any:
        """Return numbers around a value."""
        drawn = self._random.uniform(0.8, 1.2, [size]) * value
        return self.tf.constant(drawn.astype("f4"))

    def norm(self, x: Any) -> Any:
        """Return a batch norm with given statistics."""
        size = int(x.shape[-1])
        scale, offset, mean, variance = (self.vector(size, v) for v in (1.0, 0.1, 0.05, 1.0))
        found = self.tf.nn.fused_batch_norm(
            x, scale, offset, mean, variance, epsilon=1e-3, is_training=False
        )
        return found[0]

    def conv(
        self,
        x: Any,
        filters: int,
        size: int = 3,
        stride: int = 1,
        *,
        activation: Callable[[Any], Any] | None = None,
        has_norm: bool = True,
    ) -> Any:
        """Return a convolution with a norm or a bias, and an activation."""
        kernel = self.filter(size, size, int(x.shape[-1]), filters)
        y = self.tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME")
        y = self.norm(y) if has_norm else self.tf.nn.bias_add(y, self.vector(filters, 0.1))
        return activation(y) if activation else y

    def depthwise(self, x: Any, stride: int) -> Any:
        """Return a depthwise convolution of 3 x 3 with a norm and Relu6."""
        kernel = self.filter(3, 3, int(x.shape[-1]), 1)
        y = self.tf.nn.depthwise_conv2d(x, kernel, [1, stride, stride, 1], "SAME")
        return self.tf.nn.relu6(self.norm(y))

    def pool(self, x: Any, size: int = 2) -> Any:
        """Return the maximum of windows in steps of two."""
        return self.tf.nn.max_pool(x, [1, size, size, 1], [1, 2, 2, 1], "SAME")

    def classes(self, x: Any, number: int) -> Any:
        """Return the probabilities of classes."""
        features = self.tf.reduce_mean(x, [1, 2])
        weights = self.filter(int(x.shape[-1]), number)
        return self.tf.nn.softmax(self.tf.matmul(features, weights) + self.vector(number, 0.1))


@program("CNN")
def resnet50(tf: Any) -> Model:
    """Classify a picture of 128 x 128: 16 bottlenecks with batch norms, 1,000 classes."""
    layers, relu = _Layers(tf, 51), tf.nn.relu
    x, feeds = layers.image(128)
    y = layers.pool(layers.conv(x, 64, 7, 2, activation=relu), 3)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            stride = 2 if block == 0 and stage else 1
            made = layers.conv(y, width, 1, stride, activation=relu)
            made = layers.conv(layers.conv(made, width, activation=relu), 4 * width, 1)
            kept = layers.conv(y, 4 * width, 1, stride) if block == 0 else y
            y = relu(made + kept)
    return Model(feeds, [layers.classes(y, 1000)])


@program("CNN")
def mobilenet_v2(tf: Any) -> Model:
    """Classify a picture of 160 x 160: 17 inverted residuals, 1,000 classes."""
    layers, relu6 = _Layers(tf, 52), tf.nn.relu6
    x, feeds = layers.image(160)
    y = layers.conv(x, 32, 3, 2, activation=relu6)
    stages = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    )  # fmt: skip
    for factor, width, blocks, first_stride in stages:
        for block in range(blocks):
            channels = int(y.shape[-1])
            made = layers.conv(y, factor * channels, 1, activation=relu6) if factor > 1 else y
            made = layers.depthwise(made, first_stride if block == 0 else 1)
            made = layers.conv(made, width, 1)
            y = y + made if block else made
    return Model(feeds, [layers.classes(layers.conv(y, 1280, 1, activation=relu6), 1000)])


@program("CNN")
def squeezenet(tf: Any) -> Model:
    """Classify a picture of 160 x 160: 8 fire modules without norms, 1,000 classes."""
    layers, relu = _Layers(tf, 53), tf.nn.relu

    def conv(y: Any, filters: int, size: int, stride: int = 1) -> Any:
        return layers.conv(y, filters, size, stride, activation=relu, has_norm=False)

    x, feeds = layers.image(160)
    y = layers.pool(conv(x, 64, 3, 2), 3)
    for number, narrow in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        if number in (2, 4):
            y = layers.pool(y, 3)
        squeezed = conv(y, narrow, 1)
        y = tf.concat([conv(squeezed, 4 * narrow, 1), conv(squeezed, 4 * narrow, 3)], 3)
    return Model(feeds, [tf.nn.softmax(tf.reduce_mean(conv(y, 1000, 1), [1, 2]))])


@program("CNN")
def unet(tf: Any) -> Model:
    """Mark the parts of a picture of 128 x 128: 4 levels down and up, transposed convolutions."""
    layers, relu = _Layers(tf, 54), tf.nn.relu

    def twice(y: Any, width: int) -> Any:
        return layers.conv(layers.conv(y, width, activation=relu), width, activation=relu)

    x, feeds = layers.image(128, 1)
    y, kept = x, []
    for width in (16, 32, 64, 128):
        kept.append(twice(y, width))
        y = layers.pool(kept[-1])
    y = twice(y, 256)
    for other in reversed(kept):
        size, width = (int(other.shape[axis]) for axis in (1, 3))
        kernel = layers.filter(2, 2, width, 2 * width)
        y = tf.nn.conv2d_transpose(y, kernel, [1, size, size, width], [1, 2, 2, 1], "SAME")
        y = tf.nn.bias_add(y, layers.vector(width, 0.1))
        y = twice(tf.concat([other, y], 3), width)
    return Model(feeds, [tf.sigmoid(layers.conv(y, 1, 1, has_norm=False))])


@program("CNN")
def tiny_yolo(tf: Any) -> Model:
    """Find objects in a picture of 160 x 160: 9 convolutions, LeakyRelu, 255 outputs a cell."""
    layers = _Layers(tf, 55)

    def conv(y: Any, filters: int, size: int = 3) -> Any:
        return layers.conv(y, filters, size, activation=lambda z: tf.nn.leaky_relu(z, 0.1))

    x, feeds = layers.image(160)
    y = x
    for width in (16, 32, 64, 128, 256):
        y = layers.pool(conv(y, width))
    y = conv(conv(conv(y, 512), 1024), 256, 1)
    return Model(feeds, [layers.conv(y, 255, 1, has_norm=False)])


@program("CNN")
def sharper_picture(tf: Any) -> Model:
    """Make a picture of 48 x 48 four times as large: 4 residuals, depth_to_space, 9 x 9 filters."""
    layers, relu = _Layers(tf, 56), tf.nn.relu
    x, feeds = layers.image(48)
    y = first = layers.conv(x, 32, 9, activation=relu, has_norm=False)
    for _ in range(4):
        y = y + layers.conv(layers.conv(y, 32, activation=relu), 32)
    y = layers.conv(y, 32) + first
    for _ in range(2):
        y = relu(tf.depth_to_space(layers.conv(y, 128, has_norm=False), 2))
    return Model(feeds, [tf.tanh(layers.conv(y, 3, 9, has_norm=False))])
