"""Lists of tensors as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.containers import list_ops as ops
from tfnb.ops.containers import whole_list_ops as whole
from tfnb.ops.containers.tensor_list import Stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

F = {"element_dtype": tf.float32}


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def _fed(value: Any, dtype: Any = tf.float32) -> Any:
    """Return a tensor whose value and shape are unknown while building."""
    return tf.placeholder_with_default(np.array(value, dtype.as_numpy_dtype), None)


def _int(value: Any) -> Any:
    return _fed(value, tf.int32)


def _reserve(count: int, shape: Any = (2,)) -> Any:
    return ops.tensor_list_reserve(_int(shape), _int(count), **F)


def _empty(shape: Any = -1, limit: int = -1) -> Any:
    return ops.empty_tensor_list(_int(shape), _int(limit), **F)


def _pushed(*values: Any) -> Any:
    made = _empty()
    for value in values:
        made = ops.tensor_list_push_back(made, _fed(value))
    return made


def _stack(one: Any, shape: Any = -1, **attrs: Any) -> Any:
    return whole.tensor_list_stack(one, _int(shape), **F, **attrs)


def _get(one: Any, index: int, shape: Any = -1) -> Any:
    return ops.tensor_list_get_item(one, _int(index), _int(shape), **F)


def _concat(one: Any, shape: Any = -1, leading: Any = ()) -> Any:
    return whole.tensor_list_concat_v2(one, _int(shape), _fed(leading, tf.int64), **F)


def _split(value: Any, lengths: Any, shape: Any = (-1,)) -> Any:
    return whole.tensor_list_split(_fed(value), _int(shape), _fed(lengths, tf.int64))


def _scatter(value: Any, indices: Any, count: int = -1) -> Any:
    return whole.tensor_list_scatter_v2(_fed(value), _int(indices), _int([1]), _int(count))


PAIR = ([1.0], [2.0])
VALUES: dict[str, tuple[Callable[[], Any], Any]] = {
    "unset_is_zero": (lambda: _get(_reserve(3), 1), [0, 0]),
    "get": (lambda: _get(_pushed(*PAIR), 1), [2]),
    "set": (
        lambda: _stack(ops.tensor_list_set_item(_reserve(2), _int(1), _fed([5.0, 6.0]))),
        [[0, 0], [5, 6]],
    ),
    "set_beyond_the_end": (
        lambda: ops.tensor_list_length(
            ops.tensor_list_set_item(
                _reserve(3), _int(5), _fed([1.0, 2.0]), resize_if_index_out_of_bounds=True
            )
        ),
        6,
    ),
    "stack": (lambda: _stack(_pushed(*PAIR)), [[1], [2]]),
    "stack_of_none": (lambda: _stack(_reserve(0), [2]), np.zeros((0, 2)).tolist()),
    "pop": (lambda: ops.tensor_list_pop_back(_pushed(*PAIR), _int(-1), **F)[1], [2]),
    "element_shape": (
        lambda: ops.tensor_list_element_shape(_empty([-1, 2]), shape_type=tf.int64),
        [-1, 2],
    ),
    "unknown_element_shape": (
        lambda: ops.tensor_list_element_shape(_empty(), shape_type=tf.int32),
        -1,
    ),
    "from_tensor": (
        lambda: _get(ops.tensor_list_from_tensor(_fed([[1.0], [2.0]]), _int(-1)), 0),
        [1],
    ),
    "concat": (lambda: _concat(_pushed([1.0], [2.0, 3.0]))[0], [1, 2, 3]),
    "concat_lengths": (lambda: _concat(_pushed([1.0], [2.0, 3.0]))[1], [1, 2]),
    "concat_of_unset": (lambda: _concat(_reserve(2, -1), [-1, 1], [1, 2])[0], [[0], [0], [0]]),
    "split": (lambda: _get(_split([1.0, 2.0, 3.0], [1, 2]), 1), [2, 3]),
    "gather": (
        lambda: whole.tensor_list_gather(_pushed(*PAIR), _int([1, 0, 1]), _int(-1), **F),
        [[2], [1], [2]],
    ),
    "scatter": (lambda: _stack(_scatter([[1.0], [2.0]], [2, 0])), [[2], [0], [1]]),
    "scatter_with_length": (
        lambda: _stack(_scatter([[1.0], [2.0]], [2, 0], 4)),
        [[2], [0], [1], [0]],
    ),
    "scatter_into_a_list": (
        lambda: _stack(
            whole.tensor_list_scatter_into_existing_list(_pushed(*PAIR), _fed([[5.0]]), _int([1]))
        ),
        [[1], [5]],
    ),
    "resize": (lambda: ops.tensor_list_length(ops.tensor_list_resize(_pushed(*PAIR), _int(5))), 5),
    "resize_down": (lambda: _stack(ops.tensor_list_resize(_pushed(*PAIR), _int(1))), [[1]]),
    "concat_lists": (
        lambda: _stack(whole.tensor_list_concat_lists(_pushed([1.0]), _pushed([2.0]), **F)),
        [[1], [2]],
    ),
    "zeros_like": (lambda: _stack(tf.zeros_like(_pushed(*PAIR))), [[0], [0]]),
    "zeros_like_lists": (
        lambda: _stack(
            ops.tensor_list_get_item(
                tf.zeros_like(
                    ops.tensor_list_push_back(
                        ops.empty_tensor_list(_int([]), _int(-1), element_dtype=tf.variant),
                        _pushed(*PAIR),
                    )
                ),
                _int(0),
                _int([]),
                element_dtype=tf.variant,
            )
        ),
        [[0], [0]],
    ),
    "add_n": (lambda: _stack(tf.add_n([_pushed(*PAIR), _pushed(*PAIR)])), [[2], [4]]),
    "many_lists": (
        lambda: _stack(
            ops.tensor_list_push_back_batch(
                tf.stack([_pushed([1.0]), _pushed([2.0])]), _fed([[7.0], [8.0]])
            )[1]
        ),
        [[2], [8]],
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_values_are_tensorflows(session: Any, case: str) -> None:
    """Each program gives TensorFlow 2.21's result."""
    make, wanted = VALUES[case]
    assert session.run(make()).tolist() == wanted


