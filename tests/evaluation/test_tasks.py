"""Tasks beyond similarity: the field's file formats, measures that agree with other programs, figures per example."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from report_world import BAD, GOOD, texts, write_tasks
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.cli import main
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.ranking import AP, NDCG, average_precision, bm25, ndcg, read_collection
from siamese_cbow.evaluation.tasks import HALVES, PASSAGES, Documents, document_sets, read_tasks
from siamese_cbow.evaluation.transfer import transfer_sets

pytest.importorskip("sklearn")


def test_all_tasks_give_a_figure_for_each_example(tmp_path: Path) -> None:
    write_tasks(tmp_path)
    tasks = read_tasks(tmp_path)
    scores = {(score.task, score.measure): score for score in tasks.scores(RandomVectors(dim=50), "random")}
    assert list(scores) == [("mr", "accuracy"), ("toy", NDCG), ("toy", AP), ("toys", HALVES), ("toys", PASSAGES)]
    assert all(0 <= score.items.min() <= score.items.max() <= 1 for score in scores.values())
    assert scores["mr", "accuracy"].mean > 0.9
    assert len(scores["toy", NDCG].items) == 2  # a query without a relevant document does not count
    assert scores["toys", HALVES].mean == 1
    beside = {(score.system, score.task) for score in tasks.beside}
    assert {("BM25", "toy"), ("tf-idf of words and bigrams", "mr"), ("tf-idf of words", "toys")} <= beside
    assert tasks.fingerprint == read_tasks(tmp_path).fingerprint != tasks.sample(20).fingerprint


def test_the_command_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tasks(tmp_path)
    main(["evaluate", "random", "--tasks", str(tmp_path), "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["model"] for row in rows} >= {"random", "BM25"}
    assert all(row["interval"][0] <= row["mean"] <= row["interval"][1] for row in rows)
    main(["evaluate", "random", "--tasks", str(tmp_path)])
    assert "toy: nDCG@10" in capsys.readouterr().out
    for arguments in (["evaluate", "tf-idf", "--tasks", str(tmp_path)], ["evaluate", "--tasks", str(tmp_path / "mr")]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2


def test_files_as_others_have_released_them(tmp_path: Path) -> None:
    def write(name: str, lines: list[str]) -> None:
        (tmp_path / name).write_text("\n".join(lines) + "\n", "latin-1")

    write("custrev.pos", texts(GOOD))
    write("custrev.neg", [*texts(BAD), "caf\xe9 awful"])
    write("train_5500.label", ["DESC:manner How did it end ?", "ENTY:animal What barks ?"] * 6)
    write("TREC_10.label", ["DESC:def What is it ?", "ENTY:food What is eaten ?"])
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    write("msr_paraphrase_train.txt", [header, *["1\t1\t2\ta cat\tone cat", "0\t3\t4\ta cat\tthe war"] * 6])
    write("msr_paraphrase_test.txt", [header, "1\t1\t2\ta dog\tone dog", "0\t3\t4\ta dog\tthe war"])
    write("sst2-train.tsv", ["label\ttext", *["1\tgood", "0\tbad"] * 5])
    write("sst2-test.tsv", ["label\ttext", "1\tgood", "0\tbad"])
    write("pairs.tsv", ["label\ttext\ttext2", *["1\ta cat\tone cat", "0\ta cat\tthe war"] * 12])
    (tmp_path / "README").write_text("not a task")
    sets = {each.name: each.data for each in transfer_sets(tmp_path)}
    assert list(sets) == ["cr", "mrpc", "pairs", "sst-2", "trec"]
    assert sorted(set(sets["cr"].labels)) == ["neg", "pos"]
    assert sets["trec"].n_test == sets["mrpc"].n_test == sets["sst-2"].n_test == 2
    assert sets["trec"].labels[-1] == "ENTY"
    assert sets["mrpc"].texts[-1] == "a dog"
    assert sets["mrpc"].seconds[-1] == "the war"
    assert len(sets["pairs"].seconds) == 24
    for each in transfer_sets(tmp_path):
        items = each.items(RandomVectors(dim=30))["accuracy"]
        assert len(items) == (each.data.n_test or len(each.data.texts))


def test_pairs_are_found_in_every_kind_of_table(tmp_path: Path) -> None:
    rows = [("a, b", "one cat", "1"), ("a cat", "the war", "0")]
    (tmp_path / "quoted.csv").write_text(
        '"text","text2","label"\n' + "".join(f'"{a}","{b}","{label}"\n' for a, b, label in rows)
    )
    objects = [json.dumps({"label": label, "text2": b, "text": a}) for a, b, label in rows]
    (tmp_path / "objects.jsonl").write_text("\n".join(objects) + "\n")
    (tmp_path / "single.jsonl").write_text('{"text": "good", "label": "1"}\n{"text": "bad", "label": "0"}\n')
    sets = {each.name: each.data for each in transfer_sets(tmp_path)}
    for name in ("quoted", "objects"):
        assert list(zip(sets[name].texts, sets[name].seconds, sets[name].labels, strict=True)) == rows
    assert list(sets["single"].seconds) == []


def test_the_most_frequent_label_is_that_of_the_training_part(tmp_path: Path) -> None:
    """The label to always predict must not be chosen on the test part, nor its share be counted there."""
    (tmp_path / "sst2-train.tsv").write_text("label\ttext\n" + "1\tgood\n" * 4 + "0\tbad\n" * 2)
    (tmp_path / "sst2-test.tsv").write_text("label\ttext\n" + "1\tgood\n" + "0\tbad\n" * 3)
    [sst2] = transfer_sets(tmp_path)
    assert sst2.beside()["the most frequent label"]["accuracy"].tolist() == [1, 0, 0, 0]


def test_a_part_that_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "sst2-train.tsv").write_text("label\ttext\n1\tgood\n")
    with pytest.raises(InputError, match=r"sst2-test\.tsv"):
        transfer_sets(tmp_path)
    (tmp_path / "sst2-train.tsv").rename(tmp_path / "mpqa.pos")
    with pytest.raises(InputError, match="other label"):
        transfer_sets(tmp_path)
    with pytest.raises(InputError, match="no tasks"):
        read_tasks(tmp_path)


def test_measures_agree_with_those_of_trec() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(3)
    for _ in range(20):
        order = rng.permutation(40).tolist()
        gains = {int(i): float(rng.integers(1, 5)) for i in rng.choice(60, 7, replace=False)}  # some are not ranked
        judged = {"q": {str(i): int(gain) for i, gain in gains.items()}}
        run = {"q": {str(i): float(-place) for place, i in enumerate(order)}}
        theirs = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "map"}).evaluate(run)["q"]
        assert ndcg(order, gains) == pytest.approx(theirs["ndcg_cut_10"])
        assert average_precision(order, gains) == pytest.approx(theirs["map"])


def test_bm25_is_lucenes() -> None:
    documents = ["the cat sat on the mat", "the dog", "a cat and a dog and a cat"]
    scores = bm25(documents, ["cat", "cat cat zebra", "the dog"])
    idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    lengths = np.array([6, 2, 8])
    norm = 1.2 * (1 - 0.75 + 0.75 * lengths / lengths.mean())
    np.testing.assert_allclose(scores[0], [idf * 2.2 / (1 + norm[0]), 0, idf * 4.4 / (2 + norm[2])], rtol=1e-6)
    np.testing.assert_allclose(scores[1], 2 * scores[0], rtol=1e-6)
    assert scores[2].argmax() == 1


def test_collections_as_beir_has_them(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Cats", "text": "purr"}\n{"_id": "d2", "title": "", "text": "bark"}\n'
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "who purrs"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    collection = read_collection(tmp_path)
    assert list(collection.documents) == ["Cats purr", "bark"]
    assert collection.gains == {0: {0: 2.0}}
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td9\t2\n")
    with pytest.raises(InputError, match=r"no document 'd9'"):
        read_collection(tmp_path)


def test_documents_need_some_words(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("only a few words\n\nand some more\n")
    with pytest.raises(InputError, match="0 documents of 200 words"):
        document_sets(tmp_path)
    same = Documents("same", [["word"] * 300, ["word"] * 300])
    found = same.items(RandomVectors(dim=10))
    assert found[HALVES].tolist() == [0.5, 0.5]  # ties rank before it


def test_the_fields_own_sets(shared_data: Path) -> None:
    names = [each.name for each in transfer_sets(shared_data / "transfer")]
    assert names == ["mr", "sst-2", "subj"]
    cranfield = read_collection(shared_data / "retrieval" / "cranfield")
    assert (len(cranfield.documents), len(cranfield.queries)) == (1400, 225)
    beside = cranfield.beside()["BM25"]
    assert beside[NDCG].mean() == pytest.approx(0.337, abs=0.01)
