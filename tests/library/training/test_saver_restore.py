"""tfnb's own features of savers: all-or-nothing restores with a comparison, atomic saves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable


def _saved(folder: Path, make: Callable[[], Any], **options: Any) -> str:
    with tf.Graph().as_default(), tf.Session() as sess:
        make()
        sess.run(tf.global_variables_initializer())
        path: str = tf.train.Saver(**options).save(sess, str(folder / "m"))
    return path


def _two() -> list[Any]:
    return [tf.Variable([1.0, 2.0], name="a"), tf.Variable([3, 4], name="b", use_resource=True)]


def _failed_restore(path: str, make: Callable[[], Any], **options: Any) -> tuple[Any, Any, Any]:
    """Return the error of a restore, and the values before and after."""
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = make()
        sess.run(tf.global_variables_initializer())
        before = sess.run(variables)
        saver = tf.train.Saver(**options)
        with pytest.raises(tf.errors.OpError) as caught:
            saver.restore(sess, path)
        return caught.value, before, sess.run(variables)


def _zeros(**shapes: Any) -> Callable[[], Any]:
    def make() -> Any:
        return [
            tf.Variable(tf.zeros(shape), name=name.replace("__", "/"), use_resource=name > "b")
            for name, shape in sorted(shapes.items())
        ]

    return make


@pytest.mark.parametrize(
    ("wanted", "kind", "text"),
    [
        ({"a": [2], "c": [2]}, tf.errors.NotFoundError, r"c +float32 \(2,\) +missing"),
        ({"a": [3]}, tf.errors.InvalidArgumentError, r"a +float32 \(3,\) +float32 \(2,\)"),
        ({"b": [2]}, tf.errors.InvalidArgumentError, r"b +float32 \(2,\) +int32 \(2,\)"),
        ({"a": [2], "b": [3]}, tf.errors.InvalidArgumentError, r"b +float32 \(3,\) +int32 \(2,\)"),
    ],
)
def test_a_checkpoint_of_another_graph_changes_nothing(
    tmp_path: Path, wanted: dict[str, Any], kind: type[Exception], text: str
) -> None:
    """One wrong tensor is enough; the error has TensorFlow's class and a table."""
    path = _saved(tmp_path, _two)
    error, before, after = _failed_restore(path, _zeros(**wanted))
    assert type(error) is kind
    assert "Restoring from checkpoint failed. This is most likely due to a" in error.message
    assert "nothing was restored" in error.message
    assert re.search(text, error.message), error.message
    assert len(error.message.splitlines()) <= 12
    np.testing.assert_equal(after, before)


def test_a_resource_variable_of_another_shape_is_refused(tmp_path: Path) -> None:
    """TensorFlow assigns it and leaves the variable with a shape that it does not declare."""
    path = _saved(tmp_path, lambda: tf.Variable([1.0, 2.0], name="c"))
    error, before, after = _failed_restore(path, _zeros(c=[3]))
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert "lhs shape= [3] rhs shape= [2]" in error.message
    np.testing.assert_equal(after, before)


def test_table_names_the_nearest_and_what_only_the_checkpoint_has(tmp_path: Path) -> None:
    """A graph built twice has numbered names, which the table points out."""
    path = _saved(tmp_path, _zeros(dense__kernel=[2], dense__bias=[1], other=[1]))
    error, _, _ = _failed_restore(path, _zeros(dense_1__kernel=[2], dense_1__bias=[1]))
    assert "missing; nearest is 'dense/kernel'" in error.message
    assert "was the graph built twice?" in error.message
    error, _, _ = _failed_restore(path, _zeros(model__kernel=[2], other=[1]))
    assert "missing; nearest is 'dense/kernel'" in error.message
    assert "Only the checkpoint has 'dense/bias', 'dense/kernel'." in error.message


