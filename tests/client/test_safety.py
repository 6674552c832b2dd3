"""Effects of a graph from a file: only those that its user fed or allowed."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.traced_memory import traced_memory
from tfnb.core import op_registry
from tfnb.core.step_events import StepObserver
from tfnb.framework.functions.function import Defun, from_library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

REFUSED = "came from a file, wants to"


def strangers(build: Callable[[], Any]) -> Any:
    """Return the message of a graph that another author built."""
    with tf.Graph().as_default() as graph:
        build()
    return graph.as_graph_def()


def load(build: Callable[[], Any], **kwargs: Any) -> Any:
    """Return a session on a loaded graph."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(strangers(build), name="", **kwargs)
    return tf.Session(graph=graph)


@pytest.fixture
def secret(tmp_path: Path) -> str:
    """A file that no test allows."""
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    return str(path)


def test_a_path_that_stands_in_a_loaded_graph_is_not_read(secret: str) -> None:
    """The error names node, op, path and the line that permits it."""
    with load(lambda: tf.read_file(secret, name="r")) as session:
        with pytest.raises(tf.errors.PermissionDeniedError) as caught:
            session.run("r:0")
        text = str(caught.value)
        for part in ("'r'", "ReadFile", secret, 'tfnb.safety.allow("read", under='):
            assert part in text
        assert caught.value.op is not None
        assert caught.value.op.name == "r"


def test_a_path_of_ones_own_graph_is_read(secret: str) -> None:
    """Nodes that the user's calls build need no permission."""
    with tf.Graph().as_default():
        contents = tf.read_file(secret)
        with tf.Session() as session:
            assert session.run(contents) == b"secret"


def test_a_fed_path_is_read(secret: str) -> None:
    """A fed path is read; another path in the same folder is refused."""

    def build() -> None:
        name = tf.placeholder(tf.string, [], name="name")
        tf.read_file(name, name="r")
        tf.read_file(tf.strings.join([name, "/../secret.txt"]), name="sly")

    with load(build) as session:
        assert session.run("r:0", {"name:0": secret}) == b"secret"
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run("sly:0", {"name:0": secret})


def test_a_path_that_the_users_own_node_gives_is_read(secret: str) -> None:
    """A path that an own node gives through input_map is read."""
    message = strangers(lambda: tf.read_file(tf.constant("/nowhere", name="p"), name="r"))
    with tf.Graph().as_default():
        found = tf.import_graph_def(
            message, input_map={"p:0": tf.constant(secret)}, return_elements=["r:0"]
        )
        with tf.Session() as session:
            assert session.run(found) == [b"secret"]


def test_allowing_works_at_once_and_ends_with_its_block(secret: str, tmp_path: Path) -> None:
    """A permission applies to the session that refused before, until the block ends."""
    with load(lambda: tf.read_file(secret, name="r")) as session:
        with tf.safety.allow("read", under=tmp_path):
            assert session.run("r:0") == b"secret"
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run("r:0")
        with (
            tf.safety.allow("write", under=tmp_path),
            tf.safety.allow("read", under=tmp_path / "elsewhere"),
            pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED),
        ):
            session.run("r:0")


def test_allowing_one_graph_allows_no_other(secret: str) -> None:
    """A permission for one graph does not apply to another."""
    with load(lambda: tf.read_file(secret, name="r")) as session:
        with load(lambda: tf.read_file(secret, name="r")) as other:
            with tf.safety.allow("file", graph=session.graph):
                assert session.run("r:0") == b"secret"
                with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                    other.run("r:0")


def test_a_loaded_graph_writes_nothing_unasked(tmp_path: Path) -> None:
    """A loaded graph writes neither files nor logs at paths that stand in the graph."""
    target, log = tmp_path / "target", tmp_path / "log"

    def build() -> None:
        tf.write_file(str(target), "x", name="w")
        tf.raw_ops.PrintV2(input=tf.constant("x"), output_stream=f"file://{log}", name="log")
        tf.raw_ops.PrintV2(input=tf.constant("x"), output_stream="stdout", name="out")

    with load(build) as session:
        for name in ("w", "log"):
            with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                session.run(name)
        session.run("out")
        assert not target.exists()
        assert not log.exists()
        with tf.safety.allow("write", under=tmp_path, graph=session.graph):
            session.run(["w", "log"])
    assert target.read_text() == "x"
    assert log.read_text() == "x\n"


