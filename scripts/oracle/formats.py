"""Check that TensorFlow and tfnb read each other's files, and store some files of TensorFlow.

Checkpoints of both formats, MetaGraphDefs, frozen graphs and SavedModels are written by each and
read by each; every pair must find the same. TensorFlow's files go to tests/golden/formats.

Run with a Python that has TensorFlow and tfnb's requirements: python scripts/oracle/formats.py
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
TARGET = ROOT / "tests" / "golden" / "formats"


def main() -> int:
    """Try all pairs; return 1 if one of them disagrees."""
    import tensorflow.compat.v1 as tensorflow

    import tfnb
    from tests.library.data.format_scenarios import read, write

    tensorflow.disable_v2_behavior()
    tensorflow.logging.set_verbosity(tensorflow.logging.ERROR)
    programs: dict[str, Any] = {"TensorFlow": tensorflow, "tfnb": tfnb}
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir()
    wanted: Any = None
    failures = 0
    for writer, writing in programs.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = str(TARGET) if writer == "TensorFlow" else scratch
            write(writing, folder)
            for reader, reading in programs.items():
                found = json.loads(json.dumps(read(reading, folder)))
                wanted = wanted or found
                different = [key for key in wanted if found.get(key) != wanted[key]]
                failures += bool(different)
                what = f"differs in {different}" if different else "the same"
                sys.stdout.write(f"written by {writer}, read by {reader}: {what}\n")
                for key in different:
                    sys.stdout.write(f"  {key}\n    {wanted[key]}\n    {found.get(key)}\n")
    _write_objects()
    (TARGET / "values.json").write_text(json.dumps(wanted, indent=0, sort_keys=True) + "\n")
    return int(failures > 0)


def _write_objects() -> None:
    """Write a checkpoint of TensorFlow 2's objects, in a separate process."""
    import subprocess

    program = (
        "import sys, tensorflow as tf\n"
        "v = tf.Variable([1.0, 2.0], name='v')\n"
        "w = tf.Variable([[3]], name='scope/w')\n"
        "tf.train.Checkpoint(first=v, inner=tf.train.Checkpoint(second=w)).write(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(TARGET / "objects")], check=True)


if __name__ == "__main__":
    sys.exit(main())
