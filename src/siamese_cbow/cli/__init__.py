"""The command line: each command parses its options, calls the library and prints the result.

Results go to standard output, everything else to standard error; `-` is standard input. A command's module is
imported only when that command runs, so that `siamese-cbow similarity` never waits for numba or pyarrow.

    options       options shared by commands: name a model, read text; refuses options without effect
    demo          a tour in half a minute
    prepare       text -> stream
    train         text or stream -> model; recipe options under headings
    row_files     output files: vectors and all columns of records, as .npy, .parquet, .jsonl or .csv
    encode        records -> vectors
    looking       similarity, neighbours, info: quick queries to a model
    searching     search, index: grep by words and meaning
    grouping      dedup, cluster
    transforming  adapt, combine, compress, convert: model in, model out
    evaluating    evaluate, download, reproduce: scores on STS, the paper's tables and figures
    serve         models over HTTP

To add a command, write a function in one of these modules, or in a new one, and add a line to `HEADINGS` and one to
`EXAMPLES`.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from siamese_cbow.errors import Interrupted, SiameseCBOWError, did_you_mean

# heading -> command -> (module in this folder:function, one line of help). The help is repeated here so that
# `siamese-cbow --help` imports none of the modules; a test checks that it equals the first line of the command's own.
HEADINGS: dict[str, dict[str, tuple[str, str]]] = {
    "Train": {
        "demo": ("demo:demo", "Train on the State of the Union speeches and show the result."),
        "prepare": ("prepare:prepare", "Turn text into a stream of word ids on disk."),
        "train": ("train:train", "Train a model on text, or on streams written by `prepare`."),
    },
    "Use a model": {
        "encode": ("encode:encode", "Turn each line or record into a vector."),
        "similarity": ("looking:similarity", "Print the similarity of two texts, from -1 to 1."),
        "neighbours": (
            "looking:neighbours",
            "Print the words nearest to a word or text, one form per stem, with their cosines.",
        ),
        "search": ("searching:search", "Search text by exact words and by meaning, best match first."),
        "index": ("searching:index", "Create or update an index of text files for `search --index`."),
        "dedup": ("grouping:dedup", "Print text without near-duplicate lines."),
        "cluster": ("grouping:cluster", "Group lines by topic and label each group with its typical words."),
        "serve": ("serve:serve", "Serve models over HTTP, with an OpenAI-compatible API and an explorer page."),
    },
    "Change a model": {
        "info": ("looking:info", "Describe a model: size, tokenizer, frequent words, recipe, corpus."),
        "convert": ("transforming:convert", "Convert a model or word vector file to another format."),
        "adapt": ("transforming:adapt", "Adapt a model to a domain: headlines, tickets, captions."),
        "combine": ("transforming:combine", "Merge several models with the same vocabulary into one."),
        "compress": ("transforming:compress", "Shrink a model: fewer bits, dimensions or words."),
    },
    "Evaluate": {
        "evaluate": ("evaluating:evaluate", "Score models on semantic textual similarity."),
        "reproduce": ("evaluating:reproduce", "Reproduce every table and figure of the paper from one stream."),
        "download": ("evaluating:download", "Download the public STS sets of SemEval, STS-Benchmark and SICK."),
    },
}
COMMANDS = {name: command for commands in HEADINGS.values() for name, command in commands.items()}

# command -> the examples that its help shows below the options
EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("demo", "demo --text speeches"),
    "prepare": ("prepare books/ -o data/books", "prepare captions.tsv --kind groups -o data/captions"),
    "train": (
        "train books/ -o models/books",
        "train tickets.csv --text-column body --init pretrained -o models/tickets",
        "train models/books@stream --recipe paper -o models/paper",
    ),
    "encode": (
        "encode sentences.txt -o vectors.npy",
        "encode tickets.csv --text-column body -o tickets.jsonl",
        "encode - < sentences.txt",
    ),
    "similarity": (
        'similarity "A man plays a guitar" "Someone is playing an instrument"',
        "similarity --file faq.csv --text-column question,answer",
    ),
    "neighbours": ("neighbours guitar -k 5", "neighbours king woman --negative man"),
    "search": (
        'search "how do I restart the server" docs/ -k 5',
        'search "late delivery" tickets.csv --text-column body --json',
        'search "restart" --index docs-index',
    ),
    "index": ("index docs/ -o docs-index", "index -o docs-index --check"),
    "dedup": (
        "dedup notes.txt > kept.txt",
        "dedup notes.txt --review",
        "dedup tickets.csv --text-column body -o kept.csv",
    ),
    "cluster": ("cluster notes/ -k 8", "cluster tickets.csv --text-column body --json"),
    "info": ("info", "info models/books --verify"),
    "serve": ("serve", "serve models/books news=models/2026 --port 9000"),
    "convert": ("convert models/books books.bin", "convert glove.6B.300d.txt models/glove"),
    "adapt": (
        "adapt headlines.txt -o models/headlines",
        "adapt notes/ --sentences --model models/books -o models/notes",
    ),
    "combine": ("combine models/1 models/2 models/3 -o models/all",),
    "compress": (
        "compress models/books -o models/small --dtype int8",
        "compress models/books -o models/tiny --dtype int4 --dim 200 --words 50000",
    ),
    "evaluate": (
        "evaluate models/books --sts data/sts",
        "evaluate pretrained models/books --pairs scored.csv --compare",
        "evaluate models/books --probe labelled.tsv",
    ),
    "reproduce": ("reproduce data/books --sts data/sts -o report --quick",),
    "download": ("download sts --to data/sts",),
}
ALIASES = {"neighbors": "neighbours"}

# heading -> option names; a command shows the headings it has options for
SHARED = {
    "Test data": {"folders", "files", "columns", "task_folder", "probes", "folds"},
    "Limits": {"max_megabytes", "max_inputs", "max_seconds", "max_concurrent", "max_idle"},
    "Model": {"folder", "fallback", "language"},
    "Reading text": {
        "unit", "sentences", "sentence_language", "text_column", "text_columns", "encoding", "globs", "code",
    },
    "Ray cluster": {"cluster", "workers", "average_every"},
}  # fmt: skip


class Grouped(click.Command):
    """A command whose help shows options under headings; those without a heading come first."""

    headings: Mapping[str, Collection[str]] = SHARED
    also: Mapping[str, str] = {}  # options of other libraries -> their names here, for messages

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, one list under each heading."""
        options = (parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option))
        records = {str(option.name): record for option in options if (record := option.get_help_record(ctx))}
        grouped = {name for names in self.headings.values() for name in names}
        sections = {"Options": records.keys() - grouped, **self.headings}
        for heading, names in sections.items():
            if lines := [record for name, record in records.items() if name in names]:
                with formatter.section(heading):
                    formatter.write_dl(lines)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, one per line and never wrapped, so that they can be copied."""
        with formatter.section("Examples"):
            formatter.write("".join(f"  siamese-cbow {example}\n" for example in EXAMPLES[str(self.name)]))


class WideContext(click.Context):
    """Help as wide as the terminal instead of click's limit of 80; measured only when help is shown."""

    def make_formatter(self) -> click.HelpFormatter:
        """The formatter of the help text."""
        import shutil

        self.max_content_width = shutil.get_terminal_size().columns
        return super().make_formatter()


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    context_class = WideContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table, which is the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command object, imported now."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(f"{__name__}.{module}"), function)
        command.context_class = WideContext
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command with this name; a misspelt name is an error that suggests similar ones."""
        if args and self.get_command(ctx, args[0]) is None:
            meant = did_you_mean(args[0], COMMANDS, "siamese-cbow --help lists them")
            ctx.fail(f"there is no command {args[0]!r}; {meant}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. If the reader of our output (head, less) has exited, that is not an error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except click.MissingParameter as error:
            raise click.MissingParameter(_example_of(error.ctx), error.ctx, error.param) from None
        except click.NoSuchOption as error:
            also = getattr(error.ctx.command, "also", {}) if error.ctx else {}
            if error.option_name not in also:
                raise
            ctx.fail(f"no such option {error.option_name}; use {also[error.option_name]} instead")
        except BrokenPipeError:
            _forget_output()
            ctx.exit(0)
        except KeyboardInterrupt:
            raise Interrupted("stopped by SIGINT before it finished; run the same command again", 2) from None
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        for heading, commands in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])


def _example_of(context: click.Context | None) -> str:
    """An example for a wrong call of a command, if possible with an option that was given."""
    examples = EXAMPLES.get(str(context.command.name), ()) if context else ()
    if context is None or not examples:
        return ""
    given = {flag for option in context.command.params if is_typed(str(option.name), context) for flag in option.opts}
    nearest = max(examples, key=lambda example: len(given.intersection(example.split())))
    return f"Example: siamese-cbow {nearest}"


def is_typed(name: str, context: click.Context | None = None) -> bool:
    """Whether a parameter of a command, by default of the running one, was given on the command line."""
    return (context or click.get_current_context()).get_parameter_source(name) is ParameterSource.COMMANDLINE


_CONTEXT = {
    "help_option_names": ["-h", "--help"],
    "show_default": True,
}


@click.group(cls=LazyGroup, context_settings=_CONTEXT)
@click.version_option(package_name="siamese-cbow")
def group() -> None:
    """Word vectors trained to be averaged.

    `siamese-cbow COMMAND --help` shows the options of a command, with examples.
    """


def _open_streams() -> None:
    """Make standard output accept any text: a pipe or a file gets UTF-8, like all files we write.

    A terminal with another encoding shows missing characters as \\u2192. If standard output is closed, printing is an
    error. No file opened later gets the descriptor of a closed standard stream. If standard error is closed, messages
    are dropped.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    elif isinstance(sys.stdout, io.TextIOWrapper):
        encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _forget_output() -> None:
    """Detach standard output: when Python flushes it at exit, it would complain and change the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user error ends with one clear line and exit code 2."""
    _open_streams()
    try:
        code = group.main(args=arguments, prog_name="siamese-cbow", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code if isinstance(error, click.UsageError) else 2)
    except SiameseCBOWError as error:
        click.echo(f"siamese-cbow: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # from a disk or standard output, not a bug
        place = error.filename or "standard output or a file in use"
        click.echo(f"siamese-cbow: {place}: {error.strerror or error}", err=True)
        _forget_output()
        sys.exit(2)
    if code:  # from a command that called `exit`, such as a search without hits
        sys.exit(code)
