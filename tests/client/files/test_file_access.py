"""File access of loaded graphs.

The file that is really opened decides, not the text of its path.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.test_safety import REFUSED, load, strangers
from tfnb.core import errors
from tfnb.framework.functions.function import Defun
from tfnb.proto import meta_graph_pb2, saved_model_pb2

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside of all allowed folders."""
    path = tmp_path / "outside" / "secret.txt"
    path.parent.mkdir()
    path.write_text("secret")
    return path


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """An allowed folder."""
    path = tmp_path / "inside"
    path.mkdir()
    return path


def tree(folder: Path) -> dict[str, str]:
    """Return the paths and contents of a folder."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_text(errors="replace")
        for path in sorted(folder.rglob("*"))
        if not path.is_dir() or path.is_symlink()
    }


# ------------------------------------------------------------------------------------ assets


def save_model_with_asset(folder: Path, build: Callable[[Any], Any]) -> Path:
    """A SavedModel whose initializer is made of the path of its one asset, ``words.txt``."""
    source = folder / "words.txt"
    source.write_text("one\ntwo")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        path = tf.constant(str(source), name="asset")
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, path)
        contents = tf.Variable("", name="contents", use_resource=True)
        tf.identity(contents.read_value(), name="found")
        with graph.control_dependencies(None):
            init = tf.group(build(path), name="init_all")
        session.run(contents.initializer)
        builder = tf.saved_model.Builder(str(folder / "model"))
        builder.add_meta_graph_and_variables(
            session, ["serve"], assets_collection=tf.get_collection("asset_filepaths"), main_op=init
        )
        builder.save()
    return folder / "model"


def keep_contents(path: Any) -> Any:
    """Read the asset into the variable."""
    (contents,) = tf.global_variables()
    return contents.assign(tf.read_file(path))


def rename_asset(model: Path, name: str) -> None:
    """Rename the asset in the model, as an attacker could."""
    message = saved_model_pb2.SavedModel()
    message.ParseFromString((model / "saved_model.pb").read_bytes())
    for graph in message.meta_graphs:
        for packed in graph.collection_def["saved_model_assets"].any_list.value:
            asset = meta_graph_pb2.AssetFileDef()
            packed.Unpack(asset)
            asset.filename = name
            packed.Pack(asset)
    (model / "saved_model.pb").write_bytes(message.SerializeToString())


def load_model(model: Path) -> bytes:
    """Return what the model's initializer reads."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(model))
        found: bytes = session.run("found:0")
        return found


def test_a_models_own_assets_are_read(tmp_path: Path) -> None:
    """A model's own assets need no permission, also if a link leads to the model's folder."""
    model = save_model_with_asset(tmp_path, keep_contents)
    assert load_model(model) == b"one\ntwo"
    (tmp_path / "link").symlink_to(model)
    assert load_model(tmp_path / "link") == b"one\ntwo"


@pytest.mark.parametrize(
    "name", ["{secret}", "../../outside/secret.txt", "sub/../../secret", "", ".", "file://{secret}"]
)
def test_an_asset_with_a_name_outside_of_the_model_is_refused(
    tmp_path: Path, secret: Path, name: str
) -> None:
    """An absolute name, ``..``, or an empty name is refused, and nothing is read."""
    model = save_model_with_asset(tmp_path, keep_contents)
    rename_asset(model, name.format(secret=secret))
    with pytest.raises(tf.errors.InvalidArgumentError, match="no file in its folder"):
        load_model(model)


def test_an_asset_that_is_a_link_out_of_the_model_is_refused(tmp_path: Path, secret: Path) -> None:
    """A file or a folder of assets that is a link out of the model is refused."""
    model = save_model_with_asset(tmp_path, keep_contents)
    asset = model / "assets" / "words.txt"
    asset.unlink()
    asset.symlink_to(secret)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no file in its folder"):
        load_model(model)
    asset.unlink()
    asset.parent.rmdir()
    (secret.parent / "words.txt").write_text("secret")
    asset.parent.symlink_to(secret.parent)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no file in its folder"):
        load_model(model)


