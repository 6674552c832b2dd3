"""Builds a JupyterLite site on the test bed's Pyodide: static files that need no other server.

    python .ci/pyodide/bed_site.py WHEEL SITE [ARGUMENT of scripts/lite.py...]

``browser.py`` runs its notebooks. The Pyodide of the test bed is older than the one that ``make
lite`` uses, and so is the kernel that fits it: both are installed into an environment of their own.
``TFNB_PYODIDE`` names a folder with the test bed's unpacked Pyodide.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bed import NAME, fitted, pyodide_of_registry

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ("jupyterlite-core==0.6.4", "jupyterlite-pyodide-kernel==0.6.1")


def main(wheel: str, site: str, *further: str) -> int:
    """Build the site; return the exit status."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        given = os.environ.get("TFNB_PYODIDE")
        pyodide = Path(given) if given else pyodide_of_registry(folder)
        if pyodide is None:
            print(f"The registry lacks {NAME}; there is no site.")
            return 1
        python = folder / "environment" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, wheel, *KERNEL, "jupyter_server"], check=True)
        fitting = folder / "fitting"
        fitting.mkdir()
        command = [str(python), str(ROOT / "scripts" / "lite.py"), "--output", site]
        command += ["--wheel", str(fitted(Path(wheel), fitting)), "--pyodide", str(pyodide)]
        command += further
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
