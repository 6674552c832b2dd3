"""Ops that a user registers: properties derived from the signature, and arguments of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import op_registry
from tfnb.core.op_registry import register_op
from tfnb.core.versions import GRAPH_DEF_VERSION, VersionDef
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def own() -> Iterator[Callable[..., Any]]:
    """Register an op for the duration of a test."""
    names = []

    def register(name: str, *args: Any, **kwargs: Any) -> Any:
        names.append(name)
        return register_op(name, *args, **kwargs)

    with tf.Graph().as_default():
        yield register
    for name in names:
        op_registry.deregister_op(name)


@pytest.mark.parametrize("signature", ["handle: resource ->", "x: T, many: N * resource -> y: T"])
def test_an_op_that_takes_a_resource_is_stateful(own: Callable[..., Any], signature: str) -> None:
    """The signature alone makes an op stateful, as in TensorFlow."""
    op = own("OwnTakesResource", signature, "T: type", "N: int")(None)
    assert op.is_stateful
    assert op.op_def.is_stateful


def test_an_op_that_gives_a_resource_or_is_named_like_one_is_not(own: Callable[..., Any]) -> None:
    """Only an input of type resource makes an op stateful."""
    assert not own("OwnGivesResource", "resource: int32 -> handle: resource")(None).is_stateful


def test_lists_of_tensors_have_one_at_least(own: Callable[..., Any]) -> None:
    """A list has at least one tensor, unless the length attribute allows none, as in TensorFlow."""
    op = own(
        "OwnLists", "a: N * T, b: L -> c: M * T", "N: int", "T: type", "L: list(type)", "M: int"
    )(None)
    assert [attr.minimum for attr in op.op_def.attrs] == [1, None, 1, 1]
    with pytest.raises(ValueError, match="'a' to 'OwnLists' Op with length 0 shorter than minimum"):
        op([], [1], M=1)
    with pytest.raises(ValueError, match="'L' of 'OwnLists' Op passed list of length 0 less than"):
        op([1], [], M=1)
    with pytest.raises(ValueError, match="'M' of 'OwnLists' Op passed 0 less than minimum 1"):
        op([1], [1], M=0)
    free = own("OwnFreeList", "a: N * int32 ->", "N: int >= 0")(None)
    free([])


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("a: list(int) >= 2 = [1]", "Length for attr 'a' of 1 must be at least minimum 2"),
        ("a: int >= 2 = 1", "Value for attr 'a' of 1 must be at least minimum 2"),
        ("a: {'x', 'y'} = 'z'", "is not in the list of allowed values"),
        ("a: list({int32, float}) = [DT_BOOL]", "is not in the list of allowed values"),
        ("a: float >= 2", "only integers and lists can"),
    ],
)
def test_defaults_that_no_node_may_have_are_refused(
    own: Callable[..., Any], attribute: str, text: str
) -> None:
    """An invalid default is refused when the signature is read."""
    with pytest.raises(ValueError, match=text):
        _ = own("OwnBadDefault", "->", attribute)(None).op_def


@pytest.mark.parametrize("calls", [False, True])
def test_kernels_see_the_version_of_the_graph(own: Callable[..., Any], calls: bool) -> None:
    """A kernel reads the producer version of the graph, also in functions."""

    @own("OwnVersion", "-> version: int32", stateful=True)
    def own_version(ctx: Any) -> Any:
        return np.int32(ctx.graph_def_version)

    graph = tf.Graph()
    with graph.as_default():
        if calls:
            Defun()(lambda: own_version())(name="found")
        else:
            own_version(name="found")
    graph_def = graph.as_graph_def()
    graph_def.versions.producer = 1000
    with tf.Graph().as_default():
        (found,) = tf.import_graph_def(graph_def, return_elements=["found:0"], name="")
        with tf.Session() as sess:
            assert sess.run(found) == 1000


def test_a_node_with_a_label_has_the_kernel_of_that_label(own: Callable[..., Any]) -> None:
    """A labelled node uses the kernel of that label only; the error names a missing label."""

    @own("OwnLabelled", "x: float -> y: float")
    def labelled(xp: Any, x: Any) -> Any:
        return x + 1

    labelled.expression("{x} + 1")

    @labelled.kernel("CPU", label="double")
    def _(xp: Any, x: Any) -> Any:
        return x * 2

    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32)
    plain = labelled(x)
    with graph._kernel_label_map({"OwnLabelled": "double"}):
        other = labelled(x)
    with tf.Session() as sess:
        for _ in range(3):
            assert sess.run([plain, other], {x: 5.0}) == [6.0, 10.0]
        with graph._kernel_label_map({"OwnLabelled": "none"}):
            missing = labelled(x)
        with pytest.raises(tf.errors.InvalidArgumentError) as refused:
            sess.run(missing, {x: 5.0})
    assert '[_kernel="none"]' in str(refused.value)
    assert "device='CPU'; label='double'" in str(refused.value)


def test_a_shape_function_sees_the_version_of_the_graph() -> None:
    """RequiresOlderGraphVersion refuses the current version and accepts the one before."""
    with tf.testing.register_test_ops() as ops, tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match="Wrong graph version for shape"):
            ops["RequiresOlderGraphVersion"]()
        graph.def_versions = VersionDef(GRAPH_DEF_VERSION - 1)
        assert ops["RequiresOlderGraphVersion"]().shape.as_list() == []


def test_a_list_of_tensors_may_be_a_default() -> None:
    """A default may be a list of tensor messages in braces, with commas between or inside."""
    with tf.testing.register_test_ops() as ops, tf.Graph().as_default():
        found = ops["DefaultAttrs"]().node_def.attr["tensor_list_val"].list.tensor
        assert [tf.make_ndarray(tensor) for tensor in found] == [1]
