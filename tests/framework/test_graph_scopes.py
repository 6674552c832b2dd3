"""Scopes: names, devices, control dependencies, colocation, attributes, containers."""

from __future__ import annotations

import threading

import pytest

import tfnb as tf

# -- name scopes -----------------------------------------------------------------------------------


def test_scopes_nest_and_repeat_with_numbers() -> None:
    """A scope entered twice by name is another scope; one entered by its own text is the same."""
    with tf.name_scope("s") as scope:
        with tf.name_scope("t") as inner:
            pass
        with tf.name_scope("t") as again:
            pass
    with tf.name_scope("s") as second:
        pass
    with tf.name_scope(scope):
        name = tf.no_op(name="n").name
    assert (scope, inner, again, second, name) == ("s/", "s/t/", "s/t_1/", "s_1/", "s/n")


@pytest.mark.parametrize("root", [None, ""])
def test_no_name_leads_back_to_the_root(root: str | None) -> None:
    """Inside, names have no prefix; outside, the old scope holds again."""
    with tf.name_scope("s"):
        with tf.name_scope(root) as scope:
            assert scope == ""
            assert tf.no_op(name="n").name == "n"
        assert tf.no_op(name="n").name == "s/n"


def test_scope_names_are_checked() -> None:
    """Inside a scope more letters may come first than at the root."""
    with pytest.raises(ValueError, match="'_x' is not a valid root scope name"):
        tf.name_scope("_x").__enter__()
    with tf.name_scope("ok"):
        with tf.name_scope("_x") as scope:
            assert scope == "ok/_x/"
        with pytest.raises(ValueError, match="'a b' is not a valid scope name"):
            tf.name_scope("a b").__enter__()


def test_a_scope_for_values_needs_a_name() -> None:
    """Without name and default name there is nothing to call it."""
    with pytest.raises(ValueError, match="At least one of name"):
        tf.name_scope(None, None, [1]).__enter__()
    with pytest.raises(TypeError, match="meant to pass this into the `values` kwarg"):
        tf.name_scope(None, [1])


def test_a_scope_enters_the_graph_of_its_values(graph: tf.Graph) -> None:
    """Inside, the default graph is that of the values."""
    with tf.Graph().as_default() as other:
        value = tf.constant(1.0)
    with tf.name_scope(None, "op", [value]):
        assert tf.get_default_graph() is other
    assert tf.get_default_graph() is graph


def test_op_scope_is_name_scope_with_a_warning() -> None:
    """The old order of arguments still works."""
    with pytest.warns(DeprecationWarning, match="use tf.name_scope"):
        scope = tf.op_scope([tf.constant(1.0)], None, "old")
    with scope as name:
        assert name == "old/"


def test_each_thread_has_its_own_scope(graph: tf.Graph) -> None:
    """A thread begins at the root of names, devices and dependencies."""
    made = []

    def build() -> None:
        with graph.as_default():
            made.append(tf.no_op(name="n"))

    with tf.name_scope("s"), tf.device("/cpu:0"), tf.control_dependencies([tf.no_op(name="first")]):
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    assert (made[0].name, made[0].device, made[0].control_inputs) == ("n", "", [])


# -- devices ---------------------------------------------------------------------------------------


def test_devices_merge_field_by_field_inner_first() -> None:
    """The job comes from outside, the type from inside; None resets, "" changes nothing."""
    with tf.device("/job:w/gpu:0"):
        with tf.device("/cpu:1"):
            assert tf.no_op().device == "/job:w/device:CPU:1"
        with tf.device(None):
            assert tf.no_op().device == ""
            with tf.device("/task:3"):
                assert tf.no_op().device == "/task:3"
        with tf.device(""):
            assert tf.no_op().device == "/job:w/device:GPU:0"
    assert tf.no_op().device == ""


def test_a_device_spec_is_a_device() -> None:
    """A DeviceSpec is equivalent to its text."""
    with tf.device(tf.DeviceSpec(job="q", device_type="CPU", device_index=2)):
        assert tf.no_op().device == "/job:q/device:CPU:2"


