"""Handles of resources and variants of one kind where an op takes another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

R = tf.raw_ops
FLOAT = tf.float32


def variable() -> Any:
    """Return the handle of a variable and the op that gives it a value."""
    handle = R.VarHandleOp(dtype=FLOAT, shape=[], shared_name="variable")
    return handle, R.AssignVariableOp(resource=handle, value=1.0)


def dataset() -> Any:
    """Return a dataset."""
    return R.RangeDataset(start=0, stop=3, step=1, output_types=[tf.int64], output_shapes=[[]])


def queue() -> Any:
    """Return the handle of a queue and the op that makes it."""
    handle = R.FIFOQueueV2(component_types=[FLOAT], shared_name="queue")
    return handle, handle


USES_OF_A_QUEUE: list[Callable[[Any], Any]] = [
    lambda q: R.ReadVariableOp(resource=q, dtype=FLOAT),
    lambda q: R.VarIsInitializedOp(resource=q),
    lambda q: R.AssignVariableOp(resource=q, value=1.0),
    lambda q: R.AssignAddVariableOp(resource=q, value=1.0),
    lambda q: R.ResourceScatterAdd(resource=q, indices=0, updates=1.0),
    lambda q: R.ResourceGather(resource=q, indices=0, dtype=FLOAT),
    lambda q: R.ResourceApplyGradientDescent(var=q, alpha=1.0, delta=1.0),
    lambda q: R.ResourceStridedSliceAssign(ref=q, begin=[0], end=[1], strides=[1], value=[1.0]),
    lambda q: R.StatefulUniformFullInt(resource=q, algorithm=np.int64(1), shape=[1]),
    lambda q: R.LookupTableSizeV2(table_handle=q),
    lambda q: R.IteratorGetNext(iterator=q, output_types=[FLOAT], output_shapes=[[]]),
]
USES_OF_A_VARIABLE: list[Callable[[Any], Any]] = [
    lambda v: R.QueueSizeV2(handle=v),
    lambda v: R.QueueDequeueV2(handle=v, component_types=[FLOAT]),
    lambda v: R.LookupTableSizeV2(table_handle=v),
    lambda v: R.IteratorGetNext(iterator=v, output_types=[FLOAT], output_shapes=[[]]),
    lambda v: R.MakeIterator(dataset=dataset(), iterator=v),
    lambda v: R.ReaderNumRecordsProducedV2(reader_handle=v),
    lambda v: R.ReaderReadV2(reader_handle=R.WholeFileReaderV2(), queue_handle=v),
    lambda v: R.FlushSummaryWriter(writer=v),
    lambda v: R.MutexLock(mutex=v),
    lambda v: R.ResourceAccumulatorNumAccumulated(handle=v),
]


@pytest.mark.parametrize(
    ("make", "use"),
    [*((queue, use) for use in USES_OF_A_QUEUE), *((variable, use) for use in USES_OF_A_VARIABLE)],
)
def test_a_resource_of_another_kind_is_refused(
    make: Callable[[], Any], use: Callable[[Any], Any]
) -> None:
    """The error is TensorFlow's, names the node, and leaves the session usable."""
    with tf.Graph().as_default(), tf.Session() as session:
        handle, made = make()
        session.run(made)
        used = use(handle)
        with pytest.raises(tf.errors.InvalidArgumentError, match="using the wrong type") as caught:
            session.run(used)
        assert caught.value.op is not None
        assert session.run(tf.constant(1)) == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda one: R.TensorListLength(input_handle=one),
        lambda one: R.TensorListElementShape(input_handle=one, shape_type=tf.int32),
        lambda one: R.TensorListResize(input_handle=one, size=1),
        lambda one: R.TensorListPopBack(input_handle=one, element_shape=-1, element_dtype=FLOAT),
        lambda one: R.TensorListPushBack(input_handle=one, tensor=1.0),
        lambda one: R.TensorListStack(input_handle=one, element_shape=-1, element_dtype=FLOAT),
        lambda one: R.TensorListGetItem(
            input_handle=one, index=0, element_shape=-1, element_dtype=FLOAT
        ),
        lambda one: R.TensorListConcatLists(input_a=one, input_b=one, element_dtype=FLOAT),
    ],
)
def test_a_variant_that_is_no_list_is_refused(use: Callable[[Any], Any]) -> None:
    """A dataset is another variant."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = use(dataset())
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input handle is not a list"):
            session.run(getattr(found, "op", None) or found[0].op)


def test_a_reference_that_is_no_pair_of_strings_is_no_handle() -> None:
    """Handles of the first kind are references to two strings; a variable is a reference, too."""
    for value in (["a"], ["a", "b", "c"], [["a", "b"], ["c", "d"]]):
        with tf.Graph().as_default(), tf.Session() as session:
            handle = tf.Variable(value, use_resource=False)
            session.run(handle.initializer)
            size = R.QueueSize(handle=handle._ref())
            with pytest.raises(tf.errors.InvalidArgumentError, match="must have two elements"):
                session.run(size)
