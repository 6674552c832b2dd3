"""Effects that ops declare, and what a policy permits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tfnb.core import effects
from tfnb.core.effects import Effect, EffectsPolicy, Grant, is_named_by, parse_effects

if TYPE_CHECKING:
    from pathlib import Path


def test_declarations_are_read_word_by_word() -> None:
    """A declaration has kind, source and scheme; several are separated by commas."""
    assert parse_effects("python") == (Effect("python"),)
    assert parse_effects("write a, read b file://") == (
        Effect("write", "a"),
        Effect("read", "b", "file://"),
    )
    with pytest.raises(ValueError, match="'delete' is no effect"):
        parse_effects("delete everything")


def test_a_grant_holds_below_its_folder_only(tmp_path: Path) -> None:
    """Links and dots are resolved before the folder is compared."""
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to(tmp_path / "secret")
    policy = EffectsPolicy()
    policy.add((Grant("read", str(folder.resolve())),))
    assert policy.allows("read", f"{folder}/x")
    assert policy.allows("read", f"file://{folder}/not/there")
    assert policy.allows("read", f"{folder}/../data/x")
    assert not policy.allows("read", f"{folder}/../secret")
    assert not policy.allows("read", f"{folder}/link")
    assert not policy.allows("read", f"{folder}base")
    assert not policy.allows("write", f"{folder}/x")
    assert not policy.allows("python")


def test_a_policy_inherits_and_takes_back(tmp_path: Path) -> None:
    """Permissions of the process apply to each graph; revoking needs the same permission."""
    parent = EffectsPolicy()
    policy = EffectsPolicy(parent)
    grants = (Grant("python", None),)
    parent.add(grants)
    assert policy.allows("python")
    policy.remove(grants)
    assert policy.allows("python")
    parent.remove((Grant("python", None),))
    assert policy.allows("python")
    parent.remove(grants)
    assert not policy.allows("python")


@pytest.mark.parametrize(
    ("path", "given", "is_named"),
    [
        ("/m/x", "/m/x", True),
        ("/m/x-00000-of-00002", "/m/x", True),
        ("/m/x-?????-of-00002", "/m/x", True),
        ("/m/x_temp_0123abcdef/part-00000-of-00001", "/m/x", True),
        ("/m/x_temp/part-00000-of-00001", "/m/x", True),
        ("/m/x.part-00000-of-00001", "/m/x", True),
        ("/m/x.index", "/m/x", False),
        ("/m/xy", "/m/x", False),
        ("/m/x/../y", "/m/x", False),
        ("/m/x_temp_0/../../etc/part", "/m/x", False),
        ("/etc/passwd", "", False),
        ("/etc/passwd", "/", False),
    ],
)
def test_a_fed_path_stands_for_itself_and_its_checkpoint(
    path: str, given: str, is_named: bool
) -> None:
    """A fed path permits only itself and names that a Saver derives from it."""
    assert is_named_by(path, given) is is_named


def test_a_guard_watches_its_own_thread_and_block() -> None:
    """Outside of the block, and in other threads, nothing is checked."""
    asked: list[tuple[str, str | None]] = []

    class Notes:
        def check(self, kind: str, path: str | None) -> None:
            asked.append((kind, path))

    effects.check("read", "before")
    with effects.watched_by(Notes()):
        effects.check("read", "inside")
        with effects.watched_by(None):
            effects.check("read", "users")
    effects.check("read", "after")
    assert asked == [("read", "inside")]
