"""MetaGraphDefs, SavedModels and frozen graphs, made with TensorFlow and with tfnb.

A program gets a session and an empty folder, and returns its observations.
``scripts/oracle/graphs/meta_graphs.py`` stores TensorFlow's results.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.library.training.saver_scenarios import _files, _two
from tests.ops.waiting.pipeline_scenarios import attempt

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS: dict[str, Callable[[Any, Any, str], Any]] = {}


def run(program: Callable[[Any, Any, str], Any]) -> Callable[[Any, Any, str], Any]:
    """Register a program whose observations are compared."""
    RUNS[program.__name__.removeprefix("_")] = program
    return program


# ------------------------------------------------------------------------------------- describing


def _text(message: Any) -> str:
    return " ".join(str(message).split())


def _collections(meta_graph_def: Any) -> dict[str, Any]:
    found = {
        key: [collection.WhichOneof("kind"), *_values(collection)]
        for key, collection in sorted(meta_graph_def.collection_def.items())
    }
    for key in ("cond_context", "while_context"):
        # These messages hold a map, which may be written in any order.
        found[key] = [sorted(value) for value in found.get(key, ())]
    return found


def _values(collection: Any) -> list[Any]:
    kind = collection.WhichOneof("kind")
    if kind is None:
        return []
    return [
        value if isinstance(value, (bytes, str, int, float)) else _text(value)
        for value in getattr(collection, kind).value
    ]


def _nodes(graph_def: Any) -> dict[str, Any]:
    return {
        node.name: [
            node.op,
            # A back edge has two spellings.
            [name.removesuffix(":0") for name in node.input],
            node.device,
            {
                key: _text(value)
                for key, value in sorted(node.attr.items())
                if key != "_has_manual_control_dependencies"
            },
        ]
        for node in graph_def.node
    }


def _described(meta_graph_def: Any) -> dict[str, Any]:
    info = meta_graph_def.meta_info_def
    return {
        "nodes": _nodes(meta_graph_def.graph_def),
        "functions": sorted(f.signature.name for f in meta_graph_def.graph_def.library.function),
        "ops": [op.name for op in info.stripped_op_list.op if op.name != "DisableCopyOnRead"],
        "tags": list(info.tags),
        "stripped": info.stripped_default_attrs,
        "saver": _text(meta_graph_def.saver_def),
        "collections": _collections(meta_graph_def),
        "signatures": {
            key: _signature(signature)
            for key, signature in sorted(meta_graph_def.signature_def.items())
        },
        "assets": [_text(asset) for asset in meta_graph_def.asset_file_def],
    }


def _signature(signature: Any) -> list[Any]:
    return [
        {key: _text(info) for key, info in sorted(signature.inputs.items())},
        {key: _text(info) for key, info in sorted(signature.outputs.items())},
        signature.method_name,
    ]


# ------------------------------------------------------------------------------------ MetaGraphDefs


def _model(tf: Any) -> Any:
    """Build variables of both kinds, a branch, a loop, a queue runner and many collections."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.name_scope("layer"):
        w = tf.Variable([[1.0], [2.0]], name="w")
        b = tf.Variable([0.5], name="b", use_resource=True, trainable=False)
        y = tf.add(tf.matmul(x, w), b, name="y")
    tf.Variable(3, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    z = tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * 2.0, lambda: y, name="branch")
    _, total = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + z), [0, z], name="loop")
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]], name="queue")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)]))
    tf.train.get_or_create_global_step()
    tf.add_to_collection("tensors", y)
    tf.add_to_collection("tensors", total.op)
    tf.add_to_collection("numbers", 5)
    tf.add_to_collection("numbers", 6)
    tf.add_to_collection("fractions", 0.5)
    tf.add_to_collection("texts", "text")
    tf.add_to_collection("texts", b"bytes")
    return x, y, total


@run
def _exported(tf: Any, sess: Any, folder: str) -> Any:
    _model(tf)
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    return _described(saver.export_meta_graph())


@run
def _exported_without_saver(tf: Any, sess: Any, folder: str) -> Any:
    _model(tf)
    found = _described(tf.train.export_meta_graph(collection_list=["numbers", "variables"]))
    return [found["collections"], found["saver"], found["ops"]]


@run
def _exported_without_devices_and_defaults(tf: Any, sess: Any, folder: str) -> Any:
    with tf.device("/cpu:0"):
        _two(tf)
    first = tf.train.Saver(name="first")
    tf.add_to_collection(tf.GraphKeys.SAVERS, first)
    second = tf.train.Saver(name="second")
    return _described(
        second.export_meta_graph(
            clear_devices=True, strip_default_attrs=True, clear_extraneous_savers=True
        )
    )


