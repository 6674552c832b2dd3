"""Modules of the package, found and loaded in less time."""

from __future__ import annotations

import marshal
import os
import py_compile
import shutil
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

import tfnb
from tfnb.core.process import module_finder

ROOT = Path(tfnb.__file__).parent
FACTS = """
import importlib, inspect, sys
import {package} as package
from {package}.inner import leaf
for one in (package.inner, leaf):
    spec = one.__spec__
    print(one.__name__, one.__file__, one.__package__, getattr(one, "__path__", None))
    print(one.__cached__, spec.origin, spec.cached, spec.parent, spec.submodule_search_locations)
print(inspect.getsource(leaf).strip(), importlib.reload(leaf) is leaf, leaf.VALUE)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with a package that has the finder, a package in it, and a module in that."""
    inner = tmp_path / "pack" / "inner"
    inner.mkdir(parents=True)
    shutil.copy(ROOT / "core/process/module_finder.py", tmp_path / "pack/finder.py")
    (tmp_path / "pack/__init__.py").write_text(
        "import sys\nfrom pack.finder import install\ninstall(sys.modules[__name__])\n"
    )
    (inner / "__init__.py").write_text("")
    (inner / "leaf.py").write_text("VALUE = 1\n")
    return tmp_path


def run(folder: Path, script: str, *options: str) -> str:
    """Return what a script prints in a fresh interpreter that writes caches."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(folder)
    command = [sys.executable, *options, "-c", script]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_modules_are_as_the_standard_library_makes_them(copy: Path) -> None:
    """Their attributes, their source and a reload do not differ, with a cache or without."""
    plain = copy / "plain"
    shutil.copytree(copy / "pack", plain / "pack")
    (plain / "pack/__init__.py").write_text("")
    wanted = run(plain, FACTS.format(package="pack")).replace(str(plain), str(copy))

    for _ in range(2):
        assert run(copy, FACTS.format(package="pack")) == wanted
    assert (copy / "pack/inner/__pycache__").is_dir()


@pytest.mark.slow
def test_a_changed_file_is_compiled_again(copy: Path) -> None:
    """A cache is used only if the time and the size of its source are those that it was made of."""
    script = "from pack.inner import leaf; print(leaf.VALUE)"
    assert run(copy, script) == run(copy, script) == "1\n"

    leaf = copy / "pack/inner/leaf.py"
    leaf.write_text("VALUE = 23\n")
    assert run(copy, script) == "23\n"
    state = leaf.stat()
    leaf.write_text("VALUE = 45\n")
    os.utime(leaf, ns=(state.st_atime_ns, state.st_mtime_ns + 5_000_000_000))
    assert run(copy, script) == "45\n"


@pytest.mark.slow
def test_a_damaged_cache_is_made_anew(copy: Path) -> None:
    """Caches that end early, or of another kind, are left to the standard library."""
    script = "from pack.inner import leaf; print(leaf.VALUE)"
    run(copy, script)
    (cached,) = (copy / "pack/inner/__pycache__").glob("leaf.*.pyc")
    whole = cached.read_bytes()

    for damaged in (b"", whole[:5], b"none" + whole[4:]):
        cached.write_bytes(damaged)
        assert run(copy, script) == "1\n"
    assert cached.read_bytes() == whole
    cached.write_bytes(whole[:16] + marshal.dumps("no code"))
    with pytest.raises(subprocess.CalledProcessError) as found:
        run(copy, script)
    assert "ImportError: Non-code object" in found.value.stderr
    leaf = copy / "pack/inner/leaf.py"
    py_compile.compile(
        str(leaf), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH, doraise=True
    )
    assert run(copy, script) == "1\n"
    # Tracebacks name the file itself, also if it was compiled elsewhere.
    py_compile.compile(str(leaf), str(cached), dfile="elsewhere.py", doraise=True)
    name = "from pack.inner import leaf; print((lambda: 0).__code__.co_filename, leaf.__file__)"
    assert run(copy, name).endswith(f" {leaf}\n")


@pytest.mark.slow
def test_a_new_file_is_found(copy: Path) -> None:
    """A file that appears after its folder was listed is found by the standard library."""
    script = (
        "import pathlib, pack.inner.leaf\n"
        "pathlib.Path(pack.inner.__path__[0], 'late.py').write_text('VALUE = 7')\n"
        "import importlib; importlib.invalidate_caches()\n"
        "import pack.inner.late; print(pack.inner.late.VALUE)\n"
        "try:\n    import pack.inner.none\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    assert run(copy, script) == "7\nNo module named 'pack.inner.none'\n"


@pytest.mark.slow
@pytest.mark.parametrize("options", [["-O"], ["-X", "pycache_prefix=cache"]])
def test_unusual_caches_are_left_to_the_standard_library(copy: Path, options: list[str]) -> None:
    """The finder is not installed where caches have other names."""
    script = "import sys, pack; print([type(f).__module__ for f in sys.meta_path])"
    assert "pack.finder" in run(copy, script)
    assert "pack.finder" not in run(copy, script, *options)


def test_the_finder_is_asked_before_the_standard_one_only() -> None:
    """Finders that tools put in front, in order to change modules, are asked first."""
    mine = [i for i, f in enumerate(sys.meta_path) if isinstance(f, module_finder._Finder)]

    assert len(mine) == 1
    assert mine[0] == sys.meta_path.index(PathFinder) - 1
    finder = sys.meta_path[mine[0]]
    assert finder.find_spec("json", None) is None
    assert finder.find_spec("tfnb.none", tfnb.__path__) is None
