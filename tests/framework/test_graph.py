"""The graph: names, lookups, collections, marks, creating operations directly."""

from __future__ import annotations

import threading

import pytest

import tfnb as tf
from tfnb.core import errors

# -- names -----------------------------------------------------------------------------------------


def test_a_name_that_is_taken_gets_a_number() -> None:
    """The second `a` is `a_1`, the third `a_2`."""
    names = [tf.constant(1.0, name="a").op.name for _ in range(3)]
    assert names == ["a", "a_1", "a_2"]


def test_names_differ_in_more_than_case() -> None:
    """`A` collides with `a` and keeps its own spelling."""
    tf.constant(1.0, name="a")
    assert tf.constant(1.0, name="A").op.name == "A_1"


def test_a_number_that_is_taken_is_skipped() -> None:
    """`a_1` made by hand is not handed out again."""
    tf.constant(1.0, name="a_1")
    tf.constant(1.0, name="a")
    assert tf.constant(1.0, name="a").op.name == "a_2"


def test_asking_for_a_name_without_using_it_leaves_it_free(graph: tf.Graph) -> None:
    """mark_as_used=False does not take the name."""
    assert graph.unique_name("x", mark_as_used=False) == "x"
    assert graph.unique_name("x") == "x"
    assert graph.unique_name("x") == "x_1"


def test_a_name_with_a_blank_is_refused() -> None:
    """The names of nodes have TensorFlow's letters."""
    with pytest.raises(ValueError, match="'a b' is not a valid node name"):
        tf.constant(1.0, name="a b")


def test_a_scope_as_name_is_used_once_only() -> None:
    """A name that ends with a slash is not made unique, so a second node with it is refused."""
    with tf.name_scope("x") as scope:
        tf.identity(tf.constant(1.0), name=scope)
        with pytest.raises(ValueError, match="Duplicate node name in graph: 'x'"):
            tf.identity(tf.constant(2.0), name=scope)


def test_threads_that_build_at_once_get_unique_names(graph: tf.Graph) -> None:
    """Each of many operations of one name, made by four threads, has its own."""

    def build() -> None:
        with graph.as_default():
            for _ in range(50):
                tf.no_op(name="n")

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    operations = graph.get_operations()
    assert {op.name for op in operations} == {"n"} | {f"n_{i}" for i in range(1, 200)}
    assert [op._id for op in operations] == list(range(200))


# -- versions and contents -------------------------------------------------------------------------


def test_version_counts_operations(graph: tf.Graph) -> None:
    """An empty graph has version 0, each operation adds one."""
    assert graph.version == 0
    tf.constant(1.0) + 2.0
    assert graph.version == 3


def test_operations_come_in_the_order_of_their_making(graph: tf.Graph) -> None:
    """Constants made for an op come before it, with its name as prefix."""
    tf.add(tf.constant(1.0, name="x"), 2.0, name="sum")
    assert [op.name for op in graph.get_operations()] == ["x", "sum/y", "sum"]


def test_the_list_of_operations_is_the_callers_own(graph: tf.Graph) -> None:
    """Clearing it does not clear the graph."""
    tf.no_op()
    graph.get_operations().clear()
    assert len(graph.get_operations()) == 1


def test_a_new_graph_writes_our_versions(graph: tf.Graph) -> None:
    """Producer 2474, readable by every consumer."""
    assert graph.graph_def_versions.producer == 2474
    assert graph.graph_def_versions.min_consumer == 0


# -- finalize --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: tf.constant(2.0),
        lambda graph: graph.add_to_collection("c", 1),
        lambda graph: graph.clear_collection("c"),
        lambda graph: tf.import_graph_def(tf.GraphDef()),
    ],
    ids=["add an op", "add to a collection", "clear a collection", "import"],
)
def test_a_finalized_graph_cannot_be_changed(graph: tf.Graph, change: object) -> None:
    """Every way to change a finalized graph is refused."""
    graph.finalize()
    assert graph.finalized
    with pytest.raises(RuntimeError, match=r"Graph is finalized and cannot be modified\."):
        change(graph)  # type: ignore[operator]


# -- finding elements ------------------------------------------------------------------------------


def test_names_find_operations_and_tensors(graph: tf.Graph) -> None:
    """A bare name is an operation, a name with a port a tensor; bytes will do."""
    a = tf.constant(1.0, name="a")
    assert graph.as_graph_element("a") is a.op
    assert graph.as_graph_element("a:0") is a
    assert graph.as_graph_element(b"a:0") is a
    assert graph.get_tensor_by_name("a:0") is a
    assert graph.get_operation_by_name("a") is a.op