def test_a_fed_path_may_be_written_but_not_replaced(secret: str, tmp_path: Path) -> None:
    """A fed path of an existing file that is no checkpoint is not overwritten."""

    def build() -> None:
        name = tf.placeholder(tf.string, [], name="name")
        tf.write_file(name, "x", name="w")

    with load(build) as session:
        session.run("w", {"name:0": str(tmp_path / "new")})
        assert (tmp_path / "new").read_text() == "x"
        with pytest.raises(tf.errors.PermissionDeniedError, match="there is a file of that name"):
            session.run("w", {"name:0": secret})


def test_a_loaded_graph_calls_no_python_function() -> None:
    """A loaded graph calls no Python function, although its token may be one of this process."""
    calls: list[int] = []
    with tf.Graph().as_default() as graph:
        tf.py_func(lambda: (calls.append(1), np.float32(1))[1], [], tf.float32, name="f")
    copy = tf.Graph()
    with copy.as_default():
        tf.import_graph_def(graph.as_graph_def(), name="")
    with tf.Session(graph=copy) as session:
        with pytest.raises(tf.errors.PermissionDeniedError, match="call a Python function"):
            session.run("f:0")
        assert calls == []
        with tf.safety.allow("python"):
            assert session.run("f:0") == 1
    with tf.Session(graph=graph) as session:
        assert session.run("f:0") == 1


def test_readers_are_watched_where_they_open_files(secret: str, tmp_path: Path) -> None:
    """Readers check paths when they open them: paths of other steps, feeds and the graph."""
    fed = tmp_path / "fed"
    fed.write_text("fed")

    def build() -> None:
        queue = tf.FIFOQueue(2, tf.string, shapes=[()])
        queue.enqueue([tf.placeholder_with_default(tf.constant(secret), [], name="name")], "put")
        tf.WholeFileReader().read(queue, "read")

    with load(build) as session:
        session.run("put", {"name:0": str(fed)})
        assert session.run("read:1") == b"fed"
        session.run("put")
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run("read:1")
        session.run("put")
        with tf.safety.allow("read"):
            assert session.run("read:1") == b"secret"


def test_datasets_of_files_are_refused_where_they_are_made(secret: str) -> None:
    """A dataset of files is refused when it is made; a cache without a file needs no permission."""

    def build() -> None:
        names = tf.constant(["/nowhere"] * 5000 + [secret])
        lines = tf.raw_ops.TextLineDataset(filenames=names, compression_type="", buffer_size=0)
        make(lines, tf.string, "start")
        numbers = tf.raw_ops.RangeDataset(
            start=0, stop=3, step=1, output_types=[tf.int64], output_shapes=[[]]
        )
        cached = tf.raw_ops.CacheDataset(
            input_dataset=numbers, filename="", output_types=[tf.int64], output_shapes=[[]]
        )
        make(cached, tf.int64, "count")

    def make(dataset: Any, dtype: Any, name: str) -> None:
        iterator = tf.raw_ops.IteratorV2(
            shared_name=name, container="", output_types=[dtype], output_shapes=[[]]
        )
        tf.raw_ops.MakeIterator(dataset=dataset, iterator=iterator, name=name)

    with load(build) as session:
        with (
            tf.safety.allow("read", under="/nowhere"),
            pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED) as caught,
        ):
            session.run("start")
        assert secret in str(caught.value)
        session.run("count")


@pytest.mark.parametrize("stays_a_call", [False, True])
def test_functions_of_a_loaded_graph_are_watched(secret: str, stays_a_call: bool) -> None:
    """Functions stay restricted, called or inlined; their arguments do not count as feeds."""

    def build() -> None:
        @Defun(tf.string, noinline=stays_a_call)
        def read(name: Any) -> Any:
            return tf.read_file(name)

        read(tf.constant(secret), name="call")
        read(tf.placeholder(tf.string, [], name="name"), name="call_fed")

    with load(build) as session:
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run("call:0")
        assert session.run("call_fed:0", {"name:0": secret}) == b"secret"


