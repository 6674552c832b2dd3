"""All flags of a program: ``tf.flags.FLAGS``, and the module that defines each."""

from __future__ import annotations

import shlex
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from tfnb.client.flags.absl_flags import flags_with
from tfnb.client.flags.flag import (
    CantOpenFlagFileError,
    Flag,
    FlagNameConflictsWithMethodError,
    IllegalFlagValueError,
    UnrecognizedFlagError,
    ValidationError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EXPORTS = {"flags": ["FLAGS", "FlagHolder", "FlagValues", "disclaim_key_flags"]}


class FlagValues:
    """All flags; their values are attributes.

    The command line is parsed when a value is first read. Words that are not a known flag are left
    for ``main``, since a notebook's kernel has arguments of its own.
    """

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_is_parsed"] = False
        # Module -> flags that it defines, and flags of other modules that it declares as key flags.
        self.__dict__["_by_module"] = {}
        self.__dict__["_key_flags"] = {}
        self.__dict__["_stops_at_words"] = False

    def __call__(self, argv: Iterable[str], known_only: bool = False) -> list[str]:
        """Parse a command line; return its first word and the words that are not flags.

        Args:
            argv: The command line.
            known_only: No effect: unknown words are always left over.

        Raises:
            IllegalFlagValueError: A value does not fit its flag, or a required flag is missing.
            TypeError: ``argv`` is a text.
            ValueError: ``argv`` is empty.
        """
        if isinstance(argv, str | bytes):
            raise TypeError("argv should be a tuple/list of strings, not bytes or string.")
        all_words = self.read_flags_from_files(list(argv), force_gnu=False)
        if not all_words:
            raise ValueError("argv cannot be an empty list, and must contain the program name.")
        program, *words = all_words
        rest = [program]
        words = words[::-1]
        for flag in self._flags.values():
            flag.present = 0
        while words:
            word = words.pop()
            if word == "--":
                rest += words[::-1]
                break
            if not self._take(word, words):
                rest.append(word)
                if self._stops_at_words and not word.startswith("-"):
                    rest += words[::-1]
                    break
        self.__dict__["_is_parsed"] = True
        self.validate_all_flags()
        return rest

    def _take(self, word: str, following: list[str]) -> bool:
        """Parse one word as a flag, with the next as its value if needed; False if it is none."""
        if not word.startswith("-") or word.lstrip("-") == "":
            return False
        name, equals, text = word.lstrip("-").partition("=")
        flag = self._flags.get(name)
        if flag is None and name.startswith("no") and not equals:
            flag = self._flags.get(name[2:])
            if flag is not None and flag.boolean:
                flag.parse("false")
                return True
            return False
        if flag is None:
            return False
        if flag.boolean and not equals:
            text = "true"
        elif not equals:
            if not following:
                raise IllegalFlagValueError(f"Missing value for flag --{name}")
            text = following.pop()
        flag.parse(text)
        return True

    def read_flags_from_files(self, argv: list[str], force_gnu: bool = True) -> list[str]:
        """Return a command line with the contents of ``--flagfile`` files inserted.

        Args:
            argv: The command line.
            force_gnu: Whether to continue after the first word that is not a flag.

        Raises:
            CantOpenFlagFileError: A file cannot be read.
        """
        found: list[str] = []
        words = list(argv)[::-1]
        while words:
            word = words.pop()
            if word == "--":
                return [*found, word, *words[::-1]]
            if word in ("-flagfile", "--flagfile"):
                if not words:
                    raise IllegalFlagValueError("--flagfile with no argument")
                found += _words_of_file(words.pop(), [])
            elif word.startswith(("-flagfile=", "--flagfile=")):
                found += _words_of_file(word.partition("=")[2], [])
            else:
                found.append(word)
                ends = self._stops_at_words and not force_gnu and len(found) > 1
                if ends and not word.startswith("-"):
                    return [*found, *words[::-1]]
        return found

    # -- reading and checking ----------------------------------------------------------------------

    def validate_all_flags(self) -> None:
        """Run all validators of the flags.

        Raises:
            IllegalFlagValueError: A validator refuses.
        """
        flags = list(self._flags.values())
        missing = [flag.name for flag in flags if flag.is_required and flag.value is None]
        if missing:
            raise IllegalFlagValueError(f"Flag --{missing[0]} must have a value other than None.")
        self._validate(flags)

    def _validate(self, flags: Iterable[Flag]) -> None:
        for validator in dict.fromkeys(v for flag in flags for v in flag.validators):
            values = {name: self._find(name).value for name in validator.names}
            message = validator.message
            try:
                if validator.holds(values):
                    continue
            except ValidationError as error:
                message = str(error)
            if len(values) == 1:
                ((name, value),) = values.items()
                raise IllegalFlagValueError(f"flag --{name}={value}: {message}")
            shown = ", ".join(f"{name}={value}" for name, value in values.items())
            raise IllegalFlagValueError(f"flags {shown}: {message}")

    def is_parsed(self) -> bool:
        """Return whether a command line was parsed."""
        return bool(self._is_parsed)

    def mark_as_parsed(self) -> None:
        """Mark the flags as parsed, so that they keep their defaults."""
        self.__dict__["_is_parsed"] = True

    def unparse_flags(self) -> None:
        """Reset all flags; the command line is parsed again when a value is read."""
        for flag in self._flags.values():
            flag.unparse()
        self.__dict__["_is_parsed"] = False

    def _parse_flags(self) -> None:
        """Parse the command line, unless it was parsed: programs before TensorFlow 1.5 do so."""
        self._parse_if_needed()

    def is_gnu_getopt(self) -> bool:
        """Return whether flags may follow other words."""
        return not self._stops_at_words

    def set_gnu_getopt(self, gnu_getopt: bool = True) -> None:
        """Set whether flags may follow other words."""
        self.__dict__["_stops_at_words"] = not gnu_getopt

    def _parse_if_needed(self) -> None:
        if not self._is_parsed:
            self(sys.argv)

    # -- defining ----------------------------------------------------------------------------------

    def _define(self, flag: Flag, module_name: str | None = None) -> None:
        if not flag.allow_using_method_names and flag.name in dir(FlagValues):
            raise FlagNameConflictsWithMethodError(
                f"Cannot define flag named `{flag.name}`. It conflicts with a method on class "
                "`FlagValues`."
            )
        for name in (flag.name, flag.short_name):
            if name:
                self._flags[name] = flag
        self.register_flag_by_module(module_name or calling_module(), flag)
        # An earlier cell may have parsed the command line.
        if self._is_parsed:
            self(sys.argv)

    def _find(self, name: str) -> Flag:
        found: Flag | None = self._flags.get(name)
        if found is None:
            raise UnrecognizedFlagError(name)
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":  # programs of TensorFlow 1 read it: name -> Flag
            return self._flags
        if name.startswith("__"):
            raise AttributeError(name)
        of_absl = flags_with(name) if name not in self._flags else None
        if of_absl is not None:
            return of_absl[name].value
        flag = self._find(name)
        self._parse_if_needed()
        return flag.value

    def __setattr__(self, name: str, value: Any) -> None:
        of_absl = flags_with(name) if name not in self._flags else None
        if of_absl is not None:
            setattr(of_absl, name, value)
            return
        self._parse_if_needed()
        flag = self._find(name)
        before, flag.value = flag.value, value
        try:
            self._validate([flag])
        except IllegalFlagValueError:
            flag.value = before
            raise
        flag.using_default_value = False

    def __delattr__(self, name: str) -> None:
        flag = self._find(name)
        for key in [key for key, one in self._flags.items() if one is flag]:
            del self._flags[key]
        for flags in (*self._by_module.values(), *self._key_flags.values()):
            if flag in flags:
                flags.remove(flag)

    def __getitem__(self, name: str) -> Flag:
        return self._find(name)

    def __setitem__(self, name: str, flag: Flag) -> None:
        if not isinstance(flag, Flag):
            raise IllegalFlagValueError(
                f"Expect Flag instances, found type {type(flag)}. Maybe you didn't mean to use "
                "FlagValue.__setitem__?"
            )
        self._flags[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted([*object.__dir__(self), *self._flags])

    def get_flag_value(self, name: str, default: Any) -> Any:
        """Return the value of a flag; ``default`` if it is None or the flag does not exist."""
        flag = self._flags.get(name)
        if flag is None:
            return default
        self._parse_if_needed()
        return default if flag.value is None else flag.value

    def set_default(self, name: str, value: Any) -> None:
        """Set the default of a flag, and its value if none was given.

        Raises:
            UnrecognizedFlagError: The flag does not exist.
            IllegalFlagValueError: The value does not fit.
        """
        flag = self._find(name)
        flag._set_default(value)
        self._validate([flag])

    def flag_values_dict(self) -> dict[str, Any]:
        """Return name -> value of every flag."""
        self._parse_if_needed()
        return {name: flag.value for name, flag in self._flags.items()}

    def append_flag_values(self, flag_values: FlagValues) -> None:
        """Add the flags of another object."""
        for module, flags in flag_values._by_module.items():
            for flag in flags:
                self.register_flag_by_module(module, flag)
        self._flags.update(flag_values._flags)

    def remove_flag_values(self, flag_values: Iterable[str]) -> None:
        """Remove the flags of these names."""
        for name in list(flag_values):
            self.__delattr__(name)

    # -- as text -----------------------------------------------------------------------------------

    def flags_into_string(self) -> str:
        """Return the words of a command line that sets all flags, one per line."""
        lines = [
            flag.serialize()
            for flag in dict.fromkeys(self._flags.values())
            if flag.value is not None
        ]
        return "".join(f"{line}\n" for line in lines)

    def append_flags_into_file(self, filename: str) -> None:
        """Append :meth:`flags_into_string` to a file."""
        with open(filename, "a", encoding="utf-8") as file:
            file.write(self.flags_into_string())

    def get_help(self, prefix: str = "", include_special_flags: bool = True) -> str:
        """Return the help for all flags, module by module."""
        lines: list[str] = []
        for module in sorted(self._by_module, key=lambda name: (name != sys.argv[0], name)):
            lines += ["", f"{prefix}{module}:"]
            lines += self._help_of(self._by_module[module], prefix + "  ")
        return "\n".join(lines).lstrip("\n")

    def module_help(self, module: Any) -> str:
        """Return the help for the key flags of a module."""
        name = _name_of(module)
        flags = self.get_key_flags_for_module(name)
        return "\n".join([f"\n{name}:", *self._help_of(flags, "  ")]) if flags else ""

    def main_module_help(self) -> str:
        """Return the help for the flags of the running script."""
        return self.module_help(calling_module_of("__main__"))

    def _help_of(self, flags: Iterable[Flag], prefix: str) -> list[str]:
        lines = []
        for flag in sorted(flags, key=lambda one: one.name):
            short = f"-{flag.short_name}," if flag.short_name else ""
            name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
            lines += text_lines(f"{short}{name}: {flag.help}", prefix)
            if flag.default_as_str:
                lines.append(f"{prefix}  (default: {flag.default_as_str})")
            if flag.parser.syntactic_help:
                lines.append(f"{prefix}  ({flag.parser.syntactic_help})")
        return lines

    def write_help_in_xml_format(self, outfile: Any = None) -> None:
        """Write the help for all flags as XML, to standard output if None."""
        lines = ['<?xml version="1.0" encoding="utf-8"?>', "<AllFlags>"]
        lines += [f"  <program>{escape(Path(sys.argv[0]).name)}</program>"]
        key = self.get_key_flags_for_module(calling_module_of("__main__"))
        for module, flags in sorted(self._by_module.items()):
            for flag in flags:
                lines.append("  <flag>")
                if flag in key:
                    lines.append("    <key>yes</key>")
                about = {
                    "file": module,
                    "name": flag.name,
                    "meaning": flag.help,
                    "default": flag.default_as_str or "",
                    "current": str(flag.value),
                    "type": flag.flag_type(),
                }
                lines += [f"    <{tag}>{escape(text)}</{tag}>" for tag, text in about.items()]
                lines.append("  </flag>")
        text = "\n".join([*lines, "</AllFlags>", ""])
        is_binary = "b" in getattr(outfile, "mode", "") or hasattr(outfile, "getbuffer")
        out: Any = outfile or sys.stdout
        out.write(text.encode() if is_binary else text)

    # -- modules -----------------------------------------------------------------------------------

    def flags_by_module_dict(self) -> dict[str, list[Flag]]:
        """Return module -> the flags that it defines."""
        return dict(self._by_module)

    def flags_by_module_id_dict(self) -> dict[int, list[Flag]]:
        """Return the id of a module -> the flags that it defines."""
        return {_id_of(module): flags for module, flags in self._by_module.items()}

    def key_flags_by_module_dict(self) -> dict[str, list[Flag]]:
        """Return module -> its key flags from other modules."""
        return dict(self._key_flags)

    def register_flag_by_module(self, module_name: str, flag: Flag) -> None:
        """Record that a module defines a flag."""
        flags = self._by_module.setdefault(module_name, [])
        flags[:] = [one for one in flags if one.name != flag.name] + [flag]

    def register_flag_by_module_id(self, module_id: int, flag: Flag) -> None:
        """Record that the module with an id defines a flag."""
        for name, module in list(sys.modules.items()):
            if id(module) == module_id:
                self.register_flag_by_module(calling_module_of(name), flag)

    def register_key_flag_for_module(self, module_name: str, flag: Flag) -> None:
        """Record a key flag of a module."""
        flags = self._key_flags.setdefault(module_name, [])
        if flag not in flags:
            flags.append(flag)

    def get_flags_for_module(self, module: Any) -> list[Flag]:
        """Return the flags that a module defines."""
        return list(self._by_module.get(_name_of(module), ()))

    def get_key_flags_for_module(self, module: Any) -> list[Flag]:
        """Return the key flags of a module: its own, and those it declared."""
        own = self.get_flags_for_module(module)
        return [*own, *(f for f in self._key_flags.get(_name_of(module), ()) if f not in own)]

    def find_module_defining_flag(self, flagname: str, default: Any = None) -> Any:
        """Return the module that defines a flag, or ``default``."""
        flag = self._flags.get(flagname)
        for module, flags in self._by_module.items():
            if flag is not None and flag in flags:
                return module
        return default

    def find_module_id_defining_flag(self, flagname: str, default: Any = None) -> Any:
        """Return the id of the module that defines a flag, or ``default``."""
        module = self.find_module_defining_flag(flagname)
        return default if module is None else _id_of(module)


def _words_of_file(path: str, above: list[str]) -> list[str]:
    """Return the flags in a file: one per line, without comments; files may name files."""
    if path in above:
        raise CantOpenFlagFileError(f"{path} names itself with --flagfile")
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CantOpenFlagFileError(f"ERROR:: Unable to open flagfile: {error}") from error
    found: list[str] = []
    for line in (line.strip() for line in lines):
        if not line or line.startswith(("#", "//")):
            continue
        if line.startswith(("-flagfile=", "--flagfile=")):
            found += _words_of_file(line.partition("=")[2], [*above, path])
        elif line.startswith("-"):
            found.append(line)
        else:
            found += shlex.split(line)
    return found


def calling_module() -> str:
    """Return the name of the first module on the stack that is not part of the flags modules."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("tfnb.client.flags.flag") and name not in _disclaimed:
            return calling_module_of(name)
        frame = frame.f_back
    return calling_module_of("__main__")


# Modules that define flags on behalf of the modules that call them.
_disclaimed: set[str] = set()


def disclaim_key_flags() -> None:
    """Let the flags that this module will define belong to the modules that call it."""
    frame = sys._getframe(1)
    _disclaimed.add(frame.f_globals["__name__"])


def calling_module_of(name: str) -> str:
    """Return a module's name; for the running script, its path."""
    return sys.argv[0] if name == "__main__" else name


def _name_of(module: Any) -> str:
    name = module if isinstance(module, str) else module.__name__
    return sys.argv[0] if name == "__main__" else name


def _id_of(module: str) -> int:
    name = "__main__" if module == sys.argv[0] else module
    return id(sys.modules.get(name))


def text_lines(text: str, prefix: str, width: int = 80) -> list[str]:
    """Return text in lines, all but the first indented further."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(
            paragraph.strip(),
            width,
            initial_indent=prefix if not lines else prefix + "  ",
            subsequent_indent=prefix + "  ",
            break_long_words=False,
        ) or [""]
    return lines


class FlagHolder:
    """The result of defining a flag, which holds the value but cannot be used as the value.

    Args:
        flag_values: The FlagValues that hold the flag.
        flag: The flag.
        ensure_non_none_value: Whether reading a value of None is an error.
    """

    def __init__(
        self, flag_values: FlagValues, flag: Flag, ensure_non_none_value: bool = False
    ) -> None:
        self.flag_values = flag_values
        self._name = flag.name
        self._needs_value = ensure_non_none_value

    def __bool__(self) -> bool:
        raise TypeError(
            "bool() not supported for instances of type 'FlagHolder' (did you mean to use "
            f"'{self._name}.value' instead?)"
        )

    @property
    def name(self) -> str:
        """The flag's name."""
        return self._name

    @property
    def value(self) -> Any:
        """The flag's value.

        Raises:
            IllegalFlagValueError: It is None, which is not allowed.
        """
        found = getattr(self.flag_values, self._name)
        if found is None and self._needs_value:
            raise IllegalFlagValueError(f"Unexpected None value for flag {self._name}")
        return found

    @property
    def default(self) -> Any:
        """The flag's default."""
        return self.flag_values[self._name].default

    @property
    def present(self) -> bool:
        """Whether the flag was given."""
        return bool(self.flag_values[self._name].present)

    def serialize(self) -> str:
        """Return the word of a command line that sets the flag's value."""
        return self.flag_values[self._name].serialize()


FLAGS = FlagValues()