def test_an_object_may_say_which_element_it_is(graph: tf.Graph) -> None:
    """as_graph_element asks `_as_graph_element`."""
    a = tf.constant(1.0)

    class Stand:
        def _as_graph_element(self) -> tf.Tensor:
            return a

    assert graph.as_graph_element(Stand()) is a


@pytest.mark.parametrize(
    ("obj", "options", "error", "text"),
    [
        ("b", {}, KeyError, "The name 'b' refers to an Operation not in the graph."),
        ("b:0", {}, KeyError, "The operation, 'b', does not exist in the graph."),
        ("a:1", {}, KeyError, "The operation, 'a', exists but only has 1 outputs."),
        ("a:x", {}, ValueError, "looks a like a Tensor name, but is not a valid one."),
        ("a:0:0", {}, ValueError, "looks a like a Tensor name, but is not a valid one."),
        (
            "a:0",
            {"allow_tensor": False},
            ValueError,
            "Name 'a:0' appears to refer to a Tensor, not a Operation.",
        ),
        (
            "a",
            {"allow_operation": False},
            ValueError,
            "The name 'a' refers to an Operation, not a Tensor.",
        ),
        (
            "b",
            {"allow_operation": False},
            ValueError,
            "The name 'b' looks like an (invalid) Operation name, not a Tensor.",
        ),
        (3, {}, TypeError, "Can not convert a int into a Tensor or Operation."),
    ],
)
def test_what_was_wrong_with_a_name_is_said(
    graph: tf.Graph, obj: object, options: dict[str, bool], error: type[Exception], text: str
) -> None:
    """Each mistake has its own sentence."""
    tf.constant(1.0, name="a")
    with pytest.raises(error) as caught:
        graph.as_graph_element(obj, **options)
    assert text in str(caught.value)


def test_elements_of_another_graph_are_refused(graph: tf.Graph) -> None:
    """A tensor and an operation of another graph are refused."""
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    for element in (other, other.op):
        with pytest.raises(ValueError, match="is not an element of this graph"):
            graph.as_graph_element(element)


def test_names_must_be_strings(graph: tf.Graph) -> None:
    """A number is refused."""
    with pytest.raises(TypeError, match=r"Tensor names are strings .*, not int"):
        graph.get_tensor_by_name(3)
    with pytest.raises(TypeError, match=r"Operation names are strings .*, not int"):
        graph.get_operation_by_name(3)


# -- collections -----------------------------------------------------------------------------------


def test_a_collection_keeps_order_and_duplicates(graph: tf.Graph) -> None:
    """What was added comes back, as a copy."""
    for value in (1, 2, 1):
        tf.add_to_collection("c", value)
    tf.get_collection("c").clear()
    assert tf.get_collection("c") == [1, 2, 1]


def test_a_reference_to_a_collection_changes_it() -> None:
    """get_collection_ref makes the collection and gives the list itself."""
    tf.get_collection_ref("c").append(4)
    assert tf.get_collection("c") == [4]


def test_several_collections_at_once_get_a_value_once_each() -> None:
    """Repeated names count once; a string is one name."""
    tf.add_to_collections(["x", "y", "x"], 2)
    tf.add_to_collections("xy", 3)
    assert [tf.get_collection(name) for name in ("x", "y", "xy")] == [[2], [2], [3]]


def test_a_scope_filters_a_collection_by_name() -> None:
    """Values without a name do not count, names match from their beginning."""
    inside, outside = tf.constant(1.0, name="foo/a"), tf.constant(1.0, name="a_foo")
    for value in (inside, outside, 7):
        tf.add_to_collection("c", value)
    assert tf.get_collection("c", "foo") == [inside]


def test_collections_can_be_listed_and_cleared(graph: tf.Graph) -> None:
    """Only names that are strings are listed as keys."""
    graph.add_to_collection("c", 1)
    graph.add_to_collection(("d", 2), 1)
    assert graph.get_all_collection_keys() == ["c"]
    assert graph.collections == ["c", ("d", 2)]
    graph.clear_collection("c")
    assert graph.get_collection("c") == []


