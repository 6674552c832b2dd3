"""Programs with loops built of functions, and their gradients; see function_scenarios.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.framework.cond_v2_scenarios import v2

if TYPE_CHECKING:
    from tests.framework.function_scenarios import Kit


@v2()
def v2_while(tf: Any, kit: Kit) -> Any:
    """Captures of the condition and of the body."""
    x = tf.constant([2.0, 3.0], name="x")
    w = tf.constant(2.0, name="w")
    limit = tf.constant(10, name="limit")
    i, y = tf.while_loop(
        lambda i, y: i < limit, lambda i, y: (i + 1, tf.sin(y) * w), [tf.constant(0), x]
    )
    return [i, y]


@v2()
def v2_while_maximum(tf: Any, kit: Kit) -> Any:
    """The number of iterations is bounded; one variable; a name."""
    y = tf.while_loop(
        lambda y: y < 100.0, lambda y: y * 3.0, [1.0], maximum_iterations=3, name="loop"
    )
    z = tf.while_loop(lambda y: y < 100.0, lambda y: [y * 3.0], [1.0], return_same_structure=True)
    return [y, z]


@v2()
def v2_while_structure(tf: Any, kit: Kit) -> Any:
    """Nested variables and shape invariants."""
    x = tf.constant([2.0, 3.0], name="x")
    found = tf.while_loop(
        lambda i, pair: i < 3,
        lambda i, pair: (i + 1, {"a": tf.concat([pair["a"], x], 0), "b": pair["b"] + 1.0}),
        [0, {"a": x, "b": tf.constant(1.0)}],
        shape_invariants=[
            tf.TensorShape([]),
            {"a": tf.TensorShape([None]), "b": tf.TensorShape([])},
        ],
        parallel_iterations=3,
    )
    return [found[1]["a"], found[1]["b"]]


@v2()
def v2_while_stateful(tf: Any, kit: Kit) -> Any:
    """Effects make it While."""
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    with tf.control_dependencies([tf.while_loop(lambda i: i < 3, body, [0])]):
        return v.read_value()


@v2()
def v2_while_nested(tf: Any, kit: Kit) -> Any:
    """A loop in a loop, a cond in a loop."""
    x = tf.constant(2.0, name="x")

    def body(i: Any, y: Any) -> Any:
        y = tf.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y * x), [0, y])[1]
        return i + 1, tf.cond(y > 3.0, lambda: y - x, lambda: y)

    return tf.while_loop(lambda i, y: i < 4, body, [0, x])


@v2()
def v2_while_shape_changes(tf: Any, kit: Kit) -> Any:
    """A changed shape is refused."""
    return tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.constant([1.0])])


@v2()
def v2_while_type_changes(tf: Any, kit: Kit) -> Any:
    """A changed type is refused."""
    return tf.while_loop(lambda x: True, lambda x: tf.cast(x, tf.int32), [tf.constant([1.0])])


@v2()
def v2_while_structure_changes(tf: Any, kit: Kit) -> Any:
    """A changed structure is refused."""
    return tf.while_loop(lambda x, y: True, lambda x, y: x, [tf.constant([1.0]), 1])


@v2()
def v2_while_no_variables_called(tf: Any, kit: Kit) -> Any:
    """A loop without variables is refused."""
    return tf.while_loop(1, lambda x: x, [tf.constant([1.0])])


@v2(functions=False)
def v2_while_gradient(tf: Any, kit: Kit) -> Any:
    """Inner values go into lists; loop invariants and constants do not."""
    x = tf.constant([2.0, 3.0], name="x")
    w = tf.constant(2.0, name="w")
    y = tf.while_loop(
        lambda i, y: i < 4,
        lambda i, y: (i + 1, tf.exp(-y) * w),
        [tf.constant(0), x],
        maximum_iterations=5,
    )[1]
    return tf.gradients(y, [x, w])


@v2(nodes=False, functions=False)
def v2_while_gradients(tf: Any, kit: Kit) -> Any:
    """Gradients of several variables, with and without bound, with unknown shapes."""
    x = tf.placeholder_with_default([2.0, 3.0], [None])
    w = tf.constant([0.5, 0.25])

    def body(i: Any, y: Any, z: Any) -> Any:
        return i + 1, y * w + tf.reduce_sum(z), z * tf.sin(y)

    found = tf.while_loop(lambda i, y, z: i < 3, body, [0, x, x * 2.0])
    bounded = tf.while_loop(lambda i, y, z: i < 30, body, [0, x, x * 2.0], maximum_iterations=4)
    return [
        found[1:], tf.gradients(found[1:], [x, w]), tf.gradients(found[2], [x, w]),
        tf.gradients(bounded[1], [x, w]),
    ]  # fmt: skip


@v2(nodes=False, functions=False)
def v2_while_gradient_broadcasts(tf: Any, kit: Kit) -> Any:
    """Shapes that are only known at run time."""
    x = tf.placeholder_with_default([[2.0, 3.0]], [None, None])
    y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y + tf.reduce_sum(y * y) * 0.01),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
    )[1]
    return [y, tf.gradients(y, x)]


@v2(nodes=False, functions=False)
def v2_while_nested_gradients(tf: Any, kit: Kit) -> Any:
    """A loop in a loop, a cond in a loop, a loop in a cond."""
    x = tf.constant(1.5)
    w = tf.constant(0.7)

    def body(i: Any, y: Any) -> Any:
        y = tf.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, tf.sin(y) * w), [0, y])[1]
        return i + 1, y * x

    def branching(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(y > 1.0, lambda: tf.sin(y) * w, lambda: y * y + x)

    one = tf.while_loop(lambda i, y: i < 4, body, [0, x])[1]
    other = tf.while_loop(lambda i, y: i < 4, branching, [0, x])[1]
    third = tf.cond(
        x > 1.0, lambda: tf.while_loop(lambda i, y: i < 4, branching, [0, x])[1], lambda: w
    )
    return [
        one, other, third,
        tf.gradients(one, [x, w]), tf.gradients(other, [x, w]), tf.gradients(third, [x, w]),
    ]  # fmt: skip


@v2(nodes=False, functions=False)
def v2_while_second_gradient(tf: Any, kit: Kit) -> Any:
    """Gradients of second order."""
    x = tf.constant(1.5)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), [0, x])[1]
    first = tf.gradients(y, x)[0]
    return [y, first, tf.gradients(first, x)]


@v2(nodes=False, functions=False)
def v2_while_variable_gradient(tf: Any, kit: Kit) -> Any:
    """Gradients of a resource variable that is read in every iteration."""
    v = tf.get_variable("v", initializer=[1.5, 2.0], use_resource=True)
    x = tf.constant([1.0, 2.0])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * v), [0, x])[1]
    return [y, tf.gradients(y, [v, x])]


@v2(nodes=False, functions=False)
def v2_while_gather_gradient(tf: Any, kit: Kit) -> Any:
    """IndexedSlices become dense."""
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.gather(x, i)), [0, tf.constant(2.0)]
    )[1]
    return [y, tf.gradients(y, x)]


@v2(nodes=False, functions=False)
def v2_while_without_back_prop(tf: Any, kit: Kit) -> Any:
    """back_prop=False gives no gradient."""
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x], back_prop=False)
    return [y[1], tf.gradients(y[1], x)]


@v2(nodes=False, functions=False)
def v2_while_imported(tf: Any, kit: Kit) -> Any:
    """An imported loop can be differentiated."""
    with tf.Graph().as_default() as other:
        x = tf.placeholder_with_default([2.0, 3.0], [2], name="x")
        w = tf.constant([0.5, 2.0])
        tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * w), [0, x], name="loop")
    x, y = tf.import_graph_def(other.as_graph_def(), return_elements=["x:0", "loop:3"])
    y = tf.identity(y)
    return [y, tf.gradients(y, x)]


@v2(nodes=False, functions=False)
def v2_while_in_defun(tf: Any, kit: Kit) -> Any:
    """A loop in the body of a function."""

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), [0, x])[1]
        return y, tf.gradients(y, x)[0]

    return body(tf.constant(1.5))


@v2()
def v2_tensor_array(tf: Any, kit: Kit) -> Any:
    """An array is a list; every method is used."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
    one = tf.TensorArray(tf.float32, size=2).unstack(x)
    two = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[2])
    two = two.write(0, x[0]).write(1, x[1]).write(2, [5.0, 6.0])
    three = tf.TensorArray(tf.float32, size=3, infer_shape=False).split([1.0, 2.0, 3.0], [1, 0, 2])
    four = tf.TensorArray(tf.float32, size=2).scatter([1, 0], x)
    return [
        one.read(1), one.stack(), one.size(), two.stack(), two.size(), two.gather([2, 0]),
        two.concat(), three.concat(), four.stack(), one.identity().stack(), one.close(),
    ]  # fmt: skip


