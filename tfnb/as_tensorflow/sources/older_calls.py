"""Calls in the source of a program that NumPy 2 refuses, changed as the source is loaded.

NumPy took an array of one element for a number, and arrays had ``tostring``. The calls that depend
on it are led through ``tfnb/as_tensorflow/older_arrays.py``, in memory; lines keep their numbers.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.sources.mending import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

_HELPERS = "tfnb.as_tensorflow.older_arrays"
# Function of that module -> its name in a program.
_NAMES = {name: f"_tfnb_{name}" for name in ("call", "index", "integers", "text", "to_bytes")}
_NUMBERS = frozenset(("int", "float", "complex"))
# Sources without any of these texts are left alone.
_SIGNS = b"int(", b"float(", b"complex(", b"math.", b".tostring()", b"Int64List(", b"%", b"slice("


class _OlderCalls(ast.NodeTransformer):
    """Leads calls through the helpers, and remembers through which."""

    def __init__(self, has_slices: bool) -> None:
        self.used: set[str] = set()
        self._has_slices = has_slices

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Change ``x[places]`` in a module that makes slices."""
        self.generic_visit(node)
        if self._has_slices and isinstance(node.slice, ast.Name):
            node.slice = self._through("index", node.slice, [node.slice])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Change ``int(x)``, ``math.exp(x)``, ``x.tostring()`` and ``Int64List(value=x)``."""
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "Int64List":
            for one in node.keywords:
                if one.arg == "value":
                    one.value = self._through("integers", one.value, [one.value])
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            return node
        if isinstance(function, ast.Name) and function.id in _NUMBERS and len(node.args) == 1:
            return self._through("call", node, [function, *node.args])
        if isinstance(function, ast.Attribute):
            of = function.value
            if isinstance(of, ast.Name) and of.id == "math" and node.args:
                return self._through("call", node, [function, *node.args])
            if function.attr == "tostring" and not node.args:
                return self._through("to_bytes", node, [of])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Change ``"%d" % x``."""
        self.generic_visit(node)
        text = node.left
        is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
        if isinstance(node.op, ast.Mod) and is_text:
            return self._through("text", node, [text, node.right])
        return node

    def _through(self, helper: str, node: ast.expr, arguments: list[ast.expr]) -> ast.Call:
        self.used.add(helper)
        name = ast.Name(_NAMES[helper], ast.Load())
        return ast.copy_location(ast.Call(ast.copy_location(name, node), arguments, []), node)


def _first_place(body: list[ast.stmt]) -> int:
    """Return where an import may stand: after the docstring and imports of ``__future__``."""
    place = 0
    for number, one in enumerate(body):
        is_text = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        is_future = isinstance(one, ast.ImportFrom) and one.module == "__future__"
        if is_future or (is_text and number == 0):
            place = number + 1
    return place


def code_of_program(source: bytes, path: str) -> Any:
    """Compile the source of a program, with the calls that NumPy 2 refuses changed.

    Args:
      source: of the module.
      path: of its file, for tracebacks.

    Raises:
      SyntaxError: it is no Python of today.
    """
    if not any(sign in source for sign in _SIGNS):
        return compiled(source, path)
    tree: Any = compiled(source, path, ast.PyCF_ONLY_AST)
    calls = _OlderCalls(b"slice(" in source)
    tree = calls.visit(tree)
    if not calls.used:
        return compiled(source, path)
    names = [ast.alias(one, _NAMES[one]) for one in sorted(calls.used)]
    tree.body.insert(_first_place(tree.body), ast.ImportFrom(_HELPERS, names, 0))
    return compiled(ast.fix_missing_locations(tree), path)


class _ProgramLoader(SourceFileLoader):
    """Loads a module of a program; of a changed one nothing is written to the disk."""

    def __init__(self, name: str, path: str, is_installed: bool) -> None:
        super().__init__(name, path)
        self._is_installed = is_installed

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the source, or of the stored one if nothing can be changed."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        if self._is_installed and b"tensorflow" not in source:
            return super().get_code(fullname)
        code: CodeType = code_of_program(source, path)
        return code


class ProgramFinder(MetaPathFinder):
    """Finds the modules of a program, and installed ones that may name TensorFlow.

    Python's own modules and those of tfnb are left alone.
    """

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        own = str(Path(__file__).parents[2])
        self._left_alone = tuple(f"{one}/" for one in (paths["stdlib"], paths["platstdlib"], own))
        installed = {paths["purelib"], paths["platlib"]}
        installed |= {one for one in sys.path if one.endswith(("site-packages", "dist-packages"))}
        self._installed = tuple(f"{one}/" for one in installed)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of the program, and None for all others."""
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        file = spec.loader.path
        is_installed = file.startswith(self._installed)
        if not is_installed and file.startswith(self._left_alone):
            return None
        spec.loader = _ProgramLoader(fullname, file, is_installed)
        return spec