@pytest.mark.parametrize("exists", [True, False])
def test_an_asset_is_read_and_never_written(tmp_path: Path, exists: bool) -> None:
    """The initializer may neither make nor replace the file."""
    model = save_model_with_asset(tmp_path, lambda path: tf.write_file(path, "import os"))
    if not exists:
        (model / "assets" / "words.txt").unlink()
    before = tree(model)
    with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
        load_model(model)
    assert tree(model) == before


# ---------------------------------------------------------------------------------------- databases


@pytest.fixture
def database(inside: Path) -> Path:
    """A database with a table of two rows, and hard characters in its name."""
    path = inside / "a%2e?b#c.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (name TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [("one",), ("two",)])
    connection.close()
    return path


def rows_of(source: str, query: str) -> Any:
    """Return the first row of a query, as a tensor."""
    dataset = tf.data.experimental.SqlDataset("sqlite", source, query, (tf.string,))
    return tf.data.make_one_shot_iterator(dataset).get_next()[0]


def run_stranger(build: Callable[[], Any]) -> Any:
    """Run a loaded graph and return its result."""
    with load(lambda: tf.identity(build(), name="out")) as session:
        return session.run("out:0")


def first_row(source: str, query: str, is_stranger: bool) -> Any:
    """Return the first row of a query, in the user's graph or in a loaded one."""
    if is_stranger:
        return run_stranger(lambda: rows_of(source, query))
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(rows_of(source, query))


@pytest.mark.parametrize("is_stranger", [False, True])
def test_a_query_reads(database: Path, inside: Path, is_stranger: bool) -> None:
    """Queries may use tables, functions, recursion and views of the schema.

    The name is used literally.
    """
    queries = {
        "SELECT name FROM t ORDER BY name DESC": b"two",
        "SELECT upper(group_concat(name, '+')) FROM t": b"ONE+TWO",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<5) "
        "SELECT sum(x) FROM c": b"15",
        "SELECT name FROM pragma_table_info('t')": b"name",
    }
    for query, wanted in queries.items():
        with tf.safety.allow("read", under=inside):
            assert first_row(str(database), query, is_stranger) == wanted


@pytest.mark.parametrize("is_stranger", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        "VACUUM INTO '{target}'",
        "ATTACH '{target}' AS other",
        "ATTACH 'file:{target}?mode=rwc' AS other",
        "CREATE TABLE u (x)",
        "CREATE TEMP TABLE u (x)",
        "DELETE FROM t RETURNING name",
        "INSERT INTO t VALUES ('x') RETURNING name",
        "PRAGMA journal_mode=WAL",
        "PRAGMA writable_schema=ON",
        "SELECT load_extension('{target}')",
        "SELECT writefile('{target}', 'x')",
        "UPDATE sqlite_master SET sql='x' RETURNING name",
        "BEGIN",
    ],
)
def test_a_query_that_does_more_than_read_is_refused(
    database: Path, tmp_path: Path, inside: Path, query: str, is_stranger: bool
) -> None:
    """Nothing is written, neither in the allowed folder nor outside, also without a file."""
    for target in (inside / "new", tmp_path / "new"):
        for source in (str(database), ""):
            text = query.format(target=target)
            before = tree(tmp_path)
            with tf.safety.allow("file", under=inside), pytest.raises(tf.errors.UnknownError):
                first_row(source, text, is_stranger)
            assert tree(tmp_path) == before


@pytest.mark.parametrize("is_stranger", [False, True])
@pytest.mark.parametrize(
    "name", ["new.db", "new.db?mode=rwc", "%2e%2e/new.db", "../new.db?mode=rwc&x="]
)
def test_a_database_that_is_not_there_is_not_made(
    tmp_path: Path, inside: Path, name: str, is_stranger: bool
) -> None:
    """No database is created; parameters of the address are part of the name."""
    before = tree(tmp_path)
    with tf.safety.allow("file", under=inside), pytest.raises(errors.OpError):
        first_row(f"{inside}/{name}", "SELECT 1", is_stranger)
    assert tree(tmp_path) == before


