# The names of tf.strings; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.ragged.string_split import string_split_v2 as split
from tfnb.library.ragged.strings import bytes_split as bytes_split
from tfnb.library.ragged.strings import ngrams as ngrams
from tfnb.library.ragged.strings import unicode_decode as unicode_decode
from tfnb.library.ragged.strings import unicode_decode_with_offsets as unicode_decode_with_offsets
from tfnb.library.ragged.strings import unicode_encode as unicode_encode
from tfnb.library.ragged.strings import unicode_split as unicode_split
from tfnb.library.ragged.strings import unicode_split_with_offsets as unicode_split_with_offsets
from tfnb.ops.strings.regex_ops import regex_full_match as regex_full_match
from tfnb.ops.strings.regex_ops import regex_replace as regex_replace
from tfnb.ops.strings.string_hash_ops import string_to_hash_bucket as to_hash_bucket
from tfnb.ops.strings.string_hash_ops import string_to_hash_bucket_fast as to_hash_bucket_fast
from tfnb.ops.strings.string_hash_ops import string_to_hash_bucket_strong as to_hash_bucket_strong
from tfnb.ops.strings.string_join_ops import reduce_join as reduce_join
from tfnb.ops.strings.string_join_ops import string_join as join
from tfnb.ops.strings.string_join_ops import unsorted_segment_join as unsorted_segment_join
from tfnb.ops.strings.string_number_ops import as_string as as_string
from tfnb.ops.strings.string_number_ops import string_to_number as to_number
from tfnb.ops.strings.string_ops import string_format as format
from tfnb.ops.strings.string_ops import string_length_v1 as length
from tfnb.ops.strings.string_ops import string_lower as lower
from tfnb.ops.strings.string_ops import string_strip as strip
from tfnb.ops.strings.string_ops import string_upper as upper
from tfnb.ops.strings.string_ops import substr as substr
from tfnb.ops.strings.unicode_ops import unicode_script as unicode_script
from tfnb.ops.strings.unicode_ops import unicode_transcode as unicode_transcode

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
