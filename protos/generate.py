"""Generate ``tfnb/proto`` from the ``.proto`` files beside this script.

``python protos/generate.py`` rewrites the modules; ``--check`` only compares them with the
committed ones. Both make a throw-away virtual environment with the pinned compiler, or use the
one named by ``--tools DIR``.

The compiler is old because the modules of grpcio-tools 1.60 (protobuf 4.25) load on every protobuf
from 4.25 on, while those of a current compiler refuse older runtimes. The modules use a pool of
their own because TensorFlow registers the same full names in the default pool, where each name may
be registered once.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROTOS = Path(__file__).resolve().parent
TARGET = PROTOS.parent / "tfnb" / "proto"
TOOLS = ("grpcio-tools==1.60.2", "protobuf==4.25.9", "mypy-protobuf==3.6.0", "setuptools<81")
HAND_WRITTEN = {"__init__.py", "_pool.py", "_well_known.py"}

_FOLDER = r"tensorflow(?:\.core\.\w+|_serving\.apis)"
_OWN_IMPORT = re.compile(rf"^from {_FOLDER} import (\w+_pb2) as (\w+)$", re.M)
_WELL_KNOWN_IMPORT = re.compile(r"^from google\.protobuf import \w+_pb2 as (\w+)$", re.M)
_MODULE_NAME = re.compile(rf"'{_FOLDER}\.(\w+_pb2)'")
# Imports of a generated module, and the imports from tfnb.proto._pool that replace them.
_OWN_POOL = {
    "from google.protobuf import descriptor as _descriptor\n": "",
    "from google.protobuf import descriptor_pool as _descriptor_pool\n": (
        "from tfnb.proto import _pool as _descriptor_pool\n"
    ),
    "from google.protobuf import symbol_database as _symbol_database\n": "",
    "from google.protobuf.internal import builder as _builder\n": "",
    "_sym_db = _symbol_database.Default()\n": "",
    "_descriptor_pool.Default()": "_descriptor_pool.POOL",
    "_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)\n": "",
    "_builder.BuildTopDescriptorsAndMessages(": "_descriptor_pool.build(",
    "_descriptor._USE_C_DESCRIPTORS == False": "not _descriptor_pool.IS_COMPILED",
}
_STUB_IMPORT = re.compile(rf"^import {_FOLDER}\.(\w+_pb2)$", re.M)
_STUB_NAME = re.compile(rf"\b{_FOLDER}\.(\w+_pb2)\b")


def install_tools(directory: Path) -> None:
    """Create a virtual environment holding the pinned compiler and the plugin that writes stubs."""
    venv.create(directory, with_pip=True)
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", *TOOLS], check=True)


def compile_protos(tools: Path, out: Path) -> None:
    """Run protoc over every source file, writing modules and stubs below ``out``."""
    sources = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    subprocess.run(
        [
            str(tools / "bin" / "python"),
            "-m",
            "grpc_tools.protoc",
            f"--plugin=protoc-gen-mypy={tools / 'bin' / 'protoc-gen-mypy'}",
            f"--proto_path={PROTOS}",
            f"--python_out={out}",
            f"--mypy_out=quiet:{out}",
            *sources,
        ],
        check=True,
        cwd=PROTOS,
    )


def rewrite_module(text: str) -> str:
    """Move a generated module into ``tfnb.proto`` and onto the pool and the builder of our own.

    >>> rewrite_module("from tensorflow.core.framework import types_pb2 as t_pb2")
    'from tfnb.proto import types_pb2 as t_pb2'
    """
    text = _OWN_IMPORT.sub(r"from tfnb.proto import \1 as \2", text)
    text = _WELL_KNOWN_IMPORT.sub(r"from tfnb.proto import _well_known as \1", text)
    text = _MODULE_NAME.sub(r"'tfnb.proto.\1'", text)
    for old, new in _OWN_POOL.items():
        text = text.replace(old, new)
    return text


def rewrite_stub(text: str) -> str:
    """Move a generated stub into ``tfnb.proto``.

    >>> rewrite_stub("import tensorflow.core.framework.types_pb2")
    'import tfnb.proto.types_pb2'
    """
    text = _STUB_IMPORT.sub(r"import tfnb.proto.\1", text)
    return _STUB_NAME.sub(r"tfnb.proto.\1", text)


def generate(tools: Path) -> dict[str, str]:
    """Return the text of every generated file, by file name."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        compile_protos(tools, out)
        files = {}
        for path in sorted([*out.rglob("*_pb2.py"), *out.rglob("*_pb2.pyi")]):
            rewrite = rewrite_module if path.suffix == ".py" else rewrite_stub
            if path.name in files:
                sys.exit(f"two .proto files would both become {path.name}")
            files[path.name] = rewrite(path.read_text())
        return files


def committed() -> dict[str, str]:
    """Return the text of every generated file as it stands in the tree."""
    paths = (path for pattern in ("*.py", "*.pyi") for path in TARGET.glob(pattern))
    return {path.name: path.read_text() for path in paths if path.name not in HAND_WRITTEN}


def main() -> None:
    """Generate, or with ``--check`` compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--tools", type=Path, help="a virtual environment that holds the compiler")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        tools = args.tools or Path(scratch)
        if not (tools / "bin" / "protoc-gen-mypy").exists():
            install_tools(tools)
        new, old = generate(tools), committed()

    if args.check:
        stale = sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))
        if stale:
            sys.exit(f"run `make messages`; these differ: {', '.join(stale)}")
        return
    for name in old.keys() - new.keys():
        (TARGET / name).unlink()
    for name, text in new.items():
        (TARGET / name).write_text(text)


if __name__ == "__main__":
    main()