def test_functions_that_a_body_of_the_users_loads_are_watched(secret: str) -> None:
    """Functions that the user's function imports, or finds in a library, are restricted."""

    def build() -> None:
        @Defun(tf.string, noinline=True)
        def read(name: Any) -> Any:
            return tf.read_file(name)

        tf.identity(read(tf.constant(secret)), name="out")

    message = strangers(build)
    with tf.Graph().as_default(), tf.Session() as session:

        @Defun()
        def mine() -> Any:
            return tf.import_graph_def(message, name="", return_elements=["out:0"])[0]

        (read,) = [one for one in from_library(message.library) if one.name.startswith("read")]
        for result in (mine(), read(tf.constant(secret))):
            with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                session.run(result)
            with tf.safety.allow("read"):
                assert session.run(result) == b"secret"


def test_saver_of_a_loaded_graph_saves_and_restores_where_the_user_says(tmp_path: Path) -> None:
    """A fed path permits saving and restoring; the same ops refuse a path in the graph."""
    own, theirs = str(tmp_path / "own"), str(tmp_path / "theirs")

    def build() -> None:
        tf.get_variable("v", initializer=3.0)
        path = tf.placeholder_with_default(tf.constant(theirs), [], name="path")
        parts = tf.strings.join([path, "_temp_00ff/part"])
        shard = tf.raw_ops.ShardedFilename(basename=parts, shard=0, num_shards=1)
        value = tf.get_default_graph().get_tensor_by_name("v:0")
        save = tf.raw_ops.SaveV2(
            prefix=shard, tensor_names=["v"], shape_and_slices=[""], tensors=[value]
        )
        with tf.control_dependencies([save]):
            tf.raw_ops.MergeV2Checkpoints(
                checkpoint_prefixes=[shard], destination_prefix=path, name="save"
            )
        tf.raw_ops.RestoreV2(
            prefix=path, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32], name="read"
        )
        tf.global_variables_initializer()

    with load(build) as session:
        session.run("init")
        for _ in range(2):
            session.run("save", {"path:0": own})
        assert session.run("read:0", {"path:0": own}) == 3.0
        for fetch in ("save", "read:0"):
            with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                session.run(fetch)
    assert sorted(path.name.split(".")[0] for path in tmp_path.iterdir()) == ["own", "own"]


@pytest.mark.parametrize("version", [tf.train.SaverDef.V1, tf.train.SaverDef.V2])
@pytest.mark.parametrize("sharded", [False, True])
def test_a_saver_from_a_meta_graph_needs_no_permission(
    tmp_path: Path, version: int, sharded: bool
) -> None:
    """A saver of a MetaGraphDef works without a permission, because its calls feed the path."""
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", initializer=3.0)
        saver = tf.train.Saver(write_version=version, sharded=sharded)
        session.run(variable.initializer)
        saved = saver.save(session, path)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, saved)
        assert session.run("v:0") == 3.0
        for _ in range(2):
            copy = saver.save(session, str(tmp_path / "copy"))
        saver.restore(session, copy)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path + ".meta")
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run("save/restore_all")


def test_files_are_not_read_while_a_graph_is_loaded_or_prepared(secret: str) -> None:
    """Neither importing nor optimizing runs an op that reads files."""

    def build() -> None:
        tf.identity(tf.read_file(tf.constant(secret)), name="out")

    with load(build) as session:
        assert tf.get_static_value(session.graph.get_tensor_by_name("ReadFile:0")) is None
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run("out:0")


def test_effects_are_listed_without_running_anything(secret: str) -> None:
    """The list has a row for each node and path; computed paths are unknown."""

    def build() -> None:
        tf.read_file(secret, name="r")
        tf.write_file(tf.placeholder(tf.string, [], name="name"), "x", name="w")
        tf.raw_ops.PrintV2(input=tf.constant("x"), name="out")

    with load(build) as session:
        with session.graph.as_default():
            mine = tf.read_file(secret, name="mine")
        rows = [
            (row.node, row.op, row.kind, row.path, row.is_loaded)
            for row in tf.safety.effects(session.graph)
        ]
        assert rows == [
            ("r", "ReadFile", "read", secret, True),
            ("w", "WriteFile", "write", None, True),
            ("mine", "ReadFile", "read", secret, False),
        ]
        assert session.run(mine) == b"secret"


