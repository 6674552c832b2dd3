"""Source of older packages, changed in memory as it is loaded; the installed files stay."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import decode_source
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType


@dataclass(frozen=True)
class Mend:
    """A change of the source of some modules.

    Args:
      name: what is mended.
      reason: what fails without the change.
      modules: the modules that need it, in any version of the package.
      changes: pattern -> replacement, as for ``re.sub`` over lines.
      ending: lines that follow the source.
    """

    name: str
    reason: str
    modules: tuple[str, ...]
    changes: tuple[tuple[str, str], ...] = ()
    ending: str = ""

    def of(self, source: str) -> str:
        """Return the source with the change; the same source where nothing is to change."""
        found = source
        for pattern, replacement in self.changes:
            found = re.sub(pattern, replacement, found, flags=re.MULTILINE)
        if self.ending and (found != source or not self.changes):
            found = f"{found.rstrip()}\n{self.ending}\n"
        return found


class MendingLoader(SourceFileLoader):
    """Loads a module with changes; of a changed module nothing is written to the disk.

    Args:
      name: of the module.
      path: of its file.
      mends: the changes.
    """

    def __init__(self, name: str, path: str, mends: Sequence[Mend]) -> None:
        super().__init__(name, path)
        self._mends = mends

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the changed source."""
        if not self._mends:
            return super().get_code(fullname)
        path = self.get_filename(fullname)
        source = decode_source(self.get_data(path))
        for mend in self._mends:
            source = mend.of(source)
        return self.source_to_code(source.encode(), path)

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> CodeType:
        """Compile without the warnings about `is` with numbers, of which old code has many."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return super().source_to_code(data, path, _optimize=_optimize)


def compiled(source: Any, path: str, flags: int = 0) -> Any:
    """Compile a module without the warnings about `is` with numbers, of which old code has many.

    Args:
      source: the bytes of a file, or a tree.
      path: of the file.
      flags: ``ast.PyCF_ONLY_AST`` for a tree in place of code.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return compile(source, path, "exec", flags, dont_inherit=True)


def mended_spec(name: str, path: Sequence[str] | None, mends: Sequence[Mend]) -> ModuleSpec | None:
    """Return the spec of an installed module that is loaded with changes; None if there is none.

    Args:
      name: of the module.
      path: the folders of its package.
      mends: the changes.
    """
    spec = PathFinder.find_spec(name, path)
    if spec is not None and isinstance(spec.loader, SourceFileLoader):
        spec.loader = MendingLoader(name, spec.loader.path, mends)
    return spec
