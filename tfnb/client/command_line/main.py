"""The arguments of the command ``tfnb``, and its exit codes.

Commands that need a folder above this one are passed in by ``tfnb/__main__.py``, as
:class:`Command`.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfnb.client.command_line import completion
from tfnb.client.terminal_text import terminal_text
from tfnb.core import errors
from tfnb.core.process.package_version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.client.command_line.progress import Progress
    from tfnb.client.model_file import ModelFile

OK = 0
FAILED = 1
USAGE = 2
UNREADABLE = 3
INTERRUPTED = 130

_CHECKPOINT = "checkpoint with the values of variables: a prefix, or a folder with checkpoints"
_EPILOG = """\
exit codes:
  0    done
  1    the model could not be loaded or run
  2    the arguments are not valid
  3    a file is missing, or holds no model
  130  interrupted
"""


_EXAMPLES = """\
examples:
  tfnb summary model.pb
  tfnb summary model.pb --dot | dot -Tpdf -o model.pdf
  tfnb run model.pb --feed 'x=[[1, 2]]' --fetch y
  tfnb run saved_model/ --feed input=@x.npy -o result.npz
  tfnb convert saved_model/ frozen.pb
  tfnb convert saved_model/ model.onnx --check
  tfnb graph model.pb -o model.svg
  tfnb run train.py --steps 100      a program that imports TensorFlow 1
  tfnb doctor project/
  source <(tfnb completion bash)