def test_a_mark_in_the_file_itself_means_nothing(secret: str) -> None:
    """An attribute in the file cannot remove the mark, and an exported message does not have it."""
    message = strangers(lambda: tf.read_file(secret, name="r"))
    message.node[1].attr["_loaded_from_file"].b = False
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(message, name="")
    with tf.Session(graph=graph) as session:
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run("r:0")
    with load(lambda: tf.read_file(secret, name="r")) as session:
        assert "_loaded_from_file" not in str(session.graph.as_graph_def())


def test_what_cannot_be_allowed_is_named() -> None:
    """``allow`` refuses unknown effects, missing ones and wrong arguments."""
    with pytest.raises(ValueError, match="no effect 'delete'"):
        tf.safety.allow("delete")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Say what to allow"):
        tf.safety.allow()
    with pytest.raises(ValueError, match="the effect 'python' has none"):
        tf.safety.allow("python", under="/")
    with pytest.raises(TypeError, match=r"must be a tf\.Graph"):
        tf.safety.allow("read", graph="g")


def test_every_op_that_touches_files_says_so() -> None:
    """Ops whose kernels open files or call Python declare these effects."""
    known = {
        name: {effect.kind for effect in op.effects}
        for name, op in op_registry.all_ops().items()
        if op.effects
    }
    reading = (
        "ReadFile MatchingFiles RestoreV2 Restore RestoreSlice ReaderReadV2 ReaderRead RecordInput "
        "ReaderReadUpToV2 ReaderReadUpTo InitializeTableFromTextFileV2 ImmutableConst "
        "TextLineDataset TFRecordDataset TFRecordDatasetV2 FixedLengthRecordDataset "
        "FixedLengthRecordDatasetV2 CSVDataset CSVDatasetV2 SqlDataset MatchingFilesDataset"
    )
    writing = "WriteFile SaveV2 Save SaveSlices PrintV2 MergeV2Checkpoints DatasetToTFRecord"
    both = {"CacheDataset": {"read", "write"}, "CacheDatasetV2": {"read", "write"}}
    wanted = {
        **dict.fromkeys(reading.split(), "read"),
        **dict.fromkeys(writing.split(), "write"),
        **dict.fromkeys(["PyFunc", "PyFuncStateless", "EagerPyFunc"], "python"),
    }
    assert {name: known.get(name) for name in (*wanted, *both)} == {
        **{name: {kind} for name, kind in wanted.items()},
        **both,
    }
    for name, op in op_registry.all_ops().items():
        names = {arg.name for arg in op.op_def.inputs} | set(op.op_def.attr_by_name)
        assert all(not one.source or one.source in names for one in op.effects), name


def endless_loop() -> None:
    """A loop that counts up to a limit."""
    total = tf.while_loop(lambda i: i >= 0, lambda i: tf.bitwise.bitwise_and(i + 1, 1), [0])
    tf.identity(total, name="endless")
    tf.identity(tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0]), name="short")


def test_iterations_are_limited() -> None:
    """The error names the limit; a loop within the limit runs."""
    with load(endless_loop) as session:
        tf.safety.limits(session.graph, max_iterations=100)
        for _ in range(2):
            with pytest.raises(
                tf.errors.ResourceExhaustedError, match="more than 100 iterations and calls"
            ):
                session.run("endless:0")
            assert session.run("short:0") == 5
        tf.safety.limits(session.graph)
        assert session.run("short:0") == 5


def test_iterations_of_a_loop_made_of_calls_are_limited() -> None:
    """A While that is not lowered calls a function per iteration, and each call counts."""

    def build() -> None:
        @Defun(tf.int32)
        def condition(i: Any) -> Any:
            return i >= 0

        @Defun(tf.int32)
        def body(i: Any) -> Any:
            return tf.bitwise.bitwise_and(i + 1, 1)

        tf.raw_ops.While(input=[tf.constant(0)], cond=condition, body=body, name="endless")

    with load(build) as session:
        tf.safety.limits(session.graph, max_iterations=100)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="more than 100 iterations"):
            session.run("endless:0")


