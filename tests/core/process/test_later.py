"""Stand-ins for modules and patterns that are needed later."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from types import ModuleType

import pytest

from tests.without_threads import no_threads
from tfnb.core.process.later import later, pattern_later

SCRIPT = """
import sys
from tfnb.core.process.later import later
colours = later("colorsys", in_step={in_step})
print("colorsys" in sys.modules)
print(colours.rgb_to_hsv(0, 0, 0), "colorsys" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("in_step", [False, True])
def test_a_module_is_imported_when_it_is_used(in_step: bool) -> None:
    """Making the stand-in imports nothing."""
    script = SCRIPT.format(in_step=in_step)
    found = subprocess.check_output([sys.executable, "-c", script], text=True)

    assert found.split("\n")[:2] == ["False", "(0.0, 0.0, 0) True"]


@pytest.mark.parametrize("in_step", [False, True])
def test_a_stand_in_has_the_names_of_its_module(in_step: bool) -> None:
    """Names that the module lacks are an AttributeError of the module."""
    stand_in = later("tfnb.core.text_bytes", in_step=in_step)

    with no_threads():
        from tfnb.core import text_bytes

        assert stand_in.shown_text is text_bytes.shown_text
    assert isinstance(stand_in, ModuleType)
    with pytest.raises(AttributeError, match=r"tfnb\.core\.text_bytes.*nothing"):
        _ = stand_in.nothing
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        _ = later("tfnb.core.no_such", in_step=in_step).anything


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    """All methods and attributes are those of the pattern."""
    stand_in = pattern_later(r"(\w)=(?P<value>\d)", 2)

    assert stand_in.pattern == r"(\w)=(?P<value>\d)"
    assert stand_in.flags == 2
    found = stand_in.fullmatch("A=1")
    assert found is not None
    assert found["value"] == "1"
    assert stand_in.groupindex == {"value": 2}
    assert repr(pattern_later("a")) == "re.compile('a')"
    with pytest.raises(Exception, match="unterminated"):
        pattern_later("(").match("")


def test_copies_of_stand_ins_are_what_they_stand_for() -> None:
    """Functions that are sent to other processes by value may have stand-ins with them."""
    pattern = pattern_later("a+", re.IGNORECASE)
    for one in (copy.copy(pattern), pickle.loads(pickle.dumps(pattern))):
        assert one == re.compile("a+", re.IGNORECASE)
    stand_in = later("colorsys")
    for one in (copy.copy(stand_in), pickle.loads(pickle.dumps(stand_in))):
        assert one is sys.modules["colorsys"]
