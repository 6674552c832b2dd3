"""Write tests/golden/proto_fields.json: TensorFlow's fields of every message that tfnb has.

Run with a Python that has TensorFlow and tensorflow-serving-api:
python scripts/oracle/proto_fields.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write the golden tables, one line each."""
    from tests.oracle.tensorflow_tables import tensorflow_tables
    from tests.proto.our_modules import tables

    golden = tensorflow_tables(sorted(tables()))
    lines = [f"{json.dumps(name)}: {json.dumps(table)}" for name, table in sorted(golden.items())]
    target = ROOT / "tests" / "golden" / "proto_fields.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(lines)} messages and enums -> {target}\n")


if __name__ == "__main__":
    main()
