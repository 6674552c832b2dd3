"""Special cases of SavedModels, frozen graphs and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.library.training.checkpoint_state import wait_for_new_checkpoint

if TYPE_CHECKING:
    from pathlib import Path


def _model() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.Variable([2.0], name="v", use_resource=True)
    return x, tf.multiply(x, v, name="y")


def _save(folder: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as sess:
        x, y = _model()
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(folder / "model"), {"x": x}, {"y": y})
    return str(folder / "model")


def test_a_model_is_loaded_into_a_scope_beside_other_nodes(tmp_path: Path) -> None:
    """The signature has the names in the file, without the scope."""
    path = _save(tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        _model()
        message = tf.saved_model.load(sess, ["serve"], path, import_scope="loaded")
        info = message.signature_def["serving_default"].outputs["y"]
        y = tf.saved_model.get_tensor_from_tensor_info(info, import_scope="loaded")
        assert y.name == "loaded/y:0"
        assert sess.run(y, {"loaded/x:0": [3.0]}).tolist() == [6.0]


def test_no_graph_has_the_tags(tmp_path: Path) -> None:
    """The message lists the existing tags."""
    path = _save(tmp_path)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        with pytest.raises(RuntimeError, match=r"'train' could not be found.*'serve'"):
            tf.saved_model.load(sess, ["train"], path)
        assert not graph.get_operations()


@pytest.mark.parametrize(
    ("name", "contents"),
    [("saved_model.pb", b"\xff\xff"), ("saved_model.pbtxt", b"meta_graphs { nonsense")],
)
def test_a_damaged_file_is_no_model(tmp_path: Path, name: str, contents: bytes) -> None:
    """The error is an OSError with the path, as for a missing file."""
    (tmp_path / name).write_bytes(contents)
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(OSError, match=f"Cannot parse file .*{name}"):
            tf.saved_model.load(sess, ["serve"], str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(OSError, match="SavedModel file does not exist"):
            tf.saved_model.load(sess, ["serve"], str(tmp_path / "none"))


def test_a_model_without_its_variables_says_which_file_is_missing(tmp_path: Path) -> None:
    """The error names the missing file, for example after an incomplete download."""
    path = _save(tmp_path)
    (tmp_path / "model" / "variables" / "variables.data-00000-of-00001").unlink()
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(tf.errors.NotFoundError, match=r"v +float32 \(1,\) +.*file missing"):
            tf.saved_model.load(sess, ["serve"], path)


def test_incomplete_signatures_are_refused(tmp_path: Path) -> None:
    """No file is written."""
    info = tf.saved_model.build_tensor_info(tf.placeholder(tf.float32, name="x"))
    nameless, typeless = tf.TensorInfo(), tf.TensorInfo()
    nameless.CopyFrom(info)
    nameless.ClearField("name")
    typeless.CopyFrom(info)
    typeless.ClearField("dtype")
    for wrong, text in ((nameless, "encoding"), (typeless, "dtype")):
        with tf.Graph().as_default(), tf.Session() as sess:
            builder = tf.saved_model.Builder(str(tmp_path / text))
            signature = tf.saved_model.build_signature_def({"x": wrong}, {}, "m")
            with pytest.raises(AssertionError, match=text):
                builder.add_meta_graph_and_variables(sess, ["t"], {"s": signature})
        assert not list((tmp_path / text).iterdir())


def test_what_is_no_op_or_asset_is_refused(tmp_path: Path) -> None:
    """Main ops must be operations, assets constants of text."""
    with tf.Graph().as_default(), tf.Session() as sess:
        builder = tf.saved_model.Builder(str(tmp_path / "m"))
        with pytest.raises(TypeError, match="to be an Operation"):
            builder.add_meta_graph_and_variables(sess, ["t"], main_op=tf.constant(1.0))
        for asset, text in (
            ("path", "must be a Tensor"),
            (tf.placeholder(tf.string), "must be of type constant"),
            (tf.constant(1.0), "must be of dtype string"),
            (tf.constant(["a", "b"]), "must be a scalar"),
        ):
            with pytest.raises(TypeError, match=text):
                builder.add_meta_graph_and_variables(sess, ["t"], assets_collection=[asset])
        init = tf.no_op()
        builder.add_meta_graph_and_variables(sess, ["t"], main_op=init)
        with pytest.raises(ValueError, match="already contains one or more main ops"):
            builder.add_meta_graph(["u"], main_op=init)


def test_method_names_are_replaced(tmp_path: Path) -> None:
    """Names are replaced in place or in another folder, in all graphs or those of the tags."""
    path = _save(tmp_path)
    updater = tf.saved_model.signature_def_utils.MethodNameUpdater(path)
    updater.replace_method_name("serving_default", "mine", tags=["serve"])
    updater.save()
    updater.replace_method_name("serving_default", "other")
    updater.save(str(tmp_path / "new"))
    with pytest.raises(ValueError, match="could not be found"):
        updater.replace_method_name("none", "other")
    for folder, name in ((path, "mine"), (str(tmp_path / "new"), "other")):
        again = tf.saved_model.signature_def_utils.MethodNameUpdater(folder)
        signature = again._saved_model.meta_graphs[0].signature_def["serving_default"]
        assert signature.method_name == name


# ------------------------------------------------------------------------------------ frozen graphs


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_that_is_written_is_not_frozen(use_resource: bool) -> None:
    """TensorFlow returns a graph that cannot be imported."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
        tf.identity(v.assign([3.0, 4.0]), name="out")
        sess.run(v.initializer)
        convert = tf.graph_util.convert_variables_to_constants
        with pytest.raises(ValueError, match=r"'Assign\w*' .* needs the variable .*blacklist"):
            convert(sess, graph.as_graph_def(), ["out"])
        kept = convert(sess, graph.as_graph_def(), ["out"], variable_names_blacklist=["v"])
    assert any(node.op in ("VariableV2", "VarHandleOp") for node in kept.node)


