"""Build a JupyterLite site: static files with tfnb and its notebooks, which run in the browser.

    make lite                                   # writes build/lite
    make lite LITE_PYODIDE=~/pyodide            # with a Pyodide of one's own: needs no other server

A browser runs Python as Pyodide, which the site loads from a content delivery network, with NumPy
and what else tfnb needs; with ``--pyodide`` a folder with Pyodide is copied into the site. The
wheels of tfnb and of its pure dependencies are in the site, compiled for Pyodide's Python if this
machine has a Python of that version. See ``docs/browser.md``.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Dependencies of tfnb without compiled parts; the others belong to Pyodide.
PURE = (
    "anywidget", "comm", "graphviz", "ipywidgets", "jupyterlab_widgets", "protobuf", "psygnal",
    "typing_extensions",
)  # fmt: skip
_KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
# Notebooks that start processes.
LEFT_OUT = ("09_a_cluster_on_one_machine.ipynb", "10_a_program_from_2018.ipynb")

# Cells that import what most notebooks do: the modules of tfnb that they load are compiled.
_USUAL_CELLS = (
    "%load_ext tfnb",
    "import tfnb as tf",
    "x = tf.get_variable('x', [2])\nloss = tf.reduce_sum(tf.nn.relu(tf.square(x)))",
    "step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)",
    "loop = tf.while_loop(lambda i: i < 9, lambda i: i + 1, [0])",
    "session = tf.Session()\nsession.run(tf.global_variables_initializer())\nsession.run(step)",
    "%tfnb graph",
    "%tfnb placement",
    "%tfnb partitions",
    "%%tfnb record\nsession.run(step)",
    "%%tfnb watch\nsession.run([loop, loop])",
    "written = tf.get_default_graph().as_graph_def().SerializeToString()",
    "with tf.Graph().as_default():\n    tf.import_graph_def(tf.GraphDef.FromString(written))",
)
# Runs the cells and writes the paths of all modules into a file.
_RUN_CELLS = """\
import json, pathlib, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.loads(sys.argv[1]):
    if not shell.run_cell(cell).success:
        sys.exit(f"This cell of scripts/lite.py failed: {cell}")
files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
pathlib.Path(sys.argv[2]).write_text("\\n".join(filter(None, files)))
"""

_INSTALL = """\
# In the browser, this cell installs tfnb from this site.
import piplite

await piplite.install("tfnb")
"""
# Stands before the code of a cell with the tag "needs-threads".
_NEEDS_THREADS = (
    "*Python in a browser has one thread, and this cell needs a second one. Outside of the browser "
    "it runs:*"
)


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "lite", help="the folder")
    parser.add_argument("--pyodide", type=Path, help="a folder with Pyodide, to be in the site")
    parser.add_argument("--wheel", type=Path, help="the wheel of tfnb; by default it is built")
    parser.add_argument("--python", help="a Python of Pyodide's version, which compiles the wheels")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheels = folder / "wheels"
        wheels.mkdir()
        _collect_wheels(wheels, arguments.wheel)
        _compile_wheels(wheels, arguments.python, _python_version(arguments.pyodide))
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


def _python_version(pyodide: Path | None) -> str:
    """Return the version of Pyodide's Python, as in "3.12"; "" if it is not known."""
    if pyodide is not None:
        lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
        return ".".join(lock["info"]["python"].split(".")[:2])
    from jupyterlite_pyodide_kernel import constants

    return getattr(constants, "PYODIDE_PYTHON_VERSION", "")


