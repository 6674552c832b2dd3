"""``tfnb completion SHELL``: scripts for completion in a shell, made from the parser."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHELLS = ("bash", "zsh", "fish")
HELP = """\
for this shell only:
  bash   source <(tfnb completion bash)
  zsh    source <(tfnb completion zsh)
  fish   tfnb completion fish | source
Put the line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish to have it in each."""


@dataclass(frozen=True, slots=True)
class _Option:
    """An option: its names, its help, the words that may follow it; None if no word may follow."""

    names: tuple[str, ...]
    text: str
    words: tuple[str, ...] | None

    @property
    def takes_value(self) -> bool:
        return self.words is not None


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    text: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]  # words in place of options; file names if there are none


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return a script for ``bash``, ``zsh`` or ``fish``; it completes options, values, files."""
    commands = _commands_of(parser)
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return write(commands, _options_of(parser))


def _commands_of(parser: argparse.ArgumentParser) -> list[_Command]:
    found = []
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        texts = {one.dest: one.help or "" for one in action._choices_actions}
        for name, inner in action.choices.items():
            placed = [one for one in inner._actions if not one.option_strings]
            words = [str(word) for one in placed for word in one.choices or ()]
            found.append(_Command(name, texts.get(name, ""), _options_of(inner), tuple(words)))
    return found


def _options_of(parser: argparse.ArgumentParser) -> tuple[_Option, ...]:
    return tuple(
        _Option(
            tuple(action.option_strings),
            action.help or "",
            None if action.nargs == 0 else tuple(map(str, action.choices or ())),
        )
        for action in parser._actions
        if action.option_strings
    )


def _names(options: Iterable[_Option]) -> str:
    return " ".join(name for option in options for name in option.names)


def _bash(commands: list[_Command], top: tuple[_Option, ...]) -> str:
    cases = []
    for command in commands:
        values = "".join(
            f'        {"|".join(option.names)}) words="{" ".join(option.words or ())}"; '
            "is_value=1 ;;\n"
            for option in command.options
            if option.takes_value
        )
        cases.append(
            f"    {command.name})\n"
            f'      words="{" ".join(command.words)}"; options="{_names(command.options)}"\n'
            + (f'      case "$before" in\n{values}      esac\n' if values else "")
            + "      ;;\n"
        )
    names = " ".join(command.name for command in commands)
    return f"""\
# bash completion of tfnb: source <(tfnb completion bash)
_tfnb() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="" words="{names}" options="{_names(top)}"
  local is_value=0
  if [ "$COMP_CWORD" -gt 1 ]; then
    before="${{COMP_WORDS[COMP_CWORD-1]}}"
    case "${{COMP_WORDS[1]}}" in
{"".join(cases)}    esac
  fi
  COMPREPLY=()
  if [ "$is_value" = 0 ] && [[ "$current" == -* ]]; then
    words="$options"
  fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -F _tfnb tfnb
"""


def _zsh(commands: list[_Command], top: tuple[_Option, ...]) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("'", "'\\''") + "'"

    def said(text: str) -> str:
        return "".join(f"\\{c}" if c in "[]:\\" else c for c in text)

    def argument(option: _Option) -> list[str]:
        value = ""
        if option.words is not None:
            value = f":value:({' '.join(option.words)})" if option.words else ":value:_files"
        return [quoted(f"*{name}[{said(option.text)}]{value}") for name in option.names]

    lines = [quoted(f"{command.name}:{said(command.text)}") for command in commands]
    described = "\n    ".join(lines)
    cases = []
    for command in commands:
        rest = f"*:word:({' '.join(command.words)})" if command.words else "*:file:_files"
        arguments = [one for option in command.options for one in argument(option)]
        written = " \\\n        ".join([*arguments, quoted(rest)])
        cases.append(f"    {command.name})\n      _arguments \\\n        {written}\n      ;;\n")
    options = " \\\n    ".join(one for option in top for one in argument(option))
    return f"""\
#compdef tfnb
# zsh completion of tfnb: source <(tfnb completion zsh)
_tfnb() {{
  local -a commands
  commands=(
    {described}
  )
  local context state state_descr line
  typeset -A opt_args
  _arguments -C \\
    {options} \\
    '1: :->command' '*:: :->rest'
  if [[ $state == command ]]; then
    _describe command commands
    return
  fi
  case $words[1] in
{"".join(cases)}  esac
}}
if (( $+functions[compdef] )); then compdef _tfnb tfnb; fi
"""


def _fish(commands: list[_Command], top: tuple[_Option, ...]) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def line(option: _Option, condition: str) -> str:
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        value = " -r" if option.takes_value else ""
        if option.words:
            value = f" -x -a {quoted(' '.join(option.words))}"
        return f"complete -c tfnb -n {quoted(condition)} {names}{value} -d {quoted(option.text)}"

    lines = ["# fish completion of tfnb: tfnb completion fish | source"]
    first = "__fish_use_subcommand"
    lines += [line(option, first) for option in top]
    for command in commands:
        lines.append(
            f"complete -c tfnb -f -n {quoted(first)} -a {command.name} -d {quoted(command.text)}"
        )
        seen = f"__fish_seen_subcommand_from {command.name}"
        lines += [line(option, seen) for option in command.options]
        if command.words:
            lines.append(
                f"complete -c tfnb -f -n {quoted(seen)} -a {quoted(' '.join(command.words))}"
            )
    return "\n".join(lines) + "\n"