def test_graph_keys_have_tensorflows_values() -> None:
    """Collections written by TensorFlow are found under these names."""
    assert tf.GraphKeys.GLOBAL_VARIABLES == tf.GraphKeys.VARIABLES == "variables"
    assert tf.GraphKeys.TABLE_INITIALIZERS == "table_initializer"
    assert tf.GraphKeys.WHILE_CONTEXT == "while_context"


# -- marks -----------------------------------------------------------------------------------------


def test_marks_forbid_feeding_and_fetching(graph: tf.Graph) -> None:
    """An unfetchable operation has unfetchable tensors; each mark counts once."""
    a = tf.constant(1.0)
    assert graph.is_feedable(a)
    assert graph.is_fetchable(a)
    for _ in range(2):
        graph.prevent_feeding(a)
        graph.prevent_fetching(a.op)
    assert not graph.is_feedable(a)
    assert not graph.is_fetchable(a)
    assert not graph.is_fetchable(a.op)
    assert graph.num_access_marks == 2


# -- create_op -------------------------------------------------------------------------------------


def test_create_op_infers_and_fills_in_attributes(graph: tf.Graph) -> None:
    """What follows from inputs or has a default may be left out."""
    a = tf.constant([1.0])
    pack = graph.create_op("Pack", [a, a], attrs={"N": tf.AttrValue(i=2)})
    assert (pack.get_attr("N"), pack.get_attr("T"), pack.get_attr("axis")) == (2, tf.float32, 0)
    cast = graph.create_op("Cast", [a], attrs={"DstT": tf.int32}, name="c")
    assert cast.name == "c"
    assert cast.outputs[0].dtype == tf.int32
    assert cast.outputs[0].shape.as_list() == [1]


@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs", "error", "text"),
    [
        ("Neg", [1.0], {}, TypeError, "Input #0 is not a tensor: 1.0"),
        ("Neg", ["a", "a"], {}, ValueError, "do not match 2 inputs specified"),
        ("Neg", [], {}, ValueError, "NodeDef missing attr 'T' from Op<name=Neg;"),
        ("Neg", ["a"], {"T": tf.int32}, ValueError, "was passed float from a:0 incompatible with"),
        (
            "Neg",
            ["s"],
            {},
            ValueError,
            "Value for attr 'T' of string is not in the list of allowed",
        ),
        ("Pack", ["a"], {"N": 0}, ValueError, "Value for attr 'N' of 0 must be at least minimum 1"),
        ("Pack", ["a"], {"N": 10**9}, ValueError, "cannot be a list of that length"),
        ("Nope", [], {}, errors.NotFoundError, "Op type not registered 'Nope'"),
    ],
)
def test_create_op_refuses_what_does_not_fit(
    graph: tf.Graph,
    op_type: str,
    inputs: list[object],
    attrs: dict[str, object],
    error: type[Exception],
    text: str,
) -> None:
    """Nothing is added to the graph, and the message says what was wrong."""
    known = {"a": tf.constant(1.0, name="a"), "s": tf.constant("s")}
    given = [known.get(one, one) if isinstance(one, str) else one for one in inputs]
    before = graph.version
    with pytest.raises(error) as caught:
        graph.create_op(op_type, given, attrs=attrs)
    assert text in str(caught.value)
    assert graph.version == before


def test_create_op_refuses_an_attribute_of_another_kind(graph: tf.Graph) -> None:
    """An int is no dtype."""
    a = tf.constant(1.0)
    with pytest.raises(TypeError, match="had value with type 'int' when 'type' expected"):
        graph.create_op("Neg", [a], attrs={"T": tf.AttrValue(i=3)})


def test_create_op_checks_the_input_types_it_is_told(graph: tf.Graph) -> None:
    """A float tensor is not compatible with int32."""
    with pytest.raises(TypeError, match="are not compatible with expected types"):
        graph.create_op("Neg", [tf.constant(1.0)], input_types=[tf.int32])


def test_a_graph_that_builds_a_function_captures_inputs() -> None:
    """Tensors of other graphs are replaced by what `_capture_inputs` gives for them."""
    outer = tf.constant(1.0)

    class Body(tf.Graph):
        def __init__(self) -> None:
            super().__init__()
            self._building_function = True
            with self.as_default():
                self.stand_in = tf.placeholder(tf.float32, [])

        def capture_inputs(self, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
            if not hasattr(self, "stand_in"):
                return inputs
            return [t if t.graph is self else self.stand_in for t in inputs]

    body = Body()
    with body.as_default():
        y = tf.negative(outer)
    assert y.graph is body
    assert y.op.inputs == (body.stand_in,)
