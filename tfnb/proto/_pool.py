"""tfnb's own descriptor pool, so that TensorFlow can be loaded in the same process.

For the reason see ``protos/generate.py``. The generated modules make their classes with ``build``:
protobuf's own builder imports the implementation in plain Python and the reader of text, which is a
third of the time to import ``tfnb.proto``, also where the compiled implementation is used.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.internal import api_implementation

# The compiled implementation; None in a browser, and where the environment chooses another one.
_compiled: Any = None
if api_implementation.Type() == "upb":
    _compiled = getattr(api_implementation, "_c_module", None)
IS_COMPILED = _compiled is not None

if IS_COMPILED:
    POOL: Any = _compiled.DescriptorPool()
else:
    from google.protobuf.descriptor_pool import DescriptorPool

    POOL = DescriptorPool()


def build(file: Any, module_name: str, module: dict[str, Any]) -> None:
    """Put the messages and enumerations of a file into a generated module.

    Args:
      file: the descriptor of the file.
      module_name: the module's name.
      module: the module's globals.
    """
    if not IS_COMPILED:
        from google.protobuf.internal import builder

        builder.BuildMessageAndEnumDescriptors(file, module)
        builder.BuildTopDescriptorsAndMessages(file, module_name, module)
        return
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

    for name, enum in file.enum_types_by_name.items():
        module[name] = EnumTypeWrapper(enum)
        module.update((value.name, value.number) for value in enum.values)
    for name, extension in file.extensions_by_name.items():
        module[f"{name.upper()}_FIELD_NUMBER"] = extension.number
        module[name] = extension
    for name, message in file.message_types_by_name.items():
        module[name] = _message_class(message, module_name, name)


def _message_class(message: Any, module_name: str, qualified_name: str) -> Any:
    from google.protobuf.message import Message

    body = {
        name: _message_class(nested, module_name, f"{qualified_name}.{name}")
        for name, nested in message.nested_types_by_name.items()
    }
    body |= {
        "DESCRIPTOR": message,
        "__module__": module_name,
        "__qualname__": qualified_name,
    }
    return _compiled.MessageMeta(message.name, (Message,), body)
