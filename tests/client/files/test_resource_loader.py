"""``tf.resource_loader`` and ``tf.sysconfig``: paths of files and properties of the build."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import tfnb as tf


def test_paths_are_those_of_the_caller() -> None:
    """A path is relative to the file of the caller."""
    here = Path(__file__).resolve()
    assert tf.resource_loader.get_data_files_path() == str(here.parent)
    assert tf.resource_loader.get_path_to_datafile(here.name) == str(here)
    assert tf.resource_loader.readahead_file_path("a") == "a"


def test_files_of_the_package_are_read() -> None:
    """Files of the package are read by their path in the package."""
    assert b"tfnb" in tf.resource_loader.load_resource("__init__.py")
    with pytest.raises(FileNotFoundError, match="none"):
        tf.resource_loader.load_resource("none")


def test_what_was_built() -> None:
    """Build properties are Python's, with or without CUDA; those of C++ raise an error."""
    assert tf.sysconfig.get_build_info()["is_cuda_build"] == tf.test.is_built_with_cuda()
    with pytest.raises(AttributeError, match="write the op in Python"):
        tf.sysconfig.get_include()


def test_a_status_message_is_logged() -> None:
    """The message is logged as an error."""
    shown: list[tuple[int, str]] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            shown.append((record.levelno, record.getMessage()))

    logger, handler = tf.get_logger(), Handler()
    logger.addHandler(handler)
    try:
        tf.logging.TaskLevelStatusMessage("stuck")
    finally:
        logger.removeHandler(handler)
    assert shown == [(logging.ERROR, "stuck")]
