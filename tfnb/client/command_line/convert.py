"""``tfnb convert SOURCE TARGET``: binary to text and back, SavedModels to frozen graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import text_format

from tfnb.client.command_line.run import UsageError, open_session
from tfnb.client.model_file import ModelFileError
from tfnb.client.model_session import signature_named
from tfnb.core.files import file_system
from tfnb.library.variables.freezing import convert_variables_to_constants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.command_line.progress import Progress
    from tfnb.client.model_file import ModelFile


def convert(
    model: ModelFile,
    target: str,
    progress: Progress,
    outputs: Sequence[str] = (),
    signature_key: str | None = None,
    checkpoint: str | None = None,
) -> int:
    """Write a model in another form; return the number of nodes written.

    A SavedModel, and any graph with a checkpoint, is frozen: its variables become constants, and
    only the nodes that the outputs need are kept. A GraphDef or a MetaGraphDef alone changes its
    form only.

    Args:
        model: The model.
        target: ``.pb`` or ``.pbtxt``; ``.meta`` keeps a MetaGraphDef.
        progress: Receives reports of long work.
        outputs: The output nodes of a frozen graph; those of the signature if empty.
        signature_key: The signature; the only one if None.
        checkpoint: Where variables are restored from: a prefix, or a folder with checkpoints.

    Raises:
        UsageError: The arguments contradict each other.
        ModelFileError: The model does not have this part.
    """
    is_text = target.endswith((".pbtxt", ".txt"))
    if not is_text and not target.endswith((".pb", ".meta")):
        raise UsageError(f"{target}: the name must end with .pb, .pbtxt, .meta or .onnx")
    message: Any
    if model.kind == "SavedModel" or checkpoint is not None:
        if target.endswith(".meta"):
            raise UsageError(f"{target}: a frozen graph is a GraphDef, .pb or .pbtxt")
        message = _frozen(model, progress, outputs, signature_key, checkpoint)
    elif outputs:
        raise UsageError("--output is for graphs that are frozen, with values for the variables")
    elif target.endswith(".meta"):
        if model.meta_graph is None:
            raise ModelFileError(f"{model.path} is no MetaGraphDef: write a .pb or .pbtxt file")
        message = model.meta_graph
    else:
        message = model.graph_def
    with progress.phase(f"writing {target}"):
        data = text_format.MessageToString(message).encode() if is_text else _binary(message)
        file_system.write_file(target, data)
    graph_def = message.graph_def if hasattr(message, "graph_def") else message
    return len(graph_def.node)


def _binary(message: Any) -> bytes:
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def _frozen(
    model: ModelFile,
    progress: Progress,
    outputs: Sequence[str],
    signature_key: str | None,
    checkpoint: str | None,
) -> Any:
    names = [name.partition(":")[0] for name in outputs]
    if not names:
        signature = signature_named(model, signature_key)
        if signature is None:
            raise UsageError("--output is needed: the model has no signature with outputs")
        names = [info.name.partition(":")[0] for info in signature.outputs.values()]
    with open_session(model, checkpoint, progress) as sess:
        with progress.phase("freezing variables"):
            graph_def = sess.graph.as_graph_def()
            return convert_variables_to_constants(sess, graph_def, sorted(set(names)))
