"""`tf.estimator.inputs`: arrays and data frames, through a queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf

numpy_input_fn = tf.estimator.inputs.numpy_input_fn
pandas_input_fn = tf.estimator.inputs.pandas_input_fn
X = np.arange(10, dtype=np.float32).reshape(5, 2)


def batches(input_fn: Any, count: int = 100) -> list[Any]:
    """Run what an input function returns until it ends."""
    found: list[Any] = []
    with tf.Graph().as_default():
        read = input_fn()
        with tf.train.MonitoredSession() as session:
            while not session.should_stop() and len(found) < count:
                found.append(session.run(read))
    return found


@pytest.mark.slow
def test_arrays_are_read_in_their_order_and_for_all_epochs() -> None:
    """The last batch has what is left; names of labels are kept."""
    y = np.arange(5)
    read = batches(numpy_input_fn(X, y, batch_size=4, num_epochs=2, shuffle=False))
    named = batches(numpy_input_fn({"x": X}, {"y": y}, batch_size=5, shuffle=False))

    np.testing.assert_array_equal(np.concatenate([x for x, _ in read]), np.concatenate([X, X]))
    assert [labels.tolist() for _, labels in read] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]]
    np.testing.assert_array_equal(named[0][0]["x"], X)
    assert named[0][1]["y"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_shuffled_arrays_have_every_row_once() -> None:
    """Features and labels of a row stay together."""
    read = batches(numpy_input_fn({"x": X}, X[:, 0], batch_size=2, shuffle=True))
    rows = np.concatenate([features["x"] for features, _ in read])
    labels = np.concatenate([labels for _, labels in read])

    np.testing.assert_array_equal(rows[:, 0], labels)
    assert sorted(labels) == [0, 2, 4, 6, 8]


@pytest.mark.slow
def test_an_input_without_labels_and_without_end() -> None:
    """Batches have the full size, across the end of an epoch."""
    read = batches(numpy_input_fn(X, batch_size=4, num_epochs=None, shuffle=False), count=3)
    assert [x[0, 0] for x in read] == [0, 8, 6]
    assert {x.shape for x in read} == {(4, 2)}


@pytest.mark.slow
def test_data_frames_are_read_by_column() -> None:
    """Numbers and text, with a series or a frame of labels."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.5, 2.5, 3.5], "job": ["a", "b", "c"]}, index=[3, 4, 5])
    label = pandas.Series([7, 8, 9], index=[3, 4, 5])
    ((features, labels),) = batches(pandas_input_fn(frame, label, batch_size=3, shuffle=False))
    ((_, several),) = batches(
        pandas_input_fn(frame, pandas.DataFrame({"age": label}), batch_size=3, shuffle=False)
    )
    (alone,) = batches(pandas_input_fn(frame, batch_size=3, shuffle=False))

    assert features["age"].tolist() == alone["age"].tolist() == [1.5, 2.5, 3.5]
    assert features["job"].tolist() == [b"a", b"b", b"c"]
    assert labels.tolist() == several["age"].tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"x": X}, ValueError, "shuffle must be provided"),
        ({"x": {}, "shuffle": False}, ValueError, "x cannot be an empty dict"),
        ({"x": X[:0], "shuffle": False}, ValueError, "x cannot be an empty array"),
        ({"x": [1], "shuffle": False}, TypeError, "x must be a dict or array; got list"),
        ({"x": X, "y": X[:2], "shuffle": False}, ValueError, "Length of tensors in x and y"),
        ({"x": {"a": X}, "y": {"a": X}, "shuffle": False}, ValueError, "1 duplicate keys"),
        ({"x": {"a": X}, "y": {}, "shuffle": False}, ValueError, "use None instead"),
        ({"x": {"a": 3}, "shuffle": False}, ValueError, "got a scalar"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    arguments: Any, kind: type[Exception], message: str
) -> None:
    """When the function is made or called, before a graph runs."""
    with pytest.raises(kind, match=message), tf.Graph().as_default():
        numpy_input_fn(**arguments)()


def test_data_frames_that_do_not_fit_are_refused() -> None:
    """Another index, a name that is taken, no frame at all."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"target": [1]})
    with pytest.raises(ValueError, match="Cannot use name target for target column"):
        pandas_input_fn(frame, pandas.Series([1]), shuffle=False)
    with pytest.raises(ValueError, match="Index for x and y are mismatched"):
        pandas_input_fn(frame, pandas.Series([1], index=[2]), shuffle=False, target_column="y")
    with pytest.raises(TypeError, match="x must be a pandas DataFrame; got int"):
        pandas_input_fn(3, shuffle=False)