def test_a_database_outside_is_not_read(tmp_path: Path, inside: Path, database: Path) -> None:
    """Links, escapes, and an open write-ahead log do not give access to a database outside."""
    outside = tmp_path / "outside.db"
    database.rename(outside)
    (inside / "link.db").symlink_to(outside)
    for name in ("link.db", "../outside.db", "%2e%2e/outside.db"):
        with tf.safety.allow("file", under=inside), pytest.raises(errors.OpError):
            run_stranger(lambda name=name: rows_of(f"{inside}/{name}", "SELECT name FROM t"))


def test_a_query_without_end_ends_with_the_step(database: Path) -> None:
    """A time-out interrupts SQLite."""
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c"
    with tf.Graph().as_default(), tf.Session() as session:
        row = rows_of(str(database), endless)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(row, options=tf.RunOptions(timeout_in_ms=50))


def test_databases_are_listed_among_the_effects(database: Path) -> None:
    """The list has databases, also one with an empty name."""

    def build() -> None:
        for number, source in enumerate((str(database), "")):
            tf.raw_ops.SqlDataset(
                driver_name="sqlite",
                data_source_name=source,
                query="SELECT 1",
                output_types=[tf.string],
                output_shapes=[[]],
                name=f"sql{number}",
            )

    with load(build) as session:
        rows = [(one.node, one.kind, one.path) for one in tf.safety.effects(session.graph)]
    assert rows == [("sql0", "read", str(database)), ("sql1", "read", "")]


# -------------------------------------------------------------------------------- derived functions


@pytest.mark.parametrize("kind", ["cond", "while", "case"])
@pytest.mark.parametrize("effect", ["read", "write", "python"])
def test_gradients_of_loaded_branches_keep_the_mark(
    tmp_path: Path, secret: Path, kind: str, effect: str
) -> None:
    """The functions that tf.gradients makes of loaded If, While and Case stay marked as loaded."""
    target, calls = tmp_path / "target", []

    def call(x: Any) -> Any:
        calls.append(1)
        return x

    def touch(x: Any) -> Any:
        if effect == "python":
            return tf.py_func(call, [x], tf.float32)
        if effect == "write":
            with tf.control_dependencies([tf.write_file(str(target), "x")]):
                return tf.identity(x)
        length = tf.strings.length(tf.read_file(str(secret)))
        return tf.cast(length, tf.float32) * x

    def build() -> None:
        x = tf.placeholder_with_default(2.0, [], name="x")

        def work(x: Any = x) -> Any:
            with tf.control_dependencies([touch(x)]):
                return tf.exp(x)

        if kind == "cond":
            y = tf.cond(x > 0, work, lambda: x)
        elif kind == "case":
            y = tf.switch_case(tf.cast(x, tf.int32) - 2, [work, lambda: x])
        else:
            y = tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, work(v)), [0, x])[1]
        tf.identity(y, name="y")

    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default() as source:  # lives, so that its Python function does
            build()
        message = source.as_graph_def()
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x, y = tf.import_graph_def(message, name="", return_elements=["x:0", "y:0"])
            (gradient,) = tf.gradients(y, x)
            for fetches in (y, gradient, [y, gradient]):
                with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                    session.run(fetches)
            assert not target.exists()
            assert calls == []
            with tf.safety.allow("file", "python", graph=graph):
                session.run(gradient)
    finally:
        tf.disable_control_flow_v2()


def test_a_copy_of_a_loaded_node_in_a_function_keeps_the_mark(secret: Path) -> None:
    """Defun(capture_by_value) copies a captured node into its body with its mark."""
    message = strangers(lambda: tf.identity(tf.read_file(str(secret)), name="out"))
    with tf.Graph().as_default(), tf.Session() as session:
        (found,) = tf.import_graph_def(message, name="", return_elements=["out:0"])

        @Defun(capture_by_value=True)
        def copied() -> Any:
            return tf.identity(found)

        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            session.run(copied())


