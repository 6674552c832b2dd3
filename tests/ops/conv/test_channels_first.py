"""NCHW, which TensorFlow computes on GPUs only, gives the numbers of NHWC on every device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_batches
from tests.ops import samples
from tests.ops.kernel_runner import SampleRun
from tests.without_kernels import without_kernels
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering

if TYPE_CHECKING:
    from collections.abc import Callable


class Form(NamedTuple):
    """A data format, for any number of spatial dimensions."""

    is_last: bool

    def name(self, spatial: str = "HW") -> str:
        """Return the name, as in NHWC."""
        return f"N{spatial}C" if self.is_last else f"NC{spatial}"

    @property
    def of_layers(self) -> str:
        """The name that layers have for it."""
        return "channels_last" if self.is_last else "channels_first"

    def around(self, *spatial: Any, batch: Any = 1, channels: Any = 1) -> list[Any]:
        """Return a list of one entry per dimension."""
        if self.is_last:
            return [batch, *spatial, channels]
        return [batch, channels, *spatial]

    def axes(self, rank: int) -> list[int]:
        """Return the positions of the spatial dimensions."""
        return list(range(1, rank - 1) if self.is_last else range(2, rank))

    def channels(self, x: Any) -> int:
        """Return the number of channels of a tensor."""
        return int(x.shape[-1 if self.is_last else 1])

    def of_last(self, x: Any) -> Any:
        """Return an array whose channels are last in this format."""
        return x if self.is_last else np.ascontiguousarray(np.moveaxis(x, -1, 1))

    def to_last(self, x: Any) -> Any:
        """Return an array of this format with its channels last."""
        return x if self.is_last else np.moveaxis(x, 1, -1)


LAST, FIRST = Form(True), Form(False)


def _normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


class Row(NamedTuple):
    """One call in both formats.

    Attributes:
      name: the name of the row.
      build: makes the result from a format, an image and a filter.
      image: the shape of the image, channels last.
      kernel: the shape of the filter.
      dtypes: the types of numbers.
      rounding: the allowed difference for float32; 0: none for any type.
    """

    name: str
    build: Callable[[Form, Any, Any], Any]
    image: tuple[int, ...]
    kernel: tuple[int, ...] = (1,)
    dtypes: str = "half bfloat16 float32 float64"
    rounding: float = 0.0


def _pads(f: Form, padding: Any) -> Any:
    """Return a word as it is, pairs with those of batch and channels."""
    if isinstance(padding, str):
        return padding
    return f.around(*padding, batch=(0, 0), channels=(0, 0))


def _conv(strides: tuple[int, int], padding: Any, dilations: tuple[int, int] = (1, 1)) -> Any:
    def build(f: Form, x: Any, kernel: Any) -> Any:
        pads = (
            padding
            if isinstance(padding, str)
            else f.around(*padding, batch=(0, 0), channels=(0, 0))
        )
        return tf.nn.conv2d(
            x, kernel, strides=f.around(*strides), padding=pads, data_format=f.name(),
            dilations=f.around(*dilations),
        )  # fmt: skip

    return build


def _transposed(f: Form, x: Any, kernel: Any) -> Any:
    shape = f.around(9, 11, batch=2, channels=3)
    return tf.nn.conv2d_transpose(
        x, kernel, shape, strides=f.around(2, 2), padding="SAME", data_format=f.name()
    )


def _depthwise(stride: int, padding: Any) -> Any:
    def build(f: Form, x: Any, kernel: Any) -> Any:
        pads = (
            padding
            if isinstance(padding, str)
            else f.around(*padding, batch=(0, 0), channels=(0, 0))
        )
        return tf.nn.depthwise_conv2d(
            x, kernel, strides=f.around(stride, stride), padding=pads, data_format=f.name()
        )

    return build


def _separable(f: Form, x: Any, kernel: Any) -> Any:
    point = tf.cast(_normal(1, 1, 6, 4, seed=8), kernel.dtype)
    return tf.nn.separable_conv2d(
        x, kernel, point, strides=f.around(1, 1), padding="SAME", data_format=f.name()
    )


def _dilated(f: Form, x: Any, kernel: Any) -> Any:
    return tf.nn.convolution(x, kernel, "SAME", dilation_rate=[2, 3], data_format=f.name())


def _pool(op: str, size: tuple[int, ...], stride: tuple[int, ...], padding: Any) -> Any:
    def build(f: Form, x: Any, kernel: Any) -> Any:
        del kernel
        pads = (
            padding
            if isinstance(padding, str)
            else f.around(*padding, batch=(0, 0), channels=(0, 0))
        )
        return getattr(tf.nn, op)(
            x, ksize=f.around(*size), strides=f.around(*stride), padding=pads,
            data_format=f.name("DHW"[-len(size) :]),
        )  # fmt: skip

    return build


def _pool_v2(f: Form, x: Any, kernel: Any) -> Any:
    del kernel
    return tf.raw_ops.MaxPoolV2(
        input=x, ksize=f.around(3, 2), strides=f.around(2, 1), padding="SAME", data_format=f.name()
    )


def _batch_norm(is_training: bool, spatial: str = "HW") -> Any:
    def build(f: Form, x: Any, kernel: Any) -> Any:
        scale, offset, mean = (tf.constant(_normal(3, seed=seed)) for seed in (4, 5, 6))
        given = {} if is_training else {"mean": mean, "variance": tf.square(scale) + 0.5}
        y, *_ = tf.nn.fused_batch_norm(
            x, scale + tf.cast(kernel, tf.float32), offset, **given, is_training=is_training,
            data_format=f.name(spatial), epsilon=0.01,
        )  # fmt: skip
        return y

    return build


def _bias(f: Form, x: Any, kernel: Any) -> Any:
    return tf.nn.bias_add(x, kernel, data_format=f.name())


def _space(op: str) -> Any:
    def build(f: Form, x: Any, kernel: Any) -> Any:
        del kernel
        return getattr(tf, op)(x, 2, data_format=f.name())

    return build


def _padded(f: Form, x: Any, kernel: Any) -> Any:
    pads = f.around((1, 2), (0, 3), batch=(0, 0), channels=(0, 0))
    y = tf.pad(x, pads, constant_values=2.0)
    return tf.nn.conv2d(y, kernel, f.around(2, 2), "VALID", data_format=f.name())


def _joined(f: Form, x: Any, kernel: Any) -> Any:
    y = tf.nn.conv2d(x, kernel, f.around(1, 1), "SAME", data_format=f.name())
    return tf.concat([x, y, tf.nn.relu(y)], 3 if f.is_last else 1)


def _conv3d(stride: int, padding: str) -> Any:
    def build(f: Form, x: Any, kernel: Any) -> Any:
        return tf.nn.conv3d(
            x, kernel, strides=f.around(1, stride, stride), padding=padding,
            data_format=f.name("DHW"),
        )  # fmt: skip

    return build


def _transposed3d(f: Form, x: Any, kernel: Any) -> Any:
    shape = f.around(3, 6, 7, batch=2, channels=2)
    return tf.nn.conv3d_transpose(
        x, kernel, shape, strides=f.around(1, 2, 1), data_format=f.name("DHW")
    )


def _conv1d(f: Form, x: Any, kernel: Any) -> Any:
    return tf.nn.conv1d(x, kernel, 2, "SAME", data_format=f.name("W"))


def _dilated_pool(f: Form, x: Any, kernel: Any) -> Any:
    del kernel
    return tf.nn.pool(x, [2, 2], "MAX", "VALID", dilation_rate=[2, 1], data_format=f.name())


def _layers(f: Form, x: Any, kernel: Any) -> Any:
    del kernel
    form: dict[str, Any] = {"data_format": f.of_layers}
    fill = tf.constant_initializer(0.25)
    y = tf.layers.conv2d(x, 5, 3, strides=2, padding="same", kernel_initializer=fill, **form)
    y = tf.layers.batch_normalization(y, axis=-1 if f.is_last else 1, training=True)
    y = tf.layers.max_pooling2d(y, 2, 1, "same", **form)
    y = tf.layers.separable_conv2d(
        y, 4, 3, depthwise_initializer=fill, pointwise_initializer=fill, **form
    )
    y = tf.layers.conv2d_transpose(y, 3, 3, strides=2, kernel_initializer=fill, **form)
    return tf.layers.average_pooling2d(y, 2, 2, "same", **form)


_ODD = (2, 9, 11, 3)
_K = (3, 2, 3, 4)
_V = (2, 3, 6, 7, 2)
_LARGE = (4, 30, 31, 8)
_NO_DOUBLE = "half bfloat16 float32"
ROWS = [
    Row("conv", _conv((1, 1), "SAME"), _ODD, _K),
    Row("conv strided", _conv((2, 3), "VALID"), _ODD, _K),
    Row("conv explicit", _conv((1, 2), [(1, 0), (2, 3)]), _ODD, _K),
    Row("conv dilated", _conv((1, 1), "SAME", (2, 3)), _ODD, _K),
    Row("conv in groups", _conv((1, 1), "SAME"), (2, 5, 4, 6), (3, 3, 2, 9)),
    Row("conv of one column", _conv((1, 1), "SAME"), (3, 7, 1, 3), _K),
    Row("conv of no image", _conv((1, 1), "SAME"), (0, 7, 5, 3), _K),
    Row("conv of many channels", _conv((1, 1), "SAME"), (2, 24, 24, 32), (3, 3, 32, 32), "float32"),
    Row("conv of padded images", _padded, _ODD, _K),
    Row("conv joined with its input", _joined, _ODD, _K),
    Row("conv transposed", _transposed, (2, 5, 6, 4), (3, 3, 3, 4)),
    Row("conv dilated by blocks", _dilated, _ODD, _K, "float32"),
    Row("conv 1-D", _conv1d, (2, 9, 3), (3, 3, 4)),
    Row("depthwise", _depthwise(1, "SAME"), _ODD, (3, 2, 3, 2)),
    Row("depthwise strided", _depthwise(2, "VALID"), _ODD, (3, 2, 3, 1)),
    Row("depthwise explicit", _depthwise(1, [(0, 2), (1, 0)]), _ODD, (3, 2, 3, 2)),
    Row("separable", _separable, _ODD, (3, 3, 3, 2)),
    Row("conv 3-D", _conv3d(1, "SAME"), _V, (2, 3, 2, 2, 3)),
    Row("conv 3-D strided", _conv3d(2, "VALID"), _V, (2, 3, 2, 2, 3)),
    Row("conv 3-D transposed", _transposed3d, (2, 3, 3, 7, 3), (2, 3, 2, 2, 3)),
    Row("max pool", _pool("max_pool", (3, 2), (2, 1), "SAME"), _ODD),
    Row("max pool valid", _pool("max_pool", (2, 2), (2, 2), "VALID"), _ODD),
    Row("max pool by inputs", _pool_v2, _ODD),
    Row("max pool of all", _pool("max_pool", (9, 11), (1, 1), "VALID"), _ODD),
    Row("max pool large", _pool("max_pool", (3, 3), (2, 2), "SAME"), _LARGE, (1,), "float32"),
    Row("pool dilated", _dilated_pool, _ODD, (1,), "float32"),
    Row("avg pool", _pool("avg_pool", (3, 2), (2, 1), "SAME"), _ODD),
    Row("avg pool valid", _pool("avg_pool", (2, 2), (2, 2), "VALID"), _ODD),
    Row("max pool 3-D", _pool("max_pool3d", (2, 3, 2), (1, 2, 1), "SAME"), _V, (1,), _NO_DOUBLE),
    Row("avg pool 3-D", _pool("avg_pool3d", (2, 3, 2), (1, 2, 1), "SAME"), _V),
    Row("batch norm", _batch_norm(True), _ODD, (3,), _NO_DOUBLE, 2e-5),
    Row("batch norm large", _batch_norm(True), (8, 31, 30, 3), (3,), "float32", 2e-5),
    Row("batch norm given", _batch_norm(False), _ODD, (3,), _NO_DOUBLE, 2e-5),
    Row("batch norm 3-D", _batch_norm(True, "DHW"), (2, 3, 4, 5, 3), (3,), "float32", 2e-5),
    Row("bias", _bias, _ODD, (3,), rounding=1e-5),
    Row("bias large", _bias, (5, 30, 31, 7), (7,), "float32 float64", 1e-5),
    Row("depth to space", _space("depth_to_space"), (2, 3, 5, 12)),
    Row("space to depth", _space("space_to_depth"), (2, 6, 4, 3)),
    Row("layers", _layers, _ODD, (1,), "float32", 1e-4),
]  # fmt: skip


def _answers(row: Row, form: Form, word: str, in_order: bool) -> list[Any]:
    """Return the values of a row, its gradients and their gradients, with the channels last."""
    with tf.Graph().as_default():
        dtype = tf.as_dtype(word)
        fed = form.of_last(_normal(*row.image))
        x = tf.placeholder(dtype, fed.shape)
        kernel = tf.placeholder(dtype, row.kernel)
        feeds = {x: fed, kernel: _normal(*row.kernel, seed=1)}
        image = x
        if not in_order and not form.is_last:
            # The memory of NCHW whose channels come last, as an op of NCHW leaves it.
            x = tf.placeholder(dtype, row.image)
            feeds = {x: _normal(*row.image), kernel: feeds[kernel]}
            rank = len(row.image)
            image = tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])
        y = row.build(form, image, kernel)
        weights = form.of_last(_normal(*form.to_last(np.empty(y.shape)).shape, seed=2))
        loss = tf.reduce_sum(tf.cast(y * tf.cast(weights, dtype), tf.float64))
        wanted = [image, kernel] if row.kernel != (1,) else [image]
        first = tf.gradients(loss, wanted)
        steps = [tf.constant(_normal(*one.shape.as_list(), seed=3)) for one in first[1:]]
        steps.insert(0, tf.constant(form.of_last(_normal(*row.image, seed=3))))
        pairs = zip(first, steps, strict=True)
        total = tf.add_n(
            [tf.reduce_sum(tf.cast(g, tf.float64) * tf.cast(s, tf.float64)) for g, s in pairs]
        )
        second = [one for one in tf.gradients(total, wanted) if one is not None]
        images = [y, first[0]]
        others = first[1:]
        for one in second:
            (images if one.shape.as_list() == image.shape.as_list() else others).append(one)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                found = session.run([*images, *others], feeds)
    assert all(one.flags.c_contiguous for one in found)
    turned = [form.to_last(one) for one in found[: len(images)]]
    assert row.image[0] == 0 or all(abs(one.astype("f4")).max() > 0 for one in found[:2])
    return [*turned, *found[len(images) :]]


@in_batches("row", ROWS, size=2, told=lambda row: row.name)
@pytest.mark.parametrize("way", [Lowering.NEVER, Lowering.ALWAYS])
def test_values_and_gradients_are_those_of_channels_last(row: Row, way: Lowering) -> None:
    """Values, gradients and second gradients agree, for both orders of memory."""
    words = row.dtypes.split() if way is Lowering.ALWAYS else ["float32"]
    with lowering(way), without_kernels():
        for word in words:
            _compare_formats(row, word, row.rounding)


@in_batches("row", ROWS, size=2, told=lambda row: row.name)
def test_kernels_give_the_values_of_channels_last_up_to_rounding(
    row: Row, kernels_at_once: None
) -> None:
    """A format may get kernels that add in another order, from another step on."""
    if "float32" in row.dtypes:
        _compare_formats(row, "float32", max(row.rounding, 2e-5))


def _compare_formats(row: Row, word: str, rounding: float) -> None:
    with np.errstate(all="ignore"):
        want = _answers(row, LAST, word, True)
        for in_order in (True, False) if word == "float32" else (False,):
            got = _answers(row, FIRST, word, in_order)
            assert len(got) == len(want)
            for one, other in zip(got, want, strict=True):
                _compare(one, other, rounding, word)


def _compare(got: Any, want: Any, rounding: float, word: str) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    got, want = got.astype("f8"), want.astype("f8")
    if not rounding:
        np.testing.assert_array_equal(got, want)
        return
    coarser = {"half": 500, "bfloat16": 2000}.get(word, 1)
    largest = abs(want).max(initial=1e-3)
    np.testing.assert_allclose(
        got, want, rtol=rounding * coarser, atol=rounding * coarser * largest
    )


# ------------------------------------------------------------------------------------ whole models


def _resnet(f: Form, x: Any, conv: Any) -> Any:
    """Return logits of a small ResNet with batch norms."""

    def norm(y: Any, size: int) -> Any:
        scale = tf.Variable(tf.ones([size]))
        return tf.nn.fused_batch_norm(y, scale, tf.zeros([size]), data_format=f.name())[0]

    y = conv(x, 8)
    for filters, stride in ((8, 1), (16, 2)):
        z = tf.nn.relu(norm(y, f.channels(y)))
        y = conv(z, filters, 1, stride) if stride > 1 else y
        z = tf.nn.relu(norm(conv(z, filters, 3, stride), filters))
        y = y + conv(z, filters)
    y = tf.nn.max_pool(y, f.around(2, 2), f.around(2, 2), "VALID", data_format=f.name())
    y = tf.reduce_mean(tf.nn.relu(norm(y, 16)), f.axes(4))
    return tf.matmul(y, tf.Variable(_normal(16, 3, seed=50) * 0.3))


def _style(f: Form, x: Any, conv: Any) -> Any:
    """Return scores of pictures: styles, instance norms, noise, upsampling, penalized gradients."""
    styles = tf.reduce_mean(x, f.axes(4))

    def styled(y: Any, seed: int) -> Any:
        size = f.channels(y)
        y = tf.nn.leaky_relu(y + tf.Variable(_normal(*f.around(1, 1, channels=size), seed=seed)))
        mean, variance = tf.nn.moments(y, f.axes(4), keep_dims=True)
        y = (y - mean) * tf.rsqrt(variance + 1e-3)
        scale = tf.matmul(styles, tf.Variable(_normal(3, size, seed=seed + 1)))
        return y * tf.reshape(scale + 1.0, f.around(1, 1, batch=-1, channels=size))

    y = styled(conv(x, 8), 60)
    shape = f.around(y.shape[f.axes(4)[0]], 1, y.shape[f.axes(4)[1]], 1, batch=4, channels=8)
    y = tf.tile(tf.reshape(y, shape), f.around(1, 2, 1, 2))
    y = tf.reshape(y, f.around(20, 20, batch=4, channels=8))
    y = styled(conv(y, 8), 70)
    y = tf.nn.avg_pool(y, f.around(2, 2), f.around(2, 2), "SAME", data_format=f.name())
    y = tf.tanh(tf.nn.bias_add(conv(y, 4), tf.Variable(tf.zeros([4])), data_format=f.name()))
    penalty = tf.reduce_sum(tf.square(tf.gradients(tf.reduce_sum(y), x)[0]), [1, 2, 3])
    return tf.reduce_mean(y, f.axes(4))[:, :3] + penalty[:, None] * 0.01


def _trained(network: Any, f: Form) -> tuple[list[float], list[Any]]:
    """Return the losses of some steps, and the variables at the end."""
    with tf.Graph().as_default():
        given = f.of_last(_normal(4, 10, 10, 3))
        x, seeds = tf.placeholder(tf.float32, given.shape), iter(range(10, 40))

        def conv(y: Any, filters: int, size: int = 3, stride: int = 1) -> Any:
            channels = f.channels(y)
            kernel = _normal(size, size, channels, filters, seed=next(seeds))
            kernel = tf.Variable(kernel / np.float32(size * np.sqrt(channels)))
            return tf.nn.conv2d(
                y, kernel, strides=f.around(stride, stride), padding="SAME", data_format=f.name()
            )

        logits = network(f, x, conv)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 2, 0], logits=logits)
        )
        train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train], {x: given})[0] for _ in range(6)]
            variables = session.run(tf.trainable_variables())
    return losses, variables


@pytest.mark.parametrize("network", [_resnet, _style])
def test_a_network_trains_like_its_twin_of_channels_last(network: Any) -> None:
    """Losses fall alike, and the variables agree at the end."""
    wanted, variables = _trained(network, LAST)
    losses, found = _trained(network, FIRST)
    assert losses[-1] < losses[0] - 0.01
    np.testing.assert_allclose(losses, wanted, rtol=1e-4)
    for one, other in zip(found, variables, strict=True):
        np.testing.assert_allclose(one.reshape(other.shape), other, rtol=1e-3, atol=2e-4)


# --------------------------------------------------------------------------- fused ops, and errors


@pytest.mark.parametrize(
    ("op", "kernel", "fused"),
    [
        ("_FusedConv2D", (3, 3, 3, 4), ["BiasAdd", "Relu"]),
        ("_FusedConv2D", (3, 3, 3, 4), ["FusedBatchNorm"]),
        ("_FusedDepthwiseConv2dNative", (3, 3, 3, 2), ["BiasAdd", "Relu6"]),
    ],
)
def test_fused_convolutions_are_those_of_channels_last(
    op: str, kernel: tuple[int, ...], fused: list[str]
) -> None:
    """The bias, the norm and the activation go to the channels."""
    channels = 4 if op == "_FusedConv2D" else 6
    count = 1 if "BiasAdd" in fused else 4
    args = [abs(_normal(channels, seed=seed)) for seed in range(3, 3 + count)]
    common: dict[str, Any] = {"fused_ops": fused, "padding": "SAME", "num_args": count}
    rest = [samples.Many([])] if op == "_FusedConv2D" else []
    found = []
    for form in (LAST, FIRST):
        row = samples.op(
            op, form.of_last(_normal(*_ODD)), _normal(*kernel), samples.Many(args), *rest,
            strides=form.around(2, 2), data_format=form.name(), **common,
        )  # fmt: skip
        run = SampleRun(row)
        found.append(form.to_last(run.run()[0]))
        assert run.static_shapes("const")[0] == list(form.of_last(found[-1]).shape)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("MaxPool", {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding": "SAME"}),
        ("DepthToSpace", {"block_size": 2}),
        ("SpaceToDepth", {"block_size": 2}),
    ],
)
def test_vectors_of_channels_are_refused(op: str, attrs: dict[str, Any]) -> None:
    """The error of NCHW_VECT_C names the formats that are computed."""
    shape = (1, 4, 4, 4) if op == "MaxPool" else (1, 4, 4, 4, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        node = getattr(tf.raw_ops, op)(
            input=np.ones(shape, np.float32), data_format="NCHW_VECT_C", **attrs
        )
        with pytest.raises(tf.errors.UnimplementedError, match=r"NCHW_VECT_C.* Use NCHW or NHWC"):
            session.run(node)


def test_an_error_says_in_which_order_it_names_sizes() -> None:
    """The kernel computes with the channels last, and its errors say so."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        made = tf.raw_ops.Conv2DBackpropInput(
            input_sizes=[1, 2, 6, 5], filter=np.ones((3, 3, 2, 4), np.float32), out_backprop=x,
            strides=[1, 1, 1, 1], padding="SAME", data_format="NCHW",
        )  # fmt: skip
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(made, {x: np.ones((1, 4, 6, 6), np.float32)})
    assert "actual = [1,6,6,4], expected = [1,6,5,4]" in str(caught.value)
    assert any("NCHW" in note and "NHWC" in note for note in caught.value.__notes__)


def test_a_rank_that_does_not_fit_is_refused() -> None:
    """A matrix, known only when the step runs, is no image."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        kernel = np.ones((3, 3, 2, 4), np.float32)
        y = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME", data_format="NCHW")
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be 4-dimensional"):
            session.run(y, {x: np.ones((3, 3), np.float32)})
        with pytest.raises(tf.errors.UnimplementedError, match="strides in the batch and depth"):
            session.run(
                tf.raw_ops.DepthwiseConv2dNative(
                    input=np.ones((1, 2, 6, 6), np.float32), filter=kernel, strides=[1, 2, 1, 1],
                    padding="SAME", data_format="NCHW",
                )
            )  # fmt: skip