@run
def _exported_scope(tf: Any, sess: Any, folder: str) -> Any:
    outside = tf.constant([1.0, 2.0], name="outside")
    with tf.name_scope("inner"):
        v = tf.Variable([1.0, 2.0], name="v")
        p = tf.placeholder(tf.bool, [], name="p")
        with tf.control_dependencies([outside]):
            t = tf.add(v, outside, name="t")
        tf.add_to_collection("tensors", t)
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="loop")
        tf.cond(p, lambda: t * 2.0, lambda: t, name="branch")
    tf.add_to_collection("tensors", outside)
    tf.Variable(1.0, name="other")
    found = _described(tf.train.export_meta_graph(export_scope="inner"))
    return [found, list(tf.get_default_graph().get_collection("unbound_inputs"))]


def _names(items: Any) -> list[Any]:
    return [getattr(item, "name", item) for item in items]


@run
def _imported(tf: Any, sess: Any, folder: str) -> Any:
    _model(tf)
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    sess.run(tf.global_variables_initializer())
    sess.run(tf.local_variables_initializer())
    path = saver.save(sess, os.path.join(folder, "m"))
    found = []
    for scope in (None, "into", "into"):
        with tf.Graph().as_default() as graph, tf.Session() as other:
            if found:
                tf.constant(1.0, name="into/c")
            new = tf.train.import_meta_graph(f"{path}.meta", import_scope=scope)
            new.restore(other, path)
            keys = [key for key in sorted(graph.get_all_collection_keys()) if key[0] != "_"]
            prefix = f"{scope}/" if scope else ""
            variables = tf.global_variables()
            total = graph.get_operation_by_name(tf.get_collection("tensors")[1].name).outputs[0]
            grad = tf.gradients(total, variables[0])[0]
            found.append(
                [
                    _text(new.as_saver_def()),
                    {
                        key: [
                            str(item) if not hasattr(item, "name") else item.name
                            for item in graph.get_collection(key)
                            if key != "savers" and not key.endswith("context")
                        ]
                        for key in keys
                    },
                    [str(v.trainable) for v in variables],
                    other.run(variables),
                    other.run([total, grad], {f"{prefix}x:0": [[1.0, 2.0]]}),
                    [runner.name for runner in tf.get_collection("queue_runners")],
                ]
            )
    return found


@run
def _imported_with_inputs(tf: Any, sess: Any, folder: str) -> Any:
    with tf.name_scope("inner"):
        v = tf.Variable([1.0, 2.0], name="v")
        outside = tf.constant([1.0, 2.0])
    with tf.name_scope("more"):
        tf.add(v, outside, name="t")
    message = tf.train.export_meta_graph(export_scope="more")
    with tf.Graph().as_default(), tf.Session() as other:
        missing = attempt(tf, lambda: tf.train.import_meta_graph(message))
        names = sorted(v.decode() for v in _values(message.collection_def["unbound_inputs"]))
        inputs = {name: tf.constant([5.0, 6.0]) for name in names}
        saver = tf.train.import_meta_graph(message, input_map=inputs)
        return [missing, names, saver is None, other.run("t:0")]


@run
def _files_of_graphs(tf: Any, sess: Any, folder: str) -> Any:
    x, _, _ = _model(tf)
    graph = x.graph
    paths = [
        tf.train.write_graph(graph, os.path.join(folder, "a", "b"), "g.pbtxt"),
        tf.train.write_graph(graph.as_graph_def(), folder, "g.pb", as_text=False),
        tf.io.write_graph(graph, folder, "h.pbtxt"),
    ]
    tf.train.export_meta_graph(os.path.join(folder, "m.pbtxt"), as_text=True)
    tf.train.export_meta_graph(os.path.join(folder, "m.pb"))
    read = tf.GraphDef.FromString(Path(folder, "g.pb").read_bytes())
    with tf.Graph().as_default():
        text = tf.train.import_meta_graph(os.path.join(folder, "m.pbtxt"))
        imported = len(tf.get_default_graph().get_operations())
    Path(folder, "bad").write_bytes(b"model { not a message")
    return [
        paths,
        _files(folder),
        len(read.node) == len(graph.get_operations()),
        len(Path(folder, "a", "b", "g.pbtxt").read_text()) > 1000,
        text is not None,
        imported == len(read.node),
        [type(_caught(_importing(tf, folder, name))).__name__ for name in ("none", "bad")],
    ]


