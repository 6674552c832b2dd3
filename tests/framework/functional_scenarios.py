"""Programs with If, While, For, Gradient and PartitionedCall; see function_scenarios.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.framework.function_scenarios import scenario

if TYPE_CHECKING:
    from tests.framework.function_scenarios import Kit


@scenario()
def if_of_functions(tf: Any, kit: Kit) -> Any:
    """Conditions of several kinds."""

    @kit.function.Defun(tf.float32)
    def twice(x: Any) -> Any:
        return x * 2.0

    @kit.function.Defun(tf.float32)
    def thrice(x: Any) -> Any:
        return x * 3.0

    x = tf.constant([1.0, 2.0])
    conditions = [tf.reduce_sum(x) > 2.0, tf.constant(0), tf.constant("")]
    return [kit.functional_ops.If(one, [x], twice, thrice) for one in conditions]


@scenario()
def if_with_different_types(tf: Any, kit: Kit) -> Any:
    """The error is raised when it is built or run."""

    @kit.function.Defun(tf.float32)
    def twice(x: Any) -> Any:
        return x * 2.0

    @kit.function.Defun(tf.float32)
    def whole(x: Any) -> Any:
        return tf.cast(x, tf.int32)

    return kit.functional_ops.If(True, [1.0], whole, twice)


@scenario()
def while_of_functions(tf: Any, kit: Kit) -> Any:
    """Without captures."""

    @kit.function.Defun(tf.float32, tf.int32)
    def small(x: Any, n: Any) -> Any:
        return tf.logical_and(x < 100.0, n < 10)

    @kit.function.Defun(tf.float32, tf.int32)
    def step(x: Any, n: Any) -> Any:
        return x * 3.0, n + 1

    return kit.functional_ops.While([2.0, 0], small, step, name="loop", hostmem=[1])


@scenario()
def while_with_captures(tf: Any, kit: Kit) -> Any:
    """Captures are loop variables."""
    w = tf.constant(3.0, name="w")
    limit = tf.constant(50.0)

    @kit.function.Defun(tf.float32, func_name="Small")
    def small(x: Any) -> Any:
        return x < 100.0

    @kit.function.Defun(tf.float32, func_name="Step")
    def step(x: Any) -> Any:
        return tf.minimum(x * w, limit * 4.0)

    return kit.functional_ops.While([2.0], small, step)


@scenario()
def while_condition_captures(tf: Any, kit: Kit) -> Any:
    """Captures of the condition are refused."""
    limit = tf.constant(50.0)
    small = kit.function.Defun(tf.float32)(lambda x: x < limit)
    step = kit.function.Defun(tf.float32)(lambda x: x * 2.0)
    return kit.functional_ops.While([2.0], small, step)


@scenario()
def while_signatures_differ(tf: Any, kit: Kit) -> Any:
    """Different signatures are refused."""
    small = kit.function.Defun(tf.float32, func_name="A")(lambda x: x < 1.0)
    step = kit.function.Defun(tf.int32, func_name="B")(lambda x: x * 2)
    return kit.functional_ops.While([2.0], small, step)


@scenario()
def for_of_functions(tf: Any, kit: Kit) -> Any:
    """As a For node and as a While, with captures and without."""
    w = tf.constant(0.5, name="w")

    @kit.function.Defun(tf.int32, tf.float32, func_name="Plain")
    def plain(i: Any, x: Any) -> Any:
        return x + tf.cast(i, tf.float32)

    @kit.function.Defun(tf.int32, tf.float32, func_name="Capturing")
    def capturing(i: Any, x: Any) -> Any:
        return x * w + tf.cast(i, tf.float32)

    ops = kit.functional_ops
    return [
        ops.For(0, 5, 2, [1.0], plain, hostmem=[0]),
        ops.For(5, 0, -1, [1.0], capturing, name="named"),
        ops.For(0, 5, 1, [1.0], plain, rewrite_with_while=True),
    ]


@scenario()
def gradient_of_a_function(tf: Any, kit: Kit) -> Any:
    """A symbolic gradient, also of second order."""

    @kit.function.Defun(tf.float32)
    def power(x: Any) -> Any:
        return tf.exp(x)

    @kit.function.Defun(tf.float32, tf.float32)
    def slope(x: Any, grad: Any) -> Any:
        return kit.functional_ops.Gradient([x, grad], power)[0]

    x = tf.constant([1.0, 2.0])
    ones = tf.ones([2])
    return [
        kit.functional_ops.Gradient([x, ones], power),
        kit.functional_ops.Gradient([x, ones, ones], slope),
    ]


@scenario(nodes=False)
def partitioned_call(tf: Any, kit: Kit) -> Any:
    """Calls, and gradients through them."""
    w = tf.constant([2.0, 3.0], name="w")

    @kit.function.Defun(tf.float32, tf.float32)
    def body(x: Any, y: Any) -> Any:
        return tf.exp(x) * y, x + y

    x = tf.constant([0.5, 0.25])
    raw = tf.raw_ops
    one = raw.PartitionedCall(args=[x, w], Tout=[tf.float32] * 2, f=body)
    other = raw.StatefulPartitionedCall(args=[x, one[0]], Tout=[tf.float32] * 2, f=body)
    return [one, other, tf.gradients(other[0], [x, w]), tf.gradients([one[1], other[1]], x)]


@scenario(nodes=False)
def imported_partitioned_call(tf: Any, kit: Kit) -> Any:
    """A call is imported from a GraphDef and differentiated."""
    with tf.Graph().as_default() as other:

        @kit.function.Defun(tf.float32)
        def body(x: Any) -> Any:
            return tf.square(x) * 3.0

        x = tf.placeholder_with_default([0.5, 0.25], [2], name="x")
        tf.raw_ops.PartitionedCall(args=[x], Tout=[tf.float32], f=body, name="y")
    x, y = tf.import_graph_def(other.as_graph_def(), return_elements=["x:0", "y:0"])
    return [y, tf.gradients(y, x)]


@scenario(nodes=False)
def optionals(tf: Any, kit: Kit) -> Any:
    """Optionals with and without values, sums of them and zeros like them."""
    raw = tf.raw_ops
    x = tf.constant([1.0, 2.0])
    some = raw.OptionalFromValue(components=[x, 3])
    none = raw.OptionalNone()
    options = {"output_types": [tf.float32, tf.int32], "output_shapes": [[2], []]}
    zeros = raw.ZerosLike(x=some)
    total = raw.AddN(inputs=[some, some])
    return [
        raw.OptionalGetValue(optional=some, **options),
        raw.OptionalHasValue(optional=some),
        raw.OptionalHasValue(optional=none),
        raw.OptionalGetValue(optional=zeros, **options),
        raw.OptionalGetValue(optional=total, **options),
        raw.OptionalHasValue(optional=raw.ZerosLike(x=none)),
        tf.gradients(
            raw.OptionalGetValue(
                optional=raw.OptionalFromValue(components=[x * x]),
                output_types=[tf.float32],
                output_shapes=[[2]],
            )[0],
            x,
        ),
    ]


def _get(tf: Any, optional: Any, dtype: Any, shape: Any) -> Any:
    raw = tf.raw_ops
    return raw.OptionalGetValue(optional=optional, output_types=[dtype], output_shapes=[shape])


@scenario(nodes=False)
def optional_without_value(tf: Any, kit: Kit) -> Any:
    """Reading an optional without a value is refused."""
    return _get(tf, tf.raw_ops.OptionalNone(), tf.float32, [])


@scenario(nodes=False)
def optional_of_another_type(tf: Any, kit: Kit) -> Any:
    """Another type is refused."""
    return _get(tf, tf.raw_ops.OptionalFromValue(components=[1]), tf.float32, [])


@scenario(nodes=False)
def optional_of_another_shape(tf: Any, kit: Kit) -> Any:
    """Another shape is refused."""
    return _get(tf, tf.raw_ops.OptionalFromValue(components=[1]), tf.int32, [2])


@scenario(nodes=False)
def sum_of_something_and_nothing(tf: Any, kit: Kit) -> Any:
    """The sum of an optional with and one without a value is refused."""
    raw = tf.raw_ops
    some = raw.OptionalFromValue(components=[1])
    return raw.OptionalHasValue(optional=raw.AddN(inputs=[some, raw.OptionalNone()]))


@scenario(nodes=False)
def value_of_no_optional(tf: Any, kit: Kit) -> Any:
    """A variant that is not an optional is refused."""
    raw = tf.raw_ops
    other = raw.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.int32)
    return raw.OptionalHasValue(optional=other)
