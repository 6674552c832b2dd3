# The names of tf.audio; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.signal.audio_ops import decode_wav as decode_wav
from tfnb.ops.signal.audio_ops import encode_wav as encode_wav
