"""Columns of DataFrames as inputs of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pandas = pytest.importorskip("pandas")


@pytest.fixture
def model(tmp_path: Path) -> Iterator[tf.Model]:
    """A model with an input of each kind."""
    with tf.Graph().as_default(), tf.Session() as sess:
        age = tf.placeholder(tf.float32, [None])
        city = tf.placeholder(tf.string, [None])
        count = tf.placeholder(tf.int64, [None])
        inputs = {"age": age, "city": city, "n": count}
        outputs = {"older": age + 1.0, "twice": count * 2, "size": tf.strings.length(city)}
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), inputs, outputs)
    with tf.load(tmp_path / "m") as found:
        yield found


@pytest.fixture
def frame() -> Any:
    """Two rows for the model."""
    return pandas.DataFrame({"age": [1.0, 2.0], "city": ["a", "bb"], "n": [3, 4]})


def test_pandas_own_types_of_numbers_fit(model: tf.Model, frame: Any) -> None:
    """``convert_dtypes`` makes such columns; a value that is missing is NaN."""
    found = model.predict(frame.convert_dtypes())
    assert found["twice"].tolist() == [6, 8]
    assert found["older"].dtype == np.float32
    ages = pandas.array([1, None], dtype="Int64")
    np.testing.assert_array_equal(model.predict(frame.assign(age=ages))["older"], [2.0, np.nan])


def test_a_missing_integer_is_named(model: tf.Model, frame: Any) -> None:
    """An integer has no NaN."""
    counts = pandas.array([1, None], dtype="Int64")
    with pytest.raises(tf.errors.InvalidArgumentError, match="missing in 'n'; the input n needs"):
        model.predict(frame.assign(n=counts))


def test_a_sparse_column_fits(model: tf.Model, frame: Any) -> None:
    """Its values are those of a dense one."""
    sparse = frame.age.astype(pandas.SparseDtype("float64"))
    assert model.predict(frame.assign(age=sparse))["older"].tolist() == [2.0, 3.0]


def test_columns_may_have_names_of_any_type(model: tf.Model, frame: Any) -> None:
    """Numbers, and pairs of a frame with two levels."""
    numbered = frame.set_axis([0, 1, 2], axis=1)
    found = model.predict(numbered, columns={"age": 0, "city": 1, "n": 2})
    assert found["older"].tolist() == [2.0, 3.0]
    pairs = frame.set_axis(pandas.MultiIndex.from_tuples([("p", 1), ("p", 2), ("q", 1)]), axis=1)
    named = {"age": ("p", 1), "city": ("p", 2), "n": ("q", 1)}
    assert model.predict(pairs, columns=named)["twice"].tolist() == [6, 8]


def test_a_column_that_is_missing_or_there_twice_is_named(model: tf.Model, frame: Any) -> None:
    """The error has the columns that there are."""
    with pytest.raises(TypeError, match=r"There is no column 'city'\. The inputs are age, city, n"):
        model.predict(frame[["age", "n"]])
    chosen = {"age": "years", "city": "city", "n": "n"}
    with pytest.raises(TypeError, match="no column 'years'; there are: 'age', 'city', 'n'"):
        model.predict(frame, columns=chosen)
    with pytest.raises(TypeError, match="2 columns have the name 'age'"):
        model.predict(pandas.concat([frame, frame[["age"]]], axis=1))


def test_a_column_of_text_becomes_boolean_by_its_words(tmp_path: Path) -> None:
    """The advice of the error makes False of "False", which `astype` does not."""
    with tf.Graph().as_default() as graph:
        tf.logical_not(tf.placeholder(tf.bool, [None], name="b"), name="not")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    frame = pandas.DataFrame({"b": ["True", "False"]})
    with tf.load(path) as model:
        with pytest.raises(TypeError, match=r"frame\['b'\]\.astype\(str\) == 'True'"):
            model.predict(frame)
        given = frame.assign(b=frame["b"].astype(str) == "True")
        assert model.predict(given).tolist() == [False, True]


def test_dates_are_no_numbers(model: tf.Model, frame: Any) -> None:
    """The error names the column."""
    dates = pandas.to_datetime(["2020-01-01", "2020-01-02"])
    with pytest.raises(TypeError, match="Column 'age' has type datetime64"):
        model.predict(frame.assign(age=dates))


@pytest.mark.parametrize("size", [1.5, "2"])
def test_a_batch_has_a_whole_number_of_rows(model: tf.Model, frame: Any, size: Any) -> None:
    """The error has the value."""
    with pytest.raises(TypeError, match=f"batch_size is a number of rows, an int, not {size!r}"):
        model.predict(frame, batch_size=size)