def test_a_device_function_sees_the_op_and_the_inner_device() -> None:
    """The function is called for each operation; outer scopes are merged with its result."""
    seen = []

    def choose(op: tf.Operation) -> str:
        seen.append((op.type, op.device))
        return "/gpu:3" if op.type == "NoOp" else op.device

    with tf.device("/job:a"), tf.device(choose):
        assert tf.no_op().device == "/job:a/device:GPU:3"
        with tf.device("/cpu:1"):
            assert tf.constant(1.0).device == "/job:a/device:CPU:1"
    assert seen == [("NoOp", ""), ("Const", "/device:CPU:1")]


def test_a_malformed_device_is_refused() -> None:
    """The scope is not entered."""
    with pytest.raises(ValueError, match="Unknown attribute"):
        tf.device("/foo:bar")


def test_device_scopes_must_nest() -> None:
    """Leaving the outer one first is refused."""
    outer, inner = tf.device("/cpu:0"), tf.device("/cpu:1")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="without proper scope nesting"):
        outer.__exit__(None, None, None)


# -- control dependencies --------------------------------------------------------------------------


def test_operations_inside_wait_for_the_control_inputs() -> None:
    """Data inputs made inside, and control inputs that are data inputs, need no edge of their own.

    a   b          d takes c, which waits already; e takes b, so only a is added
    """
    a, b = tf.no_op(name="a"), tf.constant(1.0, name="b")
    with tf.control_dependencies([a, b]):
        c = tf.constant(2.0, name="c")
        d = tf.add(c, b, name="d")
        e = tf.add(b, b, name="e")
    assert c.op.control_inputs == [a, b.op]
    assert d.op.control_inputs == []
    assert e.op.control_inputs == [a]


def test_blocks_add_up_and_none_begins_anew() -> None:
    """An op inside two blocks waits for both; inside None for neither."""
    a, z = tf.no_op(name="a"), tf.no_op(name="z")
    with tf.control_dependencies([a]):
        with tf.control_dependencies([z, a]):
            assert tf.no_op().control_inputs == [a, z]
            with tf.control_dependencies(None):
                assert tf.no_op().control_inputs == []
                with tf.control_dependencies([z]):
                    assert tf.no_op().control_inputs == [z]
        assert tf.no_op().control_inputs == [a]


def test_none_also_leaves_the_control_flow_context(graph: tf.Graph) -> None:
    """The context is None inside and restored after."""

    class Context:
        def __init__(self) -> None:
            self.ops: list[tf.Operation] = []

        def add_op(self, op: tf.Operation) -> None:
            self.ops.append(op)

    context = Context()
    graph._set_control_flow_context(context)
    with tf.control_dependencies(None):
        tf.no_op(name="outside")
    inside = tf.no_op(name="inside")
    assert context.ops == [inside]
    assert inside._get_control_flow_context() is context


def test_names_and_slices_are_control_inputs_too() -> None:
    """A name means the operation, IndexedSlices the operation of their values."""
    a = tf.no_op(name="a")
    values = tf.constant([[1.0]])
    slices = tf.IndexedSlices(values, tf.constant([0]))
    with tf.control_dependencies(["a", slices]):
        assert tf.no_op().control_inputs == [a, values.op]


def test_other_things_are_no_control_inputs() -> None:
    """A number, and an operation of another graph, are refused."""
    with pytest.raises(TypeError, match="Can not convert a int into a Tensor or Operation"):
        tf.control_dependencies([3])
    with tf.Graph().as_default():
        other = tf.no_op()
    with pytest.raises(ValueError, match="is not an element of this graph"):
        tf.control_dependencies([other])


# -- colocation ------------------------------------------------------------------------------------


def test_colocation_gives_group_and_device_and_hides_device_scopes() -> None:
    """The device of the op colocated with wins over scopes around, and over those inside."""
    with tf.device("/cpu:0"):
        a = tf.constant(1.0, name="a")
    with tf.device("/gpu:0"), tf.colocate_with(a):
        b = tf.no_op(name="b")
        with tf.device("/gpu:1"):
            c = tf.no_op(name="c")
    for op in (b, c):
        assert op.get_attr("_class") == [b"loc:@a"]
        assert op.device == "/device:CPU:0"


