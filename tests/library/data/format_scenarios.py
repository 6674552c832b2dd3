"""Files written by one program and read by another.

Checkpoints, MetaGraphDefs, SavedModels, graphs.

``write(tf, folder)`` writes one of each kind, ``read(tf, folder)`` returns their contents. Writer
and reader may be TensorFlow or tfnb; ``scripts/oracle/formats.py`` tries all pairs, and stores
TensorFlow's files in golden/formats.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tests.ops.waiting.pipeline_scenarios import plain


def _variables(tf: Any) -> dict[str, Any]:
    """One variable of every sort."""
    with tf.device("/device:CPU:0"):
        placed = tf.Variable([1.5, -2.5], name="placed")
    found = {
        "placed": placed,
        "resource": tf.Variable(
            [[1, 2], [3, -4]], dtype=tf.int64, name="resource", use_resource=True
        ),
        "text": tf.Variable(["", "two", "drei\n"], name="text"),
        "scalar": tf.Variable(2.5, name="scope/scalar", dtype=tf.float64),
        "flag": tf.Variable([True, False], name="scope/flag", use_resource=True),
        "complex": tf.Variable(1.0 + 2.0j, dtype=tf.complex64, name="complex"),
        "half": tf.Variable([0.5, 65504.0], dtype=tf.float16, name="half"),
        "bytes": tf.Variable(np.array([0, 255], np.uint8), name="bytes"),
        "empty": tf.Variable(np.zeros((0, 3), np.float32), name="empty"),
        "brain": tf.Variable(tf.cast([1.0, 3.140625], tf.bfloat16), name="brain"),
    }
    for kind in (False, True):
        name = f"parts_{int(kind)}"
        parts = tf.get_variable(
            name,
            [5, 2],
            tf.int32,
            initializer=tf.ones_initializer(),
            partitioner=tf.fixed_size_partitioner(3),
            use_resource=kind,
        )
        for index, part in enumerate(parts):
            found[f"{name}/{index}"] = part
    return found


def _model(tf: Any) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=[[1.0], [2.0]])
    b = tf.get_variable("b", initializer=[0.5], use_resource=True)
    y = tf.add(tf.matmul(x, w), b, name="y")
    p = tf.reduce_sum(y) > 0.0
    y = tf.cond(p, lambda: y * 2.0, lambda: y, name="branch")
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + b), [0, y], name="loop")
    return x, tf.identity(y, name="out")


def _tracked(tf: Any) -> tuple[Any, list[Any]]:
    """Build objects that refer to each other, and ops that train."""
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    w = tf.Variable(3.0, name="a/w", use_resource=True)
    optimizer = tf.train.AdamOptimizer(0.5)
    train = optimizer.minimize(tf.reduce_sum(v * v) + w * w)
    momentum = tf.train.MomentumOptimizer(0.25, 0.5)
    also = momentum.minimize(tf.reduce_sum(v * w))
    root = tf.train.Checkpoint(
        **{"model": v, "list.of/both": [w, {"again": v}], "optimizer": optimizer},
        inner=tf.train.Checkpoint(momentum=momentum, w=w),
    )
    return root, [train, also]


def _tables(tf: Any) -> tuple[Any, list[Any]]:
    """Build all kinds of tables in an object, and ops that change them."""
    words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    lines = tf.lookup.TextFileInitializer(
        __file__, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER,
    )  # fmt: skip
    changing = [
        tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="changing"),
        tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0]),
        tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.float32, -1.0, empty_key=-1, deleted_key=-2, initial_num_buckets=8
        ),
    ]
    root = tf.train.Checkpoint(
        v=tf.Variable([4.0], name="beside"),
        tables=tf.train.Checkpoint(first=changing[0], second=changing[1]),
        dense=changing[2],
        static=tf.lookup.StaticHashTable(words, -1),
        vocabulary=tf.lookup.StaticVocabularyTable(words, 3),
        lines=tf.lookup.StaticHashTable(lines, -1),
    )
    return root, changing


def write(tf: Any, folder: str) -> None:
    """Writes a file of each kind."""
    with tf.Graph().as_default(), tf.Session() as sess:
        root, (first, second, dense) = _tables(tf)
        sess.run(tf.global_variables_initializer())
        sess.run(first.insert(tf.constant(["x", "y"]), tf.constant([7, 8], tf.int64)))
        sess.run(second.insert(tf.constant([3], tf.int64), tf.constant([[1.0, 2.0]])))
        sess.run(dense.insert(tf.constant([5, 6], tf.int64), tf.constant([2.5, 3.5])))
        sess.run(dense.remove(tf.constant([6], tf.int64)))
        root.save(os.path.join(folder, "tables", "x"))
    with tf.Graph().as_default(), tf.Session() as sess:
        root, train = _tracked(tf)
        sess.run(tf.global_variables_initializer())
        for step in train:
            sess.run(step)
        manager = tf.train.CheckpointManager(root, os.path.join(folder, "tracked"), max_to_keep=1)
        for _ in range(2):
            manager.save()
    for name, options in (
        ("second", {}),
        ("sharded", {"sharded": True}),
        ("first", {"write_version": tf.train.SaverDef.V1}),
    ):
        with tf.Graph().as_default(), tf.Session() as sess:
            variables = _variables(tf)
            if name == "first":  # it cannot hold all types
                for key in ("brain", "empty", "complex"):
                    del variables[key]
            sess.run(tf.global_variables_initializer())
            sess.run([v.assign_add(v * int(k[-1])) for k, v in variables.items() if "/" in k])
            saver = tf.train.Saver(list(variables.values()), save_relative_paths=True, **options)
            saver.save(
                sess,
                os.path.join(folder, name),
                global_step=3,
                latest_filename=f"{name}.state",
                write_meta_graph=False,
            )
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x, out = _model(tf)
        tf.add_to_collection("out", out)
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, os.path.join(folder, "model"), write_state=False)
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["out"])
        tf.train.write_graph(frozen, folder, "frozen.pb", as_text=False)
        vocabulary = Path(folder, "words.txt")
        vocabulary.write_text("eins\nzwei\n")
        asset = tf.constant(str(vocabulary), name="asset")
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
        handle = tf.raw_ops.HashTableV2(
            key_dtype=tf.string, value_dtype=tf.int64, shared_name="table"
        )
        fill = tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=handle, filename=asset, key_index=-2, value_index=-1
        )
        words = tf.placeholder(tf.string, [None], name="words")
        numbers = tf.raw_ops.LookupTableFindV2(
            table_handle=handle, keys=words, default_value=tf.constant(-1, tf.int64)
        )
        tf.saved_model.simple_save(
            sess,
            os.path.join(folder, "saved"),
            {"x": x, "words": words},
            {"y": out, "numbers": numbers},
            legacy_init_op=fill,
        )
        vocabulary.unlink()
    with tf.Graph().as_default() as graph:
        tf.add_to_collection("out", tf.get_variable("w", [2, 1]) * 2.0)
        tf.train.export_meta_graph(os.path.join(folder, "text.meta"), as_text=True)
        tf.train.write_graph(graph, folder, "graph.pbtxt")


def read(tf: Any, folder: str) -> dict[str, Any]:
    """Return the contents of the files."""
    found: dict[str, Any] = {}
    for name in ("second", "sharded", "first"):
        with tf.Graph().as_default(), tf.Session() as sess:
            variables = _variables(tf)
            if name == "first":
                for key in ("brain", "empty", "complex"):
                    del variables[key]
            path = tf.train.latest_checkpoint(folder, f"{name}.state")
            tf.train.Saver(list(variables.values())).restore(sess, path)
            values = sess.run(variables)
            found[name] = {key: [str(v.dtype), str(v.tolist())] for key, v in values.items()}
            listed = tf.train.list_variables(path)
            found[f"{name}: names"] = [[key, list(shape)] for key, shape in listed]
    with tf.Graph().as_default(), tf.Session() as sess:
        root, _ = _tracked(tf)
        folder_of_objects = os.path.join(folder, "tracked")
        manager = tf.train.CheckpointManager(root, folder_of_objects, max_to_keep=1)
        status = root.restore(manager.latest_checkpoint)
        status.assert_consumed()
        status.initialize_or_restore(sess)
        variables = {variable.name: variable for variable in tf.global_variables()}
        found["objects"] = sess.run({name: variables[name] for name in sorted(variables)})
        path = tf.train.latest_checkpoint(folder_of_objects)
        found["objects: names"] = [[key, list(s)] for key, s in tf.train.list_variables(path)]
        stored = tf.train.load_variable(path, "_CHECKPOINTABLE_OBJECT_GRAPH")
        found["objects: graph"] = bytes(stored).hex()
    with tf.Graph().as_default(), tf.Session() as sess:
        root, (first, second, dense) = _tables(tf)
        path = os.path.join(folder, "tables", "x-1")
        status = root.restore(path)
        status.assert_consumed()
        status.run_restore_ops()
        sizes = [first.size(), second.size(), dense.size()]
        numbers = tf.constant([3, 5, 6], tf.int64)
        found["tables"] = sess.run([sizes, root.v, first.lookup(tf.constant(["x", "y", "z"]))])
        found["tables of numbers"] = sess.run([second.lookup(numbers), dense.lookup(numbers)])
        found["tables: names"] = [[key, list(s)] for key, s in tf.train.list_variables(path)]
        stored = tf.train.load_variable(path, "_CHECKPOINTABLE_OBJECT_GRAPH")
        found["tables: graph"] = bytes(stored).hex()
    feeds = {"x:0": [[1.0, 2.0], [3.0, 4.0]]}
    for name, file, fed in (("binary", "model.meta", feeds), ("text", "text.meta", {})):
        with tf.Graph().as_default(), tf.Session() as sess:
            saver = tf.train.import_meta_graph(os.path.join(folder, file))
            saver.restore(sess, os.path.join(folder, "model"))
            out = tf.get_collection("out")[0]
            grad = tf.gradients(out, tf.trainable_variables())
            found[name] = sess.run([out, grad], fed)
    with tf.Graph().as_default(), tf.Session() as sess:
        frozen = tf.GraphDef.FromString(Path(folder, "frozen.pb").read_bytes())
        tf.import_graph_def(frozen, name="")
        found["frozen"] = sess.run("out:0", feeds)
    with tf.Graph().as_default(), tf.Session() as sess:
        message = tf.saved_model.load(sess, ["serve"], os.path.join(folder, "saved"))
        signature = message.signature_def["serving_default"]
        found["saved"] = sess.run(
            {key: info.name for key, info in sorted(signature.outputs.items())},
            {
                signature.inputs["x"].name: [[1.0, 2.0]],
                signature.inputs["words"].name: ["zwei", "drei"],
            },
        )
    result: dict[str, Any] = plain(found)
    return result
