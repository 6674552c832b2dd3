"""Write tests/golden/programs.json: the numbers of tests/programs with TensorFlow.

Run with a Python that has TensorFlow, and tf-keras of the same version, from which TensorFlow takes
``tf.layers``: python scripts/oracle/programs.py [name ...]
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMPORT = "import tfnb as tf\n"
REPLACED = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"


def main() -> None:
    """Run the programs, all or those named, and write their numbers."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow.compat.v1 as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    target = ROOT / "tests" / "golden" / "programs.json"
    answers = json.loads(target.read_text()) if target.exists() else {}
    for path in sorted((ROOT / "tests" / "programs").glob("*.py")):
        if path.stem.startswith(("test_", "_")) or (sys.argv[1:] and path.stem not in sys.argv[1:]):
            continue
        source = path.read_text()
        if source.count(IMPORT) != 1:
            raise SystemExit(f"{path.name} does not say {IMPORT.strip()!r} once")
        namespace = {"__name__": path.stem}
        exec(compile(source.replace(IMPORT, REPLACED), str(path), "exec"), namespace)
        tf.disable_v2_behavior()
        with tf.Graph().as_default():
            answers[path.stem] = namespace["main"]()  # type: ignore[operator]
        sys.stdout.write(f"{path.stem}: {answers[path.stem]}\n")
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
