"""Modules of messages that protoc wrote before its version 3.19, in packages of that time.

Their code makes each descriptor by hand, which protobuf refuses since its version 4. It also
contains the serialized file, from which the classes are built as newer modules build them.
"""

from __future__ import annotations

import ast
import re
from importlib.machinery import PathFinder, SourceFileLoader
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType

_ENDING = "_pb2"
# Only modules of that time make descriptors by hand; newer ones read them from a pool.
_SIGN = re.compile(rb"^DESCRIPTOR = _descriptor\.FileDescriptor\(", re.MULTILINE)
_NEWER = """
from google.protobuf import descriptor_pool as _pool
from google.protobuf.internal import builder as _builder
DESCRIPTOR = _pool.Default().AddSerializedFile({serialized!r})
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, {module!r}, globals())
"""


def is_module_of_messages(name: str) -> bool:
    """Return whether a module may be one that protoc wrote."""
    return name.endswith(_ENDING) and not name.startswith("tfnb.")


def find_module(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return the spec of a module of messages, older or newer; None if no folder has it."""
    spec = PathFinder.find_spec(name, path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        return None
    spec.loader = _MessagesLoader(name, spec.loader.path)
    return spec


class _MessagesLoader(SourceFileLoader):
    """Loads a module of messages; of an older one nothing is written to the disk."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        if _SIGN.search(source) is not None:
            return self.source_to_code(newer_source(fullname, source).encode(), path)
        return super().get_code(fullname)


def newer_source(name: str, source: bytes) -> str:
    """Return what builds the messages of an older module from the file that it contains.

    Args:
      name: the module, to which its messages belong.
      source: what protoc wrote.

    Raises:
      ImportError: the source contains no serialized file.
    """
    serialized = None
    imports = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(ast.unparse(node))
        elif isinstance(node, ast.Assign) and serialized is None:
            serialized = _serialized_file(node.value)
    if serialized is None:
        raise ImportError(
            f"The descriptor of module {name!r} contains no serialized file. Compile its .proto "
            "file anew, with protoc 3.20 or later.",
            name=name,
        )
    return "\n".join(imports) + _NEWER.format(serialized=serialized, module=name)


def _serialized_file(node: ast.expr) -> bytes | None:
    """Return ``serialized_pb`` of a call of FileDescriptor: bytes, or a string of Python 2."""
    if not isinstance(node, ast.Call):
        return None
    for keyword in node.keywords:
        if keyword.arg == "serialized_pb":
            value = keyword.value
            text = value.args[0] if isinstance(value, ast.Call) and value.args else value
            if isinstance(text, ast.Constant):
                found = text.value
                return found.encode("latin-1") if isinstance(found, str) else found  # type: ignore[return-value]
    return None
