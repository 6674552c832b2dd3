"""Conversion between Python's text and the bytes that string tensors and attributes hold."""

from __future__ import annotations


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