def _compile_wheels(folder: Path, python: str | None, version: str) -> None:
    """Add the compiled modules to the wheels; a browser would compile them at each kernel's start.

    Bytecode depends on Python's version. Without a Python of that version, the wheels stay as they
    are.
    """
    found = python or shutil.which(f"python{version}")
    if not found or _version_of(found) != version:
        print(
            f"Without a Python {version or 'of the version of Pyodide'}, the modules are compiled "
            "in the browser, at each start of a kernel. --python names one."
        )
        return
    for path in sorted(folder.glob("*-none-any.whl")):
        with tempfile.TemporaryDirectory() as scratch:
            tree, names = Path(scratch) / "tree", Path(scratch) / "modules"
            with zipfile.ZipFile(path) as archive:
                archive.extractall(tree)
            command = [found, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
            command += ["-s", str(tree), "-p", f"/lib/python{version}/site-packages"]
            if path.name.startswith("tfnb-"):
                # All modules would triple the wheel; a kernel loads less than half of them.
                _write_usual_modules(tree, names)
                command += ["-i", str(names)]
            else:
                command.append(str(tree))
            # A dependency may have files for other versions, which cannot be compiled.
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
            _pack(tree, path)


def _write_usual_modules(tree: Path, names: Path) -> None:
    """Write the paths of the modules of tfnb that most notebooks import, one a line."""
    subprocess.run(
        [sys.executable, "-c", _RUN_CELLS, json.dumps(_USUAL_CELLS), str(names)],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    loaded = names.read_text(encoding="utf-8").splitlines()
    names.write_text("\n".join(name for name in loaded if Path(name).is_relative_to(tree / "tfnb")))


def _version_of(python: str) -> str:
    """Return the version of a Python, as in "3.12"; "" if it does not start."""
    command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _pack(tree: Path, wheel: Path) -> None:
    """Write a wheel of a folder's files, and the list of its files anew."""
    record = next(tree.glob("*.dist-info/RECORD"))
    files = sorted(path for path in tree.rglob("*") if path.is_file() and path != record)
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for path in files:
        content = path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        name = path.relative_to(tree).as_posix()
        writer.writerow([name, f"sha256={digest}", len(content)])
    writer.writerow([record.relative_to(tree).as_posix(), "", ""])
    record.write_text(rows.getvalue(), encoding="utf-8")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (*files, record):
            archive.write(path, path.relative_to(tree).as_posix())


def _copy_notebooks(folder: Path) -> None:
    """Copy the notebooks, with a first cell that installs tfnb, and their files."""
    shutil.copytree(
        ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".*", "__pycache__", *LEFT_OUT)
    )
    for path in folder.glob("*.ipynb"):
        notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"] = [_without_threads(cell) for cell in notebook["cells"]]
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


def _without_threads(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell; a text in place of a cell that needs a second thread."""
    if "needs-threads" not in cell["metadata"].get("tags", ()):
        return cell
    text = f"{_NEEDS_THREADS}\n\n```python\n{''.join(cell['source'])}\n```\n"
    kept = {"id": cell["id"], "metadata": cell["metadata"]}
    return {"cell_type": "markdown", **kept, "source": text.splitlines(keepends=True)}


def _copy_extensions(folder: Path) -> Path:
    """Return a folder with JupyterLab's extensions: the checkout's panel, the environment's others.

    The environment has a panel of tfnb, too, and the builder takes each name only once.
    """
    extensions = folder / "labextensions"
    shutil.copytree(Path(sys.prefix) / "share" / "jupyter" / "labextensions", extensions)
    shutil.rmtree(extensions / "tfnb", ignore_errors=True)
    shutil.copytree(ROOT / "labextension" / "built" / "tfnb", extensions / "tfnb")
    return extensions


def _build(folder: Path, contents: Path, wheels: Path, output: Path, pyodide: Path | None) -> None:
    """Run JupyterLite's builder."""
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "jupyterlite_core", "build"]
    command += ["--lite-dir", str(folder), "--output-dir", str(output), "--contents", str(contents)]
    command += ["--no-sourcemaps"]
    for wheel in sorted(wheels.glob("*.whl")):
        command += ["--piplite-wheels", str(wheel)]
    settings = {
        "LiteBuildConfig": {"ignore_sys_prefix": ["federated_extensions"]},
        "FederatedExtensionAddon": {"extra_labextensions_path": [str(_copy_extensions(folder))]},
    }
    (folder / "jupyter_lite_config.json").write_text(json.dumps(settings), encoding="utf-8")
    if pyodide is not None:
        plugin = {_KERNEL: {"pyodideUrl": f"./static/pyodide/{_script_name()}"}}
        text = json.dumps(
            {
                "jupyter-lite-schema-version": 0,
                "jupyter-config-data": {"litePluginSettings": plugin},
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
