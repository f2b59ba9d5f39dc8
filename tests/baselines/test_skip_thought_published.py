"""The skip-thought files published in 2015: read in every layout, with the original's equations, and never executed."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from python2_pickles import python2_npy, python2_pickle
from siamese_cbow.baselines.skip_thought.encoder import load_encoder
from siamese_cbow.baselines.skip_thought.published import read_published
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.evaluation.systems import open_system
from siamese_cbow.words.tokenizer import Tokenizer

torch = pytest.importorskip("torch")

WORDS = ["<eos>", "UNK", "the", "cat", "sat", "on", "Mat", "naïve"]
DIM_WORD, DIM = 5, 6
NAMES = ("W", "b", "U", "Wx", "Ux", "bx")


def write_release(folder: Path, *, tables: str = "matrix", protocol: int = 2) -> dict[str, Any]:
    """Writes the seven files as the original program did, but small; returns their arrays."""
    random = np.random.default_rng(1)

    def array(*shape: int) -> np.ndarray:
        return random.normal(size=shape).astype(np.float32) / 2

    def gru(prefix: str, dim: int) -> dict[str, np.ndarray]:
        shapes = ((DIM_WORD, 2 * dim), (2 * dim,), (dim, 2 * dim), (DIM_WORD, dim), (dim, dim), (dim,))
        return {f"{prefix}_{name}": array(*shape) for name, shape in zip(NAMES, shapes, strict=True)}

    content: dict[str, Any] = {}
    for name, prefixes, dim in (("uni", ["encoder"], DIM), ("bi", ["encoder", "encoder_r"], DIM // 2)):
        arrays = {"Wemb": array(4, DIM_WORD), "history_errs": np.array([])}
        for prefix in prefixes:
            arrays |= gru(prefix, dim)
        np.savez(folder / f"{name}_skip.npz", **arrays)
        options = {
            b"dim": dim,
            b"dim_word": DIM_WORD,
            b"encoder": b"gru",
            b"n_words_src": 4,
            b"decay_c": 0.0,
            b"x": None,
        }
        (folder / f"{name}_skip.npz.pkl").write_bytes(python2_pickle(options, protocol=protocol))
        table = array(len(WORDS), DIM_WORD)
        write_table(folder / f"{name[0]}table.npy", table, tables)
        content[name] = arrays, table
    (folder / "dictionary.txt").write_bytes("".join(f"{word}\n" for word in WORDS).encode())
    return content


def write_table(path: Path, table: np.ndarray, layout: str) -> None:
    cells = np.empty((), object)
    if layout == "matrix":
        np.save(path, table)
    elif layout == "rows, Python 2":
        rows = np.empty(len(table), object)
        rows[:] = list(table)
        path.write_bytes(python2_npy(rows))
    elif layout == "dictionary":
        cells[()] = OrderedDict(zip(WORDS, table, strict=True))
        np.save(path, cells, allow_pickle=True)
    else:
        cells[()] = OrderedDict((word.encode(), row) for word, row in zip(WORDS, table, strict=True))
        path.write_bytes(python2_npy(cells))


def original_gru(arrays: dict[str, np.ndarray], prefix: str, words: np.ndarray) -> np.ndarray:
    """The recurrence as the layers of the original program compute it."""
    p = {name: arrays[f"{prefix}_{name}"].astype(np.float64) for name in NAMES}
    dim = p["Ux"].shape[1]
    h = np.zeros(dim)
    for x in words:
        gates = 1 / (1 + np.exp(-(h @ p["U"] + x @ p["W"] + p["b"])))
        r, u = gates[:dim], gates[dim:]
        new = np.tanh((h @ p["Ux"]) * r + x @ p["Wx"] + p["bx"])
        h = u * h + (1 - u) * new
    return h


def original_encode(content: dict[str, Any], text: str, *, use_eos: bool) -> np.ndarray:
    words = [word if word in WORDS else "UNK" for word in text.split()] + ["<eos>"] * use_eos
    rows = [WORDS.index(word) for word in words]
    parts = []
    for name in ("uni", "bi"):
        arrays, table = content[name]
        state = original_gru(arrays, "encoder", table[rows])
        if name == "bi":
            state = np.concatenate([state, original_gru(arrays, "encoder_r", table[rows[::-1]])])
        parts.append(state / np.linalg.norm(state))
    return np.concatenate(parts)


LAYOUTS = ["matrix", "rows, Python 2", "dictionary", "dictionary, Python 2"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("protocol", [0, 2])
def test_published_files_give_the_original_vectors(tmp_path: Path, layout: str, protocol: int) -> None:
    content = write_release(tmp_path, tables=layout, protocol=protocol)
    encoder = read_published(tmp_path)
    assert encoder.dim == 2 * DIM
    assert list(encoder.vocabulary.words) == WORDS
    assert encoder.info["options"]["uni"] == {
        "dim": DIM, "dim_word": DIM_WORD, "encoder": "gru", "n_words_src": 4, "decay_c": 0.0, "x": None,
    }  # fmt: skip
    texts = ["the cat sat on the Mat", "the blorf sat", "naïve", "cat cat cat cat cat cat cat cat cat cat"]
    for use_eos in (False, True):
        found = encoder.encode([*texts, "", "blorf"], use_eos=use_eos)
        expected = [original_encode(content, text, use_eos=use_eos) for text in texts]
        np.testing.assert_allclose(found[:4], expected, atol=2e-6)
        assert not found[4:].any()
    assert np.array_equal(open_system(str(tmp_path)).encode(texts), encoder.encode(texts))
    uni, bi = (read_published(tmp_path, kind=kind).encode(texts) for kind in ("uni", "bi"))
    np.testing.assert_allclose(np.hstack([uni, bi]), encoder.encode(texts), atol=1e-6)


def test_published_encoder_can_be_saved(tmp_path: Path) -> None:
    write_release(tmp_path)
    encoder = read_published(tmp_path, tokenizer=Tokenizer("whitespace", lowercase=False))
    encoder.save(tmp_path / "ours")
    loaded = load_encoder(tmp_path / "ours")
    assert loaded.tokenizer == Tokenizer("whitespace", lowercase=False)
    assert np.array_equal(loaded.encode(["the blorf sat"]), encoder.encode(["the blorf sat"]))


def test_options_may_be_missing_and_words_may_come_twice(tmp_path: Path) -> None:
    content = write_release(tmp_path)
    (tmp_path / "uni_skip.npz.pkl").unlink()
    assert read_published(tmp_path, kind="uni").info["options"] == {"uni": {}}
    (tmp_path / "dictionary.txt").write_text("<eos>\nUNK\nthe\ncat\nthe\n \nMat\nnaïve\n", "utf-8")
    encoder = read_published(tmp_path, kind="uni")
    assert list(encoder.vocabulary.words) == ["<eos>", "UNK", "the", "cat", "Mat", "naïve"]
    assert np.array_equal(encoder.parts[0].table[2], content["uni"][1][4]), "the last one counts, as in a dictionary"


class Malicious:
    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('the file was run')",)


@pytest.mark.parametrize("place", ["uni_skip.npz.pkl", "bi_skip.npz.pkl", "utable.npy", "btable.npy", "uni_skip.npz"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_malicious_files_are_refused_and_not_run(tmp_path: Path, place: str, protocol: int) -> None:
    content = write_release(tmp_path)
    evil = {"dim": DIM, "encoder": Malicious()}
    if place.endswith(".pkl"):
        (tmp_path / place).write_bytes(pickle.dumps(evil, protocol))
    elif place.endswith(".npy"):
        header = python2_npy(np.empty((), object)).partition(b"\n")[0] + b"\n"
        (tmp_path / place).write_bytes(header + pickle.dumps(np.array(evil), protocol))
    else:
        arrays = content["uni"][0] | {"encoder_b": np.array(evil)}
        np.savez(tmp_path / place, **arrays)
    with pytest.raises(InputError, match=r"asks for|not a readable archive of arrays"):
        read_published(tmp_path)


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    def release(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        write_release(folder)
        return folder

    with pytest.raises(SettingsError, match="kind is 'tri'"):
        read_published(tmp_path, kind="tri")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"can't read .*utable\.npy"):
        read_published(tmp_path)
    for name, change, says in [
        ("dictionary", lambda f: (f / "dictionary.txt").write_text("a\nb\n"), "one vector per word"),
        ("no dictionary", lambda f: (f / "dictionary.txt").unlink(), "belongs to the tables"),
        ("bytes", lambda f: (f / "dictionary.txt").write_bytes(b"\xff\n" * 8), "is not UTF-8"),
        ("unknown", lambda f: (f / "dictionary.txt").write_text("\n".join("abcdefgh")), "lacks '<eos>' or 'UNK'"),
        ("numbers", lambda f: np.save(f / "utable.npy", np.ones((8, 5), int)), "one vector per word"),
        ("ragged", lambda f: write_table(f / "utable.npy", np.ones((8, 4), np.float32), "matrix"), "matrices of"),
        ("no archive", lambda f: (f / "uni_skip.npz").unlink(), r"can't read .*uni_skip\.npz"),
        ("broken", lambda f: (f / "uni_skip.npz").write_bytes(b"PK\x03\x04" * 9), "not a readable archive of arrays"),
        ("text", lambda f: (f / "uni_skip.npz").write_text("hello"), "not a readable archive of arrays"),
        ("lacking", lambda f: np.savez(f / "bi_skip.npz", encoder_W=np.ones(3)), "has no encoder_Wx"),
        ("list", lambda f: (f / "uni_skip.npz.pkl").write_bytes(pickle.dumps([1])), "holds a list"),
        ("sizes", lambda f: (f / "uni_skip.npz.pkl").write_bytes(pickle.dumps({"dim": 7})), "says dim 7"),
        ("lstm", lambda f: (f / "uni_skip.npz.pkl").write_bytes(pickle.dumps({"encoder": "lstm"})), "says encoder"),
        ("cut", lambda f: (f / "uni_skip.npz.pkl").write_bytes(b"\x80\x02}q\x00(U"), "truncated"),
    ]:  # fmt: skip
        folder = release(name)
        change(folder)
        with pytest.raises(InputError, match=says):
            read_published(folder)
    folder = release("different words")
    write_table(folder / "utable.npy", np.ones((8, 5), np.float32), "dictionary")
    (folder / "dictionary.txt").write_text("<eos>\nUNK\nother\nwords\nin\nthis\nother\nfile\n")
    with pytest.raises(InputError, match="have different words"):
        read_published(folder)


def test_an_archive_that_promises_more_than_it_can_hold(tmp_path: Path) -> None:
    content = write_release(tmp_path)
    arrays = {**content["uni"][0], "encoder_U": np.zeros((4000, 8000), np.float32)}
    np.savez_compressed(tmp_path / "uni_skip.npz", **arrays)
    with pytest.raises(InputError, match=r"uni_skip\.npz has [\d,]+ bytes but promises an array of 128,000,128"):
        read_published(tmp_path)
