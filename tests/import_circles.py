"""Imports between the files of a package, read from their text, and the cycles among them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_NAMES = r"[\w.]+(?:\s+as\s+\w+)?"
# At the beginning of a line, where ruff wants statements to be.
_PYTHON_IMPORT = re.compile(
    rf"^\s*(?:from\s+([\w.]+)\s+import\s*[(\s]\s*({_NAMES}(?:\s*,\s*{_NAMES})*)"
    rf"|import\s+({_NAMES}(?:\s*,\s*{_NAMES})*))",
    re.MULTILINE,
)
_TYPESCRIPT_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""")


class Import(NamedTuple):
    """One name that a file imports from another file.

    Attributes:
      module: The other file's module.
      name: What is imported of it; "" for the module itself.
      is_for_types: Whether only the type checker follows it.
      function: The function of the top level, or ``Class.method``, that holds it; "" for none.
    """

    module: str
    name: str
    is_for_types: bool
    function: str


class SourceFile:
    """A Python file and what it imports of its package."""

    def __init__(self, text: str, modules: Mapping[str, Path]) -> None:
        self._text = text
        self._tree = ast.parse(text)
        self._modules = modules

    def imports(self) -> Iterator[Import]:
        """Yield every import of a file of the package, wherever it stands."""
        yield from self._imports_in(self._tree, False, "")

    def gradient_functions(self) -> set[str]:
        """Return the functions registered as gradients, and those that only these refer to."""
        if ".gradient" not in self._text:
            return set()
        functions = {
            _label(node): node for node in self._tree.body if isinstance(node, ast.FunctionDef)
        }
        gradients = {name for name, node in functions.items() if _is_gradient(node)}
        for statement in self._tree.body:
            gradients |= _registered_gradients(statement)
        users: dict[str, set[str]] = {}
        for statement in self._tree.body:
            owner = _label(statement)
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in functions and node.id != owner:
                    users.setdefault(node.id, set()).add(owner)
        registrations = {
            _label(statement) for statement in self._tree.body if _registered_gradients(statement)
        }
        while True:
            more = {
                name
                for name in functions.keys() & users.keys() - gradients
                if users[name] <= gradients | registrations
            }
            if not more:
                return gradients & functions.keys()
            gradients |= more

    def _imports_in(self, node: ast.AST, is_for_types: bool, function: str) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ImportFrom) and child.module:
                for alias in child.names:
                    module = f"{child.module}.{alias.name}"
                    if module in self._modules:
                        yield Import(module, "", is_for_types, function)
                    elif child.module in self._modules:
                        yield Import(child.module, alias.name, is_for_types, function)
            elif isinstance(child, ast.Import):
                for alias in child.names:
                    if alias.name in self._modules:
                        yield Import(alias.name, "", is_for_types, function)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from self._imports_in(child, True, function)
            elif isinstance(child, ast.FunctionDef | ast.ClassDef) and not function:
                yield from self._imports_in(child, is_for_types, _label(child))
            elif not isinstance(child, ast.expr):  # an expression contains no statement
                yield from self._imports_in(child, is_for_types, function)


def modules_of(package: Path) -> dict[str, Path]:
    """Return the modules of a package that are not generated, with their files."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        if not path.name.endswith("_pb2.py"):
            parts = path.relative_to(package.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def named_modules(text: str, modules: Mapping[str, Path]) -> set[str]:
    """Return the modules that a file imports, and perhaps some that only its texts name.

    This takes a tenth of the time of `SourceFile.imports`.
    """
    text = re.sub(r"\s*#[^\n]*", "", text)
    found = set()
    for package, names, whole in _PYTHON_IMPORT.findall(text):
        for name in (names or whole).split(","):
            module = name.split()[0]
            inside = f"{package}.{module}" if package else module
            found.add(inside if inside in modules else package)
    return found & modules.keys()


def imports_of_typescript(folder: Path) -> dict[str, set[str]]:
    """Return the files of a folder and those that each imports of it, by their paths inside."""
    paths = {path.resolve(): path.relative_to(folder).as_posix() for path in folder.rglob("*.ts")}
    return {
        name: {
            paths[found]
            for text in _TYPESCRIPT_IMPORT.findall(path.read_text("utf-8"))
            if (found := (path.parent / text).resolve()) in paths
        }
        for path, name in paths.items()
    }


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return a shortest circle of every group of modules that all need one another."""
    found = []
    for group in groups(imports):
        inner = {module: imports[module] & group for module in group}
        found.append(min((_way_back(start, inner) for start in sorted(group)), key=len))
    return sorted(found)


def groups(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components with more than one module.

    Each module is visited twice (Kosaraju's algorithm): in the order in which a walk along the
    imports ends, taken backwards, a walk against the imports stays within one component.
    """
    above: dict[str, set[str]] = {}
    for module, others in imports.items():
        for other in others:
            above.setdefault(other, set()).add(module)
    done: set[str] = set()
    ended = [one for module in imports for one in _walk(module, imports, done)]
    done.clear()
    found = [set(_walk(module, above, done)) for module in reversed(ended)]
    return [group for group in found if len(group) > 1]


def _walk(start: str, edges: Mapping[str, set[str]], done: set[str]) -> list[str]:
    """Return the modules that are reached and not done, each after those reached through it."""
    if start in done:
        return []
    done.add(start)
    ended = []
    path = [(start, iter(edges.get(start, ())))]
    while path:
        module, others = path[-1]
        new = next((other for other in others if other not in done), None)
        if new is None:
            ended.append(module)
            path.pop()
        else:
            done.add(new)
            path.append((new, iter(edges.get(new, ()))))
    return ended


def _way_back(start: str, imports: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of a shortest path from a module to itself."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for other in sorted(imports[way[-1]]):
            if other == start:
                return way
            if other not in seen:
                seen.add(other)
                ways.append([*way, other])
    raise AssertionError(f"{start} is in no circle")


def _label(node: ast.stmt) -> str:
    """Return a text that distinguishes a top-level statement from the others."""
    name = getattr(node, "name", "_")
    return name if name != "_" else f"_:{node.lineno}"


def _is_gradient(node: ast.FunctionDef) -> bool:
    return any(
        isinstance(decorator, ast.Attribute) and decorator.attr == "gradient"
        for decorator in node.decorator_list
    )


def _registered_gradients(statement: ast.stmt) -> set[str]:
    """Return the functions that a statement like ``add.gradient(_add_gradient)`` registers."""
    if not isinstance(statement, ast.Expr | ast.For):
        return set()
    return {
        argument.id
        for call in ast.walk(statement)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "gradient"
        for argument in call.args
        if isinstance(argument, ast.Name)
    }
