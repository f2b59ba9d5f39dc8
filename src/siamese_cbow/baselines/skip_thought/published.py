"""The model files that were released with skip-thought in 2015, read without running anything in them.

    uni_skip.npz   uni_skip.npz.pkl   utable.npy      the one-way encoder, its options, its word vectors
    bi_skip.npz    bi_skip.npz.pkl    btable.npy      the two-way encoder
    dictionary.txt                                    the words of both tables, a word a line

They differ from the paper in three ways, which `Part` and `Direction` can express: biases; r * (h U) in place of
(r * h) U; and z and 1 - z the other way round, which is the same as z with the opposite sign before its sigmoid.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.baselines.skip_thought.encoder import Direction, Part, SkipThoughtEncoder
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.formats.safe_pickle import load_npy, load_pickle
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

END, UNKNOWN = "<eos>", "UNK"
FILES = {
    "uni": ("uni_skip.npz", "utable.npy", ("encoder",)),
    "bi": ("bi_skip.npz", "btable.npy", ("encoder", "encoder_r")),
}
PARTS = {"uni": ("uni",), "bi": ("bi",), "combine": ("uni", "bi")}


def read_published(
    folder: str | Path, *, kind: Literal["uni", "bi", "combine"] = "combine", tokenizer: Tokenizer | None = None
) -> SkipThoughtEncoder:
    """The encoder in a folder of published files; `combine` needs all seven, the others their own and the dictionary.

    The original cut text by NLTK's rules and kept its case. The tokenizer here keeps the case too, but leaves don't in
    one piece; for the original's words, cut the text with NLTK and give `Tokenizer("whitespace", lowercase=False)`.
    """
    folder = Path(folder)
    if kind not in PARTS:
        raise SettingsError(f"kind is {kind!r}; expected one of {', '.join(PARTS)}")
    tables = [_table(folder, FILES[part][1]) for part in PARTS[kind]]
    words = tables[0][0]
    if any(others != words for others, _ in tables):
        raise InputError(f"utable.npy and btable.npy in {folder} have different words; fetch both from one release")
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
        table: Vectors = content if _is_matrix(content) else np.stack(list(content))
        if (
            table.ndim != 2
            or table.dtype.kind != "f"
            or len(table) != len(words)
            or not all(isinstance(w, str) for w in words)
        ):
            raise ValueError(f"{len(words):,} words and an array of {table.dtype} {table.shape}")
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{path} doesn't hold one vector for each word ({error}); fetch it and dictionary.txt again"
        ) from None
    return _each_once(words, table)


def _is_matrix(content: Any) -> bool:
    return isinstance(content, np.ndarray) and not content.dtype.hasobject


def _each_once(words: list[str], table: Vectors) -> tuple[list[str], Vectors]:
    """Of a word that comes twice the last row counts, as in the original, and a word without letters is left out."""
    rows = {word: row for row, word in enumerate(words) if word}
    if len(rows) == len(words):
        return words, table
    return list(rows), table[list(rows.values())]


def _dictionary(path: Path) -> list[str]:
    try:
        lines = path.read_bytes().split(b"\n")
        return [line.decode().strip() for line in (lines if lines[-1] else lines[:-1])]
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; it belongs to the tables") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start:,}); fetch it again") from None


def _part(path: Path, table: Vectors, words: list[str], prefixes: tuple[str, ...]) -> Part:
    row_of = {word: row for row, word in enumerate(words)}
    if END not in row_of or UNKNOWN not in row_of:
        raise InputError(f"the dictionary beside {path} lacks {END!r} or {UNKNOWN!r}; fetch it again")
    names = [f"{prefix}_{name}" for prefix in prefixes for name in ("W", "Wx", "U", "Ux", "b", "bx")]
    arrays = _arrays(path, names)
    directions = tuple(_direction(path, *(arrays[f"{prefix}_{name}"] for name in ("W", "Wx", "U", "Ux", "b", "bx")),
                                  dim_word=table.shape[1]) for prefix in prefixes)  # fmt: skip
    end, unknown = (np.array(table[row_of[word]], np.float32) for word in (END, UNKNOWN))
    return Part(table, end, unknown, directions, reset_first=False)


def _direction(path: Path, *arrays: Vectors, dim_word: int) -> Direction:
    w, wx, u, ux, b, bx = arrays
    dim = len(bx) if bx.ndim == 1 else 0
    shapes = [(dim_word, 2 * dim), (dim_word, dim), (dim, 2 * dim), (dim, dim), (2 * dim,), (dim,)]
    if not dim or [array.shape for array in arrays] != shapes:
        raise InputError(f"{path} has matrices of {[a.shape for a in arrays]}, expected {shapes}; fetch it again")
    turned = np.repeat(np.array([1, -1], np.float32), dim)  # their u is our 1 - z
    return Direction(
        inputs=np.concatenate([w * turned, wx], axis=1),
        gates=u * turned,
        candidate=ux,
        bias=np.concatenate([b * turned, bx]),
    )


def _arrays(path: Path, names: list[str]) -> dict[str, Vectors]:
    """Some arrays of an `.npz` file, which is a zip archive of `.npy` files; the others are not looked at."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise InputError(f"{path} has no {', '.join(missing)}; expected an encoder of the original program")
            return {name: np.ascontiguousarray(_floats(archive[name]), np.float32) for name in names}
    except OSError as error:
        raise InputError(f"can't read {path}: {error}; check the path") from None
    except (ValueError, TypeError, EOFError, KeyError, MemoryError, zipfile.BadZipFile, NotImplementedError) as error:
        raise InputError(f"{path} is no archive of arrays that can be read ({error}); fetch it again") from None


def _floats(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind != "f":
        raise ValueError(f"an array of {array.dtype} in place of numbers")
    return array


def _options(path: Path, part: Part) -> dict[str, Any]:
    """The options beside a model, as far as JSON can hold them; they must fit the matrices."""
    beside = path.with_name(path.name + ".pkl")
    if not beside.exists():
        return {}
    options = load_pickle(beside)
    if not isinstance(options, dict):
        raise InputError(f"{beside} holds a {type(options).__name__}; expected a dictionary of options")
    expected = {"dim_word": part.table.shape[1], "dim": part.directions[0].dim, "encoder": "gru"}
    for name, value in expected.items():
        if name in options and options[name] != value:
            raise InputError(f"{beside} says {name} {options[name]!r}, {path.name} has {value!r}; fetch both again")
    return {name: value for name, value in options.items() if isinstance(name, str) and _is_plain(value)}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
