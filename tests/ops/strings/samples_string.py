"""Rows of the string ops."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Many, op, sweep

_MATRIX = [["a", "b", "c"], ["d", "e", "f"]]
_WORDS = np.array([b"hello", "日本語x".encode(), b"", b"\xff\x80a"], object)
_SIZES = (0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 127, 128, 200)
_LONG = [bytes((i * 7 + j * 13) % 256 for j in range(i)) for i in _SIZES]
_BYTES = np.array(_LONG, object)
_TEXTS = np.array(
    [
        b"a\xe9\xff\xc3\xa9z",
        "日本\U0001f600".encode(),
        b"",
        b"\x01\n\x7f\x80x",
        b"\xe6\x97a\xf0\x9f\x98",
        b"\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80",
    ],
    object,
)
_SPLITS = np.int64([0, 3, 4, 4, 6])
_LETTERS = ["a", "b", "c", "d", "e", "f"]


def _regexes() -> list[object]:
    matches = [
        ("a.c", "a\nc"), ("^s3://.*", "s3://x"), (r"a\$", "a$"), ("a$", "a\n"), ("(?i)AbC", "aBc"),
        ("x(?i)y|z", "Z"), ("[[:alpha:]_]+", "ab_"), (r"\pL+", "aé"), (r"[^\D5]", "4"),
        (r"\Qa.b\E+", "a.bb"), ("a{,2}", "a{,2}"), ("(?P<x>a)(?:b)", "ab"), ("(?s).", "\n"),
        (r"[a\]b-]+", "a]b-"), (r"\p{Greek}", "α"), (r"[\x{3b1}-\x{3c9}]+", "αβ"), ("", ""),
        ("(?U)a+", "aa"), (r"\bfoo\b", "foo"), (r"\d+", "٣"), ("(?i:a)B", "AB"), ("a|ab", "ab"),
        ("[^a]", "\n"), (r"\s", "\v"), ("(a|b)*?c", "abac"), ("x{2,3}", "xxxx"),
    ]  # fmt: skip
    refused = ["a**", "(?=a)", r"\1", "a{1001}", "(", "*a", "[b-a]", "a)", "\\", "a++", "(?z)"]
    return [
        *[op("StaticRegexFullMatch", [text], pattern=pattern) for pattern, text in matches],
        *[op("RegexFullMatch", text, pattern) for pattern, text in matches[:4]],
        *[op("StaticRegexFullMatch", "a", pattern=p, error="Invalid pattern") for p in refused],
    ]


def _replacements() -> list[object]:
    cases = [
        ("a*", "baac", "x"), ("", "abc", "-"), ("(a)(b)", "abab", r"\2\1"),
        ("a", "aa", r"\0\0"),
        ("b", "abc", r"\1"), ("b", "abc", r"\x"), ("b", "abc", r"\\"), ("b*$", "abb", "x"),
        ("é", "aéb", "e"), (".", "aé", "x"), ("(x)?b", "ab", r"[\1]"),
    ]  # fmt: skip
    rows = []
    for pattern, text, rewrite in cases:
        for everywhere in (True, False):
            attrs = {"pattern": pattern, "rewrite": rewrite, "replace_global": everywhere}
            rows.append(op("StaticRegexReplace", [text], **attrs))
    return [
        *rows,
        op("RegexReplace", ["abab"], "(a)(b)", r"\2\1"),
        op("RegexReplace", ["abab"], "(", "", error="Invalid pattern"),
        op("RegexReplace", ["abab"], ["a"], "", error="scalar|rank 0"),
    ]


def _as_string() -> list[object]:
    numbers = {
        "float": np.float32([1.5, -1 / 3, 1e20, np.nan, np.inf]),
        "double": np.float64([1 / 3, -0.0]),
        "half": np.float16([1.1]), "int32": np.int32([7, -3]), "int64": np.int64([-(2**63)]),
        "uint8": np.uint8([200]), "bool": np.array([True, False]),
        "complex64": np.complex64([1 + 2j]), "string": np.array([b"a"], object),
    }  # fmt: skip
    formats: list[dict[str, object]] = [
        {}, {"precision": 3}, {"scientific": True}, {"shortest": True}, {"width": 12},
        {"width": 12, "fill": "0"}, {"width": 12, "fill": "-"}, {"width": 12, "fill": "+"},
        {"shortest": True, "precision": 3}, {"precision": 2, "scientific": True},
    ]  # fmt: skip
    rows = []
    for name, value in numbers.items():
        for attrs in formats:
            refused = name in ("int32", "int64", "uint8", "bool") and (
                attrs.keys() & {"precision", "scientific", "shortest"}
            )
            rows.append(
                op("AsString", value, error="not supported for" if refused else None, **attrs)
            )
    return [
        *rows,
        op("AsString", [1.0], fill="x", error="Fill argument not supported"),
        op("AsString", [1.0], fill="ab", error="one or fewer characters"),
        op("AsString", [1.0], shortest=True, scientific=True, error="Cannot select both"),
    ]


def _numbers() -> list[object]:
    good = ["1", " 1 ", "1.5", "-3", "+4", "1e3", "-inf", "NaN", "Infinity",
            "0x10", "0x1p3", "1e400",
            ".5", "5.", "\t1\n", "007", "0.1", "16777217.0000000001", "1e-46"]  # fmt: skip
    bad = ["1_000", "", "  ", "1 2", "1.5f", "1e", "１", "+-1", "1,5", "infinit", "0b1", "--1"]
    integers = [" 1 ", "-3", "+4", "007", "\t1\n"]
    return [
        *[op("StringToNumber", good, out_type=dtype) for dtype in ("float", "double")],
        *[op("StringToNumber", integers, out_type=dtype) for dtype in ("int32", "int64")],
        op("StringToNumber", ["1", "4294967295"], out_type="uint32"),
        op("StringToNumber", ["18446744073709551615"], out_type="uint64"),
        *[op("StringToNumber", text, error="could not correctly convert") for text in bad],
        op("StringToNumber", "2147483648", out_type="int32", error="could not correctly convert"),
        op("StringToNumber", "-1", out_type="uint32", error="could not correctly convert"),
        op("StringToNumber", "1.5", out_type="int64", error="could not correctly convert"),
    ]


def _ngrams() -> list[object]:
    def row(
        widths: list[int], left: str, right: str, pads: int, keep: bool, **options: object
    ) -> object:
        return op(
            "StringNGrams", _LETTERS, options.pop("splits", _SPLITS), separator="|",
            ngram_widths=widths, left_pad=left, right_pad=right, pad_width=pads,
            preserve_short_sequences=keep, **options,
        )  # fmt: skip

    return [
        row([2], "", "", 0, False),
        row([1, 2], "L", "R", -1, False),
        row([3], "L", "R", 1, False),
        row([3], "", "", 0, True),
        row([4, 2], "L", "", 2, True),
        row([9], "L", "", 1, True),
        row([0], "L", "", 2, True, error="positive values"),
        row([2], "", "", 0, False, splits=np.int64([0, 3, 2, 6]), error="Invalid split value 2"),
        row([2], "", "", 0, False, splits=np.int64([1, 6]), error="First split value"),
        row([2], "", "", 0, False, splits=np.int64([0, 5]), error="Last split value"),
    ]


SAMPLES = [
    op("StringJoin", Many([["a", "b"], "c", ["d", "e"]]), separator="-"),
    op("StringJoin", Many(["a", "b"]), separator=", "),
    op("StringJoin", Many([["a", "b"], ["d", "e", "f"]]), error="do not match|must be equal"),
    op("StringJoin", Many([[["a"]]])),
    *[op("ReduceJoin", _MATRIX, axes) for axes in ([0], [1], [0, 1], [1, 0], [-1], np.int32([]))],
    op("ReduceJoin", _MATRIX, [-1, -2], separator=","),
    op("ReduceJoin", _MATRIX, 0, keep_dims=True),
    op("ReduceJoin", _MATRIX, [0, 1], keep_dims=True),
    op("ReduceJoin", _MATRIX, [2], error="Invalid reduction dimension 2"),
    op("ReduceJoin", _MATRIX, [0, -2], error="Duplicate reduction dimension -2"),
    op("ReduceJoin", np.empty((0, 2), object), [0], separator="x"),
    op("ReduceJoin", "a", np.int32([])),
    op("UnsortedSegmentJoin", ["a", "b", "c", "d"], [1, 0, 1, 2], 4, separator=":"),
    op("UnsortedSegmentJoin", _MATRIX, [1, 1], 3, separator=":"),
    op("UnsortedSegmentJoin", _MATRIX, [[1, 1, 0], [0, 1, 0]], 3, separator=":"),
    op("UnsortedSegmentJoin", np.zeros((3, 0), object), [1, 1, 1], 9, separator=","),
    op("UnsortedSegmentJoin", ["a", "b"], [1, -1], 3, error="not allowed to exceed"),
    op("UnsortedSegmentJoin", ["a", "b"], [1, 3, 3], 3, error="Segment dimension|must be equal"),
    *_ngrams(),
    *[
        op("StringSplit", ["a b,c  d", " x ", "", "é,"], delimiter, skip_empty=skip)
        for delimiter in (" ", ", ", "")
        for skip in (True, False)
    ],
    op("StringSplit", "a b", " ", error="must be a vector|rank 1"),
    *[
        op("StringSplitV2", ["a b,c  d", " x ", "", ",,", "abab"], separator, maxsplit=most)
        for separator in ("", ",", "ab", " ")
        for most in (-1, 0, 1, 2)
    ],
    op("StringSplitV2", ["a"], ["", ","], error="must be a scalar|rank 0"),
    *[op("StringLower", ["ABC É ß İ", "Ǆ"], encoding=e) for e in ("", "utf-8")],
    *[op("StringUpper", ["abc é ß ŉ ﬁ", "ǆ"], encoding=e) for e in ("", "utf-8")],
    op("StringLower", ["A"], encoding="latin", error="only utf-8 or ''"),
    op("StringStrip", [" a b\t\n\v\f\r", "\u00a0x", ""]),
    *[op("StringLength", _WORDS, unit=unit) for unit in ("BYTE", "UTF8_CHAR")],
    *[
        op("Substr", _WORDS[:2], np.int32(place), np.int32(length), unit=unit)
        for unit in ("BYTE", "UTF8_CHAR")
        for place, length in ((0, 2), (1, 2), (-2, 1), (-3, 2), (2, 100), (1, -1))
    ],
    *[
        op("Substr", _WORDS, [0, 1, 0, 1], [1, 2, 3, 4], unit=unit)
        for unit in ("BYTE", "UTF8_CHAR")
    ],
    op("Substr", ["abc", "def"], [[0], [1], [2]], [[1], [1], [1]]),
    op("Substr", ["abc", "d"], 2, 1, error="pos 2 out of range for string b'd' at index 1"),
    op("Substr", ["abc", "d"], [1, 2], 1, error="same shape|rank 0"),
    op("Substr", ["abc", "d"], [1, 2, 3], [1, 2, 3], error="Incompatible shapes|must be equal"),
    *[
        op("EncodeBase64", np.array([b"", b"a", b"ab", b"abc", b"\xff\xfe\xfd?"], object), pad=pad)
        for pad in (True, False)
    ],
    op("DecodeBase64", ["", "YQ==", "YQ", "YWI", "YWI=", "YWJj", "__79Pw"]),
    *[
        op("DecodeBase64", text, error="[Bb]ase64")
        for text in ("//79", "Y", "YQ=", "Y Q", "=", "YQ==YQ==")
    ],
    op("StringFormat", Many([1.5, [1, 2, 3]]), template="a %s b %s"),
    op("StringFormat", Many([np.arange(24).reshape(2, 3, 4)]), summarize=1),
    op("StringFormat", Many([np.arange(24).reshape(2, 3, 4)]), summarize=-1),
    op("StringFormat", Many([["a b'c\n", "é"]])),
    op("StringFormat", Many([np.array([[True], [False]])]), summarize=0),
    op("StringFormat", Many([np.ones((2, 3), np.complex64)]), summarize=4),
    op("StringFormat", Many([np.zeros((2, 0), np.float32)])),
    op(
        "StringFormat",
        Many([np.float32([1 / 3, 1e10]), np.array([True]), np.int8([3])]),
        template="{} {} {}",
        placeholder="{}",
    ),
    op("StringFormat", Many([1]), template="%s%s", error="num placeholders"),
    op("StringToHashBucketFast", _BYTES, num_buckets=2**62),
    op("StringToHashBucketStrong", _BYTES, num_buckets=2**62, key=[2**40, 12345]),
    op("StringToHashBucketStrong", ["a"], num_buckets=5, key=[1], error="Key must have 2 elements"),
    op("StringToHashBucket", _BYTES, num_buckets=1000),
    op("UnicodeScript", [-1, 65, 0x3B1, 0x4E00, 0x10FFFF, 0x110000]),
    *[
        op("UnicodeTranscode", _TEXTS, input_encoding="UTF-8", output_encoding="UTF-8", errors=e)
        for e in ("replace", "ignore")
    ],
    op(
        "UnicodeTranscode",
        _TEXTS,
        input_encoding="UTF-8",
        output_encoding="UTF-8",
        errors="strict",
        error="Invalid formatting",
    ),
    *[
        op("UnicodeTranscode", _TEXTS[1:3], input_encoding="UTF-8", output_encoding=e)
        for e in ("UTF-16-BE", "UTF-32-BE")
    ],
    *[
        op(
            "UnicodeTranscode",
            np.array([b"\x00a\xd8\x3d\xde\x00\x00b", b"ab\xe9c"], object),
            input_encoding=e,
            output_encoding="UTF-8",
        )
        for e in ("UTF-16-BE", "UTF-16", "UTF-32-BE", "latin1", "US-ASCII")
    ],
    op(
        "UnicodeTranscode",
        ["a"],
        input_encoding="nosuch",
        output_encoding="UTF-8",
        error="Could not create",
    ),
    *[
        op("UnicodeDecodeWithOffsets", _TEXTS, input_encoding="UTF-8", errors=e)
        for e in ("replace", "ignore")
    ],
    op("UnicodeDecode", [["ab", "c"], ["d", "e"]], input_encoding="UTF-8", Tsplits="int32"),
    op(
        "UnicodeDecode",
        ["a\nb"],
        input_encoding="UTF-8",
        replace_control_characters=True,
        replacement_char=63,
    ),
    *[
        op(
            "UnicodeEncode",
            [97, 0x1F600, 0xD800, 0x110000, -1, 98],
            np.int64([0, 2, 2, 6]),
            errors=e,
            output_encoding="UTF-8",
        )
        for e in ("replace", "ignore")
    ],
    op(
        "UnicodeEncode",
        [97, 0xD800],
        np.int64([0, 2]),
        errors="strict",
        output_encoding="UTF-8",
        error="out of range for Unicode",
    ),
    op("UnicodeEncode", [97, 0x1F600], np.int64([0, 1, 2]), output_encoding="UTF-16-BE"),
    op("UnicodeEncode", [97, 98], np.int64([0, 1]), output_encoding="UTF-8", error="Last value"),
    *_regexes(),
    *_replacements(),
    *_as_string(),
    *_numbers(),
    *sweep("string", "StringStrip", [b" a "]),
]
