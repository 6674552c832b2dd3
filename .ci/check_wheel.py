"""Checks of a wheel: unchanged sources, the front end, and no dependency on TensorFlow."""

from __future__ import annotations

import re
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

MAX_BYTES = 8_000_000
# tensorflow-hub is an extra, and requires NumPy and protobuf only.
WITHOUT_TENSORFLOW = {"tensorflow-hub"}
ROOT = Path(__file__).parents[1]


def complaints(wheel: Path) -> list[str]:
    """Return the errors of a wheel, one sentence each."""
    found = []
    size = wheel.stat().st_size
    if size > MAX_BYTES:
        found.append(f"it has {size} bytes, and may have {MAX_BYTES}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata_name = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(metadata_name).decode())
        sources = {name for name in names if name.startswith("tfnb/")}
        found += [
            f"{name} is not the checkout's"
            for name in sorted(sources)
            if not (ROOT / name).is_file() or archive.read(name) != (ROOT / name).read_bytes()
        ]
    requirements = metadata.get_all("Requires-Dist") or []
    found += [
        f"it requires {requirement}" for requirement in requirements if is_tensorflow(requirement)
    ]
    if not any(re.fullmatch(r"tfnb/notebook/static/.*\.js", name) for name in names):
        found.append("it lacks the browser's half of the widgets (tfnb/notebook/static)")
    extension = "[^/]+[.]data/data/share/jupyter/labextensions/tfnb/"
    for file in (r"package[.]json", r"install[.]json", r"static/lab[.][0-9a-f]{12}[.]js"):
        if sum(re.fullmatch(extension + file, name) is not None for name in names) != 1:
            found.append(f"it lacks {file} of the JupyterLab extension")
    found += [f"it lacks {name}" for name in sorted(_checkout() - sources)]
    found += [f"it carries {name}" for name in names if "/tests/" in name or "node_modules" in name]
    return found


def is_tensorflow(requirement: str) -> bool:
    """Return whether a requirement, as in `Requires-Dist`, names a distribution of TensorFlow."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    if name is None:
        return False
    normalized = re.sub(r"[-_.]+", "-", name[0]).lower()
    return normalized.startswith(("tensorflow", "tf-nightly")) and (
        normalized not in WITHOUT_TENSORFLOW
    )


def _checkout() -> set[str]:
    """Return every file of the package, without Python's caches."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tfnb").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def main() -> None:
    """Check the wheel named on the command line."""
    wheel = Path(sys.argv[1])
    found = complaints(wheel)
    if found:
        sys.exit(f"{wheel.name}: " + "; ".join(found))
    sys.stdout.write(f"{wheel.name}: {wheel.stat().st_size} bytes, as it should be\n")


if __name__ == "__main__":
    main()