def test_wall_time_is_limited() -> None:
    """An endless loop ends with DeadlineExceededError in older and newer sessions."""
    with load(endless_loop) as session:
        tf.safety.limits(session.graph, max_seconds=0.05)
        for one in (session, tf.Session(graph=session.graph)):
            with pytest.raises(tf.errors.DeadlineExceededError):
                one.run("endless:0")
            assert one.run("short:0") == 5


def test_sizes_of_tensors_are_limited() -> None:
    """The limit applies to sizes that are requested and to those that an op computes."""

    def build() -> None:
        size = tf.placeholder(tf.int32, [], name="size")
        tf.fill([size], 1.0, name="fill")
        row = tf.placeholder(tf.float32, [None], name="row")
        tf.multiply(row[:, None], row[None], name="table")

    with load(build) as session:
        tf.safety.limits(session.graph, max_tensor_bytes=4000)
        assert session.run("fill:0", {"size:0": 1000}).size == 1000
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
            session.run("fill:0", {"size:0": 1001})
        assert session.run("table:0", {"row:0": np.ones(10)}).size == 100
        with pytest.raises(tf.errors.ResourceExhaustedError, match="allows 4,000"):
            session.run("table:0", {"row:0": np.ones(100)})
    with tf.Session(graph=tf.Graph()) as other, other.graph.as_default():
        assert other.run(tf.fill([2000], 1.0)).size == 2000


def test_constants_are_limited_before_memory_is_taken() -> None:
    """A constant of few bytes in a file may repeat its value."""

    def build() -> None:
        one = tf.constant(1.0, name="one")
        tf.add(tf.placeholder_with_default(1.0, [], name="x"), one, name="sum")

    message = strangers(build)
    node = next(node for node in message.node if node.name == "one")
    node.attr["value"].tensor.tensor_shape.dim.add(size=2**24)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(message, name="")
        tf.safety.limits(graph, max_tensor_bytes=1_000_000)
        with (
            traced_memory() as memory,
            pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating 67,108,864"),
        ):
            session.run("sum:0")
        assert memory.peak < 2**24
        assert session.run("x:0") == 1.0


def test_sizes_are_limited_in_a_pool_before_memory_is_taken() -> None:
    """A kernel in another thread has the limit of its step."""

    def build() -> None:
        size = tf.placeholder(tf.int32, [], name="size")
        for number in range(3):
            tf.reduce_sum(tf.fill([size], 1.0), name=f"sum{number}")

    with tf.Graph().as_default() as graph:
        tf.import_graph_def(strangers(build), name="")
    config = tf.ConfigProto(inter_op_parallelism_threads=2, use_per_session_threads=True)
    with tf.Session(graph=graph, config=config) as session:
        tf.safety.limits(graph, max_tensor_bytes=4000)
        sums = [f"sum{number}:0" for number in range(3)]
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"tensor with shape\[100000\]"):
            session.run(sums, {"size:0": 100_000})
        assert session.run(sums, {"size:0": 1000}) == [1000.0] * 3


def test_compressed_text_unfolds_to_no_more_than_allowed() -> None:
    """Compressed text is not decompressed beyond the limit."""

    def build() -> None:
        text = tf.placeholder(tf.string, [None], name="text")
        tf.reduce_sum(tf.strings.length(tf.io.decode_compressed(text, "ZLIB")), name="length")

    small, large = zlib.compress(bytes(100_000)), zlib.compress(bytes(10_000_000))
    with load(build) as session:
        tf.safety.limits(session.graph, max_tensor_bytes=1_000_000)
        assert session.run("length:0", {"text:0": [small] * 9}) == 900_000
        for bomb in ([large], [small] * 11):
            with pytest.raises(tf.errors.ResourceExhaustedError, match="compressed bytes become"):
                session.run("length:0", {"text:0": bomb})


