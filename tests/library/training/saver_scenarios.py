"""Savers, MetaGraphDefs and SavedModels, built and run with TensorFlow and with tfnb.

A program of ``GRAPHS`` builds into the default graph; all its nodes are compared, or its error. A
program of ``RUNS`` gets a session and an empty folder, and returns its observations.
``scripts/oracle/savers.py`` stores TensorFlow's results.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.ops.waiting.pipeline_scenarios import attempt, plain

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPHS: dict[str, Callable[[Any], Any]] = {}
RUNS: dict[str, Callable[[Any, Any, str], Any]] = {}


def graph(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a program whose nodes are compared."""
    GRAPHS[program.__name__.removeprefix("_")] = program
    return program


def run(program: Callable[[Any, Any, str], Any]) -> Callable[[Any, Any, str], Any]:
    """Register a program whose observations are compared."""
    RUNS[program.__name__.removeprefix("_")] = program
    return program


def answer_of_run(tf: Any, program: Callable[[Any, Any, str], Any]) -> Any:
    """Return the observations of a program of ``RUNS``, without the folder's name."""
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default(), tf.Session() as sess:
            found = plain(attempt(tf, lambda: program(tf, sess, folder)))
        return _without_folder(found, folder)


def _without_folder(value: Any, folder: str) -> Any:
    if isinstance(value, dict):
        return {key: _without_folder(one, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_folder(one, folder) for one in value]
    return value.replace(folder, "FOLDER") if isinstance(value, str) else value


def _files(folder: str) -> list[str]:
    return sorted(
        str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()
    )


def _two(tf: Any) -> Any:
    return (
        tf.Variable([1.0, 2.0], name="a"),
        tf.Variable([[3, 4]], name="b", use_resource=True),
    )


def _saver_def(saver: Any) -> str:
    return " ".join(str(saver.as_saver_def()).split())


# ------------------------------------------------------------------------------------------ graphs


@graph
def _saver_of_everything(tf: Any) -> Any:
    _two(tf)
    tf.Variable(1.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    return _saver_def(tf.train.Saver())


@graph
def _saver_with_reshape(tf: Any) -> Any:
    _two(tf)
    tf.Variable(tf.placeholder(tf.float32), name="free", validate_shape=False)
    return _saver_def(tf.train.Saver(reshape=True, name="mine", filename="there"))


@graph
def _saver_restoring_sequentially(tf: Any) -> Any:
    a, b = _two(tf)
    return _saver_def(tf.train.Saver({"x": b, "w": a}, restore_sequentially=True, max_to_keep=None))


@graph
def _saver_of_validated_shapes(tf: Any) -> Any:
    tf.Variable(tf.placeholder(tf.float32), name="free", validate_shape=False)
    tf.Variable("text", name="text")
    return _saver_def(tf.train.Saver())


def _on_devices(tf: Any) -> None:
    with tf.device("/job:ps/task:1"):
        tf.Variable(1.0, name="a")
    with tf.device("/job:ps/task:0/gpu:0"):
        tf.Variable([1.0], name="b", use_resource=True)
        tf.Variable([1.0, 2.0], name="c")


@graph
def _sharded_saver(tf: Any) -> Any:
    _on_devices(tf)
    return _saver_def(tf.train.Saver(sharded=True, keep_checkpoint_every_n_hours=2.0))


@graph
def _sharded_saver_restoring_sequentially(tf: Any) -> Any:
    _on_devices(tf)
    return _saver_def(tf.train.Saver(sharded=True, restore_sequentially=True, reshape=True))


@graph
def _saver_on_devices(tf: Any) -> Any:
    _on_devices(tf)
    return _saver_def(tf.train.Saver())


@graph
def _first_format(tf: Any) -> Any:
    _two(tf)
    return _saver_def(tf.train.Saver(write_version=tf.train.SaverDef.V1))


@graph
def _first_format_sharded(tf: Any) -> Any:
    _on_devices(tf)
    return _saver_def(tf.train.Saver(write_version=tf.train.SaverDef.V1, sharded=True))


def _partitioned(tf: Any, use_resource: bool) -> Any:
    return tf.get_variable(
        "p",
        [4, 3],
        partitioner=tf.fixed_size_partitioner(2),
        use_resource=use_resource,
        initializer=tf.zeros_initializer(),
    )


@graph
def _saver_of_parts(tf: Any) -> Any:
    p = _partitioned(tf, False)
    return [_saver_def(tf.train.Saver()), _saver_def(tf.train.Saver({"whole": p}))]


@graph
def _saver_of_parts_of_resources(tf: Any) -> Any:
    p = _partitioned(tf, True)
    return [_saver_def(tf.train.Saver()), _saver_def(tf.train.Saver({"whole": list(p)}))]


@graph
def _two_savers_in_a_scope(tf: Any) -> Any:
    a, b = _two(tf)
    with tf.name_scope("outer"):
        return [_saver_def(tf.train.Saver([a])), _saver_def(tf.train.Saver([b]))]


@graph
def _deferred_saver(tf: Any) -> Any:
    saver = tf.train.Saver(defer_build=True)
    _two(tf)
    before = saver.saver_def is None
    saver.build()
    return [before, _saver_def(saver)]


@graph
def _saver_of_tensors(tf: Any) -> Any:
    a, b = _two(tf)
    return _saver_def(tf.train.Saver({"x": a.op.outputs[0], "y": b.value()}))


def _refused(make: Callable[[Any, Any], Any]) -> None:
    def program(tf: Any) -> Any:
        return make(tf, tf.Variable(1.0, name="v"))

    GRAPHS[f"refused_{make.__name__.removeprefix('_')}"] = program


@_refused
def _two_names(tf: Any, v: Any) -> Any:
    return tf.train.Saver({"v": v, "w": v})


@_refused
def _one_name_twice(tf: Any, v: Any) -> Any:
    return tf.train.Saver([v, v])


@_refused
def _constant_in_list(tf: Any, v: Any) -> Any:
    return tf.train.Saver([tf.constant(1.0)])


@_refused
def _constant_in_dict(tf: Any, v: Any) -> Any:
    return tf.train.Saver({"a": tf.constant(1.0)})


@_refused
def _number(tf: Any, v: Any) -> Any:
    return tf.train.Saver(3)


@_refused
def _number_as_name(tf: Any, v: Any) -> Any:
    return tf.train.Saver({3: v})


@_refused
def _nothing(tf: Any, v: Any) -> Any:
    return tf.train.Saver([])


@_refused
def _whole_as_slice(tf: Any, v: Any) -> Any:
    return tf.train.Saver({"z": [v]})


@_refused
def _number_as_slice(tf: Any, v: Any) -> Any:
    return tf.train.Saver({"z": [3]})


@_refused
def _deferred_list(tf: Any, v: Any) -> Any:
    return tf.train.Saver([v], defer_build=True)


@_refused
def _number_as_message(tf: Any, v: Any) -> Any:
    return tf.train.Saver(saver_def=3)


@graph
def _empty_saver(tf: Any) -> Any:
    return str(tf.train.Saver(allow_empty=True).as_saver_def())


# -------------------------------------------------------------------------------------------- runs


def _initialized(tf: Any, sess: Any) -> Any:
    found = _two(tf)
    sess.run(tf.global_variables_initializer())
    return found


@run
def _checkpoints_are_kept(tf: Any, sess: Any, folder: str) -> Any:
    a, _ = _initialized(tf, sess)
    saver = tf.train.Saver(max_to_keep=2)
    prefix = os.path.join(folder, "m")
    paths = []
    for step in range(4):
        sess.run(a.assign([step, step]))
        paths.append(saver.save(sess, prefix, global_step=step))
    saver.save(sess, prefix, global_step=2)
    state = tf.train.get_checkpoint_state(folder)
    latest = tf.train.latest_checkpoint(folder)
    saver.restore(sess, latest)
    return {
        "paths": paths,
        "files": _files(folder),
        "state": " ".join(str(state).split()),
        "latest": latest,
        "kept": saver.last_checkpoints,
        "value": sess.run(a),
    }


@run
def _names_of_checkpoints(tf: Any, sess: Any, folder: str) -> Any:
    _initialized(tf, sess)
    step = tf.train.get_or_create_global_step()
    sess.run(step.assign(7) if hasattr(step, "assign") else step)
    prefix = os.path.join(folder, "m")
    saver = tf.train.Saver(pad_step_number=True, save_relative_paths=True)
    found = [
        saver.save(sess, prefix, global_step=step),
        saver.save(sess, prefix, latest_filename="other", meta_graph_suffix="graph"),
        saver.save(sess, prefix, write_state=False, write_meta_graph=False, global_step=8),
        tf.train.Saver(max_to_keep=0).save(sess, os.path.join(folder, "all"), latest_filename="x"),
    ]
    states = {
        name: Path(folder, name).read_text().replace(folder, "FOLDER")
        for name in ("checkpoint", "other", "x")
    }
    return [found, _files(folder), states]


@run
def _sharded_files(tf: Any, sess: Any, folder: str) -> Any:
    _, b = _initialized(tf, sess)
    prefix = os.path.join(folder, "m")
    found = [tf.train.Saver(sharded=True).save(sess, prefix)]
    sess.run(b.assign([[0, 0]]))
    tf.train.Saver(sharded=True).restore(sess, prefix)
    return [found, _files(folder), sess.run(b)]


@run
def _first_format_files(tf: Any, sess: Any, folder: str) -> Any:
    a, _ = _initialized(tf, sess)
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)
    prefix = os.path.join(folder, "m")
    path = saver.save(sess, prefix, global_step=1)
    sess.run(a.assign([0.0, 0.0]))
    tf.train.Saver().restore(sess, path)
    return [path, _files(folder), sess.run(a), tf.train.latest_checkpoint(folder)]


@run
def _parts_are_restored_as_other_parts(tf: Any, sess: Any, folder: str) -> Any:
    p = tf.get_variable("p", [4, 3], partitioner=tf.fixed_size_partitioner(2))
    sess.run([part.assign(tf.fill([2, 3], float(i))) for i, part in enumerate(p)])
    path = tf.train.Saver().save(sess, os.path.join(folder, "m"))
    listed = tf.train.list_variables(path)
    with tf.Graph().as_default(), tf.Session() as other:
        q = tf.get_variable("p", [4, 3], partitioner=tf.fixed_size_partitioner(3))
        tf.train.Saver().restore(other, path)
        parts = other.run(list(q))
    with tf.Graph().as_default(), tf.Session() as other:
        whole = tf.get_variable("p", [4, 3])
        tf.train.Saver().restore(other, path)
        return [listed, parts, other.run(whole)]


@run
def _readers(tf: Any, sess: Any, folder: str) -> Any:
    tf.Variable("text", name="t")
    tf.Variable(True, name="s/flag", use_resource=True)
    _initialized(tf, sess)
    sess.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(sess, os.path.join(folder, "m"))
    reader = tf.train.load_checkpoint(folder)
    return [
        tf.train.list_variables(folder),
        reader.debug_string(),
        {k: str(v) for k, v in reader.get_variable_to_dtype_map().items()},
        [reader.has_tensor("a"), reader.has_tensor("z"), reader.get_tensor("b")],
        tf.train.load_variable(path, "a:0"),
        tf.train.checkpoint_exists(path),
        tf.train.checkpoint_exists(path + "x"),
        len(tf.train.get_checkpoint_mtimes([path, path + "x"])),
        attempt(tf, lambda: tf.train.load_variable(path, "zz")),
        attempt(tf, lambda: tf.train.load_checkpoint(path + "x")),
    ]


@run
def _checkpoint_is_removed(tf: Any, sess: Any, folder: str) -> Any:
    _initialized(tf, sess)
    path = tf.train.Saver().save(sess, os.path.join(folder, "m"), global_step=1)
    tf.train.remove_checkpoint(path)
    return [_files(folder), tf.train.latest_checkpoint(folder)]


@run
def _former_checkpoints_are_recovered(tf: Any, sess: Any, folder: str) -> Any:
    _initialized(tf, sess)
    prefix = os.path.join(folder, "m")
    first = tf.train.Saver()
    paths = [first.save(sess, prefix, global_step=step) for step in range(3)]
    tf.train.remove_checkpoint(paths[1])
    second = tf.train.Saver(max_to_keep=2)
    second.recover_last_checkpoints(paths)
    known = second.last_checkpoints
    second.save(sess, prefix, global_step=3)
    return [known, second.last_checkpoints, _files(folder)]


def _restores_what(tf: Any, folder: str, make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = make()
        sess.run(tf.global_variables_initializer())

        def restore() -> Any:
            tf.train.Saver().restore(sess, os.path.join(folder, "m"))
            return sess.run(variables)

        try:
            return restore()
        except (tf.errors.OpError, ValueError) as error:
            return type(error).__name__


@run
def _wrong_checkpoints(tf: Any, sess: Any, folder: str) -> Any:
    _initialized(tf, sess)
    path = tf.train.Saver().save(sess, os.path.join(folder, "m"))
    index, data = Path(f"{path}.index"), Path(f"{path}.data-00000-of-00001")
    good_index, good_data = index.read_bytes(), data.read_bytes()
    found = {
        "missing": _restores_what(
            tf, folder, lambda: [tf.Variable([0.0, 0.0], name="a"), tf.Variable(1.0, name="c")]
        ),
        "shape": _restores_what(tf, folder, lambda: [tf.Variable([0.0], name="a")]),
        "type": _restores_what(tf, folder, lambda: [tf.Variable([0, 0], name="a")]),
        "good": _restores_what(tf, folder, lambda: _two(tf)),
    }
    for name, contents in (
        ("short index", good_index[:30]),
        ("no index", b""),
        ("changed index", good_index[:10] + b"!" + good_index[11:]),
    ):
        index.write_bytes(contents)
        found[name] = _restores_what(tf, folder, lambda: _two(tf))
    index.write_bytes(good_index)
    for name, contents in (
        ("short data", good_data[:5]),
        ("no data", b""),
        ("changed data", b"!" + good_data[1:]),
    ):
        data.write_bytes(contents)
        found[name] = _restores_what(tf, folder, lambda: _two(tf))
    data.unlink()
    found["data gone"] = _restores_what(tf, folder, lambda: _two(tf))
    index.unlink()
    found["all gone"] = _restores_what(tf, folder, lambda: _two(tf))
    return found


@run
def _refused_saves(tf: Any, sess: Any, folder: str) -> Any:
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    prefix = os.path.join(folder, "m")
    found = [type(attempt(tf, lambda: saver.save(sess, prefix))).__name__, _files(folder)]
    sess.run(v.initializer)
    deferred = tf.train.Saver(defer_build=True)
    found += [
        attempt(tf, lambda: saver.save(sess, os.path.join(folder, "x", "y", "z"))),
        attempt(tf, lambda: saver.save(sess, os.path.join(folder, "checkpoint"))),
        attempt(tf, lambda: saver.save(sess, prefix, latest_filename="a/b")),
        attempt(tf, lambda: saver.save(None, prefix)),
        attempt(tf, lambda: saver.restore(sess, prefix)),
        attempt(tf, lambda: saver.restore(sess, None)),
        attempt(tf, lambda: deferred.save(sess, prefix)),
    ]
    return found


@run
def _reshaped_values(tf: Any, sess: Any, folder: str) -> Any:
    tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="a")
    sess.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(sess, os.path.join(folder, "m"))
    with tf.Graph().as_default(), tf.Session() as other:
        flat = tf.Variable([0.0] * 4, name="a")
        tf.train.Saver(reshape=True).restore(other, path)
        return other.run(flat)


def _from_checkpoint(tf: Any, folder: str, make: Callable[[], Any], mapping: Any) -> Any:
    with tf.Graph().as_default() as built, tf.Session() as sess:
        variables = make()
        tf.train.init_from_checkpoint(os.path.join(folder, "m"), mapping(variables))
        sess.run(tf.global_variables_initializer())
        new = [
            [node.name, node.op, list(node.input), node.device]
            for node in built.as_graph_def().node
            if "checkpoint" in node.name or node.name.startswith(("Assign", "Identity"))
        ]
        return [sess.run(variables), new]


@run
def _values_from_checkpoint(tf: Any, sess: Any, folder: str) -> Any:
    _initialized(tf, sess)
    tf.train.Saver().save(sess, os.path.join(folder, "m"))

    def pair() -> Any:
        zeros = tf.zeros_initializer()
        return [
            tf.get_variable("s/a", [2], initializer=zeros),
            tf.get_variable("s/b", [1, 2], tf.int32, initializer=zeros, use_resource=True),
        ]

    def parts() -> Any:
        found = tf.get_variable(
            "q/b", [1, 2], tf.int32, partitioner=tf.fixed_size_partitioner(2, axis=1)
        )
        return list(found)

    def with_wrong_shape() -> Any:
        return [tf.get_variable("a", [3])]

    maps = {
        "variables": (pair, lambda v: {"a": v[0], "b": v[1]}),
        "names": (pair, lambda v: {"a": "s/a"}),
        "scope": (pair, lambda v: {"/": "s/"}),
        "missing": (pair, lambda v: {"zz": v[0]}),
        "missing in scope": (pair, lambda v: {"x/": "s/"}),
        "not a scope": (pair, lambda v: {"a": "t/"}),
        "parts": (parts, lambda v: {"b": v}),
        "parts by name": (parts, lambda v: {"b": "q/b"}),
        "shape": (with_wrong_shape, lambda v: {"a": v[0]}),
    }
    found = {}
    for name, (make, mapping) in maps.items():
        error = attempt(tf, lambda a=make, b=mapping: _from_checkpoint(tf, folder, a, b))
        # The text lists the checkpoint's contents in any order.
        found[name] = error[0] if name == "missing" else error
    return found


@run
def _states(tf: Any, sess: Any, folder: str) -> Any:
    def state(*args: Any) -> Any:
        return attempt(tf, lambda: str(tf.train.generate_checkpoint_state_proto(*args)).split("\n"))

    found = [
        state("/x", "/x/m"),
        state("/x", "/x/m", ["/x/l"]),
        state("/x", "/x/m", ["/x/l", "/x/m"], [1.5, 2.5], 7.5),
        state("/x", "/x/m", ["/x/l"], [1.0]),
        state("x", "x/m", ["x/l", "/y/k"]),
    ]
    tf.train.update_checkpoint_state(folder, os.path.join(folder, "m"), latest_filename="s")
    found.append(Path(folder, "s").read_text().replace(folder, "FOLDER"))
    Path(folder, "bad").write_text("model_checkpoint")
    Path(folder, "empty").write_text("")
    Path(folder, "relative").write_text('model_checkpoint_path: "m"')
    found += [
        attempt(tf, lambda name=name: str(tf.train.get_checkpoint_state(folder, name)).split())
        for name in ("bad", "empty", "relative", "none")
    ]
    return found