def test_freezing_needs_values() -> None:
    """The session must have initialized the variables, as in TensorFlow."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        _model()
        with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
            tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])


def test_gathers_and_questions_are_frozen() -> None:
    """ResourceGather, ResourceGatherNd and VarIsInitializedOp become ops on constants."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v", use_resource=True)
        rows = tf.gather(v, [1, 0])
        some = tf.gather_nd(v, [[1, 0]])
        known = tf.is_variable_initialized(v)
        out = tf.identity_n([rows, some, known], name="out")
        sess.run(v.initializer)
        wanted = sess.run(out)
        graph_def = tf.graph_util.convert_variables_to_constants(
            sess, graph.as_graph_def(), ["out"]
        )
    with tf.Graph().as_default(), tf.Session() as sess:
        out = tf.import_graph_def(graph_def, return_elements=["out:0", "out:1", "out:2"])
        np.testing.assert_equal(sess.run(out), wanted)


# -------------------------------------------------------------------------------------- checkpoints


def test_one_checkpoint_for_so_many_hours_is_kept(tmp_path: Path) -> None:
    """A checkpoint that is late enough is not deleted."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0)
        sess.run(v.initializer)
        for hours, kept in ((1e-9, 4), (1.0, 1)):
            folder = tmp_path / str(kept)
            folder.mkdir()
            saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=hours)
            for step in range(4):
                saver.save(sess, str(folder / "m"), global_step=step)
            assert len(list(folder.glob("*.index"))) == kept


def test_new_checkpoints_are_iterated_over(tmp_path: Path) -> None:
    """Each checkpoint comes once; the iteration ends at the time-out."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0)
        sess.run(v.initializer)
        saver = tf.train.Saver()
        found = []
        first = saver.save(sess, str(tmp_path / "m"), global_step=1)
        for path in tf.train.checkpoints_iterator(str(tmp_path), timeout=0.5):
            found.append(path)
            if len(found) == 1:
                second = saver.save(sess, str(tmp_path / "m"), global_step=2)
    assert found == [first, second]
    assert wait_for_new_checkpoint(str(tmp_path), first) == second
    assert wait_for_new_checkpoint(str(tmp_path), second, timeout=0.0) is None


def test_variables_are_warm_started_by_expression(tmp_path: Path) -> None:
    """A string selects trainable variables, a list all; names may have changed."""
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, value in (("a/w", 1.0), ("a/b", 2.0), ("c", 3.0)):
            tf.get_variable(name, initializer=value)
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))

    def values(*args: Any, **kwargs: Any) -> list[float]:
        with tf.Graph().as_default(), tf.Session() as sess:
            w = tf.get_variable("a/w", initializer=0.0)
            b = tf.get_variable("a/b", initializer=0.0, use_resource=True)
            new = tf.get_variable("new", initializer=0.0, trainable=False)
            tf.train.warm_start(path, *args, **kwargs)
            sess.run(tf.global_variables_initializer())
            return [float(one) for one in sess.run([w, b, new])]

    assert values() == [1.0, 2.0, 0.0]
    assert values("a/w") == [1.0, 0.0, 0.0]
    assert values(["new"], var_name_to_prev_var_name={"new": "c"}) == [0.0, 0.0, 3.0]
    assert values(None) == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=r"not used: \['zz'\]"):
        values(var_name_to_prev_var_name={"zz": "c"})


