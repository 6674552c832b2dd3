"""``tf.cond``, ``tf.case`` and ``tf.switch_case``: branches, results, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(name="pred")
def _pred() -> tf.Tensor:
    return tf.placeholder(tf.bool, [], name="p")


# The message for an index that is not in a list of one.
_OUT_OF_RANGE = r"not in \[0, 1\)"


def _run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_only_the_branch_that_is_taken_runs(pred: tf.Tensor) -> None:
    """Both branches are built, and the failing one does not run."""
    number = tf.placeholder_with_default(5, [])
    result = tf.cond(pred, lambda: tf.constant(2.0), lambda: tf.gather([1.0], number))
    assert _run(result, {pred: True}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=_OUT_OF_RANGE):
        _run(result, {pred: False})


def test_values_from_outside_are_computed_in_any_case(pred: tf.Tensor) -> None:
    """Captured tensors are computed even if the other branch is taken."""
    outside = tf.gather([1.0], tf.placeholder_with_default(5, []))
    result = tf.cond(pred, lambda: outside + 1.0, lambda: tf.constant(0.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match=_OUT_OF_RANGE):
        _run(result, {pred: False})


def test_control_dependencies_inside_run_with_their_branch(pred: tf.Tensor) -> None:
    """An operation inside with only a control edge belongs to the branch."""
    number = tf.placeholder_with_default(5, [])

    def true_fn() -> tf.Tensor:
        with tf.control_dependencies([tf.gather([1.0], number)]):
            return tf.constant(1)

    result = tf.cond(pred, true_fn, lambda: tf.constant(2))
    assert _run(result, {pred: False}) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match=_OUT_OF_RANGE):
        _run(result, {pred: True})


def test_operations_may_be_results(pred: tf.Tensor) -> None:
    """A branch that returns an operation makes cond return the predicate, after the operation."""
    result = tf.cond(pred, tf.no_op, lambda: tf.group(tf.constant(1)))
    assert result.dtype is tf.bool
    assert _run(result, {pred: True})
    assert not _run(result, {pred: False})


def test_structures_come_back_as_they_are(pred: tf.Tensor) -> None:
    """Dicts, tuples and composite values keep their types."""
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    result = tf.cond(
        pred,
        lambda: {"a": (tf.constant(1), sparse)},
        lambda: {"a": (tf.constant(2), tf.SparseTensor([[1]], [5.0], [2]))},
    )
    number, value = _run(result, {pred: False})["a"]
    assert number == 2
    assert value.indices.tolist() == [[1]]
    assert value.values.tolist() == [5.0]


def test_single_lists_are_unpacked_unless_strict(pred: tf.Tensor) -> None:
    """A list of one value is replaced by the value, unless strict=True."""
    loose = tf.cond(pred, lambda: [tf.constant(1)], lambda: tf.constant(2))
    strict = tf.cond(pred, lambda: [tf.constant(1)], lambda: [tf.constant(2)], strict=True)
    assert isinstance(loose, tf.Tensor)
    assert isinstance(strict, list)


def test_old_argument_names_work(pred: tf.Tensor) -> None:
    """fn1 and fn2 are accepted for the branches of true and false."""
    result = tf.cond(pred, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))
    assert _run(result, {pred: True}) == 1


def test_tensors_of_a_branch_cannot_be_fetched(pred: tf.Tensor) -> None:
    """They exist only in the taken branch."""
    inside: list[tf.Tensor] = []

    def true_fn() -> tf.Tensor:
        inside.append(tf.constant(1) + 1)
        return inside[0]

    tf.cond(pred, true_fn, lambda: tf.constant(0))
    with tf.Session() as session, pytest.raises(ValueError, match="marked as not fetchable"):
        session.run(inside[0], {pred: True})


def test_contexts_are_collected(graph: tf.Graph, pred: tf.Tensor) -> None:
    """The outermost conds are in their collection, nested ones are not."""
    tf.cond(
        pred,
        lambda: tf.cond(pred, lambda: tf.constant(1), lambda: tf.constant(2)),
        lambda: tf.constant(3),
    )
    contexts = graph.get_collection(tf.GraphKeys.COND_CONTEXT)
    assert [context.branch for context in contexts] == [1, 0]


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"true_fn": lambda: 1}, TypeError, "'false_fn' argument required"),
        ({"false_fn": lambda: 1}, TypeError, "'true_fn' argument required"),
        (
            {"true_fn": lambda: 1, "fn1": lambda: 1, "false_fn": lambda: 1},
            TypeError,
            "'true_fn' and 'fn1' may not be set simultaneously",
        ),
        ({"true_fn": 1, "false_fn": lambda: 1}, TypeError, "'true_fn' must be callable"),
        ({"true_fn": lambda: None, "false_fn": lambda: 1}, ValueError, "must have a return value"),
        ({"true_fn": list, "false_fn": list}, ValueError, "at least one result"),
        ({"true_fn": lambda: 1, "false_fn": lambda: 1.5}, ValueError, "must have the same type"),
        ({"true_fn": lambda: (1, 2), "false_fn": lambda: 1}, ValueError, "is a sequence, while"),
        ({"true_fn": lambda: (1, 2), "false_fn": lambda: [1, 2]}, TypeError, "same sequence type"),
    ],
)
def test_wrong_arguments_are_refused(
    pred: tf.Tensor, arguments: dict[str, Any], kind: type[Exception], text: str
) -> None:
    """Each mistake has TensorFlow's class and text."""
    with pytest.raises(kind, match=text):
        tf.cond(pred, **arguments)


