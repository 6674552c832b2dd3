"""Conversion between Python's text and the bytes that string tensors and attributes hold."""

from __future__ import annotations

_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"


def is_plain_name(name: str) -> bool:
    r"""Return whether a node's name is valid at first sight; other names may be valid, too.

    Most names of a file are plain, and checking them needs no pattern.

    >>> is_plain_name("a/b_1"), is_plain_name("a>b"), is_plain_name("_a"), is_plain_name("a\n")
    (True, False, False, False)
    """
    return name[:1].isalpha() and not name.strip(_PLAIN)


def text_bytes(text: str) -> bytes:
    """Return a text in UTF-8.

    Raises:
      UnicodeEncodeError: it holds half of a surrogate pair; the error says what to do.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UnicodeEncodeError(
            error.encoding,
            error.object,
            error.start,
            error.end,
            "half of a surrogate pair is no character. Strings of tensors are bytes: encode the "
            "text yourself, for example with text.encode('utf-8', 'surrogatepass')",
        ) from None


def shown_text(data: bytes) -> str:
    r"""Return bytes as text for a message, with invalid UTF-8 escaped.

    >>> shown_text(b"\xc3\xa9 \xff")
    'é \\xff'
    """
    return data.decode("utf-8", "backslashreplace")