def test_colocation_nests_and_can_be_forgotten() -> None:
    """Groups add up, ignore_existing begins a new one, None with it clears."""
    a, b = tf.constant(1.0, name="a"), tf.constant(1.0, name="b")
    with tf.colocate_with(b):
        with tf.colocate_with(a):
            assert tf.no_op().get_attr("_class") == [b"loc:@a", b"loc:@b"]
        with tf.colocate_with(a, ignore_existing=True):
            assert tf.no_op().get_attr("_class") == [b"loc:@a"]
        with tf.colocate_with(None, ignore_existing=True):
            op = tf.no_op(name="free")
            assert op.colocation_groups() == [b"loc:@free"]
    with pytest.raises(ValueError, match="Trying to reset colocation"):
        tf.colocate_with(None)


def test_colocation_follows_the_group_of_the_other_op() -> None:
    """An op colocated with a colocated op joins that op's group."""
    a = tf.constant(1.0, name="a")
    with tf.colocate_with(a):
        b = tf.no_op(name="b")
    with tf.colocate_with(b):
        assert tf.no_op().get_attr("_class") == [b"loc:@a"]


def test_an_op_that_changes_a_buffer_is_colocated_with_it() -> None:
    """A reference input colocates the op, in any device scope."""
    v = tf.Variable(1.0, use_resource=False, name="v")
    with tf.device("/gpu:0"):
        update = tf.assign(v, 2.0)
    assert update.op.get_attr("_class") == [b"loc:@v"]
    assert update.op.device == ""


# -- attributes of new operations ------------------------------------------------------------------


def test_attr_scopes_set_what_is_not_set(graph: tf.Graph) -> None:
    """Values, functions of the NodeDef, and None, which removes an attribute."""
    mark = tf.AttrValue(s=b"hi")

    def flag(node: tf.NodeDef) -> tf.AttrValue | None:
        return tf.AttrValue(b=True) if node.op == "Const" else None

    with graph._attr_scope({"_a": mark}):
        outer = tf.no_op()
        with graph._attr_scope({"_a": None, "_b": flag}):
            const, inner = tf.constant(1.0).op, tf.no_op()
    after = tf.no_op()
    assert outer.get_attr("_a") == b"hi"
    assert const.get_attr("_b") is True
    for op, name in ((const, "_a"), (inner, "_a"), (inner, "_b"), (after, "_a")):
        with pytest.raises(ValueError, match=f"has no attr named '{name}'"):
            op.get_attr(name)


def test_kernel_labels_and_gradients_go_by_op_type(graph: tf.Graph) -> None:
    """Only ops of the type inside the scope get the attribute."""
    with graph._kernel_label_map({"Neg": "lab"}), graph.gradient_override_map({"Neg": "Foo"}):
        inside = tf.negative(tf.constant(1.0)).op
    assert inside.get_attr("_kernel") == b"lab"
    assert inside.get_attr("_gradient_op_type") == b"Foo"
    assert "_kernel" not in tf.negative(tf.constant(1.0)).op.node_def.attr


def test_maps_must_be_of_strings(graph: tf.Graph) -> None:
    """The three messages are TensorFlow's."""
    with pytest.raises(TypeError, match="op_type_map must be a dictionary"):
        graph.gradient_override_map({"Neg": 3})
    with pytest.raises(TypeError, match="op_to_kernel_label_map must be a dictionary"):
        graph._kernel_label_map(["Neg"])
    with pytest.raises(TypeError, match="attr_map must be a dictionary"):
        graph._attr_scope({3: None})


def test_containers_are_for_stateful_ops_that_name_none() -> None:
    """The innermost container applies."""
    with tf.container("outer"):
        with tf.container("inner") as name:
            assert name == "inner"
            v = tf.Variable(1.0, use_resource=False)
        const = tf.constant(1.0)
    assert v.op.get_attr("container") == b"inner"
    assert "container" not in const.op.node_def.attr


def test_original_op_is_noted(graph: tf.Graph) -> None:
    """Ops made for another op refer to it."""
    a = tf.no_op()
    with graph._original_op(a):
        b = tf.no_op()
    assert b._original_op is a
    assert tf.no_op()._original_op is None
