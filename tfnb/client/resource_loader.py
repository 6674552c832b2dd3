"""``tf.resource_loader``: files beside a Python file."""

from __future__ import annotations

import os
import sys

from tfnb.core.process.package_directory import PACKAGE_DIRECTORY

EXPORTS = {
    "resource_loader": [
        "get_data_files_path", "get_path_to_datafile", "get_root_dir_with_all_resources",
        "load_resource", "readahead_file_path",
    ],
}  # fmt: skip


def _directory_of_caller(depth: int) -> str:
    return os.path.dirname(os.path.abspath(sys._getframe(depth + 1).f_code.co_filename))


def get_data_files_path() -> str:
    """Return the directory of the calling file."""
    return _directory_of_caller(1)


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file beside the calling file."""
    return os.path.join(_directory_of_caller(1), path)


def get_root_dir_with_all_resources() -> str:
    """Return the directory of the package."""
    return PACKAGE_DIRECTORY.rstrip(os.sep)


def load_resource(path: str) -> bytes:
    """Return the contents of a file of the package.

    Args:
        path: The path relative to the package's directory.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    with open(os.path.join(get_root_dir_with_all_resources(), path), "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return the path itself: nothing is read ahead."""
    return path
