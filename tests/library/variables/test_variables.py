"""Variables: nodes, values, scopes, partitions, and collections."""

from __future__ import annotations

import sys
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.core import op_registry
from tfnb.core.op_kernel import create_kernel
from tfnb.core.resource_mgr import RefCell
from tfnb.library.variables.ref_variable import RefVariable
from tfnb.library.variables.resource_variable import ResourceVariable
from tfnb.library.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Iterator

BOTH = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    """A graph of its own for every test."""
    with tf.Graph().as_default() as made:
        yield made


def _nodes(graph: Any) -> list[tuple[str, str]]:
    return [(op.name, op.type) for op in graph.get_operations()]


def _ones(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    return tf.ones(shape, dtype)


# -- what they build -------------------------------------------------------------------------------


def test_a_reference_variable_is_four_nodes(graph: Any) -> None:
    """Initial value, buffer, assignment and read have TensorFlow's names."""
    v = tf.Variable([1.0, 2.0], name="v")
    assert isinstance(v, RefVariable)
    assert isinstance(v, Variable)
    assert _nodes(graph) == [
        ("v/initial_value", "Const"),
        ("v", "VariableV2"),
        ("v/Assign", "Assign"),
        ("v/read", "Identity"),
    ]
    assert (v.name, v.dtype.name, v.shape.as_list()) == ("v:0", "float32_ref", [2])
    assert v.value().op.colocation_groups() == [b"loc:@v"]


def test_a_resource_variable_is_five_nodes(graph: Any) -> None:
    """They are the initial value, handle, check, assignment and read."""
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    assert isinstance(v, ResourceVariable)
    assert isinstance(v, tf.Variable)
    assert _nodes(graph) == [
        ("v/Initializer/initial_value", "Const"),
        ("v", "VarHandleOp"),
        ("v/IsInitialized/VarIsInitializedOp", "VarIsInitializedOp"),
        ("v/Assign", "AssignVariableOp"),
        ("v/Read/ReadVariableOp", "ReadVariableOp"),
    ]
    assert (v.name, v.dtype.name, v.shape.as_list()) == ("v:0", "float32", [2])


@BOTH
def test_an_initial_value_may_be_made_by_a_function(graph: Any, use_resource: bool) -> None:
    """It is called inside the variable's scope and placed with the variable."""
    v = tf.Variable(lambda: tf.zeros([2]), name="v", use_resource=use_resource)
    assert v.initial_value.name == "v/Initializer/zeros:0"
    assert v.initial_value.op.colocation_groups() == [b"loc:@v"]
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v).tolist() == [0.0, 0.0]


