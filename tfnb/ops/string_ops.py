"""Strings: joining, splitting, matching, hashing, formatting."""

from __future__ import annotations

from tfnb.core.op_registry import register_op

regex_replace = register_op(
    "RegexReplace",
    "input: string, pattern: string, rewrite: string -> output: string",
    "replace_global: bool = true",
)(None)
static_regex_replace = register_op(
    "StaticRegexReplace",
    "input: string -> output: string",
    "pattern: string",
    "rewrite: string",
    "replace_global: bool = true",
)(None)
regex_full_match = register_op("RegexFullMatch", "input: string, pattern: string -> output: bool")(
    None
)
static_regex_full_match = register_op(
    "StaticRegexFullMatch", "input: string -> output: bool", "pattern: string"
)(None)
string_to_hash_bucket_fast = register_op(
    "StringToHashBucketFast", "input: string -> output: int64", "num_buckets: int >= 1"
)(None)
string_to_hash_bucket_strong = register_op(
    "StringToHashBucketStrong",
    "input: string -> output: int64",
    "num_buckets: int >= 1",
    "key: list(int)",
)(None)
string_to_hash_bucket = register_op(
    "StringToHashBucket",
    "string_tensor: string -> output: int64",
    "num_buckets: int >= 1",
)(None)
reduce_join = register_op(
    "ReduceJoin",
    "inputs: string, reduction_indices: int32 -> output: string",
    "keep_dims: bool = false",
    "separator: string = ''",
)(None)
unsorted_segment_join = register_op(
    "UnsortedSegmentJoin",
    "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string",
    "separator: string = ''",
    "Tindices: {int32, int64}",
    "Tnumsegments: {int32, int64} = DT_INT32",
)(None)
as_string = register_op(
    "AsString",
    "input: T -> output: string",
    "T: {realnumbertype, complex64, complex128, bool, variant, string}",
    "precision: int = -1",
    "scientific: bool = false",
    "shortest: bool = false",
    "width: int = -1",
    "fill: string = ''",
)(None)
string_format = register_op(
    "StringFormat",
    "inputs: T -> output: string",
    "T: list(type) >= 0",
    "template: string = '%s'",
    "placeholder: string = '%s'",
    "summarize: int = 3",
)(None)
string_join = register_op(
    "StringJoin",
    "inputs: N * string -> output: string",
    "N: int >= 0",
    "separator: string = ''",
)(None)
string_split = register_op(
    "StringSplit",
    "input: string, delimiter: string -> indices: int64, values: string, shape: int64",
    "skip_empty: bool = true",
)(None)
string_split_v2 = register_op(
    "StringSplitV2",
    "input: string, sep: string -> indices: int64, values: string, shape: int64",
    "maxsplit: int = -1",
)(None)
string_lower = register_op(
    "StringLower", "input: string -> output: string", "encoding: string = ''"
)(None)
string_upper = register_op(
    "StringUpper", "input: string -> output: string", "encoding: string = ''"
)(None)
string_strip = register_op("StringStrip", "input: string -> output: string")(None)
string_length = register_op(
    "StringLength",
    "input: string -> output: int32",
    "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
)(None)
encode_base64 = register_op("EncodeBase64", "input: string -> output: string", "pad: bool = false")(
    None
)
decode_base64 = register_op("DecodeBase64", "input: string -> output: string")(None)
substr = register_op(
    "Substr",
    "input: string, pos: T, len: T -> output: string",
    "T: {int32, int64}",
    "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
)(None)
unicode_script = register_op("UnicodeScript", "input: int32 -> output: int32")(None)
unicode_encode = register_op(
    "UnicodeEncode",
    "input_values: int32, input_splits: Tsplits -> output: string",
    "errors: {'ignore', 'replace', 'strict'} = 'replace'",
    "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
    "replacement_char: int = 65533",
    "Tsplits: {int32, int64} = DT_INT64",
)(None)
unicode_transcode = register_op(
    "UnicodeTranscode",
    "input: string -> output: string",
    "input_encoding: string",
    "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
    "errors: {'strict', 'replace', 'ignore'} = 'replace'",
    "replacement_char: int = 65533",
    "replace_control_characters: bool = false",
)(None)
unicode_decode = register_op(
    "UnicodeDecode",
    "input: string -> row_splits: Tsplits, char_values: int32",
    "input_encoding: string",
    "errors: {'strict', 'replace', 'ignore'} = 'replace'",
    "replacement_char: int = 65533",
    "replace_control_characters: bool = false",
    "Tsplits: {int32, int64} = DT_INT64",
)(None)
unicode_decode_with_offsets = register_op(
    "UnicodeDecodeWithOffsets",
    "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64",
    "input_encoding: string",
    "errors: {'strict', 'replace', 'ignore'} = 'replace'",
    "replacement_char: int = 65533",
    "replace_control_characters: bool = false",
    "Tsplits: {int32, int64} = DT_INT64",
)(None)
string_n_grams = register_op(
    "StringNGrams",
    "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits",
    "separator: string",
    "ngram_widths: list(int) >= 0",
    "left_pad: string",
    "right_pad: string",
    "pad_width: int",
    "preserve_short_sequences: bool",
    "Tsplits: {int32, int64} = DT_INT64",
)(None)
