"""Write tests/golden/op_defs.txt: every op of TensorFlow, one line each.

Run with a Python that has TensorFlow: python scripts/oracle/op_defs.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "ops"))


def main() -> None:
    """Write the golden list."""
    from op_def_text import op_def_line
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    op_list = op_def_pb2.OpList()
    op_list.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    lines = sorted(op_def_line(op_def) for op_def in op_list.op)
    target = ROOT / "tests" / "golden" / "op_defs.txt"
    target.write_text("\n".join(lines) + "\n")
    sys.stdout.write(f"{len(lines)} ops -> {target}\n")


if __name__ == "__main__":
    main()