"""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is implemented in another folder.

    Attributes:
        name: The word of the command line.
        help: Its description in one line.
        add_arguments: Adds its arguments to its parser.
        do: Runs the command.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    do: Callable[[argparse.Namespace, Progress], None]


def parser(commands_above: Sequence[Command] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="tfnb",
        description="Inspect, run and convert TensorFlow 1 models.",
        epilog=f"{_EXAMPLES}\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"tfnb {__version__}")
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--tags", help="tags of the graph of a SavedModel, separated by commas")
    every.add_argument("--quiet", action="store_true", help="no progress on standard error")
    every.add_argument(
        "--progress-after",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="report work that takes longer than this (default 1)",
    )
    every.add_argument("--traceback", action="store_true", help="show where an error came from")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    summary = commands.add_parser(
        "summary", parents=[every], help="print inputs, outputs and contents of a model"
    )
    summary.add_argument("file", help="GraphDef, MetaGraphDef, SavedModel folder, or checkpoint")
    summary.add_argument("--json", action="store_true", help="print everything as JSON")
    summary.add_argument(
        "--dot", action="store_true", help="print the graph for Graphviz: | dot -Tpdf -o model.pdf"
    )

    run = commands.add_parser("run", parents=[every], help="run a model once")
    run.add_argument("file", help="GraphDef, MetaGraphDef, or the folder of a SavedModel")
    run.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="@x.npy, @x.npz[key], JSON, or zeros(1,3)",
    )
    run.add_argument("--fetch", action="append", default=[], metavar="NAME", help="y or y:0")
    run.add_argument("-o", "--output", help=".npz, or .npy for one fetch; printed if missing")
    run.add_argument("--signature", help="signature whose keys may be used as names")
    run.add_argument("--checkpoint", help=_CHECKPOINT)
    run.add_argument(
        "--times", action="store_true", help="print the time of each type of op on standard error"
    )
    run.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=["read", "write", "file", "python", "network"],
        help="effect that the graph may have",
    )

    convert = commands.add_parser(
        "convert",
        parents=[every],
        help="convert .pb to .pbtxt or back, SavedModels to frozen graphs, models to ONNX",
    )
    convert.add_argument("file", help="GraphDef, MetaGraphDef, or the folder of a SavedModel")
    convert.add_argument("target", help=".pb, .pbtxt, .meta or .onnx")
    convert.add_argument(
        "--output", action="append", default=[], metavar="NODE", help="a node to keep when freezing"
    )
    convert.add_argument("--signature", help="signature whose outputs are kept when freezing")
    convert.add_argument("--checkpoint", help=_CHECKPOINT)
    _add_onnx_arguments(convert)
    for command in commands_above:
        own = commands.add_parser(command.name, parents=[every], help=command.help)
        command.add_arguments(own)
        own.set_defaults(do=command.do)
    complete = commands.add_parser(
        "completion",
        help="print a script with which a shell completes this command",
        epilog=completion.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    complete.add_argument("shell", choices=completion.SHELLS)
    complete.set_defaults(
        do=lambda options, _: print(completion.completion_script(top, options.shell), end=""),
        progress_after=1.0,
        quiet=False,
        traceback=False,
    )
    return top


def _add_onnx_arguments(convert: argparse.ArgumentParser) -> None:
    convert.add_argument("--opset", type=int, help="version of ONNX's operators: 17 to 21")
    for side in ("inputs", "outputs"):
        convert.add_argument(
            f"--{side}",
            action="append",
            default=[],
            metavar="NAMES",
            help=f"{side} of an ONNX file: keys of the signature or tensors, separated by commas",
        )
    convert.add_argument(
        "--check", action="store_true", help="compare an ONNX file with the model in onnxruntime"
    )


def main(
    arguments: Sequence[str] | None = None,
    commands_above: Sequence[Command] = (),
    dot_text: Callable[[ModelFile], str] | None = None,
) -> int:
    """Run the command line; return the exit code.

    Args:
        arguments: The words of the command line; those of the process if None.
        commands_above: Commands that are implemented in other folders.
        dot_text: Returns a model's graph for Graphviz.
    """
    from tfnb.client.command_line.progress import Progress
    from tfnb.client.command_line.run import UsageError
    from tfnb.client.model_file import ModelFileError

    options = parser(commands_above).parse_args(arguments)
    progress = Progress(options.progress_after, options.quiet)
    try:
        _do(options, progress, dot_text)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("tfnb: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output closed the pipe
        sys.stderr.close()
        return OK
    except UsageError as error:
        return _failed(options, error, USAGE)
    except ModelFileError as error:
        return _failed(options, error, UNREADABLE)
    except _MissingFile as error:
        return _failed(options, error, UNREADABLE)
    except (errors.OpError, ValueError, TypeError, KeyError, RuntimeError, OSError) as error:
        return _failed(options, error, FAILED)
    except MemoryError:
        return _failed(options, MemoryError("Memory is exhausted."), FAILED)
    except Exception as error:
        what = f"{type(error).__name__}: {error} (--traceback shows where it was raised)"
        return _failed(options, Exception(what), FAILED)
    return OK


class _MissingFile(Exception):
    """A file of the command line cannot be read."""


@contextmanager
def _files_named() -> Iterator[None]:
    """Raise ``_MissingFile`` for a file of the command line that cannot be read."""
    try:
        yield
    except (errors.NotFoundError, errors.PermissionDeniedError) as error:
        raise _MissingFile(error.message) from error


def model_of(options: argparse.Namespace, progress: Progress) -> ModelFile:
    """Return the model that the command line names.

    Raises:
        ModelFileError: The file holds no model, or no model with these tags.
    """
    from tfnb.client.model_file import read_model

    with progress.phase(f"reading {options.file}"), _files_named():
        return read_model(options.file, _tags(options))


def _tags(options: argparse.Namespace) -> list[str] | None:
    return None if options.tags is None else [tag for tag in options.tags.split(",") if tag]


def _failed(options: argparse.Namespace, error: Exception, code: int) -> int:
    if options.traceback:
        traceback.print_exc()
    text = error.message if isinstance(error, errors.OpError) else str(error)
    is_unset = isinstance(error, errors.OpError) and error.mistake is errors.Mistake.NOT_INITIALIZED
    if is_unset and getattr(options, "checkpoint", "") is None:
        text += "\nA checkpoint is given with --checkpoint PREFIX."
    print(f"tfnb: error: {terminal_text(text)}", file=sys.stderr)
    return code


def _do(
    options: argparse.Namespace,
    progress: Progress,
    dot_text: Callable[[ModelFile], str] | None,
) -> None:
    from tfnb.client.command_line.convert import convert
    from tfnb.client.command_line.run import run
    from tfnb.client.model_summary import describe_path, example_command, text_of

    if hasattr(options, "do"):
        options.do(options, progress)
        return
    if options.command == "summary" and options.dot and dot_text is not None:
        print(dot_text(model_of(options, progress)), end="")
        return
    if options.command == "summary":
        with progress.phase(f"reading {options.file}"), _files_named():
            found = describe_path(options.file, _tags(options))
        if options.json:
            print(json.dumps(found, indent=1))
            return
        print(terminal_text(text_of(found)))
        if example := example_command(found):
            print(f"to run it\n  {terminal_text(example)}")
        return
    if options.command == "convert" and options.target.endswith(".onnx"):
        from tfnb.client.command_line.convert_onnx import convert_to_onnx

        with _files_named():
            count, lines = convert_to_onnx(options, _tags(options), progress)
        print(f"{options.target}: {count} nodes", file=sys.stderr)
        print(terminal_text("\n".join(lines)), end="\n" * bool(lines))
        return
    model = model_of(options, progress)
    if options.command == "run":
        run(
            *(model, options.feed, options.fetch, options.output, progress),
            *(options.signature, options.checkpoint, options.allow, options.times),
        )
    else:
        from tfnb.client.command_line.convert_onnx import refuse_options

        refuse_options(options)
        count = convert(
            *(model, options.target, progress, options.output),
            *(options.signature, options.checkpoint),
        )
        print(f"{options.target}: {count} nodes", file=sys.stderr)
