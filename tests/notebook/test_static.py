"""The built files of the widget: present, small, and built from the committed sources."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from pathlib import Path

import pytest

import tfnb as tf

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "labextension"
STATIC = ROOT / "tfnb" / "notebook" / "static"


def source_hash() -> str:
    """Return the hash that labextension/build.mjs writes, of every source of the built files."""
    names = ["build.mjs", "package.json", "package-lock.json"]
    for folder in ("src", "style"):
        names += [
            path.relative_to(SOURCES).as_posix()
            for path in (SOURCES / folder).rglob("*")
            if path.is_file()
        ]
    digest = hashlib.sha256()
    for name in sorted(names):
        text = (SOURCES / name).read_text(encoding="utf-8").replace("\r\n", "\n")
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()


@pytest.mark.skipif(not SOURCES.exists(), reason="the front end's sources are not here")
def test_built_files_are_not_stale() -> None:
    """After a change in labextension/, run `npm run build` there and commit the result."""
    assert source_hash() == (STATIC / "SOURCE_HASH").read_text().strip()


@pytest.mark.skipif(not SOURCES.exists(), reason="the front end's sources are not here")
def test_what_jupyterlab_loads_is_there_and_small() -> None:
    """package.json names one script, whose name contains its hash."""
    built = SOURCES / "built" / "tfnb"
    about = json.loads((built / "package.json").read_text(encoding="utf-8"))
    scripts = list((built / "static").iterdir())
    assert [path.relative_to(built).as_posix() for path in scripts] == [
        about["jupyterlab"]["_build"]["load"]
    ]
    code = scripts[0].read_bytes()
    assert scripts[0].name == f"lab.{hashlib.sha256(code).hexdigest()[:12]}.js"
    assert len(code) < 30_000
    assert about["version"] == tf.__version__
    assert json.loads((built / "install.json").read_text())["packageName"] == "tfnb"


def test_the_widget_stays_small() -> None:
    """The bundle is part of every saved widget."""
    assert len((STATIC / "tfnb.js").read_bytes()) < 90_000
    assert len((STATIC / "tfnb.css").read_bytes()) < 30_000


def test_names_never_become_markup_in_the_browser() -> None:
    """The front end uses no function that parses text as HTML."""
    code = ""
    for path in (STATIC / "tfnb.js", *(SOURCES / "built" / "tfnb" / "static").glob("*.js")):
        loader = path.read_text(encoding="utf-8")
        (packed,) = re.findall(r"[A-Za-z0-9+/]{10000,}={0,2}", loader)
        carried = zlib.decompress(base64.b64decode(packed)).decode()
        assert "textContent" in carried
        code += loader + carried

    for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert danger not in code


@pytest.mark.skipif(not SOURCES.exists(), reason="the front end's sources are not here")
def test_the_lock_file_names_no_registry() -> None:
    """Installing uses the user's own registry."""
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")

    assert re.findall(r"https?://[^\"]*\.tgz", lock) == []