ERRORS: dict[str, Callable[[], Any]] = {
    "Trying to access element 5 in a list with 2 elements": lambda: _get(_pushed(*PAIR), 5),
    "element_shape is not fully defined: <unknown> and no": lambda: _get(_reserve(3, -1), 1),
    "Trying to modify element 5 in a list with 3 elements": lambda: ops.tensor_list_set_item(
        _reserve(3), _int(5), _fed([1.0, 2.0])
    ),
    r"Item element shape: \[3\] list shape: \[2\]": lambda: ops.tensor_list_set_item(
        _reserve(3), _int(0), _fed([1.0, 2.0, 3.0])
    ),
    "must be a non negative number, but got -1": lambda: _reserve(-1),
    "only contains uninitialized tensors": lambda: _stack(_reserve(3, -1)),
    "stack elements of an empty list": lambda: _stack(_reserve(0, -1)),
    "expected a list with 2 elements but got a list with 3": lambda: _stack(
        _reserve(3), num_elements=2
    ),
    r"during merge: \[2\] vs. \[3\]|\[3\] vs. \[2\]": lambda: _stack(_reserve(3), [3]),
    "Trying to pop from an empty list": lambda: ops.tensor_list_pop_back(_empty(), _int(-1), **F)[
        1
    ],
    r"Op element shape: \[1\] list shape: \[2\]": lambda: ops.tensor_list_push_back(
        _empty([2]), _fed([1.0])
    ),
    "full list list size: 0 max_num_elements: 0": lambda: ops.tensor_list_push_back(
        _empty(-1, 0), _fed([1.0])
    ),
    "must be at least a vector": lambda: ops.tensor_list_from_tensor(_fed(1.0), _int([])),
    "All except the first dimension must be fully defined": lambda: _concat(_empty())[0],
    "leading_dims has only 0 elements": lambda: _concat(_reserve(2, -1), [-1, 2])[0],
    "found scalars instead": lambda: _concat(_pushed(1.0, 2.0), [])[0],
    r"slice \[1, 4\] from tensor with length 3": lambda: _split([1.0, 2.0, 3.0], [1, 3]),
    "Unused values in tensor. Length of tensor: 3 Values used: 2": lambda: _split(
        [1.0, 2.0, 3.0], [1, 1]
    ),
    "Invalid value in lengths: -1": lambda: _split([1.0, 2.0, 3.0], [-1, 4]),
    "gather element 3 in a list with 2 elements": lambda: whole.tensor_list_gather(
        _pushed(*PAIR), _int([3]), _int(-1), **F
    ),
    "scatter at index 2 in list with size 2": lambda: _scatter([[1.0], [2.0]], [2, 0], 2),
    "must all be non-negative": lambda: _scatter([[1.0], [2.0]], [2, -1]),
    "Invalid number of rows": lambda: _scatter([[1.0], [2.0]], [2]),
    "size to be non-negative. Got: -1": lambda: ops.tensor_list_resize(_pushed(*PAIR), _int(-1)),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_are_tensorflows(session: Any, message: str) -> None:
    """InvalidArgumentError has TensorFlow's message."""
    made = ERRORS[message]()
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(made.op)


def test_dtypes_are_checked_while_building() -> None:
    """The dtype of a list's elements is known statically."""
    with pytest.raises(ValueError, match="wrong element dtype"):
        ops.tensor_list_push_back(_empty(), _int([1]))
    with pytest.raises(ValueError, match="Expected list with element dtype int32"):
        ops.tensor_list_get_item(_reserve(1), 0, [2], element_dtype=tf.int32)


def test_shapes_are_known_while_building() -> None:
    """Pushing, setting and stacking keep static shapes."""
    reserved = ops.tensor_list_reserve([2, 3], 4, **F)
    changed = ops.tensor_list_set_item(reserved, 0, tf.zeros([2, 3]))
    assert ops.tensor_list_get_item(changed, 0, [2, 3], **F).shape.as_list() == [2, 3]
    stacked = whole.tensor_list_stack(changed, [2, 3], num_elements=4, **F)
    assert stacked.shape.as_list() == [4, 2, 3]


def test_elements_that_do_not_fit_are_refused_by_the_step_alone(session: Any) -> None:
    """Pushing and scattering check at run time; an existing list accepts rows of any shape."""
    full = ops.tensor_list_from_tensor([[1.0, 2.0]], [2])
    popped = ops.tensor_list_pop_back(full, [3], **F)[1]
    assert popped.shape.as_list() == [2]
    assert session.run(popped).tolist() == [1.0, 2.0]
    pushed = ops.tensor_list_push_back(_empty([2]), [1.0])
    for refused in (pushed, whole.tensor_list_scatter_v2([[1.0]], [0], [2], 1)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(refused.op)
    wider = whole.tensor_list_scatter_into_existing_list(full, [[5.0]], [0])
    assert session.run(ops.tensor_list_pop_back(wider, -1, **F)[1]).tolist() == [5.0]


def test_lists_behind_each_other_know_the_shapes_of_both() -> None:
    """Two concatenated lists must have equal dtypes and compatible shapes."""

    def after(a: Any, b: Any, dtype: Any = tf.float32) -> Any:
        return whole.tensor_list_stack(
            whole.tensor_list_concat_lists(a, b, element_dtype=dtype), -1, element_dtype=dtype
        ).shape.as_list()

    def reserved(*shape: int) -> Any:
        return ops.tensor_list_reserve(list(shape), 1, **F)

    assert after(reserved(2, -1), reserved(-1, 3)) == [None, 2, 3]
    assert after(tf.placeholder(tf.variant, []), reserved(2, -1)) == [None, 2, None]
    with pytest.raises(ValueError, match="are 2 and 3"):
        after(reserved(2), reserved(3))
    with pytest.raises(ValueError, match=r"input_a\.type != element_dtype: float vs. int32"):
        after(reserved(2), reserved(2), tf.int32)


GRADIENTS: dict[str, Callable[[Any], Any]] = {
    "from_tensor_and_stack": lambda x: whole.tensor_list_stack(
        ops.tensor_list_from_tensor(x, [2]), [2], **F
    ),
    "set_and_get": lambda x: ops.tensor_list_get_item(
        ops.tensor_list_set_item(ops.tensor_list_reserve([2], 3, **F), 1, x[0]), 1, [2], **F
    ),
    "push_and_pop": lambda x: ops.tensor_list_pop_back(
        ops.tensor_list_push_back(ops.empty_tensor_list([2], -1, **F), x[1]), [2], **F
    )[1],
    "gather": lambda x: whole.tensor_list_gather(
        ops.tensor_list_from_tensor(x, [2]), [2, 0], [2], **F
    ),
    "scatter": lambda x: whole.tensor_list_stack(
        whole.tensor_list_scatter_v2(x, [2, 0, 1], [2], 3), [2], **F
    ),
    "split_and_concat": lambda x: whole.tensor_list_concat_v2(
        whole.tensor_list_split(x, [-1, 2], tf.constant([1, 2], tf.int64)),
        [-1, 2],
        tf.constant([], tf.int64),
        **F,
    )[0],
    "resize": lambda x: whole.tensor_list_stack(
        ops.tensor_list_resize(ops.tensor_list_from_tensor(x, [2]), 2), [2], **F
    ),
}
WANTED = {
    "from_tensor_and_stack": [[1, 1], [1, 1], [1, 1]],
    "set_and_get": [[1, 1], [0, 0], [0, 0]],
    "push_and_pop": [[0, 0], [1, 1], [0, 0]],
    "gather": [[1, 1], [0, 0], [1, 1]],
    "scatter": [[1, 1], [1, 1], [1, 1]],
    "split_and_concat": [[1, 1], [1, 1], [1, 1]],
    "resize": [[1, 1], [1, 1], [0, 0]],
}


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients_flow_through_lists(session: Any, case: str) -> None:
    """Gradients flow to the tensors that were put into the list."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    grad = tf.gradients(GRADIENTS[case](x), x)[0]
    assert session.run(tf.convert_to_tensor(grad)).tolist() == WANTED[case]


def test_lists_that_share_their_beginning_stay_apart() -> None:
    """A push to a list, or to its remainder after a pop, affects no other list."""
    ab = Stack([], 0).pushed("a").pushed("b")
    abc, other = ab.pushed("c"), ab.pushed("d")
    a = ab.popped()
    ae = a.pushed("e")
    assert [list(one) for one in (ab, abc, other, a, ae)] == [
        ["a", "b"], ["a", "b", "c"], ["a", "b", "d"], ["a"], ["a", "e"],
    ]  # fmt: skip
    assert (abc[-1], other[2], abc[:2], len(ae)) == ("c", "d", ["a", "b"], 2)
    with pytest.raises(IndexError):
        ab[2]
