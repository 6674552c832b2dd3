"""The arguments of the command ``tfnb``, and its exit codes."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from typing import TYPE_CHECKING

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.command_line.progress import Progress

OK = 0
FAILED = 1
USAGE = 2
UNREADABLE = 3
INTERRUPTED = 130

_CHECKPOINT = "where variables get their values from: a prefix, or a folder with checkpoints"
_EPILOG = """\
exit codes:
  0    done
  1    the model could not be loaded or run
  2    the arguments make no sense
  3    a file is missing, or holds no model
  130  interrupted
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(
        prog="tfnb",
        description="Look into TensorFlow 1 models, run them, convert them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = sys.modules["tfnb"].__version__
    top.add_argument("--version", action="version", version=f"tfnb {version}")
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--tags", help="tags of the graph of a SavedModel, with commas")
    every.add_argument("--quiet", action="store_true", help="no progress on standard error")
    every.add_argument(
        "--progress-after",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="name what takes longer than this (default 1)",
    )
    every.add_argument("--traceback", action="store_true", help="show where an error came from")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    summary = commands.add_parser(
        "summary", parents=[every], help="what a model takes, gives, contains and needs"
    )
    summary.add_argument("file", help="GraphDef, MetaGraphDef, or the folder of a SavedModel")
    summary.add_argument("--json", action="store_true", help="all of it, as JSON")

    run = commands.add_parser("run", parents=[every], help="run a model once")
    run.add_argument("file", help="GraphDef, MetaGraphDef, or the folder of a SavedModel")
    run.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="@x.npy, @x.npz[key], or JSON",
    )
    run.add_argument("--fetch", action="append", default=[], metavar="NAME", help="y or y:0")
    run.add_argument("-o", "--output", help=".npz, or .npy for one fetch; printed if missing")
    run.add_argument("--signature", help="whose keys may be used as names")
    run.add_argument("--checkpoint", help=_CHECKPOINT)
    run.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=["read", "write", "file", "python", "network"],
        help="what the graph may do to the world",
    )

    convert = commands.add_parser(
        "convert", parents=[every], help="between .pb and .pbtxt; SavedModel to frozen graph"
    )
    convert.add_argument("file", help="GraphDef, MetaGraphDef, or the folder of a SavedModel")
    convert.add_argument("target", help=".pb, .pbtxt or .meta")
    convert.add_argument(
        "--output", action="append", default=[], metavar="NODE", help="a node to keep when freezing"
    )
    convert.add_argument("--signature", help="whose outputs are kept when freezing")
    convert.add_argument("--checkpoint", help=_CHECKPOINT)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; gives the exit code."""
    from tfnb.client.command_line.progress import Progress
    from tfnb.client.command_line.run import UsageError
    from tfnb.client.model_file import ModelFileError

    options = parser().parse_args(arguments)
    progress = Progress(options.progress_after, options.quiet)
    try:
        _do(options, progress)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("tfnb: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
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
    return OK


class _MissingFile(Exception):
    """A file of the command line cannot be read."""


def _failed(options: argparse.Namespace, error: Exception, code: int) -> int:
    if options.traceback:
        traceback.print_exc()
    text = error.message if isinstance(error, errors.OpError) else str(error)
    print(f"tfnb: error: {text}", file=sys.stderr)
    return code


def _do(options: argparse.Namespace, progress: Progress) -> None:
    from tfnb.client.command_line.convert import convert
    from tfnb.client.command_line.run import run
    from tfnb.client.model_file import read_model
    from tfnb.client.model_summary import describe, text_of

    tags = None if options.tags is None else [tag for tag in options.tags.split(",") if tag]
    with progress.phase(f"reading {options.file}"):
        try:
            model = read_model(options.file, tags)
        except (errors.NotFoundError, errors.PermissionDeniedError) as error:
            raise _MissingFile(error.message) from error
    if options.command == "summary":
        found = describe(model)
        print(json.dumps(found, indent=1) if options.json else text_of(found))
    elif options.command == "run":
        run(
            *(model, options.feed, options.fetch, options.output, progress),
            *(options.signature, options.checkpoint, options.allow),
        )
    else:
        count = convert(
            *(model, options.target, progress, options.output),
            *(options.signature, options.checkpoint),
        )
        print(f"{options.target}: {count} nodes", file=sys.stderr)
