"""``tensorflow.python.tools.freeze_graph``: one file of a graph and its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import text_format

from tfnb.client.public.api import tf


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Write a graph whose variables are constants; return it.

    Args:
      input_graph: a file of a GraphDef.
      input_saver: a file of a SaverDef; without it, names find the variables of the checkpoint.
      input_binary: whether these files are binary.
      input_checkpoint: the checkpoint.
      output_node_names: nodes to keep, with commas between them.
      restore_op_name: not used.
      filename_tensor_name: not used.
      output_graph: the file to write, always binary; none if it is empty.
      clear_devices: whether nodes lose their devices.
      initializer_nodes: nodes to run first, with commas between them.
      variable_names_whitelist: variables to convert; all if it is empty.
      variable_names_blacklist: variables to keep.
      input_meta_graph: a file of a MetaGraphDef, in place of ``input_graph``.
      input_saved_model_dir: a folder of a saved model, in place of ``input_graph``.
      saved_model_tags: which of its graphs.
      checkpoint_version: not used: files of both versions are read.

    Raises:
      ValueError: there is no checkpoint with that name.
    """
    if input_saved_model_dir:
        found = _frozen(
            lambda session: tf.saved_model.loader.load(
                session, saved_model_tags.split(","), input_saved_model_dir
            ),
            output_node_names, variable_names_whitelist, variable_names_blacklist,
        )  # fmt: skip
    elif not tf.train.checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    elif input_meta_graph:
        meta_graph = _message(tf.MetaGraphDef(), input_meta_graph, input_binary)

        def restore_meta_graph(session: Any) -> None:
            tf.train.import_meta_graph(meta_graph, clear_devices=clear_devices).restore(
                session, input_checkpoint
            )

        found = _frozen(restore_meta_graph, output_node_names, variable_names_whitelist,
                        variable_names_blacklist)  # fmt: skip
    else:
        graph_def = _message(tf.GraphDef(), input_graph, input_binary)
        saver_def = (
            _message(tf.train.SaverDef(), input_saver, input_binary) if input_saver else None
        )
        return freeze_graph_with_def_protos(
            graph_def, saver_def, input_checkpoint, output_node_names, restore_op_name,
            filename_tensor_name, output_graph, clear_devices, initializer_nodes,
            variable_names_whitelist, variable_names_blacklist,
        )  # fmt: skip
    return _written(found, output_graph)


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Any = None,
    checkpoint_version: int = 2,
) -> Any:
    """Write a graph whose variables are constants; return it. See ``freeze_graph``."""
    if clear_devices:
        for node in input_graph_def.node:
            node.device = ""

    def restore(session: Any) -> None:
        tf.import_graph_def(input_graph_def, name="")
        if input_saver_def is not None:
            tf.train.Saver(saver_def=input_saver_def).restore(session, input_checkpoint)
        else:
            names = tf.train.NewCheckpointReader(input_checkpoint).get_variable_to_shape_map()
            tf.train.Saver(_variables(session.graph, names)).restore(session, input_checkpoint)
        if initializer_nodes:
            session.run(initializer_nodes.replace(" ", "").split(","))

    return _written(
        _frozen(restore, output_node_names, variable_names_whitelist, variable_names_blacklist),
        output_graph,
    )


def _variables(graph: Any, names: Any) -> dict[str, Any]:
    """Return the variables of a graph that a checkpoint has, by their names."""
    found = {}
    for name in names:
        try:
            found[name] = graph.get_tensor_by_name(f"{name}:0")
        except KeyError:
            continue  # the graph does without it, as it does without an optimizer's
    return found


def _frozen(restore: Any, outputs: str, whitelist: str, blacklist: str) -> Any:
    def listed(names: str) -> list[str] | None:
        return names.replace(" ", "").split(",") if names else None

    with tf.Graph().as_default() as graph, tf.Session() as session:
        restore(session)
        return tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), listed(outputs), listed(whitelist), listed(blacklist)
        )


def _written(graph_def: Any, path: str) -> Any:
    if path:
        with tf.gfile.GFile(path, "wb") as file:
            file.write(graph_def.SerializeToString())
    return graph_def


def _message(message: Any, path: str, is_binary: bool) -> Any:
    data = Path(path).read_bytes()
    if is_binary:
        message.ParseFromString(data)
    else:
        text_format.Parse(data.decode(), message)
    return message