def _importing(tf: Any, folder: str, name: str) -> Callable[[], Any]:
    return lambda: tf.train.import_meta_graph(os.path.join(folder, name))


def _caught(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Exception as error:
        return error


# ------------------------------------------------------------------------------------ frozen graphs


def _freeze(tf: Any, sess: Any, outputs: list[str], **kwargs: Any) -> Any:
    sess.run(tf.global_variables_initializer())
    graph_def = sess.graph.as_graph_def()
    return tf.graph_util.convert_variables_to_constants(sess, graph_def, outputs, **kwargs)


@run
def _frozen(tf: Any, sess: Any, folder: str) -> Any:
    _model(tf)
    found = _freeze(tf, sess, ["layer/y", "branch/Merge"])
    with tf.Graph().as_default(), tf.Session() as other:
        tf.import_graph_def(found, name="")
        value = other.run("branch/Merge:0", {"x:0": [[1.0, 2.0]]})
    return [_nodes(found), value]


@run
def _frozen_in_part(tf: Any, sess: Any, folder: str) -> Any:
    a, b = _two(tf)
    gathered = tf.gather(b, [0], name="gathered")
    tf.add(tf.reduce_sum(a), tf.cast(tf.reduce_sum(gathered), tf.float32), name="whole")
    return [
        _nodes(_freeze(tf, sess, ["whole"])),
        _nodes(_freeze(tf, sess, ["whole"], variable_names_whitelist=["a"])),
        _nodes(_freeze(tf, sess, ["whole"], variable_names_blacklist=["a"])),
        type(_caught(lambda: _freeze(tf, sess, ["none"]))).__name__,
    ]


@run
def _frozen_inside_control_flow(tf: Any, sess: Any, folder: str) -> Any:
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    p = tf.placeholder(tf.bool, [], name="p")
    tf.cond(p, lambda: v * 2.0, lambda: v + 1.0, name="branch")
    _, total = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a + v), [0, tf.zeros([2])], name="loop"
    )
    tf.identity(total, name="total")
    found = _freeze(tf, sess, ["branch/Merge", "total"])
    with tf.Graph().as_default(), tf.Session() as other:
        tf.import_graph_def(found, name="")
        return [
            sorted({node.op for node in found.node if "ariable" in node.op or "Var" in node.op}),
            other.run(["branch/Merge:0", "total:0"], {"p:0": True}),
        ]


# -------------------------------------------------------------------------------------- SavedModels


@run
def _simply_saved(tf: Any, sess: Any, folder: str) -> Any:
    x, y, total = _model(tf)
    sess.run(tf.global_variables_initializer())
    path = os.path.join(folder, "model")
    tf.saved_model.simple_save(sess, path, {"x": x}, {"y": y, "total": total})
    with tf.Graph().as_default() as graph, tf.Session() as other:
        found = tf.saved_model.load(other, [tf.saved_model.tag_constants.SERVING], path)
        value = other.run("layer/y:0", {"x:0": [[1.0, 2.0]]})
        count = len(graph.get_operations())
    described = _described(found)
    return [
        [name for name in _files(path) if "fingerprint" not in name],
        described,
        value,
        count == len(found.graph_def.node),
        tf.saved_model.contains_saved_model(path),
        tf.saved_model.maybe_saved_model_directory(folder),
    ]


def _table(tf: Any, asset: Any, keys: list[str]) -> None:
    """Build a table from the lines of a file to their numbers, and a lookup."""
    handle = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="table")
    fill = tf.raw_ops.InitializeTableFromTextFileV2(
        table_handle=handle, filename=asset, key_index=-2, value_index=-1
    )
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, fill)
    found = tf.raw_ops.LookupTableFindV2(
        table_handle=handle, keys=tf.constant(keys), default_value=tf.constant(-1, tf.int64)
    )
    tf.identity(found, name="found")


def _with_assets(tf: Any, sess: Any, folder: str, path: str, **kwargs: Any) -> Any:
    for name in ("one", "two"):
        Path(folder, name).mkdir(exist_ok=True)
        Path(folder, name, "vocabulary.txt").write_text(f"{name}\nthree\n")
    assets = [
        tf.constant(os.path.join(folder, name, "vocabulary.txt"), name=name)
        for name in ("one", "two", "one")
    ]
    for asset in assets:
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
    _table(tf, assets[0], ["three", "four", "one"])
    v = tf.Variable(7.0, name="v")
    sess.run(tf.global_variables_initializer())
    builder = tf.saved_model.Builder(path)
    builder.add_meta_graph_and_variables(
        sess,
        ["a", "b"],
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        signature_def_map={
            "s": tf.saved_model.signature_def_utils.build_signature_def(
                {"in": tf.saved_model.utils.build_tensor_info(assets[0])},
                {"out": tf.saved_model.build_tensor_info(v.value())},
                "method",
            )
        },
        **kwargs,
    )
    return builder


