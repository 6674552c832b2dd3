"""Writes the table that `import tfnb` works from, and the stubs that editors read.

    python scripts/generate_public_names.py           # after EXPORTS or an op changed
    python scripts/generate_public_names.py --check   # says whether that was forgotten

Names come from the ``EXPORTS`` of the modules in framework and ops, ops from the registry.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tfnb.client import public  # noqa: E402
from tfnb.client.public.other_names import OTHER_NAMES  # noqa: E402
from tfnb.core import op_registry  # noqa: E402

PUBLIC = ROOT / "tfnb" / "client" / "public"
ROOMS = ("framework", "ops")
BY = "written by scripts/generate_public_names.py"

Origins = dict[str, dict[str, tuple[str, str]]]


def collect() -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Module -> namespace -> names, and module -> ops, of every family."""
    exports: dict[str, dict[str, str]] = {}
    ops: dict[str, str] = {}
    paths = [path for room in ROOMS for path in sorted((ROOT / "tfnb" / room).rglob("[a-z]*.py"))]
    written = {
        op: path
        for path in paths
        for op in re.findall(r"""register_op\(\s*["'](\w+)["']""", path.read_text())
    }
    for path in paths:
        known = set(op_registry._REGISTRY)
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found = getattr(importlib.import_module(module), "EXPORTS", {})
        if found:
            exports[module] = {
                namespace: " ".join(names.split() if isinstance(names, str) else names)
                for namespace, names in found.items()
            }
        new = {op for op in op_registry._REGISTRY if op not in known and op not in written}
        new |= {op for op, where in written.items() if where == path}
        if new:
            ops[module] = " ".join(sorted(new))
    return exports, ops


def table_text(exports: dict[str, dict[str, str]], ops: dict[str, str]) -> str:
    """The text of table.py."""
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
    """``"key": "names",`` in lines that ruff would leave alone."""
    one_line = f'{indent}"{key}": "{names}",'
    if len(one_line) <= 100:
        return [one_line]
    width = 100 - len(indent) - 4 - 3
    parts = textwrap.wrap(names, width, break_long_words=False, break_on_hyphens=False)
    lines = [f'{indent}"{key}": (']
    lines += [f'{indent}    "{part} "' for part in parts[:-1]]
    return [*lines, f'{indent}    "{parts[-1]}"', f"{indent}),"]


def stub_texts(names: Origins) -> dict[Path, str]:
    """Stub file -> text: one for the package, one per namespace."""
    texts = {}
    for namespace, origins in names.items():
        if namespace == "tf":
            texts[ROOT / "tfnb" / "__init__.pyi"] = stub("tfnb", origins)
        elif "." not in namespace:
            texts[PUBLIC / f"{namespace}.pyi"] = stub(f"tf.{namespace}", origins)
    return texts


def stub(title: str, origins: dict[str, tuple[str, str]]) -> str:
    """One stub: every name imported from where it is."""
    lines = []
    for name, (module, local) in origins.items():
        if not module:
            if "." not in local and local != "raw_ops":
                lines.append(f"from tfnb.client.public import {local} as {name}")
        elif not local:
            package, _, leaf = module.rpartition(".")
            lines.append(f"from {package} import {leaf} as {name}")
        else:
            lines.append(f"from {module} import {local} as {name}")
    head = [f"# The names of {title}; {BY}.", "# ruff: noqa"]
    if title == "tfnb":
        head += ["from typing import Any"]
        lines += [
            "raw_ops: Any",
            "v1: Any",
            "__version__: str",
            "newaxis: None",
            "def load_ipython_extension(ipython: Any) -> None: ...",
            "def unload_ipython_extension(ipython: Any) -> None: ...",
        ]
    return "\n".join([*head, *sorted(lines), ""])


def main() -> int:
    """Write the files, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a file is old")
    check = parser.parse_args().check
    exports, ops = collect()
    names: Origins = {}
    for module, found in (*OTHER_NAMES.items(), *exports.items()):
        for namespace, origins in public.parse_exports(found, module).items():
            names.setdefault(namespace, {}).update(origins)
    for namespace in list(names):
        public._add_parents(names, namespace)
    texts = {PUBLIC / "table.py": table_text(exports, ops), **stub_texts(names)}
    old = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    gone = [path for path in PUBLIC.glob("*.pyi") if path not in texts]
    if check:
        for path in (*old, *gone):
            print(f"{path.relative_to(ROOT)} is not up to date")
        return bool(old or gone)
    for path in old:
        path.write_text(texts[path])
    for path in gone:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
