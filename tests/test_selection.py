"""Files without a selected test are not imported."""

from __future__ import annotations

import pytest

from tests.selection import has_no_selected_test

_PLAIN = "import pytest\ndef test_a(): pass\n"
_FEW = "from tests.repeats import few\n@pytest.mark.parametrize('n', few(range(3), 1))\n"
_LIST = "pytestmark = [\n    pytest.mark.browser,\n    pytest.mark.slow,\n]\n"
_LINE = "pytestmark = pytest.mark.slow\nROWS = [\n    pytest.param(1, marks=pytest.mark.gpu)\n]\n"


@pytest.mark.parametrize(
    ("text", "markers", "is_left_out"),
    [
        (_PLAIN, "repeats and not browser", True),
        (_FEW, "repeats and not browser", False),
        (_FEW, "not repeats", False),
        (_LIST, "not browser and not repeats", True),
        (_LIST, "browser", False),
        (_LIST, "repeats", True),
        (_LINE, "not slow", True),
        (_LINE, "not gpu", False),
        (_PLAIN, "", False),
        (_LIST, "slow or not browser", False),
        (_FEW, "(repeats)", False),
    ],
)
def test_a_file_is_left_out_if_no_test_of_it_can_be_selected(
    text: str, markers: str, is_left_out: bool
) -> None:
    """Required markers are looked for anywhere, excluded ones where they apply to the file."""
    assert has_no_selected_test(text, markers) is is_left_out
