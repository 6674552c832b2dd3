"""``Model.map`` on real workers: every kind of collection, batches, permissions, a dead worker."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import dask.bag as db
import distributed
import numpy as np
import pytest

import tfnb as tf
from tests.interrupts import interrupted
from tests.polling import wait_until

if TYPE_CHECKING:
    from pathlib import Path

# A warning as an error in a thread of Dask would keep it from starting a killed worker again.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

ROWS = np.arange(40, dtype=np.float32).reshape(20, 2)
# With it, Dask does not call a function here to find out what it returns.
META = np.empty((0, 0), np.float32)


@pytest.mark.parametrize("batch_size", [None, 1, 3, 100])
def test_an_array_gives_an_array(frozen: str, client: Any, batch_size: int | None) -> None:
    """Blocks in both axes are joined along the columns; type and shape are known before a run."""
    model = tf.Model(frozen, outputs="y")
    x = da.from_array(ROWS, chunks=(7, 1))

    y = model.map(x, client=client, batch_size=batch_size)

    assert isinstance(y, da.Array)
    assert (y.shape, y.dtype, y.chunks) == ((20, 3), np.float32, ((7, 7, 6), (3,)))
    np.testing.assert_array_equal(client.compute(y).result(), model(ROWS))


def test_results_are_collections_like_others(frozen: str, client: Any) -> None:
    """They can be computed with, rechunked and reduced."""
    model = tf.Model(frozen, outputs="y")
    y = model.map(da.from_array(ROWS, chunks=5), client=client, chunk_rows=10)

    assert y.chunks[0] == (10, 10)
    assert client.compute((y + 1).sum()).result() == (model(ROWS) + 1).sum()


def test_several_outputs_give_a_dict(frozen: str, client: Any) -> None:
    """Each output is an array of its own."""
    model = tf.Model(frozen, outputs=["y", "sums"])
    found = model.map({"x": da.from_array(ROWS, chunks=(7, 2))}, client=client)
    y, sums = client.gather(client.compute([found["y"], found["sums"]]))

    assert sums.shape == (20,)
    np.testing.assert_array_equal(y.sum(1), sums)


def test_a_bag_gives_a_bag(frozen: str, client: Any) -> None:
    """Items are stacked to batches, and results are items."""
    model = tf.Model(frozen, outputs=["y", "sums"])
    bag = model.map(db.from_sequence(list(ROWS), npartitions=3), client=client, batch_size=4)
    found = client.compute(bag).result()

    assert isinstance(bag, db.Bag)
    assert [one["sums"] for one in found] == model(ROWS)["sums"].tolist()


def test_items_of_different_shapes_are_batched_apart(tmp_path: Path) -> None:
    """A graph for any length takes items of several lengths."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None], name="x")
        tf.reduce_sum(x, 1, name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    items = [np.ones(length) for length in (1, 1, 3, 2, 2)]
    with dask.config.set(scheduler="synchronous"):
        found = tf.Model(path).map(db.from_sequence(items, npartitions=1)).compute()

    assert found == [1.0, 1.0, 3.0, 2.0, 2.0]


def test_a_frame_gives_a_frame(frozen: str, client: Any) -> None:
    """Its index stays; vectors become columns."""
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    model = tf.Model(frozen, outputs=["y", "sums"])
    frame = pandas.DataFrame(ROWS, columns=["u", "v"], index=range(100, 120))
    made = model.map(frames.from_pandas(frame, npartitions=3), client=client)
    found = client.compute(made).result()

    assert list(made.columns) == ["y_0", "y_1", "y_2", "sums"]
    assert list(made.dtypes) == [np.float32] * 4
    assert list(found.index) == list(range(100, 120))
    np.testing.assert_array_equal(found[["y_0", "y_1", "y_2"]], model(ROWS)["y"])


def test_columns_of_a_frame_are_chosen(frozen: str) -> None:
    """A column that is missing, or of another type, is named before anything runs."""
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    model = tf.Model(frozen, outputs="sums")
    frame = pandas.DataFrame({"u": [1.0], "word": ["a"], "v": [2.0]})
    given = frames.from_pandas(frame, npartitions=1)
    with dask.config.set(scheduler="synchronous"):
        found = model.map(given, columns={"x": ["u", "v"]}).compute()
        with pytest.raises(TypeError, match="no column 'w'"):
            model.map(given, columns={"x": ["u", "w"]})
        with pytest.raises(TypeError, match="Column 'word'"):
            model.map(given, columns={"x": ["u", "word"]})

    assert found["sums"].tolist() == [36.0]


@pytest.fixture
def words_model(tmp_path: Path) -> tf.Model:
    """A model of strings: words [?, 2] -> both joined, and the length of each."""
    with tf.Graph().as_default() as graph:
        words = tf.placeholder(tf.string, [None, 2], name="words")
        tf.identity(tf.strings.reduce_join(words, 1), name="joined")
        tf.identity(tf.strings.length(words), name="lengths")
        path = tf.train.write_graph(graph, str(tmp_path), "words.pb", as_text=False)
    return tf.Model(path, outputs=["joined", "lengths"])


@pytest.mark.parametrize("dtype", ["object", "string", "string[pyarrow]", "category"])
@pytest.mark.parametrize("converts", [True, False])
def test_a_frame_of_strings_gives_strings(
    words_model: tf.Model, client: Any, dtype: str, converts: bool
) -> None:
    """Text goes in in every type that pandas has for it; strings come out as bytes."""
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame({"u": ["a", "é", ""], "v": ["xy", "z", "日本"]}).astype(dtype)
    with dask.config.set({"dataframe.convert-string": converts}):
        given = frames.from_pandas(frame, npartitions=2)
        made = words_model.map(given, client=client)
        found = client.compute(made).result()

    assert found["joined"].tolist() == [b"axy", "éz".encode(), "日本".encode()]
    assert found[["lengths_0", "lengths_1"]].to_numpy().tolist() == [[1, 2], [2, 1], [0, 6]]
    assert dict(made.dtypes) == dict(found.dtypes)


def test_strings_of_a_frame_must_be_there(words_model: tf.Model) -> None:
    """A number is no text, and a missing text is named with the way to fill it."""
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame({"u": ["a", None, "c"], "v": ["x", "y", "z"], "n": [1, 2, 3]})
    given = frames.from_pandas(frame, npartitions=1)
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(TypeError, match="Column 'n' has type int64; the input words is string"):
            words_model.map(given, columns={"words": ["u", "n"]})
        lacking = words_model.map(given, columns={"words": ["u", "v"]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"fillna\(\{'u': ''\}\)"):
            lacking.compute()
        filled = words_model.map(given.fillna({"u": ""}), columns={"words": ["u", "v"]})
        assert filled.compute()["joined"].tolist() == [b"ax", b"y", b"cz"]


def test_array_files_are_read_in_blocks(
    frozen: str, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block is a part of a file, so that files may be larger than the memory."""
    monkeypatch.setattr("tfnb.dask_runtime.read_files.BYTES_OF_A_BLOCK", 64)
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, ROWS)
    model = tf.Model(frozen, outputs="y")
    y = model.map(str(tmp_path / "*.npy"), client=client)

    assert y.chunks[0] == (8, 8, 4, 8, 8, 4)
    np.testing.assert_array_equal(client.compute(y).result()[20:], model(ROWS))


def test_records_of_files_give_a_bag(tmp_path: Path, client: Any) -> None:
    """A graph that parses examples gets serialized ones."""
    paths = []
    for number in range(2):
        paths.append(str(tmp_path / f"{number}.tfrecord"))
        with tf.python_io.TFRecordWriter(paths[-1]) as writer:
            for value in range(3):
                feature = tf.train.Feature(
                    float_list=tf.train.FloatList(value=[10 * number + value])
                )
                example = tf.train.Example(features=tf.train.Features(feature={"v": feature}))
                writer.write(example.SerializeToString())
    with tf.Graph().as_default() as graph:
        texts = tf.placeholder(tf.string, [None], name="texts")
        parsed = tf.parse_example(texts, {"v": tf.FixedLenFeature([], tf.float32)})
        tf.identity(parsed["v"], name="v")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)

    bag = tf.Model(path, outputs="v").map(paths, client=client)
    assert client.compute(bag).result() == [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]


@pytest.mark.parametrize("kind", ["checkpoint", "saved_model"])
def test_values_of_variables_travel_with_the_model(
    trained: dict[str, str], client: Any, kind: str
) -> None:
    """Workers open files of their own; those of the model may be gone."""
    names = {"signature": "sums"} if kind == "saved_model" else {"outputs": "y"}
    model = tf.Model(trained[kind], **names)
    y = model.map(da.from_array(ROWS, chunks=(7, 2)), client=client)

    np.testing.assert_array_equal(client.compute(y).result(), ROWS @ [10.0, 1.0])


def test_assets_travel_with_the_model(trained: dict[str, str], client: Any) -> None:
    """A table is filled from the model's own file in the worker."""
    model = tf.Model(trained["saved_model"], signature="words")
    found = model.map(db.from_sequence(["c", "a", "z"], npartitions=2), client=client)

    assert client.compute(found).result() == [2, 0, -1]


def test_a_model_is_sent_once_and_opened_once(frozen: str, client: Any) -> None:
    """A second map of the same files sends nothing, and a worker has one model for both."""
    x = da.from_array(ROWS, chunks=(2, 2))
    for _ in range(2):
        client.compute(tf.Model(frozen, outputs="y").map(x, client=client)).result()
    tf.Model(frozen, outputs="y").map(x, client=client)
    counts = client.run(_num_opened, frozen)

    assert set(counts.values()) <= {0, 1}
    assert sum(counts.values()) >= 1


def _num_opened(path: str, dask_worker: Any) -> int:
    """Return how many models of a file a worker has open."""
    plugins = [one for name, one in dask_worker.plugins.items() if name.startswith("tfnb-model-")]
    return sum(sent.path == path for one in plugins for sent in one.open_models)


def test_a_removed_model_says_what_to_do(frozen: str, client: Any) -> None:
    """Its collections fail with a sentence, and another map works."""
    model = tf.Model(frozen, outputs="sums")
    x = da.from_array(ROWS, chunks=(10, 2))
    y = model.map(x, client=client)
    tf.dask.remove_model(model, client)
    with pytest.raises(tf.errors.FailedPreconditionError, match="Map it with the client"):
        client.compute(y).result()

    assert client.compute(model.map(x, client=client)).result().shape == (20,)


def test_permissions_hold_in_workers_as_they_do_here(tmp_path: Path, client: Any) -> None:
    """A graph that reads a file is refused in a worker, until its owner allows it here."""
    secret = tmp_path / "secret"
    secret.write_text("s")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        text = tf.read_file(str(secret))
        tf.identity(tf.fill(tf.shape(x), text), name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    x_of_ones = da.ones(4, chunks=2, dtype=np.float32)
    model = tf.Model(path, outputs="y")
    with pytest.raises(tf.errors.PermissionDeniedError, match="secret"):
        client.compute(model.map(x_of_ones, client=client)).result()

    tf.safety.allow("read", under=tmp_path, graph=model.graph)
    assert client.compute(model.map(x_of_ones, client=client)).result().tolist() == [b"s"] * 4


def test_limits_hold_in_workers(frozen: str, client: Any) -> None:
    """A step that makes a larger tensor than allowed fails there as here."""
    model = tf.Model(frozen, outputs="y")
    tf.safety.limits(model.graph, max_tensor_bytes=16)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        client.compute(model.map(da.from_array(ROWS, chunks=(10, 2)), client=client)).result()


def test_a_graph_for_batches_of_one_size_takes_any_number_of_rows(tmp_path: Path) -> None:
    """The last batch is filled up, and what was added is cut off."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [8, 2], name="x")
        tf.reduce_sum(x, 1, name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    with dask.config.set(scheduler="threads"):
        y = tf.Model(path).map(da.from_array(ROWS, chunks=(11, 2)))
        assert y.shape == (20,)
        np.testing.assert_array_equal(y.compute(), ROWS.sum(1))


def test_axes_that_the_graph_does_not_tell_are_unknown_or_given(tmp_path: Path) -> None:
    """A rank that is not known has to be said."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        width = tf.placeholder_with_default(3, [], name="width")
        tf.tile(x[:, :1], [1, width], name="wide")
        shape = tf.placeholder_with_default([-1, 2], [None], name="shape")
        tf.reshape(x, shape, name="any")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    given = da.from_array(ROWS, chunks=(11, 2))
    with dask.config.set(scheduler="synchronous"):
        wide = tf.Model(path, inputs="x", outputs="wide").map(given)
        assert np.isnan(wide.shape[1])
        assert wide.compute().shape == (20, 3)
        unknown = tf.Model(path, inputs="x", outputs="any")
        with pytest.raises(ValueError, match=r"output_shapes=\{'any': \(10,\)\}"):
            unknown.map(given)
        assert unknown.map(given, output_shapes={"any": (2,)}).shape == (20, 2)


@pytest.mark.parametrize(
    ("collection", "error", "text"),
    [
        (np.ones((2, 2)), TypeError, r"dask.array.from_array\(x\)"),
        (da.ones((4, 5)), ValueError, "The input x has shape"),
        (da.ones((4, 2), dtype=complex), TypeError, "astype"),
        (da.ones(()), ValueError, "no rows"),
        ([], ValueError, "empty"),
        ("nowhere-*.npy", ValueError, "no file"),
        (["a.csv"], TypeError, "npy"),
        ({"z": da.ones((4, 2))}, TypeError, "'z' is not an input"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    frozen: str, collection: Any, error: type[Exception], text: str
) -> None:
    """The error says what to give instead."""
    with dask.config.set(scheduler="synchronous"), pytest.raises(error, match=text):
        tf.Model(frozen, outputs="y").map(collection)


def test_an_output_without_rows_is_refused(tmp_path: Path) -> None:
    """A total of all rows is not a model of rows."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.reduce_sum(x, name="total")
        tf.reduce_sum(x, 0, name="columns")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    given = da.from_array(ROWS, chunks=(11, 2))
    with dask.config.set(scheduler="synchronous"):
        for name in ("total", "columns"):
            with pytest.raises(ValueError, match="no row for each row"):
                tf.Model(path, outputs=name).map(given)


def test_empty_blocks_stay_empty(frozen: str) -> None:
    """A filter may leave blocks without rows."""
    given = da.from_array(ROWS, chunks=(5, 2))
    with dask.config.set(scheduler="synchronous"):
        y = tf.Model(frozen, outputs="y").map(given[given[:, 0] > 30])
        assert y.compute().shape == (4, 3)


def test_dasks_retries_run_a_failed_block_again(frozen: str, client: Any, tmp_path: Path) -> None:
    """A block that fails at first is computed again where the user asks for retries."""
    mark = str(tmp_path / "mark")
    given = da.from_array(ROWS, chunks=(10, 2)).map_blocks(_fail_once, mark, meta=META)
    y = tf.Model(frozen, outputs="sums").map(given, client=client)

    assert client.compute(y, retries=2).result().shape == (20,)
    assert os.path.exists(mark)


def _fail_once(block: Any, mark: str) -> Any:
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block
    raise RuntimeError("the first time")


def test_a_killed_worker_costs_only_its_blocks(frozen: str, client: Any, tmp_path: Path) -> None:
    """Another worker, or the one that Dask starts in its place, computes them."""
    mark = str(tmp_path / "mark")
    given = da.from_array(ROWS, chunks=(2, 2)).map_blocks(_die_once, mark, meta=META)
    model = tf.Model(frozen, outputs="y")
    y = model.map(given, client=client)

    np.testing.assert_array_equal(client.compute(y).result(), model(ROWS))
    assert os.path.exists(mark)


def _die_once(block: Any, mark: str) -> Any:
    """Kill the worker that comes first."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_an_interrupt_leaves_client_and_model_usable(
    frozen: str, client: Any, tmp_path: Path
) -> None:
    """The main thread waits for a result that does not come; afterwards another one comes."""
    started = tmp_path / "started"
    started_text, goes_on = str(started), str(tmp_path / "goes_on")
    given = da.from_array(ROWS, chunks=(20, 2)).map_blocks(
        _wait_for_file, started_text, goes_on, meta=META
    )
    model = tf.Model(frozen, outputs="y")
    future = client.compute(model.map(given, client=client))

    interrupted(future.result, lambda: wait_until(started.exists))
    future.cancel()
    (tmp_path / "goes_on").touch()
    y = model.map(da.from_array(ROWS, chunks=(5, 2)), client=client)
    np.testing.assert_array_equal(client.compute(y).result(), model(ROWS))


def _wait_for_file(block: Any, started: str, goes_on: str) -> Any:
    """Say that the block runs, and wait until it may end."""
    os.close(os.open(started, os.O_CREAT))
    wait_until(lambda: os.path.exists(goes_on))
    return block


@pytest.mark.parametrize("kind", ["checkpoint", "saved_model"])
def test_two_clients_of_one_scheduler_share_a_model(
    trained: dict[str, str], client: Any, kind: str
) -> None:
    """The second map does not disturb the first, and a removal by one is known to the other."""
    names = {"signature": "sums"} if kind == "saved_model" else {"outputs": "y"}
    x = da.from_array(ROWS, chunks=(7, 2))
    wanted = ROWS @ [10.0, 1.0]
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        first = tf.Model(trained[kind], **names).map(x, client=client)
        np.testing.assert_array_equal(client.compute(first).result(), wanted)
        before = _sendings(client)
        model = tf.Model(trained[kind], **names)
        second = model.map(x, client=other)
        np.testing.assert_array_equal(other.compute(second).result(), wanted)
        assert _sendings(client) == before
        assert second.name == first.name

        tf.dask.remove_model(model, client)
        with pytest.raises(tf.errors.FailedPreconditionError, match="Map it with the client"):
            other.compute(second + 1).result()
        again = model.map(x, client=other)
        np.testing.assert_array_equal(other.compute(again).result(), wanted)
        # That which the first client made before is not what was sent now.
        assert again.name != first.name


def _sendings(client: Any) -> set[tuple[str, str]]:
    """Return which model came by which sending, over all workers.

    A worker that Dask starts in the place of a killed one may join at any time, with the same.
    """
    return set().union(*client.run(_sendings_of_worker).values())


def _sendings_of_worker(dask_worker: Any) -> set[tuple[str, str]]:
    return {
        (name, one.sending)
        for name, one in dask_worker.plugins.items()
        if name.startswith("tfnb-model-")
    }


@pytest.mark.parametrize("kind", ["checkpoint", "saved_model"])
def test_workers_of_two_clusters_have_a_model_each(
    trained: dict[str, str], client: Any, kind: str
) -> None:
    """A collection belongs to the client that it was mapped with."""
    names = {"signature": "sums"} if kind == "saved_model" else {"outputs": "y"}
    model = tf.Model(trained[kind], **names)
    x = da.from_array(ROWS, chunks=(7, 2))
    with distributed.Client(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address="localhost:0",
        set_as_default=False,
    ) as threads:
        for used in (client, threads, client):
            found = used.compute(model.map(x, client=used)).result()
            np.testing.assert_array_equal(found, ROWS @ [10.0, 1.0])


def test_one_task_makes_a_block_and_runs_the_model(frozen: str) -> None:
    """Dask merges the model with what comes before and after, as it does for `map_blocks`."""
    x = da.ones((20, 2), chunks=(5, 2), dtype=np.float32) * 2
    with dask.config.set(scheduler="synchronous"):
        y = tf.Model(frozen, outputs="y").map(x)

    assert len(dict(dask.optimize(y + 1)[0].__dask_graph__())) == 4


def test_inputs_may_have_different_chunks_and_ranks(tmp_path: Path) -> None:
    """Rows are divided alike; arrays with different numbers of rows are refused."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2, 3], name="x")
        z = tf.placeholder(tf.float32, [None], name="z")
        tf.add(tf.reduce_sum(x, [1, 2]), z, name="sums")
        tf.multiply(tf.reshape(z, [-1, 1, 1, 1]), tf.expand_dims(x, 3), name="cubes")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    x_values = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
    z_values = np.arange(10, dtype=np.float32)
    given = {
        "x": da.from_array(x_values, chunks=(4, 1, 2)),
        "z": da.from_array(z_values, chunks=3),
    }
    with dask.config.set(scheduler="synchronous"):
        model = tf.Model(path, inputs=["x", "z"], outputs=["sums", "cubes"])
        found = model.map(given)
        sums, cubes = dask.compute(found["sums"], found["cubes"])
        np.testing.assert_array_equal(sums, x_values.sum((1, 2)) + z_values)
        np.testing.assert_array_equal(cubes, (z_values[:, None, None] * x_values)[..., None])
        assert found["cubes"].shape == (10, 2, 3, 1)
        for name, wanted in (("sums", sums), ("cubes", cubes)):
            alone = tf.Model(path, inputs=["x", "z"], outputs=name).map(given)
            np.testing.assert_array_equal(alone.compute(), wanted)
        for rows in (1, 9):
            with pytest.raises(ValueError, match="differ in their numbers of rows"):
                model.map({**given, "z": given["z"][:rows]})


@pytest.mark.parametrize("block", [None, 3, np.float32(3), [1, 2], "text"])
def test_a_block_that_is_no_array_is_refused(frozen: str, client: Any, block: Any) -> None:
    """Dask's description of a collection may be wrong."""
    rows = da.from_array(ROWS, chunks=(7, 2))
    wrong = rows.map_blocks(lambda _, made: made, made=block, meta=META)
    with pytest.raises(TypeError, match="is no array with rows, but a"):
        tf.Model(frozen).map(wrong).compute()