@BOTH
def test_an_initial_value_made_of_another_variable_waits_for_it(use_resource: bool) -> None:
    """All initializers may run in one step, in any order."""
    a = tf.Variable([1.0, 2.0], use_resource=use_resource)
    b = tf.Variable(a.initialized_value() * 2.0, use_resource=use_resource)
    c = tf.Variable(b + 1.0) if not use_resource else b
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(b).tolist() == [2.0, 4.0]
        assert session.run(c).tolist() in ([3.0, 5.0], [2.0, 4.0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "initial_value must be specified"),
        ({"initial_value": 1.0, "collections": 5}, ValueError, "must be a list, tuple, or set"),
        ({"initial_value": 1.0, "constraint": 5}, ValueError, "must be a callable"),
        ({"initial_value": 1.0, "synchronization": 5}, ValueError, "synchronization mode"),
        ({"initial_value": 1.0, "aggregation": 5}, ValueError, "aggregation mode"),
        ({"initial_value": 1.0, "nonsense": 5}, TypeError, "unexpected keyword"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Each mistake has its own message."""
    with pytest.raises(error, match=message):
        tf.Variable(**arguments)


def test_a_shape_must_be_known_unless_told() -> None:
    """An initial value of unknown shape needs validate_shape=False."""
    value = tf.placeholder_with_default([1.0], None)
    with pytest.raises(ValueError, match="must have a shape specified"):
        tf.Variable(value)
    v = tf.Variable(value, validate_shape=False)
    assert v.shape.ndims is None
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(tf.assign(v, [1.0, 2.0], validate_shape=False)).tolist() == [1.0, 2.0]


def test_a_value_from_inside_a_loop_cannot_initialize_a_resource() -> None:
    """A resource variable says to pass a function instead."""

    def body(i: Any) -> Any:
        with pytest.raises(ValueError, match="use a lambda"):
            tf.Variable(i + 1, use_resource=True)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [0])


# -- reading and changing --------------------------------------------------------------------------


@BOTH
def test_methods_give_the_variable_as_it_is_then(use_resource: bool) -> None:
    """assign, assign_add, assign_sub, read_value, eval and load work."""
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.assign([5.0, 6.0])).tolist() == [5.0, 6.0]
        assert session.run(v.assign_add([1.0, 1.0])).tolist() == [6.0, 7.0]
        assert session.run(v.assign_sub([2.0, 2.0])).tolist() == [4.0, 5.0]
        assert session.run(v.read_value()).tolist() == [4.0, 5.0]
        assert v.eval(session).tolist() == [4.0, 5.0]
        v.load([0.0, 1.0], session)
        assert session.run(v + 1).tolist() == [1.0, 2.0]
        op = v.assign([3.0, 3.0], read_value=False)
        assert session.run(op) is None or use_resource is False
        assert session.run(v).tolist() == [3.0, 3.0]


@BOTH
def test_functions_change_both_kinds(use_resource: bool) -> None:
    """tf.assign and the scatter functions accept references and resources."""
    v = tf.Variable([1.0, 2.0, 3.0], use_resource=use_resource)
    steps = [
        (lambda: tf.assign(v, [1.0, 2.0, 3.0]), [1, 2, 3]),
        (lambda: tf.assign_add(v, [1.0, 1.0, 1.0]), [2, 3, 4]),
        (lambda: tf.assign_sub(v, [1.0, 1.0, 1.0]), [1, 2, 3]),
        (lambda: tf.scatter_update(v, [0], [9.0]), [9, 2, 3]),
        (lambda: tf.scatter_add(v, [0, 0], [1.0, 2.0]), [12, 2, 3]),
        (lambda: tf.scatter_sub(v, [1], [1.0]), [12, 1, 3]),
        (lambda: tf.scatter_mul(v, [2], [2.0]), [12, 1, 6]),
        (lambda: tf.scatter_div(v, [0], [4.0]), [3, 1, 6]),
        (lambda: tf.scatter_min(v, [2], [5.0]), [3, 1, 5]),
        (lambda: tf.scatter_max(v, [1], [2.0]), [3, 2, 5]),
        (lambda: tf.scatter_nd_update(v, [[0]], [7.0]), [7, 2, 5]),
        (lambda: tf.scatter_nd_add(v, [[0]], [1.0]), [8, 2, 5]),
        (lambda: tf.scatter_nd_sub(v, [[0]], [2.0]), [6, 2, 5]),
        (lambda: v[1].assign(4.0), [6, 4, 5]),
        (lambda: v[1:].assign([0.0, 0.0]), [6, 0, 0]),
    ]
    with tf.Session() as session:
        session.run(v.initializer)
        for make, wanted in steps:
            assert session.run(make()).tolist() == wanted
            assert session.run(v).tolist() == wanted


@BOTH
def test_slices_of_gradients_are_scattered(use_resource: bool) -> None:
    """The scatter methods take IndexedSlices."""
    v = tf.Variable([1.0, 2.0, 3.0], use_resource=use_resource)
    delta = tf.IndexedSlices(tf.constant([1.0, 1.0]), tf.constant([0, 2]))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.scatter_add(delta)).tolist() == [2, 2, 4]
        assert session.run(v.scatter_sub(delta)).tolist() == [1, 2, 3]
        assert session.run(v.scatter_update(delta)).tolist() == [1, 2, 1]
        assert session.run(v.scatter_nd_add([[1]], [5.0])).tolist() == [1, 7, 1]
        assert session.run(tf.gather(v, [1])).tolist() == [7]
        assert session.run(tf.gather_nd(v, [[1]])).tolist() == [7]
    with pytest.raises(TypeError, match="IndexedSlices"):
        v.scatter_add(tf.constant([1.0]))


def test_batches_are_scattered_row_by_row() -> None:
    """Every leading batch has its own indices."""
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.Session() as session:
        session.run(v.initializer)
        updated = tf.batch_scatter_update(v, [[0], [1]], [[9.0], [8.0]])
        assert session.run(updated).tolist() == [[9, 2], [3, 8]]


@BOTH
def test_a_counter_ends_at_its_limit(use_resource: bool) -> None:
    """count_up_to returns the old value, and raises OutOfRangeError at the limit."""
    v = tf.Variable(3, use_resource=use_resource)
    count = tf.count_up_to(v, 5)
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(count), session.run(count), session.run(v)] == [3, 4, 5]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 5"):
            session.run(count)


def test_values_that_were_read_do_not_change() -> None:
    """Updates in place do not change values that were read before."""
    v = tf.Variable(np.zeros(1000, np.float32))
    add = v.assign_add(np.ones(1000, np.float32))
    with tf.Session() as session:
        session.run(v.initializer)
        before = session.run(v)
        initial = session.run(v.initial_value)
        session.run(add)
        assert before.sum() == 0
        assert session.run(v.initial_value).sum() == initial.sum() == 0
        assert session.run(v).sum() == 1000


def test_an_array_that_was_fed_stays_the_callers() -> None:
    """An update in place does not write into the fed array."""
    v = tf.Variable(np.zeros(4, np.float32))
    fed = tf.placeholder(tf.float32, [4])
    with tf.Session() as session:
        mine = np.ones(4, np.float32)
        session.run(v.assign(fed), {fed: mine})
        session.run(v.assign_add(np.ones(4, np.float32)))
        assert mine.tolist() == [1, 1, 1, 1]


def test_a_temporary_variable_gives_its_last_value() -> None:
    """It ends with DestroyTemporaryVariable."""
    from tfnb.ops.state import state_ops

    ref = state_ops.temporary_variable(shape=[2], dtype=tf.float32, var_name="t")
    value = state_ops.destroy_temporary_variable(tf.assign(ref, [1.0, 2.0]), var_name="t")
    with tf.Session() as session:
        assert session.run(value).tolist() == [1.0, 2.0]
        assert session.run(value).tolist() == [1.0, 2.0]


# -- shapes that are not known ---------------------------------------------------------------------


@pytest.mark.parametrize("op", ["Variable", "VariableV2", "TemporaryVariable"])
def test_without_a_value_a_variable_of_unknown_shape_is_a_scalar(op: str) -> None:
    """Assign compares shapes with the buffer's, unless told not to."""
    ref = getattr(tf.raw_ops, op)(shape=tf.TensorShape(None), dtype=tf.float32)
    checked = tf.assign(ref, [1.0, 2.0])
    free = tf.assign(ref, [1.0, 2.0], validate_shape=False)
    with tf.Session() as session:
        refused = r"lhs shape= \[\] rhs shape= \[2\]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=refused):
            session.run(checked)
        assert session.run(tf.assign(ref, 3.0)) == 3
        assert session.run(free).tolist() == [1, 2]
        if op != "TemporaryVariable":
            assert session.run(checked).tolist() == [1, 2]


@pytest.mark.parametrize("op", ["Variable", "VariableV2", "TemporaryVariable"])
def test_a_buffer_needs_a_size(op: str) -> None:
    """A partially known shape is refused when the kernel runs."""
    ref = getattr(tf.raw_ops, op)(shape=tf.TensorShape([None, 3]), dtype=tf.float32)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[\?,3\] is not fully defined"):
            session.run(tf.assign(ref, np.ones((2, 3)), validate_shape=False))


# -- uninitialized ---------------------------------------------------------------------------------


def test_reading_an_uninitialized_reference_names_it() -> None:
    """FailedPrecondition with the variable's name."""
    v = tf.Variable([1.0], name="weights")
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value weights"):
            session.run(v + 1)
        with pytest.raises(tf.errors.FailedPreconditionError, match="weights"):
            session.run(v)


def test_reading_an_uninitialized_resource_names_it() -> None:
    """FailedPrecondition with the variable's name."""
    v = tf.Variable([1.0], name="weights", use_resource=True)
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Could not find variable weights"
        ):
            session.run(v + 1)


@BOTH
def test_uninitialized_variables_are_reported(use_resource: bool) -> None:
    """The names are a vector, which becomes empty."""
    a = tf.Variable(1.0, name="a", use_resource=use_resource)
    tf.Variable(1.0, name="b", use_resource=use_resource)
    tf.get_local_variable("c", initializer=1.0)
    report = tf.report_uninitialized_variables()
    with tf.Session() as session:
        assert session.run(report).tolist() == [b"a", b"b", b"c"]
        session.run(a.initializer)
        assert session.run(tf.is_variable_initialized(a))
        assert session.run(report).tolist() == [b"b", b"c"]
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        assert session.run(report).tolist() == []
        session.run(tf.assert_variables_initialized())


def test_without_variables_there_is_nothing_to_do(graph: Any) -> None:
    """The initializer is a NoOp and the report empty."""
    assert tf.global_variables_initializer().type == "NoOp"
    assert tf.assert_variables_initialized() is None
    with tf.Session() as session:
        assert session.run(tf.report_uninitialized_variables()).tolist() == []


# -- collections -----------------------------------------------------------------------------------


def test_collections() -> None:
    """Global and trainable unless told otherwise; scopes select by name."""
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b", trainable=False)
    with tf.variable_scope("s") as scope:
        c = tf.get_variable("c", initializer=1.0)
    local = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    assert tf.global_variables() == [a, b, c]
    assert tf.trainable_variables() == [a, c]
    assert tf.trainable_variables("s") == [c]
    assert tf.local_variables() == [local]
    assert scope.global_variables() == [c]
    assert not b.trainable


def test_variables_can_be_intercepted_while_they_are_made() -> None:
    """Creators are nested; the innermost is called first."""
    seen = []

    def creator(label: str) -> Any:
        def make(next_creator: Any, **kwargs: Any) -> Any:
            seen.append(label)
            return next_creator(**{**kwargs, "trainable": False})

        return make

    with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
        v = tf.Variable(1.0)
    assert seen == ["inner", "outer"]
    assert not v.trainable


# -- get_variable ----------------------------------------------------------------------------------


def test_a_scope_prefixes_names(graph: Any) -> None:
    """Variables by variable scope, other ops by name scope, which is made unique."""
    with tf.variable_scope("a"):
        x = tf.get_variable("x", [2], initializer=_ones)
        first = tf.constant(1.0)
        with tf.variable_scope("b"):
            y = tf.get_variable("y", [2], initializer=_ones)
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("x") is x
        second = tf.constant(1.0)
    with tf.name_scope("n"):
        z = tf.get_variable("z", initializer=1.0)
    names = (x.name, y.name, z.name, first.name, second.name)
    assert names == ("a/x:0", "a/b/y:0", "z:0", "a/Const:0", "a_1/Const:0")


def test_reuse_decides_whether_a_name_is_found_or_made() -> None:
    """None makes, True finds, AUTO_REUSE does either."""
    x = tf.get_variable("x", [2], initializer=_ones)
    with pytest.raises(ValueError, match="Variable x already exists, disallowed"):
        tf.get_variable("x", [2])
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("x") is x
        with pytest.raises(ValueError, match="Variable q does not exist"):
            tf.get_variable("q", [2])
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("x") is x
        q = tf.get_variable("q", [2], initializer=_ones)
        assert tf.get_variable("q") is q


def test_a_scope_may_start_to_reuse() -> None:
    """reuse_variables holds for the rest of the block only."""
    with tf.variable_scope("a") as scope:
        x = tf.get_variable("x", initializer=1.0)
        scope.reuse_variables()
        assert tf.get_variable("x") is x
    with tf.variable_scope("a"):
        y = tf.get_variable("y", initializer=1.0)
    assert y.name == "a/y:0"


def test_a_found_variable_must_be_what_is_asked_for() -> None:
    """Another shape or dtype is refused."""
    tf.get_variable("x", [2], initializer=_ones)
    with tf.variable_scope("", reuse=True):
        with pytest.raises(ValueError, match=r"specified shape \(3,\) and found shape \(2,\)"):
            tf.get_variable("x", [3])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32"):
            tf.get_variable("x", [2], dtype=tf.int32)


def test_mistakes_with_initializers_are_named() -> None:
    """A constant with a shape, a dtype that differs, an unknown shape."""
    with pytest.raises(ValueError, match="If initializer is a constant, do not specify shape"):
        tf.get_variable("a", [2], initializer=tf.constant([1.0, 2.0]))
    with pytest.raises(ValueError, match="explicit dtype"):
        tf.get_variable("b", initializer=tf.constant(1), dtype=tf.float32)
    with pytest.raises(ValueError, match="The initializer passed is not valid"):
        tf.get_variable("c", initializer=_ones)


def test_a_scope_gives_defaults() -> None:
    """Initializer, dtype, regularizer, kind, and getters around each other."""
    seen = []

    def getter(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        seen.append(name)
        return getter(name, *args, **kwargs)

    with tf.variable_scope(
        "a",
        initializer=_ones,
        dtype=tf.float64,
        regularizer=lambda v: tf.reduce_sum(v),
        use_resource=True,
        custom_getter=getter,
    ) as scope:
        x = tf.get_variable("x", [2])
        with tf.variable_scope("b", custom_getter=getter):
            tf.get_variable("y", [2], regularizer=tf.no_regularizer)
    assert isinstance(x, ResourceVariable)
    assert x.dtype is tf.float64
    assert seen == ["a/x", "a/b/y", "a/b/y"]
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.op.name.startswith("a/x/Regularizer/") for loss in losses] == [True]
    assert scope.use_resource


def test_default_names_of_scopes_are_made_unique() -> None:
    """The second scope with a default name gets a number."""
    names = []
    for _ in range(2):
        with tf.variable_scope(None, "d"):
            names.append(tf.get_variable("x", initializer=1.0).name)
    assert names == ["d/x:0", "d_1/x:0"]


def test_a_scope_object_is_gone_back_to(graph: Any) -> None:
    """Also without opening a name scope."""
    with tf.variable_scope("a") as scope:
        pass
    with tf.variable_scope("other"), tf.variable_scope(scope, auxiliary_name_scope=False) as again:
        v = tf.get_variable("x", initializer=1.0)
        c = tf.constant(1.0)
    assert (v.name, c.name) == ("a/x:0", "other/Const:0")
    assert again.original_name_scope == "a/"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None,), TypeError, "name_or_scope is required"),
        ((5,), TypeError, "must be a string or VariableScope"),
        (("a", None, None, None, None, None, None, None, 7), ValueError, "reuse parameter"),
    ],
)
def test_scopes_refuse_what_they_cannot_use(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    """Each mistake has its own message."""
    with pytest.raises(error, match=message), tf.variable_scope(*arguments):
        pass


# -- parts -----------------------------------------------------------------------------------------


def test_a_partitioned_variable_is_its_parts_and_their_whole() -> None:
    """Parts have their offsets; the whole converts to one tensor and is found again."""

    def offsets(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.ones(shape, dtype) * float(partition_info.var_offset[0])

    cut = tf.fixed_size_partitioner(2)
    p = tf.get_variable("p", [5, 2], partitioner=cut, initializer=offsets)
    assert [part.name for part in p] == ["p/part_0:0", "p/part_1:0"]
    assert [part._save_slice_info.spec for part in p] == ["5 2 0,3:0,2", "5 2 3,2:0,2"]
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("p") is p
    with pytest.raises(ValueError, match="already exists"):
        tf.get_variable("p", [5, 2], partitioner=cut)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.convert_to_tensor(p))[:, 0].tolist() == [0, 0, 0, 3, 3]
        session.run(p.assign(np.arange(10, dtype=np.float32).reshape(5, 2)))
        assert session.run(p.as_tensor() + 0.0).ravel().tolist() == list(range(10))


def test_parts_by_a_slicing_have_names_in_their_scope() -> None:
    """Of the ops, and in checkpoints."""
    ones = tf.ones_initializer()
    found = [tf.create_partitioned_variables([4, 4], [4, 1], ones)]
    with tf.variable_scope("s"):
        found.append(tf.create_partitioned_variables([4, 4], [4, 1], ones))
        found.append(tf.create_partitioned_variables([4, 4], [4, 1], ones, name="n"))
    assert [parts[0].op.name for parts in found] == [
        "PartitionedVariable/part_0",
        "s/PartitionedVariable/part_0",
        "s/n/part_0",
    ]
    assert found[2][3]._get_save_slice_info().full_name == "s/n"


def test_parts_of_a_tensor_are_found_again_by_its_type() -> None:
    """With the initial value's type, a second call in the scope returns the same parts."""
    initial = tf.constant([[1, 2, 3, 4], [5, 6, 7, 8]])
    with tf.variable_scope("s") as scope:
        parts = tf.create_partitioned_variables([2, 4], [1, 2], initial, dtype=tf.int32)
    with tf.variable_scope(scope, reuse=True):
        again = tf.create_partitioned_variables([2, 4], [1, 2], initial, dtype=tf.int32)
    assert [part.dtype.base_dtype for part in parts] == [tf.int32, tf.int32]
    assert all(one is other for one, other in zip(parts, again, strict=True))


def test_partitioners_choose_how_many_parts() -> None:
    """By number, by size of a part, by least size of a part."""
    shape = tf.TensorShape([100, 10])
    assert tf.fixed_size_partitioner(3)(shape, dtype=tf.float32) == [3, 1]
    assert tf.variable_axis_size_partitioner(400)(shape, tf.float32) == [10, 1]
    assert tf.variable_axis_size_partitioner(400, max_shards=4)(shape, tf.float32) == [4, 1]
    assert tf.min_max_variable_partitioner(8, min_slice_size=1000)(shape, tf.float32) == [4, 1]


# -- messages --------------------------------------------------------------------------------------


@BOTH
def test_a_variable_comes_back_from_its_message(graph: Any, use_resource: bool) -> None:
    """to_proto and from_proto, also into an import scope."""
    v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource, trainable=False)
    message = v.to_proto()
    again = tf.Variable.from_proto(message)
    assert (again.name, again.trainable, type(again)) == ("v:0", False, type(v))
    assert again.initializer is v.initializer
    definition = graph.as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="in")
        other = tf.Variable.from_proto(message, import_scope="in")
        assert other.name == "in/v:0"
        with tf.Session() as session:
            session.run(other.initializer)
            assert session.run(other).tolist() == [1.0, 2.0]


