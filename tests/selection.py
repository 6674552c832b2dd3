"""Which files of tests have none that the markers of a run select, told from their text."""

from __future__ import annotations

import re

_OF_A_FILE = re.compile(r"^pytestmark = (\[\n.*?^\]|[^\n]*)", re.MULTILINE | re.DOTALL)


def has_no_selected_test(text: str, markers: str) -> bool:
    """Return whether no test of a file is selected.

    A file has no selected test if it does not name a marker that is required, or if a marker that
    is excluded applies to the whole file.

    Args:
      text: the file.
      markers: the option `-m`: markers, or "not" and a marker, joined by "and". With another form
        the result is False.
    """
    terms = [term.split() for term in markers.split(" and ")]
    if not all(term and term[-1].isidentifier() and term[:-1] in ([], ["not"]) for term in terms):
        return False
    if any(term[0] not in text for term in terms if len(term) == 1):
        return True
    excluded = {term[1] for term in terms if len(term) == 2}
    of_the_file = _OF_A_FILE.search(text)
    return bool(of_the_file) and not excluded.isdisjoint(re.findall(r"mark\.(\w+)", of_the_file[1]))
