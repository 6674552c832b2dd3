"""What a path without a model is called, and what to do about it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.client.trained_model import trained_model
from tfnb.client.model_file import ModelFileError
from tfnb.client.model_path import LARGEST_MESSAGE
from tfnb.client.model_summary import describe_path


@pytest.fixture
def graph_def() -> Any:
    """A graph of two nodes."""
    with tf.Graph().as_default() as graph:
        tf.multiply(tf.placeholder(tf.float32, [None], name="x"), 2.0, name="y")
        return graph.as_graph_def()


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, str]:
    """A trained model as a checkpoint with its graph, and as a SavedModel."""
    return trained_model(tmp_path)


def _doubles(path: Any, **options: Any) -> bool:
    with tf.load(path, **options) as model:
        return bool(model([2.0]).tolist() == [4.0])


def _refusal(path: Any, **options: Any) -> str:
    with pytest.raises((ModelFileError, tf.errors.OpError, TypeError)) as caught:
        tf.load(path, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "HDF5"),
        (b"\x1c\0\0\0TFL3" + b"\0" * 64, "TensorFlow Lite"),
        (b"PK\x03\x04" + b"\0" * 64, "zip archive"),
        (b"\x93NUMPY\x01\0" + b"\0" * 64, "array of NumPy"),
        (b"\x80\x04\x95" + b"\0" * 64, "pickled object"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "PNG picture"),
        (b"\x08\x08\x12\x04tfnb", "model of ONNX"),
        (b"<!DOCTYPE html><html>Not Found</html>", "page of the web"),
        (b"\n <?xml version='1.0'?>", "page of the web or XML"),
        (b'{"nodes": []}', "JSON"),
        (b"\0" * 600, "begins with zeros"),
        (b"node { name: 'a'", "cut off, damaged or of another kind"),
        (b"\xff" * 64, "cut off, damaged or of another kind"),
    ],
)
def test_files_of_other_kinds_are_recognized(tmp_path: Path, content: bytes, says: str) -> None:
    """The error says what the file is, and what is read."""
    path = tmp_path / "model"
    path.write_bytes(content)
    assert says in (found := _refusal(path))
    assert "SavedModel" in found


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_what_is_compressed_has_to_be_unpacked(tmp_path: Path, graph_def: Any, pack: Any) -> None:
    """The error says so."""
    path = tmp_path / "g.pb"
    path.write_bytes(pack(graph_def.SerializeToString()))
    assert "unpack it" in _refusal(path)


def test_a_tar_archive_is_recognized(tmp_path: Path) -> None:
    """Its mark is not at its beginning."""
    path = tmp_path / "m.tar"
    (tmp_path / "a").write_bytes(b"a")
    with tarfile.open(path, "w") as archive:
        archive.add(tmp_path / "a")
    assert "tar archive; unpack it" in _refusal(path)


def test_contents_count_more_than_the_name(tmp_path: Path, graph_def: Any) -> None:
    """A binary file may be called text, and text may begin with a byte order mark."""
    binary, text = graph_def.SerializeToString(), str(graph_def)
    for name, content in {
        "binary.pbtxt": binary,
        "text.pb": text.encode(),
        "mark.pbtxt": b"\xef\xbb\xbf" + text.encode(),
        "wide.pbtxt": text.encode("utf-16"),
    }.items():
        (tmp_path / name).write_bytes(content)
        assert _doubles(tmp_path / name)


@pytest.mark.parametrize("mark", ["{", "[", "<"])
def test_a_size_that_is_also_a_letter_makes_no_text(tmp_path: Path, mark: str) -> None:
    """The first node's size follows a line feed, the number of its field."""
    with tf.Graph().as_default() as graph:
        tf.no_op(name="a" * (ord(mark) - 8))
        tf.multiply(tf.placeholder(tf.float32, [None], name="x"), 2.0, name="y")
        graph_def = graph.as_graph_def()
    (tmp_path / "g.pb").write_bytes(graph_def.SerializeToString())
    assert (tmp_path / "g.pb").read_bytes().startswith(b"\n" + mark.encode())
    assert _doubles(tmp_path / "g.pb")


def test_a_node_may_have_the_name_of_a_mark(tmp_path: Path) -> None:
    """A model of TensorFlow Lite has its mark where a GraphDef has the first node's name."""
    with tf.Graph().as_default() as graph:
        tf.identity(tf.placeholder(tf.float32, [2], name="TFL3"), name="out")
    path = tmp_path / "a.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    assert list(tf.load(path).inputs) == ["TFL3"]


