"""Writing a graph to a file."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format

from tfnb.core.files import file_system
from tfnb.framework.graph import Graph

EXPORTS = {"train": ["write_graph"], "io": ["write_graph"]}


def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph, or another message, to a file; the file is complete or does not exist.

    Args:
      graph_or_graph_def: a graph, or a message.
      logdir: the folder, which is made if necessary.
      name: the name of the file.
      as_text: whether the file is text.

    Returns:
      The path of the file.
    """
    message = graph_or_graph_def
    if isinstance(message, Graph):
        message = message.as_graph_def()
    folder = os.fspath(logdir)
    if folder:
        with file_system.translating_errors(folder):
            os.makedirs(file_system.local_path(folder), exist_ok=True)
    path = os.path.join(folder, name)
    if as_text:
        contents = text_format.MessageToString(message).encode()
    else:
        contents = message.SerializeToString(deterministic=True)
    file_system.write_file(path, contents)
    return path
