"""Modules of messages that an older protoc wrote can be imported while tfnb is TensorFlow."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import descriptor_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")

_OLD = """\
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from google.protobuf import reflection as _reflection

DESCRIPTOR = _descriptor.FileDescriptor(
  name='{name}.proto',
  package='{name}',
  syntax='proto3',
  {serialized}
)

_POINT = _descriptor.Descriptor(
  name='Point',
  fields=[_descriptor.FieldDescriptor(name='x', number=1, type=5, file=DESCRIPTOR)],
)

Point = _reflection.GeneratedProtocolMessageType('Point', (_message.Message,), dict(
  DESCRIPTOR = _POINT,
  ))
"""


def _serialized(name: str) -> bytes:
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package=name, syntax="proto3")
    message = file.message_type.add(name="Point")
    for number, field in enumerate(("x", "y"), 1):
        message.field.add(
            name=field,
            number=number,
            type=descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
            label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
        )
    kind = message.enum_type.add(name="Kind")
    kind.value.add(name="NONE", number=0)
    kind.value.add(name="ROUND", number=1)
    return file.SerializeToString()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder of modules that can be imported; forget the modules afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("shapes_"):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "call"),
    [("shapes_new", "{!r}"), ("shapes_old", "(lambda x: x.encode('latin1'))({!r})")],
)
def test_its_messages_and_enumerations_work(folder: Path, name: str, call: str) -> None:
    """The serialized file is bytes, or a text that Python 2 could read, too."""
    data: Any = _serialized(name)
    text = data if name == "shapes_new" else data.decode("latin-1")
    source = _OLD.format(name=name, serialized=f"serialized_pb={call.format(text)}")
    (folder / f"{name}_pb2.py").write_text(source)
    module = importlib.import_module(f"{name}_pb2")

    point = module.Point(x=3, y=-1)
    assert module.Point.FromString(point.SerializeToString()) == point
    assert module.Point.ROUND == 1
    assert module.Point.__module__ == f"{name}_pb2"


def test_one_without_a_serialized_file_says_what_to_do(folder: Path) -> None:
    """It has to be compiled anew."""
    (folder / "shapes_none_pb2.py").write_text(_OLD.format(name="shapes_none", serialized=""))

    with pytest.raises(ImportError, match=r"Compile its \.proto file anew, with protoc 3\.20"):
        importlib.import_module("shapes_none_pb2")


def test_a_newer_module_is_left_as_it_is(folder: Path) -> None:
    """Other modules whose names end so are ordinary ones."""
    (folder / "shapes_plain_pb2.py").write_text("answer = 42\n")

    assert importlib.import_module("shapes_plain_pb2").answer == 42
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("shapes_nowhere_pb2")