def test_python_bools_are_refused() -> None:
    """A Python bool as predicate is most likely a mistake."""
    with pytest.raises(TypeError, match="must not be a Python bool"):
        tf.cond(True, lambda: 1, lambda: 2)


def test_a_failing_branch_leaves_no_context(graph: tf.Graph, pred: tf.Tensor) -> None:
    """After an exception in a branch, ops are built outside of the branch again."""

    def fail() -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.cond(pred, fail, lambda: 1)
    assert graph._get_control_flow_context() is None
    assert tf.constant(1).op.control_inputs == []


# -------------------------------------------------------------------------------------------- case


@pytest.mark.parametrize(("value", "expected"), [(0.0, 1), (1.5, 3), (3.0, 2)])
def test_case_takes_the_first_true_predicate(value: float, expected: int) -> None:
    """Without a true predicate the default is taken."""
    x = tf.placeholder(tf.float32, [])
    pairs = [(x < 1.0, lambda: tf.constant(1)), (x > 2.0, lambda: tf.constant(2))]
    assert _run(tf.case(pairs, default=lambda: tf.constant(3)), {x: value}) == expected


def test_case_order_decides() -> None:
    """If several predicates are true, the first one decides."""
    yes = tf.constant(True)
    pairs = [(yes, lambda: tf.constant(1)), (yes, lambda: tf.constant(2))]
    assert _run(tf.case(pairs, default=lambda: tf.constant(3))) == 1


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        (1, "must be a list, tuple, or dict"),
        ([1], "must be a 2-tuple"),
        ([(True, lambda: 1)], "pred must be a Tensor"),
    ],
)
def test_case_refuses_other_pairs(pairs: Any, text: str) -> None:
    """Predicates must be tensors, and functions callable."""
    with pytest.raises(TypeError, match=text):
        tf.case(pairs)


def test_case_refuses_predicates_of_other_types() -> None:
    """A number as predicate is refused."""
    with pytest.raises(TypeError, match="pred must be Tensor of type bool"):
        tf.case([(tf.constant(1), lambda: 1)])
    with pytest.raises(TypeError, match="must be callable"):
        tf.case([(tf.constant(True), 1)])


@pytest.mark.parametrize(("index", "expected"), [(0, 10), (1, 11), (2, 12), (7, 12), (-1, 12)])
def test_switch_case_takes_a_branch_by_number(index: int, expected: int) -> None:
    """An index out of range selects the last branch."""
    i = tf.placeholder(tf.int32, [])
    branches = [lambda: tf.constant(10), lambda: tf.constant(11), lambda: tf.constant(12)]
    assert _run(tf.switch_case(i, branches), {i: index}) == expected


def test_switch_case_takes_the_default() -> None:
    """The default applies to all other indices."""
    i = tf.placeholder(tf.int32, [])
    result = tf.switch_case(i, {0: lambda: tf.constant(10)}, default=lambda: tf.constant(99))
    assert _run(result, {i: 0}) == 10
    assert _run(result, {i: 5}) == 99


def test_switch_case_is_one_node_whatever_conds_are() -> None:
    """It is one node, as in TensorFlow, so its branches must have equal types."""
    i = tf.placeholder(tf.int32, [], name="i")
    result = tf.switch_case(i, [lambda: tf.constant(1), lambda: tf.constant(2)])
    assert [(op.name, op.type) for op in result.graph.get_operations()] == [
        ("i", "Placeholder"),
        ("switch_case/indexed_case", "StatelessCase"),
        ("switch_case/indexed_case/Identity", "Identity"),
    ]
    with pytest.raises(TypeError, match="same number, type, and overall structure"):
        tf.switch_case(i, [lambda: tf.constant(1), lambda: tf.constant(2.0)])


def test_switch_case_checks_its_branches() -> None:
    """Keys must be 0, 1, ... and the index an integer tensor."""
    i = tf.constant(0)
    with pytest.raises(TypeError, match="must be a Tensor"):
        tf.switch_case(0, [lambda: 1])
    with pytest.raises(TypeError, match="must be an integer Tensor"):
        tf.switch_case(tf.constant(0.5), [lambda: 1])
    with pytest.raises(ValueError, match="contiguous range"):
        tf.switch_case(i, {1: lambda: 1})
    with pytest.raises(ValueError, match="at least one item"):
        tf.switch_case(i, [])
