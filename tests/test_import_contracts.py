"""Folders import only what the contracts in pyproject.toml allow, and files form no circle."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.import_circles import (
    Import,
    SourceFile,
    circles,
    groups,
    imports_of_typescript,
    modules_of,
    named_modules,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).parents[1]

# Files whose imports may lead upwards, with the reason.
#
# Functions of these files: methods of a class that return objects of its subclasses, which are
# defined above it.
GIVES_SUBCLASSES = {
    "tfnb.library.control_flow.tensor_array": "TensorArray(...) is one of three kinds of it",
    "tfnb.library.data.dataset": "dataset.map(...) is a dataset, which has a method map",
    "tfnb.library.linear_operators.operator": "operator.adjoint() is an operator",
    "tfnb.library.ragged.ragged_tensor": "ragged + 1 is ragged, through the table of operators",
    "tfnb.library.variables.variables": "Variable(...) is a reference or a resource",
}
# Imports for types of these classes: a graph refers to its operations, and each operation to its
# graph, so that files below both take them as arguments.
ONE_STRUCTURE = {
    "tfnb.framework.graph": "Graph",
    "tfnb.framework.operation": "Operation",
}


@pytest.mark.slow
@pytest.mark.repeats  # `make check` runs the same program
def test_rooms_keep_their_import_contracts() -> None:
    """The contracts cover layers, Jupyter, gRPC, and the two columns."""
    lint = "from importlinter.cli import lint_imports_command as main; main()"
    run = subprocess.run(
        [sys.executable, "-c", lint, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr


@functools.cache
def _quick_imports() -> dict[str, set[str]]:
    """Return what every file imports, and perhaps more."""
    modules = modules_of(ROOT / "tfnb")
    return {
        module: named_modules(path.read_text("utf-8"), modules) - {module}
        for module, path in modules.items()
    }


@functools.cache
def _imports() -> dict[str, list[Import]]:
    """Return the imports of the files that may be in a circle: parsing all takes seconds.

    A circle with some modules too many contains each circle without them.

    The gradient of Concat uses Slice, that of Slice uses Pad, and that of Pad uses Slice: imports
    of gradient functions are not counted.
    """
    modules = modules_of(ROOT / "tfnb")
    found = {}
    for module in sorted({one for group in groups(_quick_imports()) for one in group}):
        path = modules[module]
        source = SourceFile(path.read_text("utf-8"), modules)
        gradients = source.gradient_functions()
        found[module] = [
            one
            for one in source.imports()
            if one.module != module and one.function not in gradients
        ]
    return found


def _counted_imports(exempt: frozenset[str]) -> dict[str, set[str]]:
    """Return the imports of every file, without those that may lead upwards.

    Args:
        exempt: The entries of the lists above that apply.
    """
    exact = {
        module: {
            one.module
            for one in imports
            if not (one.function and module in exempt)
            and not (one.is_for_types and _is_exempt_type(one, exempt))
        }
        for module, imports in _imports().items()
    }
    return _quick_imports() | exact


def _is_exempt_type(found: Import, exempt: frozenset[str]) -> bool:
    return found.module in exempt and ONE_STRUCTURE.get(found.module) == found.name


EXEMPT = frozenset({*GIVES_SUBCLASSES, *ONE_STRUCTURE})


def _told(found: list[list[str]], what: str = "Files") -> str:
    return "\n".join(
        [
            f"{what} import one another in a circle:",
            *(f"  {' -> '.join([*circle, circle[0]])}" for circle in found),
            "Move the function or class that closes it to the file that it belongs to, hand the "
            "object in, or name what the lower file needs of it in a small Protocol there.",
        ]
    )


@pytest.mark.slow
def test_files_import_one_another_in_no_circle() -> None:
    """Imports for types and inside functions count, too."""
    found = circles(_counted_imports(EXEMPT))

    assert not found, _told(found)


@pytest.mark.slow
def test_every_exempt_file_would_close_a_circle() -> None:
    """An entry that is not needed must be removed."""
    needless = [entry for entry in EXEMPT if not circles(_counted_imports(EXEMPT - {entry}))]

    assert not needless, f"take {', '.join(sorted(needless))} from the lists"


def test_files_of_the_front_end_import_one_another_in_no_circle() -> None:
    """Imports of types count, too."""
    found = circles(imports_of_typescript(ROOT / "labextension" / "src"))

    assert not found, _told(found)


# Folders of generated files, which name the whole package.
GENERATED = ("tfnb/client/public", "tfnb/proto")


def _exactly_imported(text: str, modules: Mapping[str, Path]) -> set[str]:
    return {one.module for one in SourceFile(text, modules).imports()}


def _imports_of_folders(
    root: Path,
    packages: Sequence[str],
    imported: Callable[[str, Mapping[str, Path]], set[str]] = _exactly_imported,
) -> dict[str, set[str]]:
    """Return the folders of packages, and those that the files of each import."""
    modules = {
        module: path for name in packages for module, path in modules_of(root / name).items()
    }
    folders = {module: path.parent.relative_to(root).as_posix() for module, path in modules.items()}
    found: dict[str, set[str]] = {folder: set() for folder in folders.values()}
    for module, path in modules.items():
        others = imported(path.read_text("utf-8"), modules)
        found[folders[module]] |= {folders[one] for one in others}
    return {
        folder: {one for one in others if one != folder and one not in GENERATED}
        for folder, others in found.items()
        if folder not in GENERATED
    }


@pytest.mark.slow
def test_folders_import_one_another_in_no_circle() -> None:
    """The folders of tests, scripts and benchmarks count, and imports of each kind."""
    packages = ("tfnb", "tests", "scripts", "benchmarks")
    # If there is no circle with some modules too many, there is none without them.
    if not circles(_imports_of_folders(ROOT, packages, named_modules)):
        return
    found = circles(_imports_of_folders(ROOT, packages))

    assert not found, _told(found, "Folders")


def test_no_import_is_missed_by_the_quick_search(tmp_path: Path) -> None:
    """Every form of an import is found, where it begins a line."""
    names = ["a", "b", "c", "d", "e", "f", "g"]
    modules = {f"made.{name}": tmp_path for name in names} | {"made": tmp_path}
    text = (
        "from made import (  # reason\n    a,  # other reason\n    b as x,\n)\n"
        "import made.c, made.d as y\n"
        "if TYPE_CHECKING:\n    from made import e\n"
        "def f():\n    from made.f import Name\n"
        "from made import(g)\n"
    )
    assert named_modules(text, modules) == {f"made.{name}" for name in names}
    assert _exactly_imported(text, modules) <= named_modules(text, modules)


def test_a_circle_of_folders_without_a_circle_of_files_is_found(tmp_path: Path) -> None:
    """One file of each folder imports one of the other."""
    for name, text in (
        ("one/first.py", "from made.two import first"),
        ("one/second.py", ""),
        ("two/first.py", ""),
        ("two/second.py", "def f():\n    import made.one.second\n"),
    ):
        (tmp_path / "made" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made" / name).write_text(text)

    imports = _imports_of_folders(tmp_path, ["made"])
    assert circles(imports) == [["made/one", "made/two"]]


def test_a_circle_is_found_through_a_type_and_a_function(tmp_path: Path) -> None:
    """The check finds both kinds of import, and ignores those of gradients."""
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "low.py").write_text("if TYPE_CHECKING:\n    from made.high import High\n")
    (package / "high.py").write_text("def f():\n    from made import low\n")
    (package / "grad.py").write_text(
        "from made.other import x\n"
        "@x.gradient\n"
        "def _(op, grad):\n    return _helper(grad)\n"
        "def _helper(grad):\n    from made import other\n"
        "    return other\n"
    )
    (package / "other.py").write_text("def g():\n    from made import grad\n")
    modules = modules_of(package)
    files = {name: SourceFile(path.read_text("utf-8"), modules) for name, path in modules.items()}

    found = {name: {one.module for one in file.imports()} for name, file in files.items()}

    assert circles(found) == [["made.grad", "made.other"], ["made.high", "made.low"]]
    assert files["made.grad"].gradient_functions() == {"_:3", "_helper"}