@v2()
def v2_tensor_array_shapes(tf: Any, kit: Kit) -> Any:
    """Elements of different shapes are refused."""
    array = tf.TensorArray(tf.float32, size=2).write(0, [1.0])
    return array.write(1, [1.0, 2.0]).stack()


@v2()
def v2_tensor_array_types(tf: Any, kit: Kit) -> Any:
    """Elements of another type are refused."""
    return tf.TensorArray(tf.float32, size=2).write(0, tf.constant(1)).stack()


@v2()
def v2_array_in_a_loop(tf: Any, kit: Kit) -> Any:
    """As a loop variable and as a capture."""
    x = tf.constant([1.0, 2.0, 3.0], name="x")
    given = tf.TensorArray(tf.float32, size=3).unstack(x)
    made = tf.TensorArray(tf.float32, size=3)

    def body(i: Any, made: Any) -> Any:
        return i + 1, made.write(i, given.read(i) * 2.0)

    return tf.while_loop(lambda i, made: i < 3, body, [0, made])[1].stack()


@v2(nodes=False, functions=False)
def v2_array_gradients(tf: Any, kit: Kit) -> Any:
    """Gradients through lists that loops carry."""
    x = tf.constant([1.0, 2.0, 3.0], name="x")
    given = tf.TensorArray(tf.float32, size=3).unstack(x)
    made = tf.TensorArray(tf.float32, size=3)

    def body(i: Any, made: Any, total: Any) -> Any:
        value = given.read(i)
        return i + 1, made.write(i, tf.sin(value) * total), total + value

    _, made, total = tf.while_loop(lambda i, made, total: i < 3, body, [0, made, tf.constant(0.5)])
    y = made.stack()
    return [y, total, tf.gradients([y, total], x)]


@v2(nodes=False, functions=False)
def v2_map_scan_fold(tf: Any, kit: Kit) -> Any:
    """map_fn, scan and fold."""
    x = tf.constant([1.0, 2.0, 3.0], name="x")
    w = tf.constant(0.5)
    results = [
        tf.map_fn(lambda v: tf.sin(v) * w, x),
        tf.scan(lambda a, v: a * v + w, x),
        tf.foldl(lambda a, v: a * w + v, x),
        tf.foldr(lambda a, v: a * w + v, x, initializer=tf.constant(1.0)),
    ]
    return [results, [tf.gradients(one, [x, w]) for one in results]]


@v2(nodes=False, functions=False)
def v2_hessian(tf: Any, kit: Kit) -> Any:
    """A loop over gradients."""
    x = tf.constant([1.0, 2.0])
    return tf.hessians(tf.reduce_sum(tf.sin(x) * x[0]), x)
