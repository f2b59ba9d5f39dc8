"""Reads the encoders released in 2015, and extends a vocabulary with word vectors of other programs. Trains nothing.

The released files are read without running any code in them.

    uni_skip.npz   uni_skip.npz.pkl   utable.npy      the one-way encoder, its options, its word vectors
    bi_skip.npz    bi_skip.npz.pkl    btable.npy      the two-way encoder
    dictionary.txt                                    the words of both tables, one word per line

They differ from the paper in three ways, which `Part` and `Direction` can express: biases; r * (h U) instead of
(r * h) U; and z and 1 - z swapped, which is the same as z with the opposite sign before its sigmoid.

`expand` gives vectors to words that an encoder never saw, by a linear map from another program's vectors to its own:

    encoder has  cat, dog                    word2vec has  cat, dog, lion
    least squares: cat and dog of word2vec -> cat and dog of the encoder; the map of word2vec's lion is the encoder's
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import BROKEN_NPY, Vectors
from siamese_cbow.baselines.skip_thought.encoder import SkipThoughtEncoder
from siamese_cbow.baselines.skip_thought.parts import Direction, Part
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.formats.safe_pickle import load_npy, load_pickle
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

END, UNKNOWN = "<eos>", "UNK"
FILES = {
    "uni": ("uni_skip.npz", "utable.npy", ("encoder",)),
    "bi": ("bi_skip.npz", "btable.npy", ("encoder", "encoder_r")),
}
BLOCK = 1 << 16  # words mapped at a time
SMALL, DENSEST = 64 << 20, 20  # bytes of an array; above that, how many times larger than its archive it may be
PARTS = {"uni": ("uni",), "bi": ("bi",), "combine": ("uni", "bi")}


def read_published(
    folder: str | Path, *, kind: Literal["uni", "bi", "combine"] = "combine", tokenizer: Tokenizer | None = None
) -> SkipThoughtEncoder:
    """The encoder in a folder of published files; `combine` reads all seven, the others their own and the dictionary.

    The original tokenised text by NLTK's rules and kept its case. The tokenizer here keeps the case, too, but leaves
    don't in one piece; for the original's words, tokenise text with NLTK and pass
    `Tokenizer("whitespace", lowercase=False)`.
    """
    folder = Path(folder)
    if kind not in PARTS:
        raise SettingsError(f"kind is {kind!r}; expected one of {', '.join(PARTS)}")
    tables = [_table(folder, FILES[part][1]) for part in PARTS[kind]]
    words = tables[0][0]
    if any(others != words for others, _ in tables):
        raise InputError(
            f"utable.npy and btable.npy in {folder} have different words; download both from the same release"
        )
    parts = tuple(
        _part(folder / FILES[part][0], table, words, FILES[part][2])
        for part, (_, table) in zip(PARTS[kind], tables, strict=True)
    )
    options = {part: _options(folder / FILES[part][0], parts[i]) for i, part in enumerate(PARTS[kind])}
    info = {"recipe": {"name": "skip-thought, published", "kind": kind}, "options": options}
    return SkipThoughtEncoder(
        Vocabulary.of_words(words), parts, tokenizer or Tokenizer(lowercase=False), len(words), info
    )


def _table(folder: Path, name: str) -> tuple[list[str], Vectors]:
    """The words and vectors of a table: a matrix, an array of vectors, or a dictionary of words and vectors."""
    path = folder / name
    content: Any = load_npy(path)
    if content.dtype.hasobject and content.ndim == 0:
        content = content.item()
    if isinstance(content, dict):
        words, content = list(content), list(content.values())
    else:
        words = _dictionary(folder / "dictionary.txt")
    try:
        is_matrix = isinstance(content, np.ndarray) and not content.dtype.hasobject
        table: Vectors = content if is_matrix else np.stack(list(content))
        is_one_each = table.ndim == 2 and table.dtype.kind == "f" and len(table) == len(words)
        if not is_one_each or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{len(words):,} words and an array of {table.dtype} {table.shape}")
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{path} does not hold one vector per word ({error}); download it and dictionary.txt again"
        ) from None
    # If a word occurs twice, its last row counts, as in the original; an empty word is ignored.
    rows = {word: row for row, word in enumerate(words) if word}
    return (words, table) if len(rows) == len(words) else (list(rows), table[list(rows.values())])


def _dictionary(path: Path) -> list[str]:
    try:
        lines = path.read_bytes().split(b"\n")
        return [line.decode().strip() for line in (lines if lines[-1] else lines[:-1])]
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; it belongs to the tables") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start:,}); download it again") from None


def _part(path: Path, table: Vectors, words: list[str], prefixes: tuple[str, ...]) -> Part:
    row_of = {word: row for row, word in enumerate(words)}
    if END not in row_of or UNKNOWN not in row_of:
        raise InputError(f"the dictionary next to {path} lacks {END!r} or {UNKNOWN!r}; download it again")
    arrays = _arrays(path, [[f"{prefix}_{name}" for name in ("W", "Wx", "U", "Ux", "b", "bx")] for prefix in prefixes])
    directions = tuple(_direction(path, *matrices, dim_word=table.shape[1]) for matrices in arrays)
    end, unknown = (np.array(table[row_of[word]], np.float32) for word in (END, UNKNOWN))
    return Part(table, end, unknown, directions, reset_first=False)


def _direction(path: Path, *arrays: Vectors, dim_word: int) -> Direction:
    w, wx, u, ux, b, bx = arrays
    dim = len(bx) if bx.ndim == 1 else 0
    shapes = [(dim_word, 2 * dim), (dim_word, dim), (dim, 2 * dim), (dim, dim), (2 * dim,), (dim,)]
    if not dim or [array.shape for array in arrays] != shapes:
        raise InputError(f"{path} has matrices of {[a.shape for a in arrays]}, expected {shapes}; download it again")
    turned = np.repeat(np.array([1, -1], np.float32), dim)  # their u is our 1 - z
    return Direction(
        inputs=np.concatenate([w * turned, wx], axis=1),
        gates=u * turned,
        candidate=ux,
        bias=np.concatenate([b * turned, bx]),
    )


def _arrays(path: Path, names: list[list[str]]) -> list[list[Vectors]]:
    """Some arrays of an `.npz` file, which is a zip archive of `.npy` files; the others are not read."""

    def floats(array: NDArray[Any]) -> Vectors:
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":  # anything but an array is returned as bytes
            raise ValueError(f"{getattr(array, 'dtype', 'bytes')} in place of an array of numbers")
        return np.ascontiguousarray(array, np.float32)

    try:
        _check_sizes(path, {name for group in names for name in group})
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            missing = [name for group in names for name in group if name not in archive.files]
            if missing:
                raise InputError(f"{path} has no {', '.join(missing)}; expected an encoder of the original program")
            return [[floats(archive[name]) for name in group] for group in names]
    except OSError as error:
        raise InputError(f"can't read {path}: {error}; check the path") from None
    except (*BROKEN_NPY, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, struct.error) as error:
        raise InputError(f"{path} is not a readable archive of arrays ({error}); download it again") from None


def _check_sizes(path: Path, names: set[str]) -> None:
    """Raise an error if an array would be larger than an archive of this size can plausibly hold."""
    with zipfile.ZipFile(path) as archive:
        sizes = [info.file_size for info in archive.infolist() if info.filename.removesuffix(".npy") in names]
    if max(sizes, default=0) > max(SMALL, DENSEST * path.stat().st_size):
        raise InputError(
            f"{path} has {path.stat().st_size:,} bytes but promises an array of {max(sizes):,}; expected the "
            "matrices of an encoder, which hardly compress: download it again"
        )


def _options(path: Path, part: Part) -> dict[str, Any]:
    """The options stored next to a model, as far as JSON can represent them; they must match the matrices."""
    beside = path.with_name(path.name + ".pkl")
    if not beside.exists():
        return {}
    options = load_pickle(beside)
    if not isinstance(options, dict):
        raise InputError(f"{beside} holds a {type(options).__name__}; expected a dictionary of options")
    expected = {"dim_word": part.table.shape[1], "dim": part.directions[0].dim, "encoder": "gru"}
    for name, value in expected.items():
        if name in options and options[name] != value:
            raise InputError(
                f"{beside} says {name} {options[name]!r}, but {path.name} has {value!r}; download both again"
            )
    plain = str | bool | int | float | None
    return {name: value for name, value in options.items() if isinstance(name, str) and isinstance(value, plain)}


# More words


def expand(
    encoder: SkipThoughtEncoder, words: Sequence[str], vectors: Vectors, *, progress: Progress = SILENT
) -> SkipThoughtEncoder:
    """An encoder that also knows `words`, from their vectors (n_words, any dim), as `read_word_vectors` gives.

    Words it was trained with keep their own vectors; those of an earlier expansion are replaced.
    """
    if len(words) != len(vectors) or vectors.ndim != 2:
        raise InputError(f"{len(words):,} words but vectors of shape {vectors.shape}; expected one row per word")
    n_trained, index = encoder.n_trained, encoder.vocabulary.index
    theirs: dict[str, int] = {}
    for place, word in enumerate(words):
        theirs.setdefault(word, place)
    shared = [word for word in encoder.vocabulary.words[:n_trained] if word in theirs]
    if not shared:
        raise InputError(
            f"none of the encoder's {n_trained:,} words is among the {len(words):,} given; expected vectors "
            "of the same language and case"
        )
    if len(shared) <= vectors.shape[1]:
        progress.say(
            f"only {len(shared):,} shared words to fit a map from {vectors.shape[1]} dimensions: it will be poor"
        )
    known = vectors[[theirs[word] for word in shared]]
    rows = np.array([index[word] for word in shared])
    new = [word for word in theirs if index.get(word, n_trained) >= n_trained]
    places = np.array([theirs[word] for word in new], np.int64)
    vocabulary = Vocabulary(
        [*encoder.vocabulary.words[:n_trained], *new],
        np.concatenate([encoder.vocabulary.counts[:n_trained], np.zeros(len(new), np.int64)]),
    )
    parts = tuple(_expanded(part, n_trained, rows, known, vectors, places) for part in encoder.parts)
    progress.say(f"added {len(new):,} words by a map fitted on {len(shared):,} shared words")
    info = {**encoder.info, "expansion": {"n_words": len(new), "n_shared": len(shared)}}
    return replace(encoder, vocabulary=vocabulary, parts=parts, info=info)


def _expanded(
    part: Part, n_trained: int, rows: NDArray[np.int64], known: Vectors, vectors: Vectors, places: NDArray[np.int64]
) -> Part:
    matrix = linear_map(known, part.table[rows])
    table = np.empty((n_trained + len(places), part.table.shape[1]), np.float32)
    table[:n_trained] = part.table[:n_trained]
    for start in range(0, len(places), BLOCK):
        block = vectors[places[start : start + BLOCK]]
        table[n_trained + start : n_trained + start + len(block)] = _with_one(block) @ matrix
    return replace(part, table=table)


def linear_map(given: Vectors, wanted: Vectors) -> NDArray[np.float64]:
    """The least-squares map (dim_given + 1, dim_wanted) from given vectors, with a 1 appended, to the wanted ones.

    [[0], [1]] -> [[1], [3]] is times 2 plus 1: [[2], [1]]
    """
    return np.linalg.lstsq(_with_one(given), wanted.astype(np.float64), rcond=None)[0].astype(np.float64)


def _with_one(vectors: Vectors) -> NDArray[np.float64]:
    return np.hstack([vectors, np.ones((len(vectors), 1))]).astype(np.float64)
