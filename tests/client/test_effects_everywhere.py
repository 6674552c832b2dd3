"""All ops with effects, imported in all ways: none of them touches a file or calls Python.

Effects are observed through the interpreter (``sys.addaudithook``), not through the code under
test.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import tfnb as tf
from tests.client.test_safety import REFUSED
from tests.repeats import few
from tfnb.client.command_line.main import main
from tfnb.core import errors, op_registry
from tfnb.framework.functions.function import Defun
from tfnb.library.data.structured_function import StructuredFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


# ------------------------------------------------------------------------- what is really touched

_FILE_EVENTS: Final = frozenset(
    (
        "open", "os.rename", "os.remove", "os.link", "os.symlink", "os.mkdir", "os.rmdir",
        "os.listdir", "os.scandir", "os.truncate", "sqlite3.connect", "shutil.move",
    )
)  # fmt: skip
_watched: list[tuple[str, list[str]]] = []  # (a part of paths, what was touched), innermost last


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if _watched and event in _FILE_EVENTS:
        part, touched = _watched[-1]
        texts = [os.fsdecode(one) for one in args if isinstance(one, str | bytes)]
        if any(part in text for text in texts):
            touched.append(f"{event} {texts}")


sys.addaudithook(_hear)


@contextmanager
def touches_of(part: str) -> Iterator[list[str]]:
    """Collect events on files with ``part`` in their paths."""
    _watched.append((part, touched := []))
    try:
        yield touched
    finally:
        _watched.pop()


# -------------------------------------------------------------------------------------- the ops


@dataclass(frozen=True)
class Place:
    """Where an op works: all names contain ``canary``."""

    folder: Path

    @property
    def file(self) -> str:
        """Return the path of an existing file."""
        return str(self.folder / "canary.txt")

    @property
    def new(self) -> str:
        """Return the path of a missing file."""
        return str(self.folder / "canary.new")

    @property
    def checkpoint(self) -> str:
        """Return the path of an existing checkpoint."""
        return str(self.folder / "canary_model")

    @property
    def database(self) -> str:
        """Return the path of a file that is not a database."""
        return str(self.folder / "canary.txt")


raw = tf.raw_ops


def texts() -> Any:
    """A dataset of strings."""
    return raw.TensorSliceDataset(components=[tf.constant(["a", "b"])], output_shapes=[[]])


def first_of(dataset: Any, types: list[Any]) -> Any:
    """Return the ops that make an iterator over a dataset and take an element."""
    shapes = [[]] * len(types)
    iterator = raw.AnonymousIterator(output_types=types, output_shapes=shapes)
    with tf.control_dependencies([raw.MakeIterator(dataset=dataset, iterator=iterator)]):
        return raw.IteratorGetNext(iterator=iterator, output_types=types, output_shapes=shapes)[0]


def csv(op: str, p: Place) -> Any:
    """A dataset of rows."""
    more = {"exclude_cols": tf.constant([], tf.int64)} if op.endswith("V2") else {}
    return first_of(
        getattr(raw, op)(
            filenames=[p.file], compression_type="", buffer_size=100, header=False,
            field_delim=",", use_quote_delim=True, na_value="",
            select_cols=tf.constant([], tf.int64), record_defaults=[tf.constant([], tf.string)],
            output_shapes=[[]], **more,
        ),
        [tf.string],
    )  # fmt: skip


def cached(p: Place, second: bool) -> Any:
    """Return a dataset that caches its elements in a file."""
    kinds: dict[str, Any] = {"output_types": [tf.string], "output_shapes": [[]]}
    source = texts()
    if second:
        made = raw.CacheDatasetV2(
            input_dataset=source, filename=p.new, cache=raw.DummyMemoryCache(), **kinds
        )
    else:
        made = raw.CacheDataset(input_dataset=source, filename=p.new, **kinds)
    return first_of(made, [tf.string])


def saved(p: Place, second: bool) -> Any:
    """Return an op that saves a dataset, and a saving dataset."""
    source = tf.data.Dataset.from_tensor_slices(["a", "b"])
    one_file = StructuredFunction(lambda _: tf.constant(0, tf.int64), "save()", source.element_spec)
    arguments: dict[str, Any] = {
        "input_dataset": source._variant_tensor, "path": p.new, "shard_func_other_args": [],
        "shard_func": one_file.attr,
    }  # fmt: skip
    if second:
        return first_of(raw.SaveDatasetV2(**arguments, **STRINGS), [tf.string])
    return raw.SaveDataset(**arguments)


def loaded(p: Place) -> Any:
    """A dataset of saved elements."""
    dataset = tf.data.Dataset.load(p.new, element_spec=tf.TensorSpec([], tf.string))
    return first_of(dataset._variant_tensor, [tf.string])


def snapshot(p: Place) -> Any:
    """Return a dataset that keeps its elements in files."""
    source = tf.data.Dataset.from_tensor_slices(["a", "b"])
    kept = source.snapshot(p.new, shard_func=lambda _: tf.constant(0, tf.int64))
    return first_of(kept._variant_tensor, [tf.string])


def summary(p: Place, write: Callable[[Any], Any]) -> Any:
    """Return ops that make a summary writer and write to it."""
    writer = raw.SummaryWriter(shared_name=f"canary_{id(write)}")
    begun = raw.CreateSummaryFileWriter(
        writer=writer, logdir=p.new, max_queue=0, flush_millis=0, filename_suffix=""
    )
    with tf.control_dependencies([begun]):
        return write(writer)


def reader(p: Place, many: bool, second: bool) -> Any:
    """Return a reader whose queue holds the path."""
    if second:
        queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
        put = raw.QueueEnqueueV2(handle=queue, components=[tf.constant(p.file)])
        handle = raw.WholeFileReaderV2()
    else:
        queue = raw.FIFOQueue(component_types=[tf.string], shapes=[[]])
        put = raw.QueueEnqueue(handle=queue, components=[tf.constant(p.file)])
        handle = raw.WholeFileReader()
    end = "V2" if second else ""
    with tf.control_dependencies([put]):
        if many:
            read = getattr(raw, f"ReaderReadUpTo{end}")
            return read(reader_handle=handle, queue_handle=queue, num_records=1)[0]
        return getattr(raw, f"ReaderRead{end}")(reader_handle=handle, queue_handle=queue)[0]


def table(p: Place, second: bool) -> Any:
    """A table that is filled from a file."""
    kinds = {"key_dtype": tf.string, "value_dtype": tf.int64}
    columns = {"key_index": -2, "value_index": -1}
    if second:
        return raw.InitializeTableFromTextFileV2(
            table_handle=raw.HashTableV2(**kinds), filename=p.file, **columns
        )
    return raw.InitializeTableFromTextFile(
        table_handle=raw.HashTable(**kinds), filename=p.file, **columns
    )


CALLS: list[int] = []


def note_call(x: Any) -> Any:
    """Record a call in this process."""
    CALLS.append(1)
    return x


FIXED: Final = {"header_bytes": 0, "record_bytes": 1, "footer_bytes": 0, "buffer_size": 0}
FILES: Final = {"compression_type": "", "buffer_size": 0}
SQL: Final = {"driver_name": "sqlite", "query": "SELECT 1"}
STRINGS: Final = {"output_types": [tf.string], "output_shapes": [[]]}
V: Final = np.float32([[1.0]])
TOUCHING: Final[dict[str, Callable[[Place], Any]]] = {
    **{
        op: lambda p, op=op: csv(op, p)
        for op in ("CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset")
    },
    "CacheDataset": lambda p: cached(p, second=False),
    "CacheDatasetV2": lambda p: cached(p, second=True),
    "CreateSummaryFileWriter": lambda p: summary(p, lambda writer: tf.constant(0)),
    **{
        op: lambda p, op=op: getattr(raw, op)(
            input_dataset=texts(), filename=p.new, compression_type=""
        )
        for op in ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord")
    },
    **{
        op: lambda p, op=op: first_of(getattr(raw, op)(patterns=[f"{p.folder}/*"]), [tf.string])
        for op in ("MatchingFilesDataset", "ExperimentalMatchingFilesDataset")
    },
    **{
        op: lambda p, op=op: first_of(
            getattr(raw, op)(data_source_name=p.database, **SQL, **STRINGS), [tf.string]
        )
        for op in ("SqlDataset", "ExperimentalSqlDataset")
    },
    "FixedLengthRecordDataset": lambda p: first_of(
        raw.FixedLengthRecordDataset(filenames=[p.file], **FIXED), [tf.string]
    ),
    "FixedLengthRecordDatasetV2": lambda p: first_of(
        raw.FixedLengthRecordDatasetV2(filenames=[p.file], compression_type="", **FIXED),
        [tf.string],
    ),
    "FixedUnigramCandidateSampler": lambda p: raw.FixedUnigramCandidateSampler(
        true_classes=tf.constant([[0]], tf.int64), num_true=1, num_sampled=1, unique=False,
        range_max=2, vocab_file=p.file,
    )[0],
    "GenerateVocabRemapping": lambda p: raw.GenerateVocabRemapping(
        new_vocab_file=p.file, old_vocab_file=p.file, new_vocab_offset=0, num_new_vocab=1
    )[0],
    "ImmutableConst": lambda p: raw.ImmutableConst(
        dtype=tf.uint8, shape=[1], memory_region_name=p.file
    ),
    "InitializeTableFromTextFile": lambda p: table(p, second=False),
    "InitializeTableFromTextFileV2": lambda p: table(p, second=True),
    "LoadAndRemapMatrix": lambda p: raw.LoadAndRemapMatrix(
        ckpt_path=p.checkpoint, old_tensor_name="v", row_remapping=tf.constant([0], tf.int64),
        col_remapping=tf.constant([0], tf.int64), initializing_values=tf.constant([], tf.float32),
        num_rows=1, num_cols=1,
    ),
    "LoadDataset": loaded,
    "MatchingFiles": lambda p: raw.MatchingFiles(pattern=f"{p.folder}/*"),
    "MergeV2Checkpoints": lambda p: raw.MergeV2Checkpoints(
        checkpoint_prefixes=[p.checkpoint], destination_prefix=p.new
    ),
    "PrintV2": lambda p: raw.PrintV2(input="x", output_stream=f"file://{p.new}"),
    "PyFunc": lambda p: tf.py_func(note_call, [tf.constant(0)], tf.int32),
    "PyFuncStateless": lambda p: tf.py_func(
        note_call, [tf.constant(0)], tf.int32, stateful=False
    ),
    "EagerPyFunc": lambda p: tf.py_function(note_call, [tf.constant(0)], tf.int32),
    "ReadFile": lambda p: raw.ReadFile(filename=p.file),
    "ReaderRead": lambda p: reader(p, many=False, second=False),
    "ReaderReadUpTo": lambda p: reader(p, many=True, second=False),
    "ReaderReadV2": lambda p: reader(p, many=False, second=True),
    "ReaderReadUpToV2": lambda p: reader(p, many=True, second=True),
    "RecordInput": lambda p: raw.RecordInput(file_pattern=p.file, batch_size=1),
    "Restore": lambda p: raw.Restore(file_pattern=p.file, tensor_name="v", dt=tf.float32),
    "RestoreSlice": lambda p: raw.RestoreSlice(
        file_pattern=p.file, tensor_name="v", shape_and_slice="", dt=tf.float32
    ),
    "RestoreV2": lambda p: raw.RestoreV2(
        prefix=p.checkpoint, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32]
    )[0],
    "Save": lambda p: raw.Save(filename=p.new, tensor_names=["v"], data=[V]),
    "SaveDataset": lambda p: saved(p, second=False),
    "SaveDatasetV2": lambda p: saved(p, second=True),
    "SaveSlices": lambda p: raw.SaveSlices(
        filename=p.new, tensor_names=["v"], shapes_and_slices=[""], data=[V]
    ),
    "SaveV2": lambda p: raw.SaveV2(
        prefix=p.new, tensor_names=["v"], shape_and_slices=[""], tensors=[V]
    ),
    "SnapshotDatasetV2": snapshot,
    "TFRecordDataset": lambda p: first_of(
        raw.TFRecordDataset(filenames=[p.file], **FILES), [tf.string]
    ),
    "TFRecordDatasetV2": lambda p: first_of(
        raw.TFRecordDatasetV2(filenames=[p.file], byte_offsets=tf.constant([], tf.int64), **FILES),
        [tf.string],
    ),
    "TextLineDataset": lambda p: first_of(
        raw.TextLineDataset(filenames=[p.file], **FILES), [tf.string]
    ),
    "WriteFile": lambda p: raw.WriteFile(filename=p.new, contents="x"),
    "WriteSummary": lambda p: summary(
        p,
        lambda w: raw.WriteSummary(
            writer=w, step=tf.constant(0, tf.int64), tensor=V, tag="t", summary_metadata=""
        ),
    ),
    "WriteRawProtoSummary": lambda p: summary(
        p, lambda w: raw.WriteRawProtoSummary(writer=w, step=tf.constant(0, tf.int64), tensor=[""])
    ),
    "WriteScalarSummary": lambda p: summary(
        p,
        lambda w: raw.WriteScalarSummary(
            writer=w, step=tf.constant(0, tf.int64), tag="t", value=1.0
        ),
    ),
    "WriteHistogramSummary": lambda p: summary(
        p,
        lambda w: raw.WriteHistogramSummary(
            writer=w, step=tf.constant(0, tf.int64), tag="t", values=V
        ),
    ),
    "WriteImageSummary": lambda p: summary(
        p,
        lambda w: raw.WriteImageSummary(
            writer=w, step=tf.constant(0, tf.int64), tag="t", tensor=np.zeros((1, 2, 2, 1), "f"),
            bad_color=np.uint8([0]),
        ),
    ),
    "WriteAudioSummary": lambda p: summary(
        p,
        lambda w: raw.WriteAudioSummary(
            writer=w, step=tf.constant(0, tf.int64), tag="t", tensor=np.zeros((1, 4), "f"),
            sample_rate=1.0,
        ),
    ),
    "WriteGraphSummary": lambda p: summary(
        p, lambda w: raw.WriteGraphSummary(writer=w, step=tf.constant(0, tf.int64), tensor="")
    ),
    "ImportEvent": lambda p: summary(p, lambda w: raw.ImportEvent(writer=w, event="")),
}  # fmt: skip
"""Per op a node that touches files of a place, or calls :func:`note_call`."""

# Reference handles cannot be arguments or results of functions.
NO_FUNCTION: Final = frozenset({"ReaderRead", "ReaderReadUpTo", "InitializeTableFromTextFile"})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder with the files."""
    place = Place(tmp_path / "canary")
    place.folder.mkdir()
    (place.folder / "canary.txt").write_text("1\n")
    with tf.Graph().as_default(), tf.Session() as session:
        save = raw.SaveV2(
            prefix=place.checkpoint, tensor_names=["v"], shape_and_slices=[""], tensors=[V]
        )
        session.run(save)
    return place


