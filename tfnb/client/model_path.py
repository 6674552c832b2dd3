"""What a path that should hold a model is instead, and what to do about it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.library.saved_model.loader import contains_saved_model

if TYPE_CHECKING:
    from collections.abc import Iterable

READABLE = "a GraphDef or MetaGraphDef (.pb, .pbtxt, .meta), a SavedModel folder, or a checkpoint"
LARGEST_MESSAGE = (1 << 31) - 1
"""Bytes above which protobuf reads no message."""

_UNPACK = "; unpack it"
_NOT_HERE = f"; a model is {READABLE}"
# How files of other kinds begin: offset, mark, what it is and what to do.
_MARKS = (
    (
        *(0, b"\x89HDF\r\n", "an HDF5 file, as Keras writes it"),
        f"{_NOT_HERE}. TensorFlow turns it into a SavedModel: "
        "tf.keras.models.load_model(path).export(folder)",
    ),
    # Behind an offset below 2**24; a GraphDef has the length of the first node's name there.
    (3, b"\0TFL3", "a model of TensorFlow Lite", f"{_NOT_HERE}, such as it was made from"),
    (0, b"PK\x03\x04", "a zip archive", f"{_NOT_HERE}. If one is inside, unpack it"),
    (0, b"\x1f\x8b", "compressed with gzip", f"{_UNPACK}: gunzip, or tar -xzf for a .tar.gz"),
    (0, b"BZh", "compressed with bzip2", _UNPACK),
    (0, b"\xfd7zXZ\0", "compressed with xz", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (257, b"ustar", "a tar archive", f"{_UNPACK}: tar -xf"),
    (0, b"\x93NUMPY", "an array of NumPy", _NOT_HERE),
    *((0, bytes((0x80, version)), "a pickled object", _NOT_HERE) for version in range(2, 6)),
    (0, b"\x89PNG\r\n", "a PNG picture", _NOT_HERE),
    (0, b"\xff\xd8\xff", "a JPEG picture", _NOT_HERE),
    (0, b"%PDF-", "a PDF document", _NOT_HERE),
    (0, b"\x7fELF", "a compiled program or library", _NOT_HERE),
    # The beginning of a pointer file, in place of contents that version control keeps elsewhere.
    (
        *(0, b"version https://git-lfs", "a Git LFS pointer, not the file itself"),
        "; run 'git lfs pull' where it came from",
    ),
    (
        *(0, b"model_checkpoint_path:", "the list of the checkpoints in a folder"),
        "; give the folder, or the prefix of a checkpoint",
    ),
)
_PAGES = (b"<!doctype html", b"<html", b"<?xml")
# A message that begins with a version, as SavedModel and ModelProto do: GraphDef never does.
_VERSION_FIRST = 0x08
_BEGINNING = 512


def model_path(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Return the path of a model on this machine as text.

    Raises:
        TypeError: It is no path.
        NotFoundError: It is empty, or a symbolic link whose target does not exist.
        FailedPreconditionError: It is neither a file nor a folder, such as a pipe or a device.
        UnimplementedError: It is on another file system.
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(
            f"A model is read from a path, a str or os.PathLike, not {type(path).__name__}."
        ) from None
    if not text:
        raise errors.not_found("The path of the model is empty; give a file or a folder.")
    try:
        local = file_system.local_path(text)
    except errors.UnimplementedError as error:
        raise errors.unimplemented(
            f"{error.message.rstrip('.')}. Download the model, and give the path of the copy."
        ) from None
    if not os.path.exists(local):
        if os.path.islink(local):
            raise errors.not_found(
                f"{local} is a symbolic link to {os.readlink(local)}, which does not exist"
            )
    elif not (os.path.isdir(local) or os.path.isfile(local)):
        mode = os.stat(local).st_mode
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
        raise errors.failed_precondition(f"{local} is {kind}; a model is {READABLE}")
    return local


def other_kind(path: str, beginning: bytes, size: int) -> str | None:
    """Return what a file is that holds no model, in a sentence; None if it may be one.

    Args:
        path: The file.
        beginning: Its first 512 bytes, or all.
        size: Its size in bytes.
    """
    for at, mark, kind, advice in _MARKS:
        if beginning.startswith(mark, at):
            return f"{path} is {kind}{advice}"
    if not beginning.strip() and len(beginning) == size:
        return f"{path} is empty ({size} bytes); it holds no model"
    if not any(beginning):
        return f"{path} begins with zeros: a copy that was not finished? A model is {READABLE}"
    # A binary message begins with a field number, which may be a line feed, and a size.
    text = beginning.lstrip().lower() if looks_like_text(beginning) else b""
    if text.startswith(_PAGES):
        return (
            f"{path} is a page of the web or XML, perhaps what a failed download left; a model is "
            f"{READABLE}"
        )
    if text.startswith((b"{", b"[")):
        return f"{path} is JSON; a model is {READABLE}"
    if beginning[0] == _VERSION_FIRST and len(beginning) > 1:
        if beginning[1] == 1:
            return (
                f"{path} has the contents of a SavedModel; name it saved_model.pb, in a folder "
                "with its variables, and give the folder"
            )
        return f"{path} is a model of ONNX, for onnxruntime; here a model is {READABLE}"
    if size > LARGEST_MESSAGE:
        return (
            f"{path} has {size:,} bytes; a message with a graph has at most 2 GiB. Large values "
            "belong to a checkpoint or a SavedModel"
        )
    return None


def looks_like_text(data: bytes) -> bool:
    """Return whether the beginning is printable; a binary message begins with a small number."""
    beginning = data[:_BEGINNING]
    return bool(beginning) and all(byte >= 32 or byte in b"\t\n\r\f\v" for byte in beginning)


def beginning_of(path: str) -> tuple[bytes, int]:
    """Return the first 512 bytes of a file, and its size.

    Raises:
        OpError: It cannot be read.
    """
    with file_system.open_file(path) as file, file_system.translating_errors(path):
        return file.read(_BEGINNING), os.fstat(file.fileno()).st_size


def not_a_model_folder(path: str) -> str:
    """Return what to give instead of a folder that is no SavedModel, in a sentence."""
    said = f"{path} is a folder without saved_model.pb"
    above = saved_model_above(path)
    if above is not None:
        return f"{said}; it is a part of a SavedModel: give {above}"
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return said
    if not names:
        return f"{said}: it is empty"
    found = [
        name
        for name in names
        if contains_saved_model(os.path.join(path, name))
        or name.endswith((".pb", ".pbtxt", ".meta"))
    ]
    if found:
        return f"{said}; it has {_listed(found)}: give the path of one"
    return f"{said} or a checkpoint; it has {_listed(names)}. A model is {READABLE}"


def saved_model_above(path: str) -> str | None:
    """Return the folder of the SavedModel whose variables or assets a path belongs to."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(2):
        if contains_saved_model(folder):
            return folder
        folder = os.path.dirname(folder)
    return None


def _listed(names: Iterable[str], most: int = 5) -> str:
    listed = list(names)
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest} more" if rest > 0 else "")