def test_variables_are_equal_only_to_themselves() -> None:
    """Variables are hashable, as in TensorFlow 1."""
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    assert a == a
    assert a != b
    assert {a: 1}[a] == 1
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="Iterating over"):
        iter(a)
    assert repr(a) == "<tf.Variable 'Variable:0' shape=() dtype=float32_ref>"


def test_a_resource_variable_of_known_shape_refuses_another_at_run_time() -> None:
    """Assignments check the shape at run time, unless the variable was told not to."""
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.placeholder(tf.float32)
        strict = tf.Variable([1.0, 2.0], use_resource=True)
        loose = tf.Variable([1.0, 2.0], use_resource=True, validate_shape=False)
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected \[2\] got \[3\]"):
            session.run(strict.assign(value).op, {value: [1, 2, 3]})
        session.run(loose.assign(value).op, {value: [1, 2, 3]})
        assert session.run([strict, loose])[1].tolist() == [1, 2, 3]


@pytest.fixture
def hurried() -> Iterator[None]:
    """Let threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("use_locking", [False, True])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_no_addition_of_another_thread_is_lost(shape: tuple[int, ...], use_locking: bool) -> None:
    """Additions and subtractions of four threads all count, locked or not."""
    cell, one = RefCell("v", tf.int64), np.ones(shape, np.int64)[()]
    cell.assign(one)
    attrs, device = {"T": tf.int64, "use_locking": use_locking}, CpuDevice("/cpu:0", 0)

    def work(name: str, times: int) -> None:
        update = create_kernel(op_registry.get(name), "node", attrs, device).compute
        for _ in range(times):
            update(cell, one)

    both = [("AssignAdd", 30_000), ("AssignSub", 20_000)] * 2
    threads = [Thread(target=work, args=arguments) for arguments in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(cell.value, np.full(shape, 20_001))
