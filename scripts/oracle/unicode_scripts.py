"""Write tfnb/ops/strings/unicode_scripts_table.py: the script of every code point.

Run with a Python that has TensorFlow: python scripts/oracle/unicode_scripts.py
"""

from __future__ import annotations

import base64
import textwrap
import zlib
from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf

TARGET = (
    Path(__file__).resolve().parents[2] / "tfnb" / "ops" / "strings" / "unicode_scripts_table.py"
)
CODE_POINTS = 0x110000


def main() -> None:
    """Read the scripts of all code points from TensorFlow and store where they change."""
    tf.disable_v2_behavior()
    with tf.Session() as session:
        scripts = session.run(tf.strings.unicode_script(np.arange(CODE_POINTS, dtype=np.int32)))
    starts = np.flatnonzero(np.diff(scripts, prepend=-2))
    # Distances and scripts as little-endian 32-bit words, packed.
    rows = np.stack([np.diff(starts, prepend=0), scripts[starts]]).astype("<i4")
    packed = base64.b85encode(zlib.compress(rows.tobytes(), 9)).decode()
    lines = [repr(line) for line in textwrap.wrap(packed, 90, break_on_hyphens=False)]
    TARGET.write_text(
        '"""Where the Unicode script changes; written by scripts/oracle/unicode_scripts.py."""\n\n'
        "from __future__ import annotations\n\n"
        "PACKED = (\n    " + "\n    ".join(lines) + "\n)\n"
    )


if __name__ == "__main__":
    main()
