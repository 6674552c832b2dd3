"""Messages with protobuf's implementation in plain Python, the only one in a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_PROGRAM = """
from google.protobuf import text_format
from google.protobuf.internal import api_implementation
from tests.proto.full_messages import fill
from tests.proto.our_modules import message_classes
import tfnb as tf

assert api_implementation.Type() == "python"
for name in ("MetaGraphDef", "TensorProto", "Summary", "AssetFileDef", "SaverDef"):
    kind = message_classes()["tensorflow." + name]
    message = kind()
    fill(message)
    # This implementation compares no Any of an unknown type; its bytes are compared instead.
    wanted = message.SerializeToString(deterministic=True)
    parsed = kind.FromString(message.SerializeToString())
    text = text_format.MessageToString(message)
    read = text_format.Parse(text, kind(), descriptor_pool=message.DESCRIPTOR.file.pool)
    assert parsed.SerializeToString(deterministic=True) == wanted, name
    assert read.SerializeToString(deterministic=True) == wanted, name
with tf.Graph().as_default() as graph:
    y = tf.constant(2.0) * 3.0
text = text_format.MessageToString(graph.as_graph_def())
with tf.Graph().as_default(), tf.Session() as session:
    tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
    assert session.run("mul:0") == 6.0
"""


@pytest.mark.slow
def test_messages_survive_bytes_and_text_in_plain_python() -> None:
    """Nothing is lost, a meta graph's Any included, and a graph from text runs."""
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
