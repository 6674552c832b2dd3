"""``tfnb convert MODEL TARGET.onnx``: a model as an ONNX file, and the comparison of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.command_line.run import UsageError
from tfnb.client.model import Model
from tfnb.client.public import resolve

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tfnb.client.command_line.progress import Progress

OPTIONS = ("opset", "inputs", "outputs", "check")


def refuse_options(options: argparse.Namespace) -> None:
    """Raise UsageError if an option is given that only ONNX files have."""
    given = [f"--{name}" for name in OPTIONS if getattr(options, name)]
    if given:
        raise UsageError(f"{', '.join(given)}: only for a target that ends with .onnx")


def convert_to_onnx(
    options: argparse.Namespace, tags: Sequence[str] | None, progress: Progress
) -> tuple[int, list[str]]:
    """Write a model as an ONNX file.

    Args:
        options: The arguments of the command line.
        tags: The tags of the graph of a SavedModel.
        progress: Receives reports of long work.

    Returns:
        The number of nodes written, and a line for each output that was compared.

    Raises:
        ModelFileError: The file holds no model, or the model lacks a named part.
        OpError: The model cannot be converted; nothing was written.
    """
    inputs, outputs = _names(options.inputs), _names([*options.outputs, *options.output])
    more: dict[str, Any] = {} if options.opset is None else {"opset": options.opset}
    with progress.phase(f"reading {options.file}"):
        model = Model(
            options.file,
            checkpoint=options.checkpoint,
            tags=tags,
            signature=options.signature,
            inputs=inputs or None,
            outputs=outputs or None,
        )
    with model:
        made = resolve("onnx", "export")(model, path=options.target, phase=progress.phase, **more)
        lines = []
        if options.check:
            with progress.phase("comparing with onnxruntime"):
                found = resolve("onnx", "check")(options.target, model)
            lines = [f"{name}: largest difference {found[name]:.3g}" for name in found]
    return len(made.graph.node), lines


def _names(given: Sequence[str]) -> list[str]:
    return [name for text in given for name in text.split(",") if name]
