"""``tfnb graph FILE -o x.svg``: the picture of a model's graph, without a notebook."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tfnb.client.command_line.main import Command, model_of
from tfnb.client.terminal_text import terminal_text

if TYPE_CHECKING:
    import argparse

    from tfnb.client.command_line.progress import Progress
    from tfnb.client.model_file import ModelFile


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="GraphDef, MetaGraphDef, or the folder of a SavedModel")
    parser.add_argument(
        "-o",
        "--output",
        help=".svg, .png, .html (interactive), .dot, .pdf or .txt; printed as text if missing",
    )


def _draw(options: argparse.Namespace, progress: Progress) -> None:
    from tfnb.client.command_line.run import UsageError
    from tfnb.notebook.scenes.graph_def_scene import describe_graph_def
    from tfnb.notebook.scenes.scene import build_scene
    from tfnb.notebook.scenes.scene_text import scene_text
    from tfnb.notebook.views.export import FORMS, write_scene
    from tfnb.notebook.views.targets import TargetError

    if options.output is not None and Path(options.output).suffix not in FORMS:
        raise UsageError(f"-o {options.output}: the name must end with {', '.join(FORMS)}")
    model = model_of(options, progress)
    count = len(model.graph_def.node)
    with progress.phase(f"drawing {count} nodes"):
        title = Path(options.file).name or options.file
        scene = build_scene(describe_graph_def(model.graph_def), title=title)
        if options.output is None:
            print(terminal_text(scene_text(scene)))
            return
        try:
            write_scene(Path(options.output), scene)
        except TargetError as error:  # no program dot
            raise UsageError(str(error)) from None
    print(f"{options.output}: {count:,} nodes", file=sys.stderr)


def dot_text(model: ModelFile) -> str:
    """Return the graph of a model for Graphviz."""
    from tfnb.notebook.scenes.graph_def_scene import describe_graph_def
    from tfnb.notebook.scenes.scene import build_scene
    from tfnb.notebook.views.dot import digraph

    title = Path(model.path).name or model.path
    return str(digraph(build_scene(describe_graph_def(model.graph_def), title=title)).source)


GRAPH = Command("graph", "draw a model's graph into a file", _add_arguments, _draw)