def op_of(found: Any) -> Any:
    """Return the operation behind the result of a builder."""
    return found if isinstance(found, tf.Operation) else found.op


def number_after(found: Any) -> Any:
    """Return a number whose computation waits for a node."""
    with tf.control_dependencies([op_of(found)]):
        return tf.constant(1.0) + 0.0


# ------------------------------------------------------------------------------------- the ways

type_of_touch = "Callable[[], Any]"


def plainly(name: str, touch: Callable[[], Any]) -> None:
    """Return the node itself."""
    tf.identity(number_after(touch()), name=name)


def by_control_input(name: str, touch: Callable[[], Any]) -> None:
    """Return a constant that waits for the node."""
    with tf.control_dependencies([tf.group(op_of(touch()))]):
        tf.constant(1.0, name=name)


def in_function(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into a function that is inlined."""

    @Defun(func_name=f"f_{name}")
    def work() -> Any:
        return number_after(touch())

    tf.identity(work(), name=name)


def in_call(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into a function in a function; both stay calls."""

    @Defun(func_name=f"inner_{name}", noinline=True)
    def inner() -> Any:
        return number_after(touch())

    @Defun(func_name=f"outer_{name}", noinline=True)
    def outer() -> Any:
        return inner() + 1.0

    tf.identity(outer(), name=name)


def in_map(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into a function that a dataset calls."""
    dataset = tf.data.Dataset.range(99).map(lambda x: number_after(touch()))
    tf.identity(tf.data.make_one_shot_iterator(dataset).get_next(), name=name)


def in_cond(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into a branch."""
    flag = tf.placeholder_with_default(True, [])
    tf.identity(tf.cond(flag, lambda: number_after(touch()), lambda: 0.0), name=name)


def in_case(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into one of several branches."""
    index = tf.placeholder_with_default(1, [])
    branches = [lambda: 0.0, lambda: number_after(touch())]
    tf.identity(tf.switch_case(index, branches), name=name)


def in_while(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into the body of a loop."""

    def body(i: Any, x: Any) -> Any:
        return i + 1, x + number_after(touch())

    tf.identity(tf.while_loop(lambda i, x: i < 2, body, [0, 0.0])[1], name=name)


def in_nested(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into a branch in the body of a loop."""

    def body(i: Any, x: Any) -> Any:
        return i + 1, x + tf.cond(i >= 0, lambda: number_after(touch()), lambda: 0.0)

    tf.identity(tf.while_loop(lambda i, x: i < 2, body, [0, 0.0])[1], name=name)


def in_gradient(name: str, touch: Callable[[], Any]) -> None:
    """Put the node into a branch that is differentiated."""
    x = tf.placeholder_with_default(2.0, [], name=f"{name}_x")
    tf.identity(tf.cond(x > 0, lambda: tf.exp(x * number_after(touch())), lambda: x), name=name)


# way -> (builder, whether control flow is built as functions)
WAYS: Final[dict[str, tuple[Callable[[str, Callable[[], Any]], None], bool]]] = {
    "plain": (plainly, False),
    "control input": (by_control_input, False),
    "function": (in_function, False),
    "calls": (in_call, False),
    "map": (in_map, False),
    "cond": (in_cond, False),
    "If": (in_cond, True),
    "case": (in_case, False),
    "Case": (in_case, True),
    "while": (in_while, False),
    "While": (in_while, True),
    "nested": (in_nested, True),
    "gradient": (in_gradient, True),
}
IN_FUNCTIONS: Final = frozenset(WAYS) - {"plain", "control input", "cond", "case", "while"}


def built(way: str, place: Place, *only: str) -> tuple[tf.Graph, list[str]]:
    """Return the message of a graph with these ops (default: all), and its fetches."""
    build, as_functions = WAYS[way]
    ops = [op for op in only or TOUCHING if way not in IN_FUNCTIONS or op not in NO_FUNCTION]
    if as_functions:
        tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            for op in ops:
                build(f"out_{op}", lambda op=op: TOUCHING[op](place))
    finally:
        tf.disable_control_flow_v2()
    return graph, [f"out_{op}" for op in ops]


def contents(place: Place) -> dict[str, bytes]:
    """All files."""
    return {path.name: path.read_bytes() for path in place.folder.iterdir()}


@contextmanager
def nothing_happens(place: Place) -> Iterator[None]:
    """Check that no file of the place is touched and no Python is called in the block."""
    before = contents(place)
    CALLS.clear()
    with touches_of("canary") as touched:
        yield
    assert touched == []
    assert CALLS == []
    assert contents(place) == before


def check_refused(run: Callable[[], Any], what: str) -> None:
    """Check that a step is refused."""
    with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
        pytest.fail(f"{what} gave {run()}")


def test_every_op_with_effects_is_here() -> None:
    """A new op with effects needs an entry above.

    Ops for C++ tests of TensorFlow are no kernels.
    """
    assert set(TOUCHING) == {name for name, op in op_registry.all_ops().items() if op.effects}


@pytest.mark.parametrize("op", sorted(TOUCHING))
def test_ops_of_the_users_own_graph_do_what_they_say(place: Place, op: str) -> None:
    """Ops in the user's own graph touch the files, so the observation in the other tests works."""
    CALLS.clear()
    with tf.Graph().as_default(), tf.Session() as session, touches_of("canary") as touched:
        fetch = number_after(TOUCHING[op](place))
        try:
            session.run(fetch)
        except errors.PermissionDeniedError:
            raise
        except errors.OpError:
            assert touched  # the contents are nothing for this op
    assert touched or CALLS


@pytest.mark.slow
@pytest.mark.parametrize("part", few(range(3), 1))
@pytest.mark.parametrize("way", sorted(WAYS))
def test_an_imported_graph_touches_nothing(place: Place, way: str, part: int) -> None:
    """Run, callables, partial runs and gradients touch nothing, also after a second import.

    A test has a third of the ops, another one for each way. A graph has a few of them: what is
    prepared for a fetch costs what the whole graph does.
    """
    ops = list(TOUCHING)[(part + sorted(WAYS).index(way)) % 3 :: 3]
    for start in range(0, len(ops), 8):
        check_imported(place, way, *ops[start : start + 8])


def check_imported(place: Place, way: str, *ops: str) -> None:
    """Check that an imported graph with these ops touches nothing."""
    source, names = built(way, place, *ops)
    first = tf.Graph()
    with first.as_default():
        tf.import_graph_def(source.as_graph_def(), name="")
    second = tf.Graph()
    with second.as_default():
        tf.import_graph_def(first.as_graph_def(), name="again")
    gradients = {}
    if way == "gradient":
        with first.as_default():
            for name in names:
                y, x = (first.get_tensor_by_name(f"{one}:0") for one in (name, f"{name}_x"))
                gradients[name] = tf.gradients(y, x)
    with tf.Session(graph=first) as session, nothing_happens(place):
        for name in names:
            check_refused(lambda name=name: session.run(f"{name}:0"), name)
            check_refused(session.make_callable(f"{name}:0"), name)
            handle = session.partial_run_setup([f"{name}:0"], [])
            check_refused(
                lambda handle=handle, name=name: session.partial_run(handle, f"{name}:0"), name
            )
            if gradients:
                check_refused(lambda name=name: session.run(gradients[name]), name)
    with tf.Session(graph=second) as session, nothing_happens(place):
        for name in names:
            check_refused(lambda name=name: session.run(f"again/{name}:0"), name)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["plain", "function", "map", "If", "While"])
def test_a_meta_graph_touches_nothing(place: Place, way: str) -> None:
    """The table initializers that the MetaGraph names touch nothing either."""
    source, names = built(way, place)
    with source.as_default():
        for name in names:
            tf.add_to_collection(
                tf.GraphKeys.TABLE_INITIALIZERS, source.get_operation_by_name(name)
            )
        message = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(message)
        with nothing_happens(place):
            check_refused(lambda: session.run(tf.tables_initializer()), "all")
            for op in tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS):
                check_refused(lambda op=op: session.run(op), op.name)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["plain", "calls"])
def test_a_saved_model_touches_nothing(place: Place, tmp_path: Path, way: str) -> None:
    """Loading a model and running it from the command line touch nothing."""
    for op in TOUCHING:
        source, names = built(way, place, op)
        if not names:
            continue
        folder = str(tmp_path / f"model_{op}")
        with source.as_default(), tf.Session() as session:
            builder = tf.saved_model.Builder(folder)
            builder.add_meta_graph_and_variables(
                session, ["serve"], main_op=source.get_operation_by_name(names[0])
            )
            builder.save()
        with tf.Graph().as_default(), tf.Session() as session, nothing_happens(place):
            check_refused(
                lambda session=session, folder=folder: tf.saved_model.load(
                    session, ["serve"], folder
                ),
                op,
            )
        if op in ("ReadFile", "WriteFile", "PyFunc"):
            with nothing_happens(place):
                assert main(["run", folder, "--fetch", f"{names[0]}:0"]) != 0


@pytest.mark.slow
@pytest.mark.parametrize("way", ["plain", "While"])
def test_the_command_line_touches_nothing(
    place: Place, tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Running and summarizing a frozen graph touch nothing."""
    source, names = built(way, place, "ReadFile", "SaveV2", "PyFunc", "SqlDataset", "RestoreV2")
    path = str(tmp_path / "graph.pb")
    with open(path, "wb") as file:
        file.write(source.as_graph_def().SerializeToString())
    with nothing_happens(place):
        for name in names:
            assert main(["run", path, "--fetch", f"{name}:0"]) != 0
            assert "came from a file" in capsys.readouterr().err
        assert main(["summary", path]) == 0


def loader(message: Any, name: str) -> Callable[[], Any]:
    """Return a function that imports a graph and returns one of its tensors."""

    def load() -> Any:
        return tf.import_graph_def(message, name="", return_elements=[f"{name}:0"])[0]

    return load


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Defun", "map", "cond", "while"])
def test_functions_that_the_user_makes_of_loaded_ones_touch_nothing(
    place: Place, kind: str
) -> None:
    """Graphs imported inside branches, loops, mapped functions and functions touch nothing."""
    for op in TOUCHING:
        source, names = built("calls", place, op)
        if not names:
            continue
        message = source.as_graph_def()

        def made(load: Callable[[], Any]) -> Any:
            if kind == "Defun":
                return Defun()(load)()
            if kind == "map":
                dataset = tf.data.Dataset.range(1).map(lambda x: load())
                return tf.data.make_one_shot_iterator(dataset).get_next()
            if kind == "cond":
                return tf.cond(tf.placeholder_with_default(True, []), load, lambda: 0.0)
            shapes = [tf.TensorShape(None)]
            return tf.while_loop(lambda x: x < 1.0, lambda x: x + load(), [0.0], shapes)

        with tf.Graph().as_default(), tf.Session() as session:
            fetch = made(loader(message, names[0]))
            with nothing_happens(place):
                check_refused(lambda fetch=fetch, session=session: session.run(fetch), op)
