"""``tf.gfile`` and ``tf.io.gfile``: TensorFlow's answers and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from pathlib import Path

gfile = tf.gfile


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """d/f, d/e/g and a text of three lines."""
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "f").write_text("1")
    (tmp_path / "d" / "e" / "g").write_text("2")
    (tmp_path / "txt").write_text("a\nbb\nccc")
    return tmp_path


def test_text_is_read_as_a_whole_and_by_lines(tree: Path) -> None:
    """Mode ``r`` gives text, ``rb`` bytes."""
    path = tree / "txt"
    assert gfile.GFile(path).read() == "a\nbb\nccc"
    assert gfile.GFile(str(path)).readline() == "a\n"
    assert list(gfile.Open(bytes(path))) == ["a\n", "bb\n", "ccc"]
    assert gfile.FastGFile(path).readlines() == ["a\n", "bb\n", "ccc"]
    with gfile.GFile(path, "rb") as file:
        assert file.read(3) == b"a\nb"
        assert (file.name, file.mode, file.size(), file.tell()) == (path, "rb", 8, 3)


def test_places_are_counted_in_bytes(tree: Path) -> None:
    """Positions count bytes from the beginning, from here, or from the end."""
    file = gfile.GFile(tree / "txt")
    file.seek(2)
    assert (file.tell(), file.read(2)) == (2, "bb")
    file.seek(-1, 2)
    assert file.read() == "c"
    file.seek(0)
    file.seek(1, 1)
    assert file.tell() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid whence argument: 5"):
        file.seek(0, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative position: -1"):
        file.seek(-1)
    with pytest.raises(tf.errors.OutOfRangeError, match="reached end of file"):
        file.seek(100)
    assert file.tell() == 1


def test_text_is_written_and_added_to(tree: Path) -> None:
    """Text is written as UTF-8, and visible after flush."""
    path = tree / "new"
    file = gfile.GFile(path, "w")
    file.write("hé")
    file.flush()
    assert (path.read_bytes(), file.tell(), file.size()) == (b"h\xc3\xa9", 3, 3)
    file.close()
    with gfile.GFile(path, "a") as more:
        more.write(b"zz")
    assert gfile.GFile(path, "r+").read() == "hézz"


def test_files_are_opened_when_they_are_used(tree: Path) -> None:
    """A missing file is an error of the first read, a wrong mode an error of the call."""
    file = gfile.GFile(tree / "none")
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
        file.read()
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for reading"):
        gfile.GFile(tree / "w", "w").read()
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for writing"):
        gfile.GFile(tree / "txt").write("x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode is not 'r' or 'w'"):
        gfile.GFile(tree / "txt", "z")


def test_directories_are_made(tree: Path) -> None:
    """Existing directories are accepted; another file on the path is refused."""
    gfile.MakeDirs(tree / "a" / "b")
    gfile.MakeDirs(tree / "a" / "b")
    gfile.MkDir(tree / "a")
    assert gfile.IsDirectory(tree / "a" / "b")
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        gfile.MkDir(tree / "x" / "y")
    with pytest.raises(tf.errors.FailedPreconditionError, match="txt is not a directory"):
        gfile.MakeDirs(tree / "txt" / "x")


def test_no_directory_is_made_for_an_empty_name() -> None:
    """The directory of a file's name without one, as TensorFlow takes it."""
    tf.gfile.MakeDirs("")
    tf.gfile.MkDir("")


def test_files_and_trees_are_removed(tree: Path) -> None:
    """A directory cannot be removed as a file; a missing one raises NotFoundError."""
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        gfile.Remove(tree / "d")
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        gfile.Remove(tree / "none")
    with pytest.raises(tf.errors.NotFoundError, match="none not found"):
        gfile.DeleteRecursively(tree / "none")
    gfile.Remove(tree / "txt")
    gfile.DeleteRecursively(tree / "d")
    assert gfile.ListDirectory(tree) == []


def test_listing_and_walking(tree: Path) -> None:
    """Listing gives names; walk gives the whole tree, from the top or from the bottom."""
    top = str(tree / "d")
    assert sorted(gfile.ListDirectory(tree)) == ["d", "txt"]
    with pytest.raises(tf.errors.NotFoundError, match="Could not find directory"):
        gfile.ListDirectory(tree / "txt")
    down = [(top, ["e"], ["f"]), (f"{top}/e", [], ["g"])]
    assert list(gfile.Walk(top)) == down
    assert list(gfile.Walk(top, in_order=False)) == down[::-1]
    assert list(tf.io.gfile.walk(top, topdown=False)) == down[::-1]
    assert list(gfile.Walk(tree / "none")) == []
    errors: list[Exception] = []
    assert list(tf.io.gfile.walk(tree / "none", onerror=errors.append)) == []
    assert [type(error) for error in errors] == [tf.errors.NotFoundError]


def test_copies_and_renames_spare_what_is_there(tree: Path) -> None:
    """Existing files are not replaced without overwrite=True."""
    source, target = tree / "txt", tree / "d" / "f"
    with pytest.raises(tf.errors.AlreadyExistsError, match="file already exists"):
        gfile.Copy(source, target)
    gfile.Copy(source, target, overwrite=True)
    assert target.read_text() == source.read_text()
    with pytest.raises(tf.errors.AlreadyExistsError, match="file already exists"):
        gfile.Rename(source, target)
    gfile.Rename(source, target, True)
    assert not gfile.Exists(source)
    gfile.Rename(tree / "d", tree / "moved")
    assert gfile.Exists(tree / "moved" / "e" / "g")
    for act in (gfile.Copy, gfile.Rename):
        with pytest.raises(tf.errors.NotFoundError, match="none"):
            act(tree / "none", tree / "q")


def test_what_stat_says(tree: Path) -> None:
    """stat returns size, time and kind."""
    assert gfile.Stat(tree / "txt").length == 8
    assert gfile.Stat(tree / "txt").mtime_nsec == (tree / "txt").stat().st_mtime_ns
    assert gfile.Stat(tree / "d").is_directory
    assert not gfile.Stat(tree / "txt").is_directory
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        gfile.Stat(tree / "none")


def test_patterns(tree: Path) -> None:
    """One pattern or several; no match gives an empty list."""
    found = gfile.Glob(str(tree / "*"))
    assert found == [str(tree / "d"), str(tree / "txt")]
    assert gfile.Glob([str(tree / "t*"), str(tree / "d" / "*")]) == [
        str(tree / "txt"), str(tree / "d" / "e"), str(tree / "d" / "f"),
    ]  # fmt: skip
    assert gfile.Glob(str(tree / "none*")) == []


def test_schemes(tree: Path) -> None:
    """file:// is accepted; the error names other schemes."""
    assert gfile.Exists(f"file://{tree}")
    with pytest.raises(tf.errors.UnimplementedError, match="scheme 'zz' not implemented"):
        gfile.Exists("zz://a")
    assert tf.io.gfile.join("a", "b", "c") == "a/b/c"
    assert "file" in tf.io.gfile.get_registered_schemes()
