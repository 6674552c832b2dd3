"""Tensors: their properties, and what they refuse while the graph is built."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest

import tfnb as tf
from tfnb.framework.tensor import override_operator


def test_a_tensor_prints_name_shape_and_dtype() -> None:
    """str omits an unknown shape and includes a device."""
    a = tf.placeholder(tf.float32, [2, None], name="a")
    assert str(a) == 'Tensor("a:0", shape=(2, ?), dtype=float32)'
    assert repr(a) == "<tf.Tensor 'a:0' shape=(2, ?) dtype=float32>"
    with tf.device("/cpu:0"):
        b = tf.placeholder(tf.int32, name="b")
    assert str(b) == 'Tensor("b:0", dtype=int32, device=/device:CPU:0)'


def test_a_tensor_knows_its_place(graph: tf.Graph) -> None:
    """Operation, graph, index and device."""
    parts = tf.unstack(tf.constant([1, 2]))
    assert parts[1].op is parts[0].op
    assert [t.value_index for t in parts] == [0, 1]
    assert parts[1].name == "unstack:1"
    assert parts[0].graph is graph
    assert parts[0].device == ""


def test_consumers_count_each_use() -> None:
    """x * x takes x twice."""
    x = tf.constant(2.0)
    y = x * x
    assert x.consumers() == [y.op, y.op]


def test_equality_and_hash_are_identity() -> None:
    """Tensors can be keys; two equal constants are two tensors."""
    a, b = tf.constant(1.0), tf.constant(1.0)
    assert a == a
    assert a != b
    assert {a: 1, b: 2}[a] == 1
    assert a.ref() == a.ref()
    assert a.ref() != b.ref()
    assert a.ref().deref() is a


def test_copies_of_a_tensor_are_the_tensor() -> None:
    """Copies return the tensor itself, because a graph has one object per tensor."""
    a = tf.constant(1.0)
    assert copy.copy(a) is a


def test_set_shape_adds_knowledge() -> None:
    """Known and unknown dimensions merge; a contradiction is refused."""
    a = tf.placeholder(tf.float32)
    a.set_shape([None, 3])
    a.set_shape(tf.TensorShape([2, None]))
    a.set_shape(None)
    assert a.get_shape().as_list() == [2, 3]
    assert a.ndim == 2
    with pytest.raises(
        ValueError,
        match=r"Dimension 0 in both shapes must be equal, but are 2 and 5. Shapes are \[2,3\] and",
    ):
        a.set_shape([5, 3])
    with pytest.raises(ValueError, match="must be equal rank, but are 2 and 1"):
        a.set_shape([2])


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (bool, TypeError, r"as a Python `bool` is not allowed \(a:0\)\. .* use `tf.cond`"),
        (list, TypeError, "Iterating over a symbolic `tf.Tensor` is not allowed"),
        (len, TypeError, r"len is not well defined for a symbolic Tensor \(a:0\)"),
        (
            np.asarray,
            NotImplementedError,
            r"Cannot convert a symbolic tf.Tensor \(a:0\) to a numpy",
        ),
    ],
)
def test_a_tensor_has_no_value_to_python(use: object, error: type[Exception], text: str) -> None:
    """bool, iteration, len and NumPy are refused with advice."""
    a = tf.constant([1.0, 2.0], name="a")
    with pytest.raises(error, match=text):
        use(a)  # type: ignore[operator]


def test_bool_and_iteration_have_tensorflows_class() -> None:
    """OperatorNotAllowedInGraphError, which is a TypeError."""
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        bool(tf.constant(True))


def test_numpy_leaves_arithmetic_to_the_tensor() -> None:
    """An array as left operand does not convert the tensor."""
    total = np.ones(3, np.float32) + tf.constant([1.0, 2.0, 3.0])
    assert isinstance(total, tf.Tensor)
    scaled = np.float32(2) * tf.constant([1.0])
    assert isinstance(scaled, tf.Tensor)


def test_only_known_operators_can_be_overridden() -> None:
    """__len__ cannot be overridden; a class of the user can override the others."""

    class Other:
        pass

    with pytest.raises(ValueError, match="Overriding __len__ is disallowed"):
        tf.Tensor._override_operator("__len__", lambda t: 1)
    override_operator(Other, "__neg__", lambda self: "negated")
    assert -Other() == "negated"  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize("first", ["", "tf.constant(1.0)", "tf.constant(1.0) + 1.0"])
def test_operators_that_a_program_sets_stay(first: str) -> None:
    """Also if they call the one before, and ops register theirs later."""
    script = (
        "import tfnb as tf\n"
        "plain, of_sparse = tf.Tensor.__add__, tf.SparseTensor.__mul__\n"
        f"{first}\n"
        "seen = []\n"
        "def add(x, y):\n"
        "    seen.append('add')\n"
        "    return plain(x, y)\n"
        "def mul(x, y):\n"
        "    seen.append('mul')\n"
        "    return of_sparse(x, y)\n"
        "tf.Tensor.__add__ = add\n"
        "tf.SparseTensor._override_operator('__mul__', mul)\n"
        "for _ in range(2):\n"
        "    sums = tf.constant(1.0) + 2.0 - 3.0\n"
        "    assert sums.op.type == 'Sub' and sums.op.inputs[0].op.type == 'AddV2'\n"
        "    product = tf.SparseTensor([[0]], [1.0], [2]) * tf.constant([1.0, 2.0])\n"
        "    assert isinstance(product, tf.SparseTensor)\n"
        "assert seen == ['add', 'mul'] * 2, seen\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_eval_needs_a_session_on_the_same_graph() -> None:
    """A missing session and a session of another graph, given or default, have three messages."""
    a = tf.constant(1.0)

    class Session:
        graph = tf.Graph()

        def run(self, fetches: object, feed_dict: object = None) -> object:
            return fetches, feed_dict

    with pytest.raises(ValueError, match="No default session is registered"):
        a.eval()
    session = Session()
    with pytest.raises(ValueError, match="Cannot use the given session to evaluate tensor"):
        a.eval(session=session)
    session.graph = a.graph
    assert a.eval({a: 2}, session) == (a, {a: 2})


def test_tensors_are_not_pickled_and_their_own_copies() -> None:
    """Tensors and variables are part of a graph and cannot be pickled."""
    x = tf.constant(1)
    assert copy.copy(x) is x
    with pytest.raises(TypeError, match="cannot pickle 'Tensor' object"):
        copy.deepcopy(x)
    variable = tf.Variable(1.0, use_resource=True)
    with pytest.raises(NotImplementedError, match="only available when eager execution"):
        copy.deepcopy(variable)
