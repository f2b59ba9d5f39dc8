"""The recipe that users train with, its input, and recipes in TOML files. Recipe + text -> model.

    SiameseCBOW(dim=300, seed=1).train("books/")    contrastive, the default: a batch's other sentences are negatives
    SiameseCBOW.paper().train(stream)               the published recipe: two sampled negatives, softmax of cosines, SGD

`prepare` first turns text into a stream. In a list, strings are the texts themselves, each its own document, unless all
of them are names of files.

A file is flat, one option per line, and may name the recipe it modifies:

    recipe = "paper"        "contrastive" if left out
    dim = 100
    negatives = 5

Constructing a recipe trains nothing. To train into a folder, with checkpoints, see `training.saved_run`.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siamese_cbow.base.disk import as_path, check_file_replaceable, what_reads, written_by
from siamese_cbow.base.files import atomic_file
from siamese_cbow.base.option_fields import named_options, options
from siamese_cbow.errors import InputError, SettingsError, did_you_mean
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.stream.stream import is_stream
from siamese_cbow.text.inputs import is_name, looks_like_name
from siamese_cbow.training.recipe import Recipe

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.stream.mix import Mix
    from siamese_cbow.training.loop import Callback


FORMAT_VERSION = 1  # of recipe files; those of 0.1.0 and most handwritten ones have none


_TO_TRAIN = "pass {0} to train: SiameseCBOW().train(TEXT, {0}={1}), or --{2} {1}"
# Arguments that constructors of other libraries take -> what to do with them here
ELSEWHERE = {
    "": "options have names (dim=300), and text goes to train: SiameseCBOW().train(TEXT)",
    **dict.fromkeys(("sentences", "texts", "corpus_file"), "text goes to train: SiameseCBOW().train(TEXT)"),
    **dict.fromkeys(("threads", "workers", "thread", "n_jobs"), _TO_TRAIN.format("threads", 4, "threads")),
    **dict.fromkeys(("min_count", "minCount"), _TO_TRAIN.format("min_count", 5, "min-count")),
    **dict.fromkeys(("max_words", "max_final_vocab"), _TO_TRAIN.format("max_words", 100_000, "max-words")),
    **dict.fromkeys(("window", "ws"), "leave it out: the context of a word is its whole sentence"),
}


@named_options(ELSEWHERE)
class SiameseCBOW(Recipe):
    """A recipe that trains: `SiameseCBOW(dim=100).train("books/")` -> Model. Its options are those of `Recipe`."""

    def train(
        self,
        source: Any,
        *,
        threads: int | None = None,
        progress: Progress | bool = SILENT,
        callbacks: Sequence[Callback] = (),
        **preparing: Any,
    ) -> Model:
        """Trains a model on text or streams; the result is byte-identical on any number of threads.

        source     a stream, or several (`[text, pairs]`, or a `Mix`, which says how often an epoch passes over each);
                   names of stream folders, or of files or folders of text; texts, each its own document
                   (`["One text.", "Another."]`, a generator); lists of sentences, one list per document;
                   `Texts([...])`, whose strings are consecutive lines
        threads    by default all cores
        progress   True shows a bar, in a terminal or a notebook
        callbacks  called during training, see `Callback`
        preparing  options of `prepare`, if the source is text: `min_count=10`, `text=TextSettings(language="de")`
        """
        from siamese_cbow.training.ahead import compiled_ahead
        from siamese_cbow.training.loop import checked_callbacks, train
        from siamese_cbow.training.plan import plan_of, remarks_on_fit

        callbacks = checked_callbacks(callbacks)
        with compiled_ahead(self) as kernels:
            mix = mix_of(source, threads=threads, progress=progress, **preparing)
            plan = plan_of(self, mix)
            kernels.wait()
            with shown(progress, "training", plan.recipe.n_epochs * mix.n_tokens, unit="words") as shown_progress:
                for remark in remarks_on_fit(self, plan.recipe, mix):
                    shown_progress.say(remark)
                run = train(plan, threads=threads, progress=shown_progress, callbacks=callbacks)
                return run.model()


def mix_of(source: Any, *, threads: int | None = None, progress: Progress | bool = SILENT, **preparing: Any) -> Mix:
    """The input of `SiameseCBOW.train` as a mix of streams; text is prepared first."""
    from siamese_cbow.stream.mix import Mix
    from siamese_cbow.stream.preparation import prepare
    from siamese_cbow.stream.stream import Stream

    _check_preparing(preparing)
    several = source if isinstance(source, list | tuple) else [source]
    n_streams = sum(isinstance(each, Stream | Mix) for each in several)
    if n_streams and n_streams < len(several):
        raise InputError(
            f"{n_streams} of {len(several)} inputs are streams and the others are text; prepare "
            "the text first: sc.prepare(...)"
        )
    names = None if n_streams else _names(source)
    if n_streams or (names and are_streams(names)):
        if preparing:
            raise SettingsError(f"{', '.join(preparing)}: only for text, but a stream is already prepared")
        return Mix.of(source) if names is None else Mix([Stream.load(name) for name in names])
    if names is not None:
        return Mix.of(prepare(names, threads=threads, progress=progress, **preparing))
    stream = prepare(_documents(source), threads=threads, progress=progress, **preparing)
    if stream.n_documents == stream.n_sentences:
        raise InputError(
            f"each of the {stream.n_documents:,} texts is a single sentence, so none has a neighbour to learn "
            "from; if they follow one another, pass Texts([...]) or lists of sentences, one list per document"
        )
    return Mix.of(stream)


def _check_preparing(names: Iterable[str]) -> None:
    """Raises an error if one of these is not an option of `prepare`, which `train` passes on."""
    from siamese_cbow.stream.preparation import prepare

    known = [*inspect.signature(prepare).parameters][1:]
    for name in (name for name in names if name not in known):
        of_recipe = [each.name for each in options(SiameseCBOW) if name in (each.name, *each.also.split())]
        advice = did_you_mean(name, known)
        if of_recipe:
            advice = f"{of_recipe[0]} is an option of the recipe: SiameseCBOW({of_recipe[0]}=...).train(TEXT)"
        raise SettingsError(f"unknown option {name!r} of train; {ELSEWHERE.get(name, advice)}")


def are_streams(names: Sequence[str | Path]) -> bool:
    """Whether these are folders that `prepare` has written; False for text, an error for a mixture."""
    from siamese_cbow.formats.known_formats import Look

    folders = [Path(name) for name in names if name != "-" and Path(name).is_dir()]
    streams = [folder for folder in folders if is_stream(folder)]
    for folder in folders:
        look = Look(folder)
        if folder not in streams and "config.json" in look.names and (look.is_ours() or look.is_static()):
            raise InputError(
                f"{folder} is a model, not text or a stream; to continue training it: train TEXT --init {folder}"
            )
    if streams and len(streams) < len(names):
        text = next(name for name in names if Path(name) not in streams)
        raise InputError(
            f"{streams[0]} is a stream but {text} is text; prepare the text too, then pass both streams: "
            f"siamese-cbow prepare {text} -o STREAM"
        )
    return bool(streams)


def _names(source: Any) -> list[str | Path] | None:
    """The source as names of files; None if it is the text itself."""
    if isinstance(source, str | Path):
        return [source]
    if not isinstance(source, list | tuple) or not all(isinstance(each, str | Path) for each in source):
        return None
    others = [each for each in source if isinstance(each, str) and not is_name(each)]
    if not others:
        return list(source)
    if len(others) == len(source) and not all(looks_like_name(each) for each in others):
        return None
    if len(others) < len(source):
        raise InputError(
            f"{len(source) - len(others)} of {len(source)} strings are file names, but {others[0][:60]!r} is "
            "not; pass only file names or only texts, as Texts([...]) if need be"
        )
    raise InputError(f"no such file or folder: {others[0][:200]}; check the path (if it is a text, pass Texts([...]))")


def _documents(source: Any) -> Any:
    """Strings as separate documents; open files, `Texts` and `Corpus` stay as they are."""
    import io

    from siamese_cbow.text.corpus import Corpus
    from siamese_cbow.text.inputs import Texts, check_is_no_table

    check_is_no_table(source)
    if isinstance(source, io.TextIOBase | Texts | Corpus | Mapping | bytes) or not hasattr(source, "__iter__"):
        return source
    return ([text] if isinstance(text, str) and "\n" not in text else text for text in source)


def read_recipe(path: Path | str) -> SiameseCBOW:
    """Reads a recipe from a TOML file."""
    path = as_path(path, "the recipe")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not a TOML file ({error}); write lines such as: dim = 300") from error
    version = content.pop("format_version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        reads = f"format version {version!r}, but this siamese-cbow reads {FORMAT_VERSION}"
        raise SettingsError(f"{path} has {reads}; {what_reads(content)}")
    content.pop("written_by", None)
    name = content.pop("recipe", "contrastive")
    try:
        return SiameseCBOW.preset(name, **content)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def recipe_text(recipe: Recipe) -> str:
    """The recipe as TOML, every option with its value: 'objective = "contrastive"\\ndim = 300\\n...'"""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in recipe.settings().items())


def write_recipe(recipe: Recipe, path: Path | str) -> None:
    """Writes a recipe to a TOML file, for `read_recipe`; replaces only a file that it wrote itself."""
    if not isinstance(recipe, Recipe):
        raise InputError(f"the recipe is {recipe!r:.60} ({type(recipe).__name__}); expected one: SiameseCBOW(dim=300)")
    target = as_path(path, "the recipe file", home=False)
    check_file_replaceable(target, _is_ours, "is not a recipe that siamese-cbow wrote")
    with atomic_file(target) as file:
        head = f"format_version = {FORMAT_VERSION}\nwritten_by = {_toml(written_by())}\n"
        file.write_text(head + recipe_text(recipe), encoding="utf-8")


def _is_ours(path: Path) -> bool:
    """Whether we wrote this recipe: a handwritten one may have comments, which would be lost."""
    return "written_by" in tomllib.loads(path.read_text("utf-8"))


def _toml(value: Any) -> str:
    """`_toml({"center": True})` -> '{center = true}'."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + "}"
    # The JSON of a string, a number or a boolean is valid TOML, except for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