@run
def _saved_with_assets(tf: Any, sess: Any, folder: str) -> Any:
    path = os.path.join(folder, "model")
    with tf.name_scope("init"):
        init = tf.group(tf.no_op(), name="all")
    tables = tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS)
    builder = _with_assets(tf, sess, folder, path, main_op=init, strip_default_attrs=True)
    builder.add_meta_graph(["c"])
    written = builder.save(as_text=True)
    with tf.Graph().as_default(), tf.Session() as other:
        found = tf.saved_model.loader.load(other, ["b", "a"], path)
        value = other.run("v:0")
        feed = other.graph.get_tensor_by_name("one:0")
        described = _described(found)
    errors = [
        _caught(lambda: tf.saved_model.load(sess, ["a"], path)),
        _caught(lambda: tf.saved_model.load(sess, ["a"], folder)),
        _caught(lambda: tf.saved_model.Builder(path)),
        _caught(lambda: builder.add_meta_graph_and_variables(sess, ["d"])),
        _caught(lambda: tf.saved_model.Builder(os.path.join(folder, "x")).add_meta_graph(["d"])),
    ]
    return [
        written,
        sorted(name for name in _files(folder) if "fingerprint" not in name),
        described["collections"],
        described["signatures"],
        described["assets"],
        described["tags"],
        described["stripped"],
        described["saver"],
        value,
        feed.name,
        len(tables),
        [type(error).__name__ for error in errors],
        [one.read_text() for one in sorted(Path(path, "assets").iterdir())],
    ]


@run
def _initialized_by_its_main_op(tf: Any, sess: Any, folder: str) -> Any:
    path = os.path.join(folder, "model")
    vocabulary = Path(folder, "vocabulary.txt")
    vocabulary.write_text("one\nthree\n")
    asset = tf.constant(str(vocabulary), name="asset")
    _table(tf, asset, ["three", "four"])
    builder = tf.saved_model.builder.SavedModelBuilder(path)
    builder.add_meta_graph_and_variables(
        sess,
        ["serve"],
        assets_collection=[asset],
        legacy_init_op=tf.tables_initializer(),
    )
    builder.save()
    vocabulary.unlink()
    with tf.Graph().as_default(), tf.Session() as other:
        found = tf.saved_model.load(other, ["serve"], path, import_scope="scope")
        return [other.run("scope/found:0"), _collections(found), _files(path)]


@run
def _signatures(tf: Any, sess: Any, folder: str) -> Any:
    text = tf.placeholder(tf.string, [None], name="text")
    number = tf.placeholder(tf.float32, [None, 3], name="number")
    sparse = tf.sparse_placeholder(tf.int64, name="sparse")
    utils = tf.saved_model.signature_def_utils
    made = {
        "predict": lambda: utils.predict_signature_def({"a": number, "s": sparse}, {"b": text}),
        "regress": lambda: utils.regression_signature_def(text, number),
        "classes": lambda: utils.classification_signature_def(text, text, None),
        "scores": lambda: tf.saved_model.classification_signature_def(text, None, number),
        "both": lambda: utils.classification_signature_def(text, text, number),
        "nothing": lambda: utils.build_signature_def(),
        "no inputs": lambda: utils.predict_signature_def({}, {"b": text}),
        "no outputs": lambda: utils.predict_signature_def({"b": text}, None),
        "no examples": lambda: utils.regression_signature_def(None, number),
        "no predictions": lambda: utils.regression_signature_def(text, None),
        "number examples": lambda: utils.regression_signature_def(number, number),
        "text predictions": lambda: utils.regression_signature_def(text, text),
        "neither": lambda: utils.classification_signature_def(text, None, None),
        "number classes": lambda: utils.classification_signature_def(text, number, None),
        "text scores": lambda: utils.classification_signature_def(text, None, text),
    }
    found: dict[str, Any] = {}
    for name, make in made.items():
        try:
            signature = make()
        except ValueError as error:
            found[name] = type(error).__name__
        else:
            found[name] = [_signature(signature), utils.is_valid_signature(signature)]
    info = tf.saved_model.utils.build_tensor_info(sparse)
    again = tf.saved_model.get_tensor_from_tensor_info(info)
    found["sparse"] = [again.values.name, again.indices.name, again.dense_shape.name]
    return found