def test_embeddings_are_warm_started_word_by_word(tmp_path: Path) -> None:
    """Each word keeps its row (or column); new words get the given initial values."""
    (tmp_path / "old.txt").write_text("a\nb\nc\n")
    (tmp_path / "new.txt").write_text("c\nnew\na\n")
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("rows", initializer=[[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
        tf.get_variable("columns", initializer=[[1.0, 2.0, 3.0]])
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))

    def vocabulary(**more: Any) -> tf.train.VocabInfo:
        given = {"new_vocab_size": 3, "num_oov_buckets": 1, **more}
        return tf.train.VocabInfo(
            new_vocab=str(tmp_path / "new.txt"), old_vocab=str(tmp_path / "old.txt"), **given
        )

    for partitioner in (None, tf.fixed_size_partitioner(2)):
        with tf.Graph().as_default(), tf.Session() as sess:
            rows = tf.get_variable(
                *("rows", [4, 2]), initializer=tf.zeros_initializer(), partitioner=partitioner
            )
            columns = tf.get_variable("columns", [1, 3], use_resource=True)
            tf.train.warm_start(
                path,
                var_name_to_vocab_info={
                    "rows": vocabulary(backup_initializer=tf.constant_initializer(9.0)),
                    "columns": vocabulary(num_oov_buckets=0, old_vocab_size=2, axis=1),
                },
            )
            sess.run(tf.global_variables_initializer())
            found = sess.run(tf.convert_to_tensor(rows)).tolist()
            assert found == [[3.0, 3.5], [9.0, 9.0], [1.0, 1.5], [9.0, 9.0]]
            assert sess.run(columns).tolist() == [[0.0, 0.0, 1.0]]
    with tf.Graph().as_default():
        tf.get_variable("rows", [3, 2])
        with pytest.raises(ValueError, match=r"doesn't match \[4, 2\]"):
            tf.train.warm_start(path, var_name_to_vocab_info={"rows": vocabulary()})
        with pytest.raises(ValueError, match=r"not used: \['zz'\]"):
            tf.train.warm_start(path, None, var_name_to_vocab_info={"zz": vocabulary()})


def test_an_error_that_is_not_the_checkpoints_stays_as_it_is(tmp_path: Path) -> None:
    """A missing device is unrelated to the checkpoint."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0, name="v")
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.device("/device:GPU:7"):
            tf.Variable(1.0, name="v")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Cannot assign a device"):
            tf.train.Saver().restore(sess, path)


def test_variables_of_old_graphs_are_trained_as_their_collections_say() -> None:
    """Before 1.9 a VariableDef did not contain whether the variable is trained."""
    with tf.Graph().as_default():
        tf.get_variable("a", initializer=1.0)
        tf.get_variable("b", initializer=1.0, trainable=False)
        message = tf.train.export_meta_graph()
    message.meta_info_def.tensorflow_version = "1.8.0"
    for definition in message.collection_def.values():
        values = definition.bytes_list.value
        for place, value in enumerate(values):
            values[place] = value.removesuffix(b"8\x01")  # trainable: true
    with tf.Graph().as_default():
        tf.train.import_meta_graph(message)
        assert [v.trainable for v in tf.global_variables()] == [True, False]
        assert [v.name for v in tf.trainable_variables()] == ["a:0"]


def test_variables_inside_functions_are_frozen() -> None:
    """If, While and calls get values; bodies are copied, also nested ones."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.enable_control_flow_v2()
        try:
            v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v", use_resource=True)
            w = tf.Variable(3.0, name="w", use_resource=True)
            p = tf.placeholder(tf.bool, [], name="p")

            def inner(i: Any, a: Any) -> Any:
                return i + 1, a + tf.cond(p, lambda: tf.gather(v, [1])[0], lambda: v[0] * w)

            branch = tf.cond(p, lambda: tf.reduce_sum(v), lambda: w + 1.0)
            total = tf.while_loop(lambda i, a: i < 3, inner, [0, tf.zeros([2])])[1]
        finally:
            tf.disable_control_flow_v2()
        tf.identity_n([branch, total], name="out")
        sess.run([v.initializer, w.initializer])
        outputs = ["out:0", "out:1"]
        wanted = [sess.run(outputs, {"p:0": value}) for value in (True, False)]
        graph_def = tf.graph_util.convert_variables_to_constants(
            sess, graph.as_graph_def(), ["out"]
        )
    assert not any(node.op == "VarHandleOp" for node in graph_def.node)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        found = [sess.run(outputs, {"p:0": value}) for value in (True, False)]
    np.testing.assert_equal(found, wanted)


def test_a_ragged_tensor_is_named_with_its_spec() -> None:
    """The message has the parts; the tensor is made of them again, in a scope, too."""
    with tf.Graph().as_default() as graph:
        ragged = tf.ragged.placeholder(tf.float32, 1, [2], "x")
        info = tf.saved_model.build_tensor_info(ragged)
    with tf.Graph().as_default() as other, tf.Session() as session:
        tf.import_graph_def(graph.as_graph_def(), name="scope")
        found = tf.saved_model.get_tensor_from_tensor_info(info, other, "scope")
        rows = session.run(
            found, {found: tf.ragged.constant_value([[[1.0, 2.0]], []], inner_shape=(2,))}
        )

    assert info.WhichOneof("encoding") == "composite_tensor"
    assert [one.name for one in info.composite_tensor.components] == [
        ragged.flat_values.name, ragged.row_splits.name,
    ]  # fmt: skip
    assert found.flat_values.name == f"scope/{ragged.flat_values.name}"
    assert rows.to_list() == [[[1.0, 2.0]], []]
