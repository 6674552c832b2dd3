"""Programs in which functions, branches, loops and variables meet; see function_scenarios.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.framework.cond_v2_scenarios import v2
from tests.framework.function_scenarios import scenario

if TYPE_CHECKING:
    from tests.framework.function_scenarios import Kit


def _xp(tf: Any, value: bool = True) -> Any:
    x = tf.constant([2.0, 3.0], name="x")
    return x, tf.placeholder_with_default(value, [], name="p")


@v2(nodes=False, functions=False)
def v2_variable_made_in_a_branch(tf: Any, kit: Kit) -> Any:
    """A variable of the scope around."""
    x, p = _xp(tf)

    def branch() -> Any:
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        return v * x

    with tf.variable_scope("s"):
        y = tf.cond(p, branch, lambda: x)
    names = [v.name for v in tf.global_variables()]
    return [y, tf.constant(names), tf.gradients(y, x)]


@v2(nodes=False, functions=False)
def v2_variable_made_in_a_loop(tf: Any, kit: Kit) -> Any:
    """A weight with which the loop multiplies."""
    x, _ = _xp(tf)

    def body(i: Any, y: Any) -> Any:
        v = tf.get_variable("v", [2], initializer=tf.constant_initializer(0.5), use_resource=True)
        return i + 1, tf.sin(y) * v

    y = tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]
    return [y, tf.gradients(y, tf.global_variables())]


@v2(nodes=False, functions=False)
def v2_assert_and_print(tf: Any, kit: Kit) -> Any:
    """Checks inside of branches."""
    x, p = _xp(tf)

    def branch() -> Any:
        with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), [x])]):
            return x * 2.0

    return tf.cond(p, branch, lambda: x)


@v2(nodes=False, functions=False)
def v2_assert_fails(tf: Any, kit: Kit) -> Any:
    """The error of the check names the node."""
    x, p = _xp(tf)

    def branch() -> Any:
        with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 2.5), [x])]):
            return x * 2.0

    return tf.cond(p, branch, lambda: x)


@v2(nodes=False, functions=False)
def v2_custom_gradient(tf: Any, kit: Kit) -> Any:
    """A function with a gradient of its own, in a branch and in a loop."""
    x, p = _xp(tf)

    @tf.custom_gradient
    def odd(x: Any) -> Any:
        return tf.sin(x), lambda grad: grad * 100.0 + x

    one = tf.cond(p, lambda: odd(x), lambda: x)
    other = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, odd(y)), [0, x])[1]
    return [tf.gradients(one, x), tf.gradients(other, x)]


@v2(nodes=False, functions=False)
def v2_defun_in_a_branch(tf: Any, kit: Kit) -> Any:
    """A call in a branch and in a loop, and its gradient."""
    x, p = _xp(tf)
    w = tf.constant(3.0)

    @kit.function.Defun(tf.float32)
    def scaled(x: Any) -> Any:
        return tf.exp(x) * w

    one = tf.cond(p, lambda: scaled(x) * x, lambda: x)
    other = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, scaled(-y)), [0, x])[1]
    return [one, other, tf.gradients(one, [x, w]), tf.gradients(other, [x, w])]


@v2(nodes=False, functions=False)
def v2_gradient_inside_a_branch(tf: Any, kit: Kit) -> Any:
    """Gradients by captured and by inner tensors."""
    x, p = _xp(tf)
    y = tf.sin(x)

    def branch() -> Any:
        z = y * x
        return tf.gradients(z, x)[0] + tf.gradients(z, y)[0]

    return tf.cond(p, branch, lambda: x)


@v2(nodes=False, functions=False)
def v2_results_of_other_types(tf: Any, kit: Kit) -> Any:
    """Integers, booleans and strings beside results with gradients."""
    x, p = _xp(tf)

    def taken() -> Any:
        return tf.exp(x), tf.constant(1), x > 2.0, tf.constant(["a"]), tf.cast(x, tf.float64)

    def other() -> Any:
        return x, tf.constant(2), x < 2.0, tf.constant(["b"]), tf.zeros([2], tf.float64)

    found = tf.cond(p, taken, other)
    return [found, tf.gradients([found[0], found[4]], x)]


@v2(nodes=False, functions=False)
def v2_sparse_values(tf: Any, kit: Kit) -> Any:
    """SparseTensors through branches and loops."""
    x, p = _xp(tf)
    sparse = tf.SparseTensor([[0], [2]], x, [4])
    one = tf.cond(p, lambda: sparse, lambda: tf.SparseTensor([[1]], [5.0], [4]))
    other = tf.while_loop(
        lambda i, s: i < 2, lambda i, s: (i + 1, s * tf.constant(2.0)), [0, sparse]
    )[1]
    return [one.values, tf.sparse.to_dense(one), tf.sparse.to_dense(other)]


@v2(nodes=False, functions=False)
def v2_training(tf: Any, kit: Kit) -> Any:
    """A step of an optimizer through a loop with a branch."""
    v = tf.get_variable("v", initializer=[0.5, 1.5], use_resource=True)

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(y) * v, lambda: y + v)

    y = tf.while_loop(lambda i, y: i < 4, body, [0, tf.constant([1.0, 2.0])])[1]
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y * y))
    with tf.control_dependencies([step]):
        return v.read_value()


@v2(nodes=False, functions=False)
def v2_embedding(tf: Any, kit: Kit) -> Any:
    """Rows of a variable looked up in a branch and in a loop."""
    v = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    p = tf.placeholder_with_default(True, [])
    one = tf.cond(p, lambda: tf.gather(v, [1]), lambda: tf.zeros([1, 2]))
    grad = tf.gradients(one, v)[0]
    return [one, tf.convert_to_tensor(grad)]


@v2(nodes=False, functions=False)
def v2_shapes(tf: Any, kit: Kit) -> Any:
    """Static shapes of the results."""
    x = tf.placeholder_with_default([[1.0, 2.0]], [None, 2])
    p = tf.placeholder_with_default(True, [])
    one = tf.cond(p, lambda: x, lambda: tf.zeros([3, 2]))
    other = tf.while_loop(
        lambda x: tf.shape(x)[0] < 3,
        lambda x: tf.concat([x, x], 0),
        [x],
        shape_invariants=[tf.TensorShape([None, 2])],
    )
    array = tf.TensorArray(tf.float32, 2).write(0, [1.0]).write(1, [2.0])
    shapes = [one, other, array.stack(), array.read(0), tf.map_fn(lambda r: r * 2.0, x)]
    return tf.constant([str(one.shape) for one in shapes])


@v2(nodes=False, functions=False)
def v2_case_out_of_range(tf: Any, kit: Kit) -> Any:
    """An index out of range selects the last branch."""
    x, _ = _xp(tf)
    found = []
    for number in (-1, 5):
        index = tf.placeholder_with_default(number, [])
        found.append(tf.switch_case(index, [lambda: x, lambda: x * 2.0]))
    return found


@v2(nodes=False, functions=False)
def v2_loop_bound_is_a_tensor(tf: Any, kit: Kit) -> Any:
    """The gradient stores as many values as there are iterations."""
    x, _ = _xp(tf)
    n = tf.placeholder_with_default(2, [])
    y = tf.while_loop(
        lambda i, y: i < 100, lambda i, y: (i + 1, tf.sin(y) * x), [0, x], maximum_iterations=n
    )[1]
    return [y, tf.gradients(y, x)]


@v2(nodes=False, functions=False)
def v2_indexed_slices_as_results(tf: Any, kit: Kit) -> Any:
    """Indices of different types become int64."""
    x, p = _xp(tf)

    def one() -> Any:
        return tf.IndexedSlices(x, tf.constant([0, 1]), tf.constant([2]))

    def other() -> Any:
        return tf.IndexedSlices(x, tf.constant([1, 0], tf.int64), tf.constant([2]))

    found = tf.cond(p, one, other)
    return [found.values, found.indices, tf.constant(found.indices.dtype.name)]


@scenario(nodes=False, functions=False)
def stateful_call(tf: Any, kit: Kit) -> Any:
    """A function with effects through StatefulPartitionedCall, twice."""
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    @kit.function.Defun(tf.float32, capture_resource_var_by_value=False)
    def add(x: Any) -> Any:
        with tf.control_dependencies([v.assign_add(x)]):
            return v.read_value()

    first = tf.raw_ops.StatefulPartitionedCall(args=[2.0, v.handle], Tout=[tf.float32], f=add)[0]
    with tf.control_dependencies([first]):
        return [
            first,
            tf.raw_ops.StatefulPartitionedCall(args=[3.0, v.handle], Tout=[tf.float32], f=add),
        ]


@scenario(nodes=False, functions=False)
def map_in_a_function(tf: Any, kit: Kit) -> Any:
    """A loop of the primitives with a TensorArray in a body."""
    w = tf.constant(2.0)

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        return tf.map_fn(lambda one: one * w, x)

    return body([1.0, 2.0, 3.0])


@scenario(nodes=False)
def attributes_of_scopes(tf: Any, kit: Kit) -> Any:
    """Seeds, name scopes and gradient overrides inside of a body."""

    @tf.RegisterGradient("FunctionScenarioGradient")
    def _(op: Any, grad: Any) -> Any:
        return grad * 7.0

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        with tf.get_default_graph().gradient_override_map({"Sin": "FunctionScenarioGradient"}):
            with tf.name_scope("a"), tf.name_scope("b"):
                y = tf.sin(x)
        return tf.gradients(y, x)[0]

    return body([1.0, 2.0])


@scenario(nodes=False, functions=False)
def gradient_by_capture_inside(tf: Any, kit: Kit) -> Any:
    """tf.gradients in a body, by a captured tensor."""
    x = tf.constant([1.0, 2.0])
    y = tf.sin(x)

    @kit.function.Defun()
    def body() -> Any:
        return tf.gradients(y * x, x)[0]

    return body()


@scenario(nodes=False, functions=False)
def functions_made_later(tf: Any, kit: Kit) -> Any:
    """A session that has already run gets functions added later."""
    x = tf.constant(2.0)
    with tf.Session() as session:
        found = [session.run(x)]
        first = kit.function.Defun(tf.float32, func_name="First")(lambda x: x * 3.0)
        found.append(session.run(first(x)))
        second = kit.function.Defun(tf.float32, func_name="Second")(lambda x: first(x) * 2.0)
        found.append(session.run(second(x)))
    return tf.constant(found)


@v2(nodes=False, functions=False)
def v2_gradient_after_a_run(tf: Any, kit: Kit) -> Any:
    """The gradient changes the node after a session has received it."""
    x, p = _xp(tf)
    y = tf.cond(p, lambda: tf.exp(x), lambda: x)
    with tf.Session() as session:
        session.run(y)
    return tf.gradients(y, x)


@scenario(nodes=False, functions=False)
def function_in_two_graphs(tf: Any, kit: Kit) -> Any:
    """A function without captures may be called in any graph."""
    body = kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 3.0)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(body(2.0))
    return [body(5.0), tf.constant(found)]


@scenario()
def reference_assigned_inside(tf: Any, kit: Kit) -> Any:
    """A reference variable cannot be assigned in a body."""
    v = tf.Variable(1.0, use_resource=False)
    body = kit.function.Defun(tf.float32, func_name="F")(lambda x: tf.assign_add(v, x))
    return body(2.0)


@scenario(nodes=False)
def variables_made_inside(tf: Any, kit: Kit) -> Any:
    """They belong to the graph outside."""
    body = kit.function.Defun(tf.float32, func_name="F")(
        lambda x: x * tf.Variable(3.0, use_resource=True) + tf.Variable(1.0, use_resource=False)
    )
    return body(2.0)


@scenario()
def finalized_graph(tf: Any, kit: Kit) -> Any:
    """A finalized graph is refused."""
    x = tf.constant(1.0)
    body = kit.function.Defun(tf.float32, func_name="F")(lambda x: x * 3.0)
    tf.get_default_graph().finalize()
    return body(x)


@v2()
def v2_fetch_of_the_node(tf: Any, kit: Kit) -> Any:
    """The node is refused as a fetch; its consumers can be fetched."""
    x, p = _xp(tf)
    y = tf.cond(p, lambda: tf.exp(x), lambda: x)
    return y.op.inputs[0]


def _library_with_gradient(tf: Any, kit: Kit) -> Any:
    """Return a message of two functions, one of which is the gradient of the other."""
    with tf.Graph().as_default() as other:
        slope = kit.function.Defun(tf.float32, tf.float32, func_name="Slope")(
            lambda x, grad: grad * x * 10.0
        )
        body = kit.function.Defun(tf.float32, func_name="Body", grad_func=slope)(lambda x: x * 2.0)
        body(1.0)
    return other.as_graph_def().library


@scenario()
def functions_from_a_library(tf: Any, kit: Kit) -> Any:
    """Functions of a message are imported, called and differentiated."""
    found = {one.name: one for one in kit.function.from_library(_library_with_gradient(tf, kit))}
    x = tf.constant([1.0, 2.0])
    y = found["Body"](x)
    return [y, tf.gradients(y, x), tf.constant(found["Body"].grad_func_name)]


@scenario()
def library_lacks_a_gradient(tf: Any, kit: Kit) -> Any:
    """A missing gradient function is refused."""
    library = _library_with_gradient(tf, kit)
    library.gradient[0].gradient_func = "Nope"
    return kit.function.from_library(library)


@scenario()
def library_with_a_circle(tf: Any, kit: Kit) -> Any:
    """A cycle in the library is refused."""
    library = _library_with_gradient(tf, kit)
    library.gradient.add(function_name="Slope", gradient_func="Body")
    return kit.function.from_library(library)
