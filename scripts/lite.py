"""Build a JupyterLite site: static files with tfnb and its notebooks, which run in the browser.

    make lite                                   # writes build/lite
    make lite LITE_PYODIDE=~/pyodide            # with a Pyodide of one's own: needs no other server

A browser runs Python as Pyodide, which the site loads from a content delivery network, with NumPy
and what else tfnb needs; with ``--pyodide`` a folder with Pyodide is copied into the site. The
wheels of tfnb and of its pure dependencies are in the site. See ``docs/browser.md``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Dependencies of tfnb without compiled parts; the others belong to Pyodide.
PURE = (
    "anywidget", "comm", "graphviz", "ipywidgets", "jupyterlab_widgets", "protobuf", "psygnal",
    "typing_extensions",
)  # fmt: skip
_KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
# Notebooks that need a second process.
LEFT_OUT = ("09_a_cluster_on_one_machine.ipynb",)

_INSTALL = """\
# In the browser, this cell installs tfnb from this site.
import piplite

await piplite.install("tfnb")
"""


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "lite", help="the folder")
    parser.add_argument("--pyodide", type=Path, help="a folder with Pyodide, to be in the site")
    parser.add_argument("--wheel", type=Path, help="the wheel of tfnb; by default it is built")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheels = folder / "wheels"
        wheels.mkdir()
        _collect_wheels(wheels, arguments.wheel)
        contents = folder / "contents"
        _copy_notebooks(contents)
        _build(folder, contents, wheels, arguments.output.resolve(), arguments.pyodide)
    print(f"The site is in {arguments.output}. To look at it:")
    print(f"  {sys.executable} -m http.server --directory {arguments.output}")


def _collect_wheels(folder: Path, wheel: Path | None) -> None:
    """Put the wheels of tfnb and of its pure dependencies into a folder."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if wheel is None:
        subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    else:
        shutil.copy(wheel, folder)
    # Without --platform, pip would take protobuf's compiled wheel.
    flags = ["--no-deps", "--only-binary=:all:", "--platform", "any", "--dest", str(folder)]
    subprocess.run([*pip, "download", *flags, *PURE], check=True)


def _copy_notebooks(folder: Path) -> None:
    """Copy the notebooks, with a first cell that installs tfnb, and their files."""
    shutil.copytree(
        ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".*", "__pycache__", *LEFT_OUT)
    )
    for path in folder.glob("*.ipynb"):
        notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"].insert(
            0,
            {
                "cell_type": "code",
                "id": "in-the-browser",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": _INSTALL.splitlines(keepends=True),
            },
        )
        notebook["metadata"]["kernelspec"] = {
            "name": "python",
            "display_name": "Python (Pyodide)",
            "language": "python",
        }
        path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def _build(folder: Path, contents: Path, wheels: Path, output: Path, pyodide: Path | None) -> None:
    """Run JupyterLite's builder."""
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "jupyterlite_core", "build"]
    command += ["--lite-dir", str(folder), "--output-dir", str(output), "--contents", str(contents)]
    command += ["--no-sourcemaps"]
    for wheel in sorted(wheels.glob("*.whl")):
        command += ["--piplite-wheels", str(wheel)]
    # The panel of tfnb, which the wheel installs beside JupyterLab otherwise.
    command += [
        f"--FederatedExtensionAddon.extra_labextensions_path={ROOT / 'labextension' / 'built'}"
    ]
    if pyodide is not None:
        settings = {_KERNEL: {"pyodideUrl": f"./static/pyodide/{_script_name()}"}}
        text = json.dumps(
            {
                "jupyter-lite-schema-version": 0,
                "jupyter-config-data": {"litePluginSettings": settings},
            }
        )
        (folder / "jupyter-lite.json").write_text(text)
    subprocess.run(command, check=True, cwd=folder)
    if pyodide is not None:
        shutil.copytree(pyodide, output / "static" / "pyodide")


def _script_name() -> str:
    """Return the name of Pyodide's script that the installed kernel loads."""
    from jupyterlite_pyodide_kernel import constants

    return getattr(constants, "PYODIDE_MJS", None) or constants.PYODIDE_JS


if __name__ == "__main__":
    main()
