"""``tensorflow.python.lib.io.file_io``: whole files, and files as objects."""

from __future__ import annotations

from tfnb.client.public.api import tf

FileIO = tf.gfile.GFile


def read_file_to_string(filename: str, binary_mode: bool = False) -> str | bytes:
    """Return what a file holds, as text unless ``binary_mode``."""
    with FileIO(filename, "rb" if binary_mode else "r") as file:
        found: str | bytes = file.read()
    return found


def write_string_to_file(filename: str, file_content: str | bytes) -> None:
    """Write a file, in place of what it held."""
    with FileIO(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(
    filename: str, contents: str | bytes, overwrite: bool = True
) -> None:
    """Write a file under another name, then give it its name.

    Raises:
      AlreadyExistsError: the file is there, and ``overwrite`` is False.
    """
    aside = f"{filename}.tmp{id(contents):x}"
    write_string_to_file(aside, contents)
    try:
        tf.gfile.Rename(aside, filename, overwrite)
    except tf.errors.OpError:
        tf.gfile.Remove(aside)
        raise