def test_the_users_own_branches_stay_free_beside_loaded_ones(secret: Path) -> None:
    """The user's own branches and their gradients need no permission."""
    message = strangers(lambda: tf.placeholder_with_default(2.0, [], name="x"))
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            (x,) = tf.import_graph_def(message, name="", return_elements=["x:0"])

            def work() -> Any:
                length = tf.strings.length(tf.read_file(str(secret)))
                return x * x * tf.cast(length, tf.float32)

            y = tf.cond(x > 0, work, lambda: x)
            assert session.run(tf.gradients(y, x)) == [24.0]
    finally:
        tf.disable_control_flow_v2()


# ------------------------------------------------------------------------------------- links, names


def test_links_out_of_an_allowed_folder_are_not_followed(secret: Path, inside: Path) -> None:
    """Reading, writing and patterns do not follow links out of an allowed folder."""
    (inside / "file").symlink_to(secret)
    (inside / "folder").symlink_to(secret.parent)
    (inside / "own").write_text("own")
    (inside / "alias").symlink_to(inside / "own")
    with tf.safety.allow("file", under=inside):
        assert run_stranger(lambda: tf.read_file(f"{inside}/alias")) == b"own"
        for path in ("file", "folder/secret.txt", "../outside/secret.txt"):
            with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                run_stranger(lambda path=path: tf.read_file(f"{inside}/{path}"))
        for path in ("folder/new", "../outside/new", "folder/sub/new"):
            with load(lambda path=path: tf.write_file(f"{inside}/{path}", "x", name="w")) as other:
                with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                    other.run("w")
        # A link of that name is replaced, its target is not.
        with load(lambda: tf.write_file(f"{inside}/file", "x", name="w")) as other:
            with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                other.run("w")
    assert secret.read_text() == "secret"
    assert tree(secret.parent) == {"secret.txt": "secret"}


def test_patterns_stay_in_an_allowed_folder(secret: Path, inside: Path) -> None:
    """Patterns do not reveal files behind a link that leads out of the folder."""
    (inside / "folder").symlink_to(secret.parent)
    (inside / "sub").mkdir()
    (inside / "sub" / "own").write_text("own")

    def listed(pattern: str) -> list[bytes]:
        found = run_stranger(lambda: tf.matching_files(f"{inside}/{pattern}"))
        return [name.removeprefix(f"{inside}/".encode()) for name in found.tolist()]

    with tf.safety.allow("read", under=inside):
        assert listed("*") == [b"folder", b"sub"]
        assert listed("*/*") == [b"sub/own"]
        assert listed("s?b/o*") == [b"sub/own"]
        assert listed("sub/own") == [b"sub/own"]
        for pattern in ("folder/*", "folder/secret.txt", "../outside/*", "../*/secret.txt"):
            with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
                listed(pattern)


def test_hard_names_are_errors_and_open_nothing(
    tmp_path: Path, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty names, NUL, a trailing slash, a home folder, pipes and devices raise errors at once."""
    (inside / "own").write_text("own")
    os.mkfifo(inside / "pipe")
    monkeypatch.chdir(inside)
    names = [
        "", "a\0b", f"{inside}/own/", f"{inside}/own/.", f"{inside}/pipe", f"{inside}", ".",
        "~/own", "/dev/zero", "/dev/stdin", "/proc/self/mem", f"{inside}/own/../own/x", "x" * 5000,
    ]  # fmt: skip
    with tf.safety.allow("file"):
        for name in names:
            with pytest.raises(errors.OpError):
                run_stranger(lambda name=name: tf.read_file(name))
            with load(lambda name=name: tf.write_file(name, "x", name="w")) as session:
                if not name.startswith(("/dev", "/proc", "~")) and name != f"{inside}/pipe":
                    with pytest.raises(errors.OpError):
                        session.run("w")
        assert run_stranger(lambda: tf.read_file(f"file://{inside}/own")) == b"own"
    assert (inside / "own").read_text() == "own"


# ---------------------------------------------------------------------------------- checkpoints


def save_meta_graph(prefix: Path) -> None:
    """A checkpoint of one variable, with its .meta file."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", initializer=3.0)
        session.run(variable.initializer)
        tf.train.Saver().save(session, str(prefix))