def test_a_long_table_is_cut(tmp_path: Path) -> None:
    """The error stays readable with any number of missing tensors."""
    path = _saved(tmp_path, _zeros(a=[1]))
    error, _, _ = _failed_restore(path, _zeros(**{f"x{i}": [1] for i in range(40)}))
    assert "differ in 40 of 40 tensors" in error.message
    assert "... and 35 more" in error.message
    assert len(error.message.splitlines()) <= 12


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize(
    ("change", "kind", "word"),
    [
        (lambda data: b"!" + data[1:], tf.errors.DataLossError, "damaged"),
        (lambda data: data[:3], tf.errors.OutOfRangeError, "cut off"),
    ],
)
def test_a_damaged_checkpoint_changes_nothing(
    tmp_path: Path, sharded: bool, change: Any, kind: type[Exception], word: str
) -> None:
    """Several nodes may read the checkpoint, one of which finds the damage."""

    def make() -> Any:
        with tf.device("/device:CPU:0"):
            first = tf.Variable([1.0, 2.0], name="a")
        return [first, tf.Variable([3.0, 4.0], name="b", use_resource=True)]

    path = _saved(tmp_path, make, sharded=sharded)
    shard = max(tmp_path.glob("m.data-*"))
    shard.write_bytes(change(shard.read_bytes()))

    def zeros() -> Any:
        with tf.device("/device:CPU:0"):
            first = tf.Variable([0.0, 0.0], name="a")
        return [first, tf.Variable([0.0, 0.0], name="b", use_resource=True)]

    error, before, after = _failed_restore(path, zeros, sharded=sharded)
    assert type(error) is kind
    assert word in error.message
    np.testing.assert_equal(after, before)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    """A flipped bit of index or data gives an error or the right values."""
    path = _saved(tmp_path, _two)
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = [
            tf.Variable([0.0, 0.0], name="a"),
            tf.Variable([0, 0], name="b", use_resource=True),
        ]
        saver = tf.train.Saver()
        init = tf.global_variables_initializer()
        refused = 0
        for file in (Path(f"{path}.index"), Path(f"{path}.data-00000-of-00001")):
            good = file.read_bytes()
            for place in range(0, len(good), 3):
                sess.run(init)
                changed = bytearray(good)
                changed[place] ^= 1 << (place % 8)
                file.write_bytes(changed)
                try:
                    saver.restore(sess, path)
                except tf.errors.OpError:
                    refused += 1
                    wanted = [[0.0, 0.0], [0, 0]]
                else:
                    wanted = [[1.0, 2.0], [3, 4]]
                np.testing.assert_equal([v.tolist() for v in sess.run(variables)], wanted)
            file.write_bytes(good)
        assert refused > 10
        saver.restore(sess, path)


def test_damage_names_another_checkpoint_beside_it(tmp_path: Path) -> None:
    """For an unreadable index the message names another checkpoint."""
    with tf.Graph().as_default(), tf.Session() as sess:
        _two()
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        first = saver.save(sess, str(tmp_path / "m"), global_step=1)
        second = saver.save(sess, str(tmp_path / "m"), global_step=2)
        Path(f"{second}.index").write_bytes(b"nonsense")
        with pytest.raises(tf.errors.DataLossError, match=f"Beside it lies {first}"):
            saver.restore(sess, second)


def test_an_imported_graph_is_compared_too(tmp_path: Path) -> None:
    """The comparison reads the graph and needs no Python objects."""
    path = _saved(tmp_path, _two)
    other = tmp_path / "other"
    other.mkdir()
    wrong = _saved(other, lambda: tf.Variable([1.0, 2.0, 3.0], name="a"))
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        saver.restore(sess, path)
        with pytest.raises(tf.errors.NotFoundError, match=r"a +float32 \(2,\) +float32 \(3,\)"):
            saver.restore(sess, wrong)
        assert sess.run("a:0").tolist() == [1.0, 2.0]


def test_a_session_of_another_graph_is_refused(tmp_path: Path) -> None:
    """The session's graph has none of the saver's nodes."""
    path = _saved(tmp_path, _two)
    with tf.Graph().as_default():
        _two()
        saver = tf.train.Saver()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.constant(1.0)
        with pytest.raises(TypeError, match="save/Const"):
            saver.restore(sess, path)


