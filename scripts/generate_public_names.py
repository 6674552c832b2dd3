"""Write the table that `import tfnb` reads, and the stubs that editors read.

    python scripts/generate_public_names.py           # after EXPORTS or an op changed
    python scripts/generate_public_names.py --check   # fails if a file is out of date

Names come from the ``EXPORTS`` of the modules in framework, ops, library, client, as_tensorflow and
dask_runtime, onnx_export; ops from the registry.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import textwrap
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# Takes the place of the module that imports families of ops with the package.
sys.modules["tfnb.client.common_parts"] = ModuleType("tfnb.client.common_parts")

from tfnb.client import public  # noqa: E402
from tfnb.client.public.other_names import OTHER_NAMES  # noqa: E402
from tfnb.core import op_registry  # noqa: E402

if TYPE_CHECKING:
    from types import FrameType

PUBLIC = ROOT / "tfnb" / "client" / "public"
ROOMS = ("framework", "ops", "library", "client", "as_tensorflow", "dask_runtime", "onnx_export")
BY = "written by scripts/generate_public_names.py"

Origins = dict[str, dict[str, tuple[str, str]]]


class _Registered(dict[str, op_registry.OpDefinition]):
    """The registry of ops, with the module whose import registers each.

    Importing that module alone registers the op, also where a loop or a function of another module
    does so.
    """

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[str, str] = {}

    def __setitem__(self, op: str, definition: op_registry.OpDefinition) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        assert frame is not None
        self.modules[op] = frame.f_globals["__name__"]
        super().__setitem__(op, definition)


def collect() -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return module -> namespace -> names, and module -> ops, of every folder."""
    registered = _Registered()
    assert not op_registry._REGISTRY, "a family was imported before"
    op_registry._REGISTRY = registered
    exports: dict[str, dict[str, str]] = {}
    for path in (
        path for room in ROOMS for path in sorted((ROOT / "tfnb" / room).rglob("[a-z]*.py"))
    ):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found = vars(importlib.import_module(module)).get("EXPORTS", {})
        if found:
            exports[module] = {
                namespace: " ".join(names.split() if isinstance(names, str) else names)
                for namespace, names in found.items()
            }
    ops: dict[str, list[str]] = {}
    for op, module in sorted(registered.modules.items()):
        ops.setdefault(module, []).append(op)
    return exports, {module: " ".join(names) for module, names in ops.items()}


def add_parents(names: Origins, namespace: str) -> None:
    """Make ``tf.a.b`` a name of ``tf.a``, and ``tf.a`` a name of ``tf``."""
    while namespace != "tf":
        parent, _, name = namespace.rpartition(".")
        parent = parent or "tf"
        names.setdefault(parent, {})[name] = ("", namespace)
        namespace = parent


def table_text(exports: dict[str, dict[str, str]], ops: dict[str, str]) -> str:
    """Return the text of table.py."""
    lines = [
        f'"""Where public names and ops come from; {BY}."""',
        "",
        "from __future__ import annotations",
        "",
        "TABLE: dict[str, dict[str, str]] = {",
    ]
    for module in sorted(exports):
        lines.append(f'    "{module}": {{')
        for namespace in sorted(exports[module]):
            lines += quoted(namespace, exports[module][namespace], "        ")
        lines.append("    },")
    lines += ["}", "", "OPS: dict[str, str] = {"]
    for module in sorted(ops):
        lines += quoted(module, ops[module], "    ")
    return "\n".join([*lines, "}", ""])


def quoted(key: str, names: str, indent: str) -> list[str]:
    """Return ``"key": "names",`` in the line layout of ruff."""
    one_line = f'{indent}"{key}": "{names}",'
    if len(one_line) <= 100:
        return [one_line]
    width = 100 - len(indent) - 4 - 3
    parts = textwrap.wrap(names, width, break_long_words=False, break_on_hyphens=False)
    if len(indent) + 4 + len(f'"{names}"') <= 100:
        parts = [names]  # one string, as long as no space needs to stand at its end
    lines = [f'{indent}"{key}": (']
    lines += [f'{indent}    "{part} "' for part in parts[:-1]]
    return [*lines, f'{indent}    "{parts[-1]}"', f"{indent}),"]


