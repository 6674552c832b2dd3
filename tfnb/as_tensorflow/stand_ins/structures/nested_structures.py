"""``tensorflow.python.saved_model.nested_structure_coder``."""

from __future__ import annotations

from typing import Any

import tfnb.library.data.type_specs  # noqa: F401  # all classes of specs are there then
from tfnb.framework.structures.structure_protos import decode_structure, encode_structure

decode_proto = decode_structure


class StructureCoder:
    """Writes structures of specs, shapes, dtypes, numbers and text as messages, and reads them."""

    def can_encode(self, nested: Any) -> bool:
        """Return whether a structure can be written."""
        try:
            encode_structure(nested)
        except NotImplementedError:
            return False
        return True

    def encode_structure(self, nested: Any) -> Any:
        """Return a structure as a message.

        Raises:
          NotImplementedError: it holds a value of another kind.
        """
        return encode_structure(nested)

    def decode_proto(self, proto: Any) -> Any:
        """Return the structure in a message.

        Raises:
          ValueError: the message holds an unknown value.
        """
        return decode_structure(proto)