def test_a_path_may_be_bytes_or_a_url_of_this_machine(tmp_path: Path, graph_def: Any) -> None:
    """Both name the file."""
    path = tmp_path / "g.pb"
    path.write_bytes(graph_def.SerializeToString())
    assert _doubles(os.fsencode(path))
    assert _doubles(f"file://{path}")


def test_a_graph_is_no_path(graph_def: Any) -> None:
    """The error says what is taken."""
    assert "from a path, a str or os.PathLike, not GraphDef" in _refusal(graph_def)


@pytest.mark.parametrize("url", ["https://example.com/a.pb", "gs://bucket/model"])
def test_a_file_elsewhere_has_to_be_copied(url: str) -> None:
    """The error repeats the address as it was given."""
    assert f"(file: '{url}'). Download the model" in _refusal(url)


def test_links_that_lead_nowhere_are_named(tmp_path: Path) -> None:
    """They are no checkpoints."""
    path = tmp_path / "link.pb"
    path.symlink_to(tmp_path / "gone.pb")
    assert f"link.pb is a symbolic link to {tmp_path / 'gone.pb'}" in _refusal(path)
    (tmp_path / "ring.pb").symlink_to("ring.pb")
    assert "ring.pb is a symbolic link to ring.pb" in _refusal(tmp_path / "ring.pb")
    with pytest.raises(tf.errors.NotFoundError, match="symbolic link"):
        describe_path(str(path))


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    """It might never end."""
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in _refusal(tmp_path / "pipe")
    assert "/dev/null is a device" in _refusal("/dev/null")
    assert "path of the model is empty" in _refusal("")


def test_a_file_beyond_the_size_of_messages_is_not_read(tmp_path: Path) -> None:
    """The error has the size."""
    path = tmp_path / "huge.pb"
    with path.open("wb") as file:
        file.write(b"\x0a\x05")
        file.truncate(LARGEST_MESSAGE + 1)
    assert "2,147,483,648 bytes" in _refusal(path)


def test_a_folder_tells_what_is_inside(tmp_path: Path, saved: dict[str, str]) -> None:
    """Folders of versions, and those with single graphs, name what can be given."""
    (tmp_path / "empty").mkdir()
    assert "it is empty" in _refusal(tmp_path / "empty")
    versions = tmp_path / "versions"
    versions.mkdir()
    (versions / "3").symlink_to(saved["saved_model"])
    assert "it has 3: give the path of one" in _refusal(versions)
    files = tmp_path / "files"
    files.mkdir()
    for number in range(9):
        (files / f"{number}.txt").touch()
    assert "0.txt, 1.txt, 2.txt, 3.txt, 4.txt and 4 more" in _refusal(files)


def test_a_part_of_a_saved_model_names_its_folder(saved: dict[str, str]) -> None:
    """Neither its folder of variables nor their prefix is a model."""
    folder = saved["saved_model"]
    for part in ("variables", "variables/variables", "variables/variables.index"):
        assert folder in _refusal(f"{folder}/{part}").partition("give")[2]


def test_contents_of_a_saved_model_need_its_name(tmp_path: Path, saved: dict[str, str]) -> None:
    """A file that was renamed, or is empty, is described."""
    content = Path(saved["saved_model"], "saved_model.pb").read_bytes()
    (tmp_path / "other.pb").write_bytes(content)
    assert "contents of a SavedModel; name it saved_model.pb" in _refusal(tmp_path / "other.pb")
    Path(saved["saved_model"], "saved_model.pb").write_bytes(b"")
    assert "a SavedModel without graphs" in _refusal(saved["saved_model"])


def test_tags_may_be_one_text(saved: dict[str, str]) -> None:
    """It is not taken for its letters."""
    with tf.load(saved["saved_model"], tags="serve") as model:
        assert model([1.0]).tolist() == [3.0]
    assert "no graph with the tags serve,gpu" in _refusal(saved["saved_model"], tags="serve,gpu")


def test_a_graph_takes_the_checkpoint_that_was_saved_with_it(
    tmp_path: Path, saved: dict[str, str]
) -> None:
    """A file .meta finds the checkpoint of its name; the list of checkpoints names their folder."""
    with tf.load(f"{saved['prefix']}.meta") as model:
        assert model([1.0]).tolist() == [3.0]
    assert "list of the checkpoints" in _refusal(Path(saved["prefix"]).parent / "checkpoint")
    alone = tmp_path / "alone.meta"
    alone.write_bytes(Path(f"{saved['prefix']}.meta").read_bytes())
    with tf.load(alone) as model:
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            model([1.0])
    assert "checkpoint=prefix" in caught.value.__notes__[-1]