def test_sizes_are_limited_in_recorded_steps_too() -> None:
    """An observer of outputs does not replace the check of sizes."""

    def build() -> None:
        row = tf.placeholder(tf.float32, [None], name="row")
        tf.multiply(row[:, None], row[None], name="table")

    class Listener(StepObserver):
        def tensors_made(
            self, step_id: int, partition: int, node_id: int, outputs: Sequence[Any]
        ) -> None:
            heard.append(node_id)

    heard: list[int] = []
    with load(build) as session:
        tf.safety.limits(session.graph, max_tensor_bytes=4000)
        session.run("table:0", {"row:0": np.ones(10)})
        session.runtime.step_events.add(Listener())
        with pytest.raises(tf.errors.ResourceExhaustedError, match="allows 4,000"):
            session.run("table:0", {"row:0": np.ones(100)})
    assert heard


def test_nodes_of_a_file_are_limited() -> None:
    """A refused file leaves the graph unchanged; the user's own nodes do not count."""
    message = strangers(endless_loop)
    with tf.Graph().as_default() as graph:
        tf.safety.limits(max_nodes=10)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="allows 10"):
            tf.import_graph_def(message)
        assert graph.version == 0
        for _ in range(11):
            tf.constant(1)


def test_a_limit_is_positive() -> None:
    """A limit must be positive."""
    with pytest.raises(ValueError, match="`max_nodes` must be positive, not 0"):
        tf.safety.limits(max_nodes=0)


def test_elements_that_datasets_leave_out_are_counted() -> None:
    """Elements that skip, filter, unique and shard drop are counted."""

    def build() -> None:
        numbers = tf.data.Dataset.range(2**62)
        endless = tf.data.Dataset.from_tensors(1).repeat()
        datasets = {
            "skip": numbers.skip(2**61),
            "shard": numbers.shard(2**61, 2**60),
            "filter": numbers.filter(lambda x: x < 0),
            "unique": endless.apply(tf.data.experimental.unique()).skip(1),
            "batch": numbers.batch(2**40),
            "window": numbers.window(1, shift=2**40).skip(1).flat_map(lambda x: x),
        }
        tf.identity(numbers.reduce(np.int64(0), lambda x, y: y), name="reduce")
        for name, dataset in datasets.items():
            tf.identity(tf.data.make_one_shot_iterator(dataset).get_next(), name=name)

    with load(build) as session:
        tf.safety.limits(session.graph, max_iterations=1000)
        for name in ("skip", "shard", "filter", "unique", "batch", "window", "reduce"):
            with pytest.raises(tf.errors.ResourceExhaustedError, match="more than 1,000 iter"):
                session.run(f"{name}:0")


def test_sizes_of_strings_are_limited(tmp_path: Path) -> None:
    """The text of strings counts, and is checked before an op makes long text of short text."""
    long = tmp_path / "long"
    long.write_bytes(b"x" * 100_000)

    def build() -> None:
        text = tf.placeholder(tf.string, [None], name="text")
        path = tf.placeholder(tf.string, [], name="path")
        tf.identity(tf.read_file(path), name="read")
        tf.identity(text, name="same")
        wide = tf.strings.join([text, text[0]])
        tf.identity(wide, name="join")
        tf.strings.join([text, text], separator="-" * 5000, name="separator")
        tf.identity(tf.strings.reduce_join(text, 0, separator="-" * 5000), name="reduce")
        tf.strings.regex_replace(text, "a*", "b" * 5000, name="replace")
        tf.tile(text, [1000], name="tile")
        tf.identity(
            tf.while_loop(lambda x: True, lambda x: tf.strings.join([x, x]), [text[0]]), name="grow"
        )
        ragged = tf.RaggedTensor.from_row_splits(text, [0, tf.size(text, out_type=tf.int64)])
        tf.identity(tf.strings.ngrams(ragged, 3, "-" * 5000, ("<", ">")).values, name="ngrams")

    with load(build) as session:
        tf.safety.limits(session.graph, max_tensor_bytes=20_000)
        assert session.run("same:0", {"text:0": ["x" * 100] * 10}).size == 10
        for name in ("join", "separator", "reduce", "replace", "tile", "grow", "ngrams"):
            with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
                session.run(f"{name}:0", {"text:0": ["a" * 100] * 100})
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
            session.run("same:0", {"text:0": ["x" * 30_000]})
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
            session.run("read:0", {"path:0": str(long)})
