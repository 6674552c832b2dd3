"""Programs with ``Defun``; see function_scenarios.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.framework.function_scenarios import scenario

if TYPE_CHECKING:
    from tests.framework.function_scenarios import Kit


def _w(tf: Any) -> Any:
    return tf.constant([2.0, 3.0], name="w")


@scenario()
def named_function(tf: Any, kit: Kit) -> Any:
    """Capture, name scope, control dependencies, a result used twice, an argument as a result."""
    w = _w(tf)

    @kit.function.Defun(tf.float32, tf.float32, func_name="Foo")
    def foo(X_in: Any, y: Any) -> Any:  # the name becomes that of the argument
        """Documented."""
        with tf.name_scope("Inner"):
            a = X_in + y * w
        with tf.control_dependencies([X_in, a]):
            b = tf.identity(a, name="add")
        return a, b, X_in, a

    return foo(1.0, w)


@scenario()
def hashed_names(tf: Any, kit: Kit) -> Any:
    """Equal bodies have the same name."""

    def const() -> Any:
        return tf.constant(1.0)

    def text() -> Any:
        return tf.constant(["a", "bcd"])

    def two(x: Any, y: Any) -> Any:
        first, second = tf.split(x, 2)
        return tf.concat([second, first], 0) + y, tf.cast(x, tf.int32)

    def documented(x: Any) -> Any:
        """One line."""
        return x

    def summed(x: Any) -> Any:
        return tf.reduce_sum(x * tf.constant([3], tf.int64))

    defun = kit.function.Defun
    w = _w(tf)
    big = tf.constant(list(range(100)), tf.int64)
    return [
        defun()(const)(),
        defun()(text)(),
        defun(tf.float32, tf.float32)(two)(w, w),
        defun(tf.float32, noinline=True)(documented)(w),
        defun(tf.int64)(summed)(big),
    ]


@scenario()
def no_result(tf: Any, kit: Kit) -> Any:
    """A call without results is the operation."""

    @kit.function.Defun(tf.float32)
    def nothing(x: Any) -> None:
        tf.identity(x)

    return nothing(_w(tf))


@scenario()
def types_from_the_call(tf: Any, kit: Kit) -> Any:
    """Each list of types has its own definition."""

    @kit.function.Defun(func_name="Add")
    def add(x: Any, y: Any) -> Any:
        return x + y

    @kit.function.Defun()
    def many(*xs: Any) -> Any:
        return tf.add_n(list(xs))

    return [add(1, 2), add(1.0, 2.0), add(3.0, 4.0), many(1.0, 2.0, 3.0), many(_w(tf))]


@scenario()
def out_names_and_options(tf: Any, kit: Kit) -> Any:
    """Names of results; attributes of the definition and the call."""

    @kit.function.Defun(tf.float32, out_names=["Half", "Twice"], noinline=True, experimental_x=3)
    def halves(x: Any) -> Any:
        return x / 2.0, x * 2.0

    return halves(_w(tf), name="callme", noinline=False, experimental_text="a")


@scenario()
def nested_functions(tf: Any, kit: Kit) -> Any:
    """Captures pass through both functions."""
    w = _w(tf)

    @kit.function.Defun(tf.float32)
    def inner(x: Any) -> Any:
        return x * w

    @kit.function.Defun(tf.float32)
    def outer(x: Any) -> Any:
        @kit.function.Defun(tf.float32)
        def innermost(y: Any) -> Any:
            return y + x

        with tf.name_scope("scope"):
            return inner(x) + innermost(x) - w

    return outer(_w(tf) + 1.0)


@scenario()
def captured_by_value(tf: Any, kit: Kit) -> Any:
    """Constants and nodes that depend only on them are copied."""
    w = _w(tf) * 2.0

    @kit.function.Defun(tf.float32, capture_by_value=True)
    def scaled(x: Any) -> Any:
        return x * w + w

    return [scaled(1.0), tf.constant(len(scaled.captured_inputs))]


@scenario()
def placeholder_by_value(tf: Any, kit: Kit) -> Any:
    """A placeholder captured by value is refused."""
    p = tf.placeholder(tf.float32)

    @kit.function.Defun(tf.float32, capture_by_value=True)
    def scaled(x: Any) -> Any:
        return x * p

    return scaled(1.0)


@scenario()
def stateful_by_value(tf: Any, kit: Kit) -> Any:
    """A stateful op captured by value is refused."""
    r = tf.random_uniform([2])

    @kit.function.Defun(tf.float32, capture_by_value=True)
    def scaled(x: Any) -> Any:
        return x * r

    return scaled(1.0)


@scenario()
def reference_variables(tf: Any, kit: Kit) -> Any:
    """Variables are made outside, in the scope there, with the names of the inner scopes."""
    with tf.variable_scope("out"):

        @kit.function.Defun(tf.float32)
        def layer(x: Any) -> Any:
            with tf.variable_scope("layer"):
                v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=False)
            return x * v

        return layer(_w(tf))


@scenario()
def resource_variables_by_value(tf: Any, kit: Kit) -> Any:
    """The variable is read outside; the second call uses the same one."""

    @kit.function.Defun(tf.float32)
    def layer(x: Any) -> Any:
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True)
        return x * v

    y = layer(_w(tf))
    return [y, layer(y), tf.gradients(y, tf.global_variables())]


@scenario()
def resource_variables_by_handle(tf: Any, kit: Kit) -> Any:
    """The body reads and writes the variable."""

    @kit.function.Defun(tf.float32, capture_resource_var_by_value=False)
    def layer(x: Any) -> Any:
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True)
        with tf.control_dependencies([v.assign_add(x)]):
            return v.read_value() * x

    return layer(_w(tf))


@scenario()
def extra_things(tf: Any, kit: Kit) -> Any:
    """Functions that inspect a body while it is built."""
    w = _w(tf)
    counts = []

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        y = x + w + tf.get_variable("v", [], initializer=tf.zeros_initializer())
        counts.extend(
            [
                len(kit.function.get_extra_vars()),
                len(kit.function.get_extra_inputs()),
                len(kit.function.get_extra_args()),
            ]
        )
        return y

    return [body(w), tf.constant(counts), tf.constant(len(kit.function.get_extra_inputs()))]


@scenario()
def under_control_and_device(tf: Any, kit: Kit) -> Any:
    """Scopes around the decorator apply to the body, those around the call to the node."""
    w = _w(tf)
    with tf.device("/cpu:0"):

        @kit.function.Defun(tf.float32)
        def body(x: Any) -> Any:
            with tf.device("/device:CPU:0"):
                y = x + 1.0
            return y * 2.0

    with tf.control_dependencies([tf.no_op(name="first")]), tf.name_scope("calls"):
        return body(w, name="call")


@scenario()
def shape_function(tf: Any, kit: Kit) -> Any:
    """The shape function gives shapes that the body does not."""

    @kit.function.Defun(tf.float32, shape_func=lambda op: [op.inputs[0].get_shape()])
    def body(x: Any) -> Any:
        return x * 2.0

    @kit.function.Defun(tf.float32)
    def other(x: Any) -> Any:
        return x * 2.0

    y = body(_w(tf))
    return [tf.constant(str(y.shape)), tf.constant(str(other(y).shape))]


@scenario()
def wrong_number_of_shapes(tf: Any, kit: Kit) -> Any:
    """A wrong number of shapes is refused."""

    @kit.function.Defun(tf.float32, shape_func=lambda op: [])
    def body(x: Any) -> Any:
        return x * 2.0

    return body(_w(tf))


@scenario(nodes=False)
def symbolic_gradient(tf: Any, kit: Kit) -> Any:
    """The gradient of a function without a registered one."""
    w = _w(tf)

    @kit.function.Defun(tf.float32, tf.float32)
    def body(x: Any, y: Any) -> Any:
        return tf.reduce_sum(x * y * w), tf.exp(x)

    x = tf.constant([0.5, 0.25])
    first, second = body(x, x * 3.0)
    return [tf.gradients([first, second], [x, w]), tf.gradients(first, w)]


@scenario()
def python_gradient(tf: Any, kit: Kit) -> Any:
    """The Python function gets the call and builds its gradient."""

    def gradient(op: Any, grad: Any) -> Any:
        return grad * 100.0 + op.inputs[0]

    @kit.function.Defun(tf.float32, python_grad_func=gradient)
    def body(x: Any) -> Any:
        return x * 2.0

    x = _w(tf)
    return tf.gradients(body(x), x)


@scenario()
def function_as_gradient(tf: Any, kit: Kit) -> Any:
    """Another function of the graph is the gradient, and the library says so."""

    @kit.function.Defun(tf.float32, tf.float32)
    def gradient(x: Any, grad: Any) -> Any:
        return grad * x * 10.0

    @kit.function.Defun(tf.float32, grad_func=gradient)
    def body(x: Any) -> Any:
        return x * 2.0

    x = _w(tf)
    return tf.gradients(body(x), x)


@scenario()
def overloaded_gradient(tf: Any, kit: Kit) -> Any:
    """Both functions are defined for the types of the call."""

    @kit.function.Defun()
    def gradient(x: Any, grad: Any) -> Any:
        return grad * x * 10.0

    @kit.function.Defun(grad_func=gradient)
    def body(x: Any) -> Any:
        return x * 2

    x = _w(tf)
    y = tf.constant([1.0, 2.0], tf.float64)
    return [tf.gradients(body(x), x), tf.gradients(body(y), y)]


@scenario()
def both_gradients(tf: Any, kit: Kit) -> Any:
    """Two kinds of gradient are refused."""

    @kit.function.Defun(tf.float32, tf.float32)
    def gradient(x: Any, grad: Any) -> Any:
        return grad * x

    @kit.function.Defun(
        tf.float32, grad_func=gradient, python_grad_func=lambda op, grad: grad, func_name="Body"
    )
    def body(x: Any) -> Any:
        return x * 2.0

    return body(_w(tf))


@scenario()
def same_name_twice(tf: Any, kit: Kit) -> Any:
    """Another body with the same name is refused."""
    first = kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 2.0)
    second = kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 3.0)
    return [first(1.0), second(1.0)]


@scenario()
def same_body_twice(tf: Any, kit: Kit) -> Any:
    """The same body with the same name is accepted."""
    first = kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 2.0)
    second = kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 2.0)
    return [first(1.0), second(1.0)]


@scenario()
def name_of_an_op(tf: Any, kit: Kit) -> Any:
    """The name of an op is refused."""
    return kit.function.Defun(tf.float32, func_name="Relu")(lambda x: x * 2.0)(1.0)


@scenario()
def wrong_number_of_arguments(tf: Any, kit: Kit) -> Any:
    """A wrong number of arguments is refused."""
    return kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 2.0)(1.0, 2.0)


@scenario()
def wrong_type_of_argument(tf: Any, kit: Kit) -> Any:
    """An argument of another type is refused."""
    return kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 2.0)(1)


@scenario()
def none_among_results(tf: Any, kit: Kit) -> Any:
    """None among the results is refused."""
    return kit.function.Defun(tf.float32)(lambda x: (x, None))(1.0)


@scenario()
def default_arguments(tf: Any, kit: Kit) -> Any:
    """Default arguments are refused."""
    return kit.function.Defun(tf.float32)(lambda x=None: x)(1.0)


@scenario()
def too_many_types(tf: Any, kit: Kit) -> Any:
    """Too many types are refused."""
    return kit.function.Defun(tf.float32, tf.float32)(lambda x: x)(1.0, 1.0)


@scenario()
def unknown_keyword(tf: Any, kit: Kit) -> Any:
    """An unknown keyword is refused."""
    return kit.function.Defun(tf.float32)(lambda x: x)(1.0, colour="red")


@scenario()
def duplicate_out_names(tf: Any, kit: Kit) -> Any:
    """Duplicate names of results are refused."""
    return kit.function.Defun(tf.float32, out_names=["a", "a"])(lambda x: (x, x))(1.0)


@scenario()
def too_few_out_names(tf: Any, kit: Kit) -> Any:
    """Too few names of results are refused."""
    return kit.function.Defun(tf.float32, out_names=["a"])(lambda x: (x, x))(1.0)


@scenario()
def method_as_function(tf: Any, kit: Kit) -> Any:
    """The object of a method is not an argument of the function."""

    class Model:
        def double(self, x: Any) -> Any:
            return x * 2.0

    return kit.function.Defun(tf.float32, func_name="Double")(Model().double)(1.0)


@scenario()
def random_inside(tf: Any, kit: Kit) -> Any:
    """Random ops are stateful and use seeds of the graph and of the op."""
    tf.set_random_seed(7)

    @kit.function.Defun()
    def body() -> Any:
        return tf.random_uniform([2], seed=3), tf.random_normal([2])

    body()
    return tf.constant([op for _, op in body.stateful_ops])


@scenario()
def colocation_and_controls(tf: Any, kit: Kit) -> Any:
    """Colocation inside; control inputs sorted by name; a result that is only a control output."""

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        z = tf.identity(x, name="z")
        a = tf.identity(x, name="a")
        with tf.colocate_with(z), tf.control_dependencies([z, a]):
            return tf.negative(x), tf.no_op().graph.get_tensor_by_name("a:0")

    return body(_w(tf))


@scenario()
def loop_inside(tf: Any, kit: Kit) -> Any:
    """A while loop and a cond in a body."""

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1]
        return tf.cond(tf.reduce_sum(y) > 1.0, lambda: y + 1.0, lambda: y)

    return body(_w(tf))


@scenario()
def imported_function(tf: Any, kit: Kit) -> Any:
    """A graph with functions is imported and differentiated."""
    with tf.Graph().as_default() as other:
        w = _w(tf)

        @kit.function.Defun(tf.float32)
        def inner(x: Any) -> Any:
            return x * w

        @kit.function.Defun(tf.float32)
        def outer(x: Any) -> Any:
            return tf.exp(inner(x))

        outer(tf.placeholder_with_default([0.5, 0.25], [2], name="x"), name="y")
    x, y = tf.import_graph_def(other.as_graph_def(), return_elements=["x:0", "y:0"])
    return [y, tf.gradients(y, x)]


@scenario()
def call_in_a_branch(tf: Any, kit: Kit) -> Any:
    """Calls inside a cond and a loop bring their captures in."""
    w = _w(tf)

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        return x * w

    x = tf.constant([1.0, 2.0])
    y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: body(x), lambda: x)
    z = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, body(z)), [0, y])[1]
    return [z, tf.gradients(z, x)]
