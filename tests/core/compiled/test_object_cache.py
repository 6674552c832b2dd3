"""Object code on disk is read only if it is whole, and only from a folder of the user alone."""

from __future__ import annotations

import errno
import logging
import os
import shutil

import pytest

from tfnb.core.compiled.object_cache import ObjectCache, default_folder


def test_code_is_read_as_it_was_written(tmp_path):
    """Another process finds the code under the same key, and nothing under another key."""
    folder = str(tmp_path / "compiled")
    ObjectCache(folder).write("a", b"code")
    assert ObjectCache(folder).read("a") == b"code"
    assert ObjectCache(folder).read("b") is None


@pytest.mark.parametrize("content", [b"", b"short", b"\0" * 200])
def test_damaged_files_are_ignored(tmp_path, content):
    """A file whose checksum is wrong counts as missing."""
    (tmp_path / "a.o").write_bytes(content)
    tmp_path.chmod(0o700)
    assert ObjectCache(str(tmp_path)).read("a") is None


def test_file_of_another_kernel_is_ignored(tmp_path):
    """A file that was copied to another name would serve another kernel."""
    cache = ObjectCache(str(tmp_path / "mine"))
    cache.write("a", b"code")
    shutil.copy(tmp_path / "mine" / "a.o", tmp_path / "mine" / "b.o")
    assert cache.read("b") is None
    assert cache.read("a") == b"code"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_or_folder_in_place_of_a_file_is_ignored(tmp_path):
    """A pipe counts as missing, with a writer or without, and is replaced; a folder stays."""
    cache = ObjectCache(str(tmp_path / "mine"))
    os.mkfifo(tmp_path / "mine" / "a.o")
    assert cache.read("a") is None
    writer = os.open(tmp_path / "mine" / "a.o", os.O_RDWR)
    try:
        assert cache.read("a") is None
    finally:
        os.close(writer)
    cache.write("a", b"code")
    assert cache.read("a") == b"code"
    (tmp_path / "mine" / "b.o").mkdir()
    assert cache.read("b") is None


@pytest.mark.parametrize("fault", ["gone", "full"])
def test_folder_that_fails_later_is_told_once(tmp_path, caplog, monkeypatch, fault):
    """Kernels are compiled in each process from then on, and no half of a file is left."""
    cache = ObjectCache(str(tmp_path / "mine"))
    if fault == "gone":
        (tmp_path / "mine").rmdir()
    else:

        def replace(*_paths):
            raise OSError(errno.ENOSPC, "no space left")

        monkeypatch.setattr(os, "replace", replace)
    with caplog.at_level(logging.WARNING, "tfnb"):
        cache.write("a", b"code")
        cache.write("b", b"code")
    assert cache.refusal
    assert cache.read("a") is None
    assert len(caplog.records) == 1
    assert fault == "gone" or not list((tmp_path / "mine").iterdir())


def test_folder_that_others_may_write_to_is_refused(tmp_path):
    """Code of another user must not run."""
    cache = ObjectCache(str(tmp_path / "mine"))
    cache.write("a", b"code")
    (tmp_path / "mine").chmod(0o777)
    refused = ObjectCache(str(tmp_path / "mine"))
    assert "other users may write" in refused.refusal
    assert refused.read("a") is None


def test_link_to_a_folder_is_refused(tmp_path):
    """A link may lead to a folder of another user."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert "is not a folder" in ObjectCache(str(tmp_path / "link")).refusal


def test_folder_that_cannot_be_made_is_no_error(tmp_path):
    """Kernels are then compiled in each process."""
    (tmp_path / "file").write_text("")
    cache = ObjectCache(str(tmp_path / "file" / "compiled"))
    cache.write("a", b"code")
    assert cache.refusal
    assert cache.read("a") is None


def test_folder_follows_the_environment(monkeypatch):
    """TFNB_CACHE is stronger than XDG_CACHE_HOME."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.setenv("TFNB_CACHE", "/y")
    assert default_folder() == os.path.join("/y", "compiled")
    monkeypatch.delenv("TFNB_CACHE")
    assert default_folder() == os.path.join("/x", "tfnb", "compiled")
