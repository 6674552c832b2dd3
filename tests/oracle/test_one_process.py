"""tfnb and TensorFlow work in one process, in either order of imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

ROOT = Path(__file__).parents[2]

CHECK_MESSAGES = """
from google.protobuf import descriptor_pool, message_factory

from tests.proto.full_messages import fill
from tests.proto.our_modules import message_classes

pool = descriptor_pool.Default()
differing = []
for name, ours in message_classes().items():
    theirs = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    assert theirs is not ours
    written = []
    for message in (ours(), theirs()):
        fill(message)
        written.append(message.SerializeToString(deterministic=True))
    if written[0] != written[1]:
        differing.append(name)
print("differing:", differing)
"""

IMPORT_OURS = """
import tfnb
from tests.proto.our_modules import modules
modules()
"""

IMPORT_TENSORFLOW = """
import tensorflow
from tests.oracle.tensorflow_tables import import_message_modules
import_message_modules()
"""


@pytest.mark.parametrize(
    "imports",
    [IMPORT_OURS + IMPORT_TENSORFLOW, IMPORT_TENSORFLOW + IMPORT_OURS],
    ids=["tfnb first", "tensorflow first"],
)
def test_both_write_the_same_bytes_in_one_process(imports: str) -> None:
    """Neither registers the other's names, and every message has the same bytes."""
    script = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{imports}\n{CHECK_MESSAGES}"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "differing: []"