@pytest.mark.parametrize("sly", ["SaveV2", "Save", "WriteFile", "MergeV2Checkpoints"])
def test_restoring_gives_no_leave_to_write(tmp_path: Path, sly: str) -> None:
    """A loaded .meta cannot replace the checkpoint that the user restored."""
    save_meta_graph(tmp_path / "model")
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(str(tmp_path / "model.meta"))
        graph = tf.get_default_graph()
        path = graph.get_tensor_by_name("save/Const:0")
        value = np.float32([1.0])
        if sly == "SaveV2":
            bad = tf.raw_ops.SaveV2(
                prefix=path, tensor_names=["v"], shape_and_slices=[""], tensors=[value]
            )
        elif sly == "Save":
            bad = tf.raw_ops.Save(filename=path, tensor_names=["v"], data=[value])
        elif sly == "WriteFile":
            bad = tf.write_file(tf.strings.join([path, ".index"]), "x")
        else:
            bad = tf.raw_ops.MergeV2Checkpoints(
                checkpoint_prefixes=[path], destination_prefix=tf.strings.join([path, "-other"])
            )
        graph.get_operation_by_name("save/restore_all")._add_control_input(bad)
        saver.export_meta_graph(str(tmp_path / "sly.meta"))
    message = meta_graph_pb2.MetaGraphDef.FromString((tmp_path / "sly.meta").read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(message)
        with pytest.raises(tf.errors.PermissionDeniedError, match=REFUSED):
            saver.restore(session, str(tmp_path / "model"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_path_that_was_saved_to_is_written_in_that_step_only(tmp_path: Path) -> None:
    """A path fed in an earlier step cannot be written by later steps of the loaded graph."""
    save_meta_graph(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "model.meta"))
        message = strangers(
            lambda: tf.raw_ops.SaveV2(
                prefix=str(tmp_path / "copy"),
                tensor_names=["v"],
                shape_and_slices=[""],
                tensors=[np.float32([1.0])],
                name="bad",
            )
        )
        tf.import_graph_def(message, name="")
        saver.restore(session, str(tmp_path / "model"))
        saver.save(session, str(tmp_path / "copy"))
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        with pytest.raises(tf.errors.PermissionDeniedError, match="or to another step"):
            session.run("bad")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_saver_that_names_another_checkpoint_deletes_nothing(tmp_path: Path) -> None:
    """The saver deletes no old checkpoint whose name comes from the loaded save node."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    save_meta_graph(tmp_path / "model")
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(str(tmp_path / "model.meta"))
        tf.identity(tf.constant(str(precious)), name="sly")
        saver.saver_def.save_tensor_name = "sly:0"
        saver.saver_def.version = tf.train.SaverDef.V1
        saver.saver_def.max_to_keep = 1
        saver.export_meta_graph(str(tmp_path / "sly.meta"))
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "sly.meta"))
        for step in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="says that it saved to"):
                saver.save(session, str(tmp_path / "mine"), global_step=step)
    assert precious.read_text() == "precious"


def test_parts_of_a_checkpoint_are_not_links_to_other_files(tmp_path: Path, secret: Path) -> None:
    """A part of a checkpoint may not be a link.

    The user named the checkpoint, not the link's target.
    """
    save_meta_graph(tmp_path / "model")
    data = tmp_path / "model.data-00000-of-00001"
    data.rename(secret.parent / "data")
    data.symlink_to(secret.parent / "data")
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "model.meta"))
        with pytest.raises(tf.errors.PermissionDeniedError, match="it leads to"):
            saver.restore(session, str(tmp_path / "model"))
        with tf.safety.allow("read", under=secret.parent):
            saver.restore(session, str(tmp_path / "model"))
        assert session.run("v:0") == 3.0
