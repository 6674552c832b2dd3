r"""Matching and replacing with regular expressions, in RE2's syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_size, limit
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, unchanged_shape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.string_arrays import as_text, bytes_of, mapped, text_of
from tfnb.ops.strings.re2_syntax import PatternError, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import TensorLike, TensorResult
    from tfnb.ops.strings.linear_regex import BoundedPattern, Match

EXPORTS = {
    "tf": ["regex_replace"],
    "strings": ["regex_full_match", "regex_replace"],
}


def _compiled(pattern: str) -> BoundedPattern:
    try:
        return compile_pattern(pattern)
    except PatternError as error:
        raise errors.invalid_argument(f"Invalid pattern: {pattern}, error: {error}") from None


def _scalar_text(value: Array, name: str) -> str:
    if value.ndim:
        raise errors.invalid_argument(
            f"{name} must be scalar, but received {shape_text(value.shape)}"
        )
    return text_of(value.item())


def _pattern_shape(c: InferenceContext) -> TensorShape:
    for index in range(1, len(c.inputs)):
        c.with_rank(index, 0)
    return c.inputs[0]


# --------------------------------------------------------------------------------------- full match


def _full_match(input: Array, pattern: str) -> Array:
    compiled = _compiled(pattern)
    return mapped(lambda value: compiled.fullmatch(text_of(value)) is not None, input, np.bool_)


@register_op(
    "StaticRegexFullMatch",
    "input: string -> output: bool",
    "pattern: string",
    shape=unchanged_shape,
    devices=("CPU",),
)
def static_regex_full_match(xp: Xp, input: Array, *, pattern: str) -> Array:
    """Return whether a pattern matches each string as a whole."""
    return _full_match(input, as_text(pattern))


static_regex_full_match.not_differentiable()


@register_op(
    "RegexFullMatch",
    "input: string, pattern: string -> output: bool",
    shape=_pattern_shape,
    devices=("CPU",),
)
def regex_full_match_op(xp: Xp, input: Array, pattern: Array) -> Array:
    """Return whether a pattern, which is a tensor, matches each string as a whole."""
    return _full_match(input, _scalar_text(pattern, "Pattern"))


regex_full_match_op.not_differentiable()

# ------------------------------------------------------------------------------------------ replace


class _Rewrite:
    r"""The replacement of a match: text, and groups as ``\\0`` to ``\\9``.

    Attributes:
      parts: text or the number of a group.
      last_group: the largest number of a group.
      is_valid: False if another character follows a backslash; the rest is then dropped.
    """

    def __init__(self, rewrite: str) -> None:
        self.parts: list[str | int] = []
        self.is_valid = True
        self.last_group = 0
        characters = iter(rewrite)
        for char in characters:
            if char != "\\":
                self.parts.append(char)
                continue
            following = next(characters, "")
            if following.isdigit() and following.isascii():
                self.parts.append(int(following))
                self.last_group = max(self.last_group, int(following))
            elif following == "\\":
                self.parts.append("\\")
            else:
                self.is_valid = False
                break

    def of(self, match: Match) -> str:
        """Return the replacement of one match."""
        return "".join(
            part if isinstance(part, str) else match.group(part) or "" for part in self.parts
        )


def _replacer(pattern: str, rewrite: str, everywhere: bool) -> Callable[[bytes], bytes]:
    compiled = _compiled(pattern)
    new = _Rewrite(rewrite)

    def replace(value: bytes) -> bytes:
        if new.last_group > compiled.groups:
            return value
        text = text_of(value)
        if not everywhere:
            match = compiled.search(text)
            if match is None or not new.is_valid:
                return value
            return bytes_of(text[: match.start()] + new.of(match) + text[match.end() :])
        return bytes_of(_replace_all(compiled, new, text))

    return replace


def _replace_all(compiled: BoundedPattern, new: _Rewrite, text: str) -> str:
    parts = []
    position, last_end = 0, -1
    num_new, longest = 0, limit()
    while position <= len(text):
        match = compiled.search(text, position)
        if match is None:
            break
        if match.start() > position:
            parts.append(text[position : match.start()])
        if match.start() == last_end and not match.group(0):
            # An empty match directly after the last one does not count.
            if match.start() < len(text):
                parts.append(text[match.start()])
            position = match.start() + 1
            continue
        parts.append(new.of(match))
        num_new += len(parts[-1])
        if num_new > longest:
            check_size(num_new)
        position = last_end = match.end()
    parts.append(text[position:])
    return "".join(parts)


@register_op(
    "StaticRegexReplace",
    "input: string -> output: string",
    "pattern: string",
    "rewrite: string",
    "replace_global: bool = true",
    shape=unchanged_shape,
    devices=("CPU",),
)
def static_regex_replace(
    xp: Xp, input: Array, *, pattern: str, rewrite: str, replace_global: bool
) -> Array:
    r"""Return each string with matches of a pattern replaced; \1 is the text of the first group."""
    return mapped(_replacer(as_text(pattern), as_text(rewrite), replace_global), input)


static_regex_replace.not_differentiable()


@register_op(
    "RegexReplace",
    "input: string, pattern: string, rewrite: string -> output: string",
    "replace_global: bool = true",
    shape=_pattern_shape,
    devices=("CPU",),
)
def regex_replace_op(
    xp: Xp, input: Array, pattern: Array, rewrite: Array, *, replace_global: bool
) -> Array:
    """Return each string with matches of a pattern replaced; both are tensors."""
    replacer = _replacer(
        _scalar_text(pattern, "Pattern"), _scalar_text(rewrite, "Rewrite"), replace_global
    )
    return mapped(replacer, input)


regex_replace_op.not_differentiable()

# --------------------------------------------------------------------------------- public functions


def regex_full_match(
    input: TensorLike, pattern: TensorLike, name: str | None = None
) -> TensorResult:
    """Return whether a pattern (RE2 syntax) matches each string as a whole."""
    if isinstance(pattern, (str, bytes)):
        return static_regex_full_match(input, pattern=pattern, name=name)
    return regex_full_match_op(input, pattern, name=name)


def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> TensorResult:
    r"""Return each string with matches of a pattern (RE2 syntax) replaced; \1 is a group."""
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return static_regex_replace(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return regex_replace_op(input, pattern, rewrite, replace_global=replace_global, name=name)
