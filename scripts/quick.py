"""Check changed files: linters, types, generated tables, and the tests that cover the files.

    make quick                  # the differences from main, committed or not
    make quick SINCE=HEAD~3     # the differences from a commit

The quick tests of a changed folder run completely, except those of the ops: only the files run that
name a changed module or one of its ops. `make test` runs all of them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "proto", "core", "framework", "graph", "ops", "library", "common_runtime", "client", "notebook",
    "onnx_export",
)  # fmt: skip
_OP = re.compile(r"""register_op\(\s*["'](\w+)["']""")
_TABLES = (
    *("generate_public_names.py", "generate_names_table.py"),
    *("generate_ops_table.py", "generate_onnx_table.py"),
)
# Rooms with many tests: only tests that name a changed module or op run.
_MANY_TESTS = frozenset(["ops", "library"])


def base_commit(wanted: str | None) -> str:
    """Return the commit to compare with: the given one, or the merge base with main."""
    if wanted:
        return wanted
    head = _git("rev-parse", "HEAD")
    for main in ("origin/main", "main"):
        found = _git("merge-base", "HEAD", main)
        if found and found != head:
            return found
    return "HEAD"


def changed_files(base: str) -> list[Path]:
    """Return the files that differ from a commit and still exist, new ones included."""
    names = _git("diff", "--name-only", base).split("\n")
    names += _git("ls-files", "--others", "--exclude-standard").split("\n")
    return [Path(name) for name in sorted(set(names)) if name and (ROOT / name).is_file()]


def related_tests(changed: Iterable[Path], root: Path = ROOT) -> list[str]:
    """Return the test files and folders to run, as arguments of pytest."""
    wanted: set[str] = set()
    for path in changed:
        parts = path.parts
        if parts[0] == "tests" and path.name.startswith("test_") and path.suffix == ".py":
            wanted.add(str(path))
        elif parts[0] in ("tests", "tfnb") and len(parts) > 2 and path.suffix == ".py":
            room = parts[1]
            if room in _MANY_TESTS:
                wanted |= _tests_that_name(path, root)
            elif (root / "tests" / room).is_dir():
                wanted.add(f"tests/{room}")
        elif parts[0] == "labextension":
            wanted.add("tests/notebook/test_static.py")
    return sorted(one for one in wanted if not _is_inside(one, wanted))


def _tests_that_name(path: Path, root: Path) -> set[str]:
    """Return the tests of these rooms that name a module or one of the ops that it registers."""
    words = {path.stem, *_OP.findall((root / path).read_text("utf-8"))}
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(words)))})\b")
    rooms = [root / "tests" / room for room in sorted(_MANY_TESTS)]
    found = {
        str(test.relative_to(root))
        for room in rooms
        for test in room.rglob("test_*.py")
        if named.search(test.read_text("utf-8"))
    }
    rows = (path for room in rooms for path in room.rglob("samples_*.py"))
    if any(named.search(path.read_text("utf-8")) for path in rows):
        found |= {"tests/ops/test_samples.py"}
    return found


def _is_inside(one: str, others: set[str]) -> bool:
    return any(str(parent) in others for parent in Path(one).parents)


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _run(title: str, words: Sequence[str]) -> bool:
    """Run a tool; print its errors and its time."""
    start = time.monotonic()
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    is_good = done.returncode in (0, 5)  # 5: pytest found no quick test in these files
    sys.stdout.write(
        f"{'ok    ' if is_good else 'FAILED'} {title} ({time.monotonic() - start:.0f} s)\n"
    )
    if not is_good:
        sys.stdout.write(done.stdout + done.stderr)
    sys.stdout.flush()
    return is_good


def main(arguments: Sequence[str]) -> int:
    """Run the tools and tests for the changes; return 1 if anything fails."""
    changed = changed_files(base_commit(arguments[0] if arguments else None))
    python = [str(path) for path in changed if path.suffix in (".py", ".pyi")]
    if not changed:
        sys.stdout.write("Nothing was changed.\n")
        return 0
    tool = str(Path(sys.executable).parent) + "/"
    good = [_run("spelling", [tool + "codespell", *map(str, changed)])]
    if python:
        good.append(_run("lint", [tool + "ruff", "check", *python]))
        good.append(_run("format", [tool + "ruff", "format", "--check", *python]))
        good.append(_run("types", [tool + "mypy"]))
    if any(path.parts[0] == "tfnb" for path in changed):
        good.append(_run("imports", [tool + "lint-imports"]))
        good += [_run(name, [sys.executable, f"scripts/{name}", "--check"]) for name in _TABLES]
    tests = related_tests(changed)
    if tests:
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-qq",
            "--tb=short",
            "--numprocesses",
            "auto",
            *tests,
        ]
        good.append(_run(f"tests: {' '.join(tests)}", words))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
