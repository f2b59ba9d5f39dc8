"""The index on disk: right answers, updates, damage. With the real usearch."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import siamese_cbow as sc
from search_world import exact, topic_lines, topic_model, write_lines
from siamese_cbow import FormatError, Index, InputError, MissingExtra, Model, SettingsError, TextSettings, Vocabulary
from siamese_cbow.cli import main
from siamese_cbow.progress import Silent
from siamese_cbow.retrieval import graph, updating
from siamese_cbow.retrieval.fusion import Mode
from siamese_cbow.retrieval.manifest import Manifest, fingerprint
from siamese_cbow.retrieval.updating import update

LINES = topic_lines(2000)


@pytest.fixture(scope="module")
def model() -> Model:
    return topic_model()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    write_lines(tmp_path / "notes" / "a.txt", LINES[:1200])
    write_lines(tmp_path / "notes" / "b.txt", LINES[1200:])
    return tmp_path / "notes"


def test_finds_what_exact_search_finds(model: Model, notes: Path, tmp_path: Path) -> None:
    index = Index.update(tmp_path / "index", notes, model=model)
    assert len(index) == len(LINES)
    for query in ("guitar song", "storm", "the kitchen"):
        found = index.search(query, k=10, before=1, after=1)
        wanted = sc.search(query, notes, model=model, k=10)
        np.testing.assert_allclose([hit.score for hit in found], [hit.score for hit in wanted], atol=1e-5)
        for hit in found:
            lines = LINES[:1200] if hit.source.endswith("a.txt") else LINES[1200:]
            assert hit.text == lines[hit.line - 1]
            assert [text for _, text in hit.before] == lines[max(hit.line - 2, 0) : hit.line - 1]
            assert [text for _, text in hit.after] == lines[hit.line : hit.line + 1]
    everything = index.search("guitar", k=None, threshold=3)
    wanted = sc.search("guitar", notes, model=model, k=None, threshold=3)
    assert {(hit.text, hit.line) for hit in everything} == {(hit.text, hit.line) for hit in wanted}
    assert all(hit.score >= 6 for hit in index.search("guitar", threshold=6))


@pytest.mark.parametrize("mode", ["hybrid", "exact", "meaning"])
def test_every_query_of_an_index_is_as_the_first(model: Model, notes: Path, tmp_path: Path, mode: Mode) -> None:
    """The first query cuts rows in plain Python, later ones with the scanner, in reused memory."""
    index = Index.update(tmp_path / "index", notes, model=model)
    for query in ("guitar song", "storm waves", "guitar song", "apple naïve"):
        fresh = Index(tmp_path / "index", model=model).search(query, mode=mode)
        assert index.search(query, mode=mode) == fresh == index.search(query, mode=mode, threads=3)
        wanted = sc.search(query, notes, model=model, mode=mode)
        np.testing.assert_allclose([hit.score for hit in fresh], [hit.score for hit in wanted], atol=1e-5)


def test_a_word_known_only_by_its_spelling_is_found_in_an_index(model: Model, tmp_path: Path) -> None:
    lines = [*topic_lines(3000, seed=4), "the sailor zx81 in the harbour", *topic_lines(3000, seed=5)]
    index = Index.update(tmp_path / "index", write_lines(tmp_path / "a.txt", lines), model=model)
    assert index.search("zx81", k=1)[0].line == 3001


def test_a_common_word_is_no_form_of_a_rare_one(tmp_path: Path) -> None:
    """several and severe have the same stem, and an index keeps no postings for common words."""
    words = ["the", "several", "severe", "storm", *(f"word{i}" for i in range(400))]
    counts = [100_000, 90_000, 10, 10, *[10] * 400]
    rows = np.random.default_rng(1).standard_normal((len(words), 8)).astype(np.float32)
    model = Model(Vocabulary(words, np.array(counts)), rows)
    lines = ["a severe storm", *[f"the several word{i}" for i in range(300)], *[f"word{i} storm" for i in range(99)]]
    path = write_lines(tmp_path / "a.txt", lines)
    found = Index.update(tmp_path / "index", path, model=model).search("severe storm")
    wanted = sc.search("severe storm", path, model=model)
    assert [(hit.line, pytest.approx(hit.score)) for hit in found] == [(hit.line, hit.score) for hit in wanted]
    assert not any("severe" in hit.words for hit in wanted[1:])


def test_check_measures_recall(model: Model, notes: Path, tmp_path: Path) -> None:
    index = Index.update(tmp_path / "index", notes, model=model)
    found = index.check(n_queries=50)
    assert found["recall"] >= 0.97
    assert found["n_queries"] == 50
    assert Index(tmp_path / "index", model=model).manifest.recall == found
    empty = write_lines(tmp_path / "empty.txt", [])
    assert Index.update(tmp_path / "index2", empty, model=model).check() == {}
    assert Index(tmp_path / "index2", model=model).search("guitar") == []


def test_the_model_of_an_index_is_found_by_its_name(model: Model, notes: Path, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    Index.update(tmp_path / "ix", notes, model=str(tmp_path / "model"))
    assert Index(tmp_path / "ix").model == model
    assert Index.update(tmp_path / "ix").model == model


def test_many_equal_rows_hide_nothing(model: Model, tmp_path: Path) -> None:
    lines = [*["the guitar"] * 3000, "song", *["The GUITAR"] * 3000, "guitar song", *["storm"] * 1000, "wave"]
    index = Index.update(tmp_path / "index", write_lines(tmp_path / "a.txt", lines), model=model)
    assert [hit.line for hit in index.search("the guitar", k=5)] == [1, 2, 3, 4, 5]
    assert "song" in {hit.text for hit in index.search("song", k=3)}
    assert index.search("wave", k=1)[0].line == len(lines)
    assert {hit.text for hit in index.search("guitar", k=6100)} >= {"the guitar", "The GUITAR", "song", "guitar song"}


def test_only_what_has_changed_is_read(
    model: Model, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, read = tmp_path / "index", list[str]()
    real = updating._read_file
    monkeypatch.setattr(updating, "_read_file", lambda path, *rest: (read.append(path.name), real(path, *rest))[1])
    assert update(folder, [notes], model=model).n_new == 2
    before = (folder / "index.json").read_bytes()
    assert update(folder, [notes], model=model).n_same == 2
    assert (folder / "index.json").read_bytes() == before
    read.clear()

    os.utime(notes / "a.txt", ns=(1, 1))  # touched, but unchanged
    write_lines(notes / "b.txt", ["the guitar of the sailor", *LINES[1200:1300]])
    write_lines(notes / "c.txt", ["a piano concert"])
    changes = update(folder, [notes], model=model)
    assert (changes.n_new, changes.n_changed, changes.n_gone, changes.n_same) == (1, 1, 0, 1)
    assert changes.n_rows == 1200 + 101 + 1
    assert sorted(read) == ["b.txt", "c.txt"]
    index = Index(folder, model=model)
    assert len(index._segments) == 2
    assert index.search("guitar of the sailor", k=1)[0].line == 1
    live = [*LINES[:1200], "the guitar of the sailor", *LINES[1200:1300], "a piano concert"]
    for query in ("storm", "guitar", "bread"):
        np.testing.assert_allclose(
            [hit.score for hit in index.search(query, k=20)],
            [score for _, score in exact(model, query, live, 20)],
            atol=1e-4,
        )

    (notes / "b.txt").unlink()
    read.clear()
    changes = update(folder, model=model)  # no inputs: the files it knows
    assert (changes.n_gone, changes.n_same, changes.n_rows) == (1, 2, 1201)
    assert read == []
    assert not [hit for hit in Index(folder, model=model).search("guitar", k=50) if hit.source.endswith("b.txt")]


def test_small_segments_are_taken_in(model: Model, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    for i in range(12):
        write_lines(tmp_path / f"{i}.txt", LINES[i * 50 : i * 50 + 50])
        update(folder, tmp_path / f"{i}.txt", model=model)
    index = Index(folder, model=model)
    assert len(index._segments) <= 4
    assert {path.name for path in folder.iterdir()} == {
        "index.json",
        *index.manifest.segments,
        *index.manifest.fits,
    }
    assert len(index) == 600
    np.testing.assert_allclose(
        [hit.score for hit in index.search("storm", k=20)],
        [score for _, score in exact(model, "storm", LINES[:600], 20)],
        atol=1e-4,
    )


def test_sentences_and_settings_are_kept(model: Model, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.txt", ["A ship. A guitar played.", "", "Soup."])
    index = Index.update(tmp_path / "index", path, model=model, text=TextSettings(unit="sentence"))
    assert [(hit.line, hit.text) for hit in index.search("guitar", k=1)] == [(1, "A guitar played.")]
    write_lines(tmp_path / "b.txt", ["Bread. A song of the band."])
    index = Index.update(tmp_path / "index", tmp_path / "b.txt", model=model)
    assert index.search("song band", k=1)[0].text == "A song of the band."
    with pytest.raises(
        SettingsError, match="was built with text_column 'text', not 'body', unit 'sentence', not 'line';"
    ):
        update(tmp_path / "index", path, model=model, text=TextSettings(text_column="body"))


# damage


def test_damage_is_found_reported_and_repaired(model: Model, notes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    update(folder, notes, model=model)
    texts = {path: path.read_bytes() for path in notes.iterdir()}
    segment = next(folder.glob("segment-*"))
    for name in ("codes.npy", "rows.txt", "starts.npy", "numbers.npy", "word_rows.npy", "lengths.npy"):
        for damage in ("cut", "flip", "gone"):
            copy = tmp_path / f"{name}-{damage}"
            shutil.copytree(folder, copy)
            path = copy / segment.name / name
            data = bytearray(path.read_bytes())
            data[:100] = bytes(byte ^ 255 for byte in data[:100])
            if damage == "gone":
                path.unlink()
            else:
                path.write_bytes(data if damage == "flip" else data[:-10])
            with pytest.raises(FormatError, match=rf"{name}.*--rebuild"):
                Index(copy, model=model)
            with pytest.raises(FormatError, match="--rebuild"):
                update(copy, notes, model=model)
    update(copy, model=model, rebuild=True)  # it still knows its files
    assert Index(copy, model=model).search("guitar", k=3)
    assert {path: path.read_bytes() for path in notes.iterdir()} == texts


def test_a_flipped_bit_anywhere_is_found_by_check(model: Model, notes: Path, tmp_path: Path) -> None:
    update(tmp_path / "index", notes, model=model)
    path = next((tmp_path / "index").glob("segment-*")) / "codes.npy"
    data = bytearray(path.read_bytes())
    data[len(data) // 31 + 5000] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"codes\.npy"):
        Index(tmp_path / "index", model=model).check()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON"),
        ("[]", "is not the index of a siamese-cbow index"),
        ('{"format": "siamese-cbow index", "format_version": 99}', "format version 99"),
        ('{"format": "siamese-cbow index", "format_version": 2, "model": 3}', "is incomplete"),
    ],
)
def test_a_broken_list(model: Model, notes: Path, tmp_path: Path, content: str, message: str) -> None:
    folder = tmp_path / "index"
    update(folder, notes, model=model)
    (folder / "index.json").write_text(content)
    with pytest.raises(FormatError, match=f"{message}.*--rebuild"):
        Index(folder, model=model)
    with pytest.raises(FormatError, match="--rebuild"):
        update(folder, notes, model=model)
    with pytest.raises(InputError, match="no files were given"):
        update(folder, model=model, rebuild=True)
    assert update(folder, notes, model=model, rebuild=True).n_rows == len(LINES)


@pytest.mark.parametrize("version", [2, 3])
def test_an_index_of_another_version_is_rebuilt_from_its_files(
    model: Model, notes: Path, tmp_path: Path, version: int
) -> None:
    """0.1.0 wrote version 2, and `sentences` where there is a unit now."""
    folder, unit = tmp_path / "index", TextSettings(unit="sentence")
    update(folder, notes, model=model, text=unit)
    content = json.loads((folder / "index.json").read_text())
    wanted = Index(folder, model=model).search("guitar", k=5)
    content |= {"format_version": version}
    if version == 2:
        content["settings"] = {"sentences": True, "language": "en", "text_column": "text"}
    (folder / "index.json").write_text(json.dumps(content))
    for attempt in (lambda: Index(folder, model=model), lambda: update(folder, notes, model=model)):
        with pytest.raises(FormatError, match=f"format version {version}.*index -o .* --rebuild"):
            attempt()
    update(folder, model=model, rebuild=True)
    assert Index(folder, model=model).search("guitar", k=5) == wanted
    content["settings"] = {"unit": "word"}
    (folder / "index.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match="--rebuild"):
        Index(folder, model=model)


def test_files_that_have_changed_since_are_reported(
    model: Model, notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model.save(tmp_path / "m")
    main(["index", "notes", "-o", "ix", "--model", "m"])
    assert Index(tmp_path / "ix", model=model).stale() == []
    write_lines(notes / "a.txt", ["another text"])
    (notes / "b.txt").unlink()
    assert Index(tmp_path / "ix", model=model).stale() == ["notes/a.txt", "notes/b.txt"]
    main(["search", "guitar", "--index", "ix", "-k1"])
    assert "2 files changed or deleted since ix was built (notes/a.txt, notes/b.txt)" in capsys.readouterr().err
    main(["index", "-o", "ix"])
    assert Index(tmp_path / "ix", model=model).stale() == []


def test_an_index_that_has_grown_is_one_that_was_made_at_once(model: Model, tmp_path: Path) -> None:
    lines = topic_lines(9000, seed=5)  # more than a sample
    for i, n in enumerate((0, 500, 1500, 7000, 9000)):
        write_lines(tmp_path / f"{i}.txt", lines[n : (500, 1500, 7000, 9000, 9000)[i]])
        grown = Index.update(tmp_path / "grown", tmp_path / f"{i}.txt", model=model)
    write_lines(tmp_path / "1.txt", lines[500:600])  # this file loses rows
    grown = Index.update(tmp_path / "grown", model=model)
    whole = Index.update(tmp_path / "whole", [tmp_path / f"{i}.txt" for i in range(5)], model=model)
    files = [tmp_path / f"{i}.txt" for i in range(5)]
    for query in ("guitar song", "the storm of a sailor", "bread"):
        for mode in ("hybrid", "exact", "meaning"):
            wanted = [hit.score for hit in sc.search(query, files, model=model, mode=mode)]
            np.testing.assert_allclose([hit.score for hit in whole.search(query, mode=mode)], wanted, atol=1e-4)
            np.testing.assert_allclose([hit.score for hit in grown.search(query, mode=mode)], wanted, atol=1e-4)


def test_the_command_that_repairs_an_index_can_be_typed(model: Model, notes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    Index.update(folder, notes, model=model)
    next(folder.glob("segment-*/codes.npy")).unlink()
    with pytest.raises(FormatError, match=f": siamese-cbow index -o {folder} --rebuild "):
        Index(folder, model=model)
    with pytest.raises(FormatError, match=f"not an index.*: siamese-cbow index {notes} -o {notes}.index$"):
        Index(notes, model=model)


def test_another_fallback_of_the_same_model_is_reported(notes: Path, tmp_path: Path) -> None:
    Index.update(tmp_path / "index", notes, model=sc.load())
    with pytest.raises(FormatError, match=r"built with the fallback 'ngrams'.*--fallback ngrams"):
        Index(tmp_path / "index", model=sc.load().with_fallback("none"))


def test_another_model_is_reported(model: Model, notes: Path, tmp_path: Path) -> None:
    update(tmp_path / "index", notes, model=model)
    other = topic_model(seed=9)
    assert fingerprint(model) == fingerprint(topic_model()) != fingerprint(other)
    with pytest.raises(FormatError, match="another model"):
        Index(tmp_path / "index", model=other)
    with pytest.raises(FormatError, match="another model"):
        update(tmp_path / "index", notes, model=other)
    update(tmp_path / "index", model=other, rebuild=True)
    assert Index(tmp_path / "index", model=other).search("guitar")


def test_unknown_words_count_as_when_the_index_was_made(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = write_lines(tmp_path / "a.txt", ["stormy", "guitarists", "the songs of the band", "soup"])
    near = model.with_fallback("prefix")
    index = Index.update(tmp_path / "index", text, model=near)
    assert [hit.text for hit in index.search("guitar", k=1, mode="meaning")] == ["guitarists"]
    for attempt in (lambda: Index(tmp_path / "index", model=model), lambda: update(tmp_path / "index", model=model)):
        with pytest.raises(FormatError, match=r"fallback 'prefix'.*with_fallback\(\"prefix\"\)"):
            attempt()
    model.save(tmp_path / "m")
    main(["index", "a.txt", "-o", "near", "--model", "m", "--fallback", "prefix"])
    main(["index", "-o", "near"])  # with its settings, without repeating them
    main(["search", "guitarist", "--index", "near", "-k1", "--meaning"])
    captured = capsys.readouterr()
    assert "2:guitarists" in captured.out.splitlines()[-1]
    assert "guitarist (guitar)" in captured.err
    with pytest.raises(SystemExit):
        main(["search", "guitar", "--index", "near", "--fallback", "none"])
    assert "built with the fallback 'prefix'" in capsys.readouterr().err


def test_an_update_that_fails_changes_nothing(
    model: Model, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "index"
    update(folder, notes, model=model)
    before = sorted((path.name, path.stat().st_size) for path in folder.rglob("*"))
    write_lines(notes / "c.txt", LINES[:100])

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(updating, "description", fail)
    with pytest.raises(KeyboardInterrupt):
        update(folder, notes, model=model)
    assert sorted((path.name, path.stat().st_size) for path in folder.rglob("*")) == before
    assert len(Index(folder, model=model)) == len(LINES)


def test_what_is_no_index_is_left_alone(model: Model, notes: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not part of an index"):
        update(notes, notes, model=model, rebuild=True)
    with pytest.raises(InputError, match="is a file"):
        update(notes / "a.txt", notes, model=model)
    with pytest.raises(InputError, match="no index"):
        Index(tmp_path / "none", model=model)
    with pytest.raises(InputError, match="standard input"):
        update(tmp_path / "index", "-", model=model)
    (notes / "bad.txt").write_bytes(bytes(range(256)) * 100)
    assert update(tmp_path / "index", notes, model=model).n_rows == len(LINES)
    with pytest.raises(InputError, match=r"bad\.txt"):
        update(tmp_path / "index", notes / "bad.txt", model=model)


def test_missing_usearch_says_what_to_type(model: Model, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "usearch.index", None)
    with pytest.raises(MissingExtra, match=r"siamese-cbow\[search\]"):
        graph.new_graph(3)


@pytest.mark.parametrize("size", [1, 2, 700])
def test_a_small_graph_is_gone_through_as_a_whole(size: int) -> None:
    vectors = np.random.default_rng(1).standard_normal((size, 24), dtype=np.float32)
    rows = graph.shrunk(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    built = graph.new_graph(24)
    graph.add(built, np.arange(size), rows, threads=2)
    queries = np.eye(24, dtype=np.float32)
    wide = rows.astype(np.float64)
    cosines = graph.shrunk(queries) @ wide.T / np.linalg.norm(wide, axis=1) / np.linalg.norm(graph.shrunk(queries)[0])
    for expected, (keys, found) in zip(cosines, graph.nearest(built, queries, 50, effort=700), strict=True):
        assert len(set(keys.tolist())) == min(50, size)
        np.testing.assert_allclose(found, np.sort(expected)[::-1][:50], atol=1e-3)
        np.testing.assert_allclose(expected[keys], found, atol=1e-3)


def test_shrunk_vectors_keep_their_direction() -> None:
    vectors = np.random.default_rng(1).standard_normal((50, 300)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    small = graph.shrunk(vectors).astype(np.float64)
    cosines = (small * vectors).sum(1) / np.linalg.norm(small, axis=1)
    assert cosines.min() > 0.999


# the command


def test_index_from_the_command_line(
    model: Model, notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIAMESE_CBOW_MODEL", raising=False)
    model.save(tmp_path / "model")
    main(["index", "notes", "-o", "notes.index", "--model", "model", "--check"])
    out, err = capsys.readouterr()
    assert out == "notes.index\n"
    assert "2,000 rows; files: 2 new, 0 changed, 0 deleted, 0 unchanged" in err
    assert "no damage; recall@10" in err
    main(["index", "-o", "notes.index"])  # it knows files and model
    assert "2 unchanged" in capsys.readouterr().err
    main(["search", "guitar song", "--index", "notes.index", "-k", "1", "--json"])
    hit = json.loads(capsys.readouterr().out)
    assert hit["source"] in ("notes/a.txt", "notes/b.txt")
    assert hit["score"] > 0.8
    for arguments, message in (
        (["search", "guitar", "notes", "--index", "notes.index"], "expected only one of them"),
        (["search", "guitar", "--index", "none", "--model", "model"], "no index none"),
        (["search", "", "--index", "notes.index"], "query is empty"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        assert message in capsys.readouterr().err
    (tmp_path / "notes.index" / "index.json").write_text("{")
    with pytest.raises(SystemExit):
        main(["index", "notes", "-o", "notes.index"])
    assert "--rebuild" in capsys.readouterr().err
    main(["index", "notes", "-o", "notes.index", "--model", "model", "--rebuild"])
    assert "2,000 rows; files: 2 new" in capsys.readouterr().err
    assert Manifest.read(tmp_path / "notes.index").model_folder == str((tmp_path / "model").resolve())


def test_a_file_that_may_not_be_read(
    model: Model, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file found in a folder is skipped and reported; a file named by the user is an error."""
    file_hash = updating.file_hash

    def refusing(path: Path) -> str:
        if path.name == "b.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return file_hash(path)

    monkeypatch.setattr(updating, "file_hash", refusing)  # permissions don't stop root
    with pytest.raises(InputError, match=r"can't read .*b\.txt: Permission denied"):
        Index.update(tmp_path / "index", [notes / "a.txt", notes / "b.txt"], model=model)
    assert not (tmp_path / "index").exists()
    said: list[str] = []

    class Told(Silent):
        def say(self, message: str) -> None:
            said.append(message)

    assert update(tmp_path / "index", notes, model=model, progress=Told()).n_rows == 1200
    assert said == [f"skipped: can't read {notes / 'b.txt'}: Permission denied; check the file's permissions"]