def test_old_graphs_with_a_node_for_each_tensor_are_all_or_nothing(tmp_path: Path) -> None:
    """Restore and RestoreSlice read one tensor at a time in the first format."""
    path = _saved(tmp_path, _two, write_version=tf.train.SaverDef.V1)
    with tf.Graph().as_default(), tf.Session() as sess:
        a, c = tf.Variable([0.0, 0.0], name="a"), tf.Variable([0], name="b")
        file = tf.placeholder_with_default("model", [], name="file")
        wanted = tf.raw_ops.Restore(file_pattern=file, tensor_name="a", dt=tf.float32)
        other = tf.raw_ops.RestoreSlice(
            file_pattern=file, tensor_name="b", shape_and_slice="", dt=tf.int32
        )
        tf.group(
            tf.assign(a, wanted),
            tf.assign(c, other, validate_shape=True),
            name="restore_everything",
        )
        message = tf.train.SaverDef(
            filename_tensor_name="file:0",
            save_tensor_name="file:0",
            restore_op_name="restore_everything",
        )
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"b +int32 \(1,\) +int32 \(2,\)"):
            tf.train.Saver(saver_def=message).restore(sess, path)
        assert sess.run(a).tolist() == [0.0, 0.0]


# ------------------------------------------------------------------------------------ killed saves

# Saves over a checkpoint in processes that kill themselves, the n-th before its n-th system call
# that renames files.
_CHILD = """
    import os, signal, sys
    import tfnb as tf

    folder, options = sys.argv[1], eval(sys.argv[2])

    def save_twice(prefix, deadly):
        tf.reset_default_graph()
        v = tf.Variable([0.0] * 500, name="v", use_resource=True)
        with tf.device("/cpu:0"):
            w = tf.Variable([0.0] * 500, name="w")
        saver = tf.train.Saver(**options)
        with tf.Session() as sess:
            sess.run([v.assign([1.0] * 500), w.assign([1.0] * 500)])
            saver.save(sess, prefix)
            sess.run([v.assign([2.0] * 500), w.assign([2.0] * 500)])
            calls = iter(range(1000))

            def counting(function):
                def call(*args, **kwargs):
                    if next(calls) == deadly:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return function(*args, **kwargs)
                return call

            if deadly is not None:
                for name in ("replace", "link", "remove", "rmdir", "mkdir"):
                    setattr(os, name, counting(getattr(os, name)))
            saver.save(sess, prefix)

    save_twice(os.path.join(folder, "warm"), None)  # whatever is imported late, is now
    for deadly in range(60):
        prefix = os.path.join(folder, str(deadly), "m")
        os.mkdir(os.path.dirname(prefix))
        pid = os.fork()
        if pid == 0:
            save_twice(prefix, deadly)
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        print(os.waitstatus_to_exitcode(status))
        if status == 0:
            break
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", ["{}", "{'sharded': True}", "{'write_version': 1}"])
def test_a_process_killed_while_saving_leaves_a_whole_checkpoint(
    tmp_path: Path, options: str
) -> None:
    """A save that is killed before any of its steps leaves the old checkpoint or the new one."""
    script = tmp_path / "child.py"
    script.write_text(textwrap.dedent(_CHILD))
    child = subprocess.run(
        [sys.executable, str(script), str(tmp_path), options],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    codes = [int(line) for line in child.stdout.split()]
    assert set(codes[:-1]) == {-9}, child.stderr
    assert codes[-1] == 0, child.stderr
    assert len(codes) > 4
    seen = []
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = [tf.Variable([0.0] * 500, name=name) for name in "vw"]
        saver = tf.train.Saver()
        for deadly in range(len(codes)):
            saver.restore(sess, tf.train.latest_checkpoint(str(tmp_path / str(deadly))))
            values = sess.run(variables)
            assert len({*values[0].tolist(), *values[1].tolist()}) == 1
            seen.append(values[0][0])
            saver.save(sess, str(tmp_path / str(deadly) / "m"))
            left = [one.name for one in (tmp_path / str(deadly)).iterdir()]
            assert not [
                one for one in left if one.endswith("_temp") or re.search("data-.*tempstate", one)
            ]
    assert (seen[0], seen[-1]) == (1.0, 2.0)
    assert sorted(seen) == seen