def stub_texts(names: Origins) -> dict[Path, str]:
    """Return stub file -> text: one for the package, one per namespace."""
    texts = {}
    for namespace, origins in names.items():
        if namespace == "tf":
            texts[ROOT / "tfnb" / "__init__.pyi"] = stub("tfnb", origins)
        elif "." not in namespace:
            texts[PUBLIC / f"{namespace}.pyi"] = stub(f"tf.{namespace}", origins)
    return texts


def stub(title: str, origins: dict[str, tuple[str, str]]) -> str:
    """Return a stub: every name imported from its module, in the layout of ruff."""
    imports, plain = [], []
    for name, (module, local) in origins.items():
        if not module:
            if "." not in local and local != "raw_ops":
                imports.append(import_line("tfnb.client.public", local, name))
        elif not local:
            package, _, leaf = module.rpartition(".")
            imports.append(import_line(package, leaf, name))
        elif local in explicit_names(module):
            imports.append(import_line(module, local, name))
        else:
            plain.append(f"{name}: Any")
    if title == "tfnb":
        plain += ["__version__: str", "newaxis: None", "raw_ops: Any"]
    lines = [f"# The names of {title}; {BY}.", "# ruff: noqa"]
    if plain:
        lines += ["from typing import Any", ""]
    lines += sorted(imports)
    if plain:
        lines += ["", *sorted(plain)]
    # A renamed import is exported only if it is listed.
    renamed = [name for name, (module, local) in origins.items() if module and local != name]
    if renamed:
        every = [*origins, "__version__", "newaxis", "raw_ops", *FUNCTION_NAMES]
        listed = sorted(origins) if title != "tfnb" else sorted(set(every))
        lines += ["", "__all__ = [", *(f'    "{name}",' for name in listed), "]"]
    if title == "tfnb":
        lines += ["", *FUNCTIONS_OF_PACKAGE]
    return "\n".join([*lines, ""])


FUNCTION_NAMES = ("load_ipython_extension", "unload_ipython_extension")
FUNCTIONS_OF_PACKAGE = (
    "def load_ipython_extension(ipython: Any) -> None: ...",
    "def unload_ipython_extension(ipython: Any) -> None: ...",
)


def import_line(module: str, local: str, name: str) -> str:
    """Return an import that re-exports the name."""
    one_line = f"from {module} import {local} as {name}"
    if len(one_line) <= 100:
        return one_line
    return f"from {module} import (\n    {local} as {name},\n)"


@cache
def explicit_names(module: str) -> set[str]:
    """Return what a type checker may import from a module: its own and its re-exported names."""
    path = ROOT.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".pyi"), path.with_suffix(".py"), path / "__init__.py"):
        if candidate.exists():
            return defined_names(ast.parse(candidate.read_text()).body)
    return set()


def defined_names(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements define."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names.update(a.name for a in node.names if a.asname == a.name)
        elif isinstance(node, ast.If | ast.Try):
            names |= defined_names(node.body) | defined_names(node.orelse)
    return names


def main() -> int:
    """Write the files, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare; 1 if out of date")
    check = parser.parse_args().check
    exports, ops = collect()
    names: Origins = {}
    for module, found in (*OTHER_NAMES.items(), *exports.items()):
        for namespace, origins in public.parse_exports(found, module).items():
            names.setdefault(namespace, {}).update(origins)
    for namespace in list(names):
        add_parents(names, namespace)
    texts = {PUBLIC / "table.py": table_text(exports, ops), **stub_texts(names)}
    old = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    gone = [path for path in PUBLIC.glob("*.pyi") if path not in texts]
    if check:
        for path in (*old, *gone):
            print(f"{path.relative_to(ROOT)} is not up to date; run `make tables`")
        return bool(old or gone)
    for path in old:
        path.write_text(texts[path])
    for path in gone:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
