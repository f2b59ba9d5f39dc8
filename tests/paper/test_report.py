"""Reports: correct figures, verdicts that follow from them, readable files, and no work done twice."""

from __future__ import annotations

import csv
import json
import re
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from report_world import write_sts, write_tasks, write_text
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.errors import InputError, MissingExtra, SettingsError
from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.evaluation.significance import wilcoxon
from siamese_cbow.evaluation.sts import sts
from siamese_cbow.evaluation.tasks import read_tasks
from siamese_cbow.evaluation.verdicts import UNDECIDED
from siamese_cbow.paper import claims_on_words as operations
from siamese_cbow.paper import work_pieces, work_plan
from siamese_cbow.paper.analysis import length_and_overlap
from siamese_cbow.paper.claims import claims
from siamese_cbow.paper.document import Report
from siamese_cbow.paper.paper_figures import paper, paper_figure, paper_sets
from siamese_cbow.paper.recipes import COMPARED, PARTS, QUICK, SYSTEMS, matched
from siamese_cbow.paper.reproduce import reproduce, reproduction_work
from siamese_cbow.paper.system_tables import best_alike, seconds, task_claims
from siamese_cbow.paper.treatments import treated, with_stems
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_plan import Cache, Results, checked_parts
from siamese_cbow.paper.writing import markdown, spread, write_report
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.words.vocabulary import Vocabulary

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
pytest.importorskip("gensim")
pytest.importorskip("torch")

pytestmark = pytest.mark.slow  # most tests read one report, whose systems are trained first

TINY = replace(
    QUICK,
    dim=12,
    skip_thought={"dim": 8, "dim_word": 8, "n_words": 15, "samples": 5, "max_tokens": 400, "batch_size": 16},
    curve_epochs=2,
    negatives=(1, 2),
    dims=(4, 12),
    seconds_one_by_one=0.2,
    n_figure_seeds=1,
    task_examples=40,
)
VOID = {"br", "hr", "img", "input", "link", "meta"}


class Said:
    """Progress that remembers its messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.amount = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        self.amount += amount

    def say(self, message: str) -> None:
        self.messages.append(message)


class Page(HTMLParser):
    """Checks that tags are closed, and collects what a page links to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        named = dict(attrs)
        self.addresses += [named[name] or "" for name in ("src", "href", "xlink:href") if name in named]
        self.ids += [named["id"] or ""] if "id" in named else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Stream:
    folder = tmp_path_factory.mktemp("stream")
    write_text(folder / "text.txt")
    return prepare(folder / "text.txt", output=folder / "stream", min_count=1)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> list[PairSet]:
    folder = tmp_path_factory.mktemp("sts")
    write_sts(folder / "sts")
    return sts(folder / "sts")


@pytest.fixture(scope="module")
def tiny() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("siamese_cbow.paper.reproduce.QUICK", TINY)
        yield


@pytest.fixture(scope="module")
def made(
    tiny: None, stream: Stream, sets: list[PairSet], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Report, Path, Said]:
    folder, said = tmp_path_factory.mktemp("made") / "report", Said()
    write_tasks(folder.parent / "tasks")
    tasks = read_tasks(folder.parent / "tasks")
    report = reproduce(stream, sets, folder, name="toys", quick=True, threads=1, tasks=tasks, progress=said)
    return report, folder, said


# the paper


def test_the_papers_figures_say_what_the_paper_says() -> None:
    rows = paper()["table1"]
    systems = ("skipgram", "cbow", "skip-thought", "siamese")
    assert len(rows) == len(set(paper_sets())) == 20
    assert sum(max(systems, key=lambda key: row[key][0]) == "siamese" for row in rows) == 14
    assert sum(row["dagger"] for row in rows) == 18
    assert paper_figure(2014, "tweet-news", "siamese") == (0.7315, 0.7128)
    assert paper_figure(2014, "images", "fastsent", "table2") == (0.74, 0.78)
    assert paper_figure(2016, "headlines", "siamese") is None


# the tables


def test_table_1_has_the_figures_of_an_evaluation(made: Any, stream: Stream, sets: list[PairSet]) -> None:
    report, _, _ = made
    models = [SiameseCBOW.paper(dim=TINY.dim, seed=seed).train(stream, threads=1) for seed in (1, 2, 3)]
    for protocol in ("paper", "official"):
        table = next(table for table in report.tables if table.key == f"table1-{protocol}")
        runs = [evaluate(model, sets, protocol=protocol).sets for model in models]  # type: ignore[arg-type]
        shown = {(record["year"], record["dataset"]): record for record in table.records}
        for trainings in zip(*runs, strict=True):
            record = shown[trainings[0].year, trainings[0].dataset]
            assert record["siamese_pearson"] == pytest.approx(np.mean([one.pearson for one in trainings]), abs=1e-6)
            assert record["siamese_spearman"] == pytest.approx(np.mean([one.spearman for one in trainings]), abs=1e-6)
            assert record["n_pairs"] == trainings[0].n_pairs
    assert shown[2015, "belief"]["n_pairs"] == 10
    place = table.columns.index("Siamese CBOW (as published)")
    row = next(row for row in table.rows if row.cells[0].text == "belief")
    assert row.cells[place].text.startswith(number(shown[2015, "belief"]["siamese_pearson"]))


def test_table_1_marks_the_best_and_what_differs(made: Any) -> None:
    report, _, _ = made
    table = next(table for table in report.tables if table.key == "table1-paper")
    body = [row for row in table.rows if row.kind == "body"]
    for row, record in zip(body, table.records, strict=True):
        assert row.cells[0].text == record["dataset"]
        if row.cells[1].text == "missing":
            continue
        figures = {name: value for name, value in record.items() if re.fullmatch(r"[a-z+-]+_pearson", name)}
        best = max(round(value, 4) for value in figures.values())
        assert [cell.bold for cell in row.cells[2:]] == [round(value, 4) == best for value in figures.values()]
        assert ("†" in row.cells[-1].text) == record["contrastive_dagger"]
    assert table.records[0]["paper_siamese_pearson"] == 0.4379


def test_a_set_of_the_paper_that_is_missing_is_reported(made: Any) -> None:
    report, folder, _ = made
    table = next(table for table in report.tables if table.key == "table1-paper")
    row = next(row for row in table.rows if row.cells[0].text == "SMT")
    assert row.cells[1].text == "missing"
    assert row.cells[table.columns.index("Siamese CBOW (as published)")].small == ".3312† (.3356)"
    assert "LDC2013T18" in (folder / "index.html").read_text("utf-8")


def test_the_recipe_is_best_only_where_all_have_its_additions(made: Any) -> None:
    figures = {"fastsent": 0.6, "objective": 0.6, "contrastive": 0.7}
    assert best_alike(figures) == {"fastsent": True, "objective": True, "contrastive": False}
    assert best_alike(figures, "full") == {"fastsent": False, "objective": False, "contrastive": True}
    report, _, _ = made
    tables = {table.key: table for table in report.tables}
    for key in ("table2", "analysis-length", "analysis-overlap", "tasks-learnt"):
        table = tables[key]
        if "contrastive recipe" in table.columns:
            place = table.columns.index("contrastive recipe")
            assert not any(row.cells[place].bold for row in table.rows if row.kind == "body")
        else:
            row = next(row for row in table.rows if row.cells[0].text == "contrastive recipe")
            assert not any(cell.bold for cell in row.cells)
    for key in ("table2", "analysis-length", "analysis-overlap", "tests-siamese", "tests-matched"):
        assert f"{key}-finished" in tables  # a second time, with the same finishing for all


def test_daggers_are_wilcoxons(made: Any, sets: list[PairSet]) -> None:
    report, _, _ = made
    table = next(table for table in report.tables if table.key == "tests-siamese")
    assert [record["set"] for record in table.records] == [one.name for one in sets]
    assert all(0 <= record["wilcoxon_p"] <= 1 and 0 <= record["williams_p"] <= 1 for record in table.records)
    assert wilcoxon(np.arange(30.0), np.arange(30.0) + 1) < 0.0001


def test_tables_2_and_3_and_the_figures_have_a_line_for_everything(made: Any) -> None:
    report, _, _ = made
    tables = {table.key: table for table in report.tables}
    assert {record["dataset"] for record in tables["table2"].records} == {"OnWN", "images"}
    assert tables["table2"].columns[1:3] == ("FastSent", "FastSent+AE")
    assert {record["system"] for record in tables["overview"].records} == set(SYSTEMS)
    alike = {record["system"] for record in tables["overview"].records if record["treatment"] == "finished"}
    assert alike == set(SYSTEMS) - {"skip-thought", "contrastive"}
    tested = {record["system"] for record in tables["tasks-learnt"].records}
    assert tested == set(COMPARED)
    assert "BM25" in [row.cells[0].text for row in tables["tasks-learnt"].rows]
    timed = {record["system"]: record for record in tables["table3"].records}
    assert set(timed) == set(PARTS["table3"])
    assert all(record["one_pair"] > 0 and record["batched"] > 0 for record in timed.values())
    assert {record["system"] for record in tables["systems"].records} == set(SYSTEMS)
    figures = {figure.key: figure for figure in report.figures}
    assert {record["negative_examples"] for record in figures["figure3-siamese"].records} == set(TINY.negatives)
    assert {record["dimensions"] for record in figures["figure4-contrastive"].records} == set(TINY.dims)
    epochs = [record["epoch"] for record in figures["figure2-siamese"].records]
    assert epochs[0] == 0
    assert epochs[-1] == TINY.curve_epochs
    assert epochs == sorted(set(epochs))
    assert {1.0, 2.0} <= set(epochs)


def test_words_are_looked_up(made: Any) -> None:
    report, _, _ = made
    related = next(table for table in report.tables if table.key == "related")
    assert [row.cells[0].text for row in related.rows[:2]] == ["her", "me"]
    norms = next(table for table in report.tables if table.key == "norms")
    assert {record["among"] for record in norms.records} == {"all", "frequent"}


# the verdicts


def results(sets: list[PairSet], **cosines: Any) -> Results:
    """Systems with given cosines: a function from gold scores and a random generator to cosines."""
    found = Results()
    for key, make in cosines.items():
        found.systems[key] = []
        for seed in (1, 2, 3):
            rows = []
            for i, one in enumerate(sets):
                gold = np.nan_to_num(one.gold)
                made = make(gold, np.random.default_rng([i, len(key), seed]))
                unknown = {"official": 0, "paper": 0}
                rows.append({"set": one.name, "n_unknown": unknown, "empty": [], "cosines": list(made)})
            cosines_of = dict.fromkeys(SYSTEMS[key].treatments, rows)
            run = {"cosines": cosines_of, "train_seconds": 1.0, "n_words": 9, "dim": 2}
            found.systems[key].append(run)
    return found


def good(gold: Any, rng: Any) -> Any:
    return gold / 5 + rng.normal(size=len(gold)) * 0.01


def fair(gold: Any, rng: Any) -> Any:
    return gold / 5 + rng.normal(size=len(gold)) * 0.3 + 2


def poor(gold: Any, rng: Any) -> Any:
    return gold / 5 + rng.normal(size=len(gold)) * 0.8


def bad(gold: Any, rng: Any) -> Any:
    return -gold / 5


PARTS_COMPARED = ("table1", "table2", "analysis")


@pytest.mark.parametrize(("siamese", "verdict"), [(good, "holds"), (bad, "does not hold")])
def test_claims_follow_from_the_figures(sets: list[PairSet], siamese: Any, verdict: str) -> None:
    found = results(sets, random=poor, cbow=fair, skipgram=fair, siamese=siamese, fastsent=fair, contrastive=good)
    checked = {claim.key: claim for claim in claims(View(found, sets, PARTS_COMPARED))}
    assert checked["majority-siamese-learnt"].verdict == verdict
    assert checked["cbow-siamese-learnt"].verdict == verdict
    assert checked["cbow-siamese-finished"].setting == "as published, the same finishing for all"
    assert checked["random-siamese-learnt"].verdict == verdict
    assert checked["contrastive-cbow-full"].verdict == "holds"
    assert checked["contrastive-siamese-full"].verdict == "cannot be told"  # the same, or below random vectors
    assert "contrastive-cbow-learnt" not in checked  # its rivals get what the recipe adds to its objective, too
    assert checked["fastsent-siamese-learnt"].verdict == "does not hold"
    assert checked["daggers-siamese"].verdict == "holds"  # `fair` adds 2 to every cosine


def test_to_be_ahead_of_what_is_broken_is_no_merit(sets: list[PairSet]) -> None:
    found = results(sets, random=poor, cbow=bad, skipgram=fair, siamese=good)
    view = View(found, sets, PARTS_COMPARED)
    assert view.unsound("cbow").startswith("significantly below random vectors, by")
    assert view.unsound("skipgram") == ""
    for run in found.systems["skipgram"]:
        run["crowding"] = 0.6
    assert view.unsound("skipgram") == "collapsed: 60% of word pairs have a cosine above 0.6"
    checked = {claim.key: claim for claim in claims(View(found, sets, PARTS_COMPARED))}
    assert checked["cbow-siamese-learnt"].verdict == "cannot be told"
    assert "below random" in checked["cbow-siamese-learnt"].here
    assert checked["majority-siamese-learnt"].verdict == "cannot be told"
    assert "none of them is a sound rival" in checked["majority-siamese-learnt"].here


def test_skip_thought_counts_only_when_it_has_learnt_something(sets: list[PairSet]) -> None:
    found = results(sets, random=poor, siamese=good, **{"skip-thought": fair})
    found.systems["skip-thought"] = found.systems["skip-thought"][:1]
    rng = np.random.default_rng(1)
    for ranks, counts in ((rng.random(300), False), (rng.random(300) ** 3, True)):
        found.systems["skip-thought"][0]["next"] = ranks.tolist()
        view = View(found, sets, PARTS_COMPARED)
        assert ("hardly trained" not in view.unsound("skip-thought")) == counts
        claim = next(claim for claim in claims(view) if claim.key == "majority-siamese-learnt")
        assert claim.verdict == ("holds" if counts else "cannot be told")


def test_a_broken_rival_that_is_ahead_still_counts(sets: list[PairSet]) -> None:
    found = results(sets, random=poor, cbow=good, skipgram=poor, siamese=fair)
    for run in found.systems["cbow"]:
        run["crowding"] = 0.3
    view = View(found, sets, ("table1", "analysis"))
    assert view.rivals(("cbow", "skipgram"), "learnt").note == "; not sound rivals: word2vec CBOW"
    assert view.unsound("cbow", "finished") == "collapsed as learnt: 30% of word pairs have a cosine above 0.6"
    checked = {claim.key: claim for claim in claims(view)}
    assert checked["majority-siamese-learnt"].verdict == "does not hold"
    assert checked["daggers-siamese"].verdict == "cannot be told"  # any cosines differ from those of collapsed vectors
    assert "collapsed: 30%" in checked["daggers-siamese"].here


def test_the_highest_score_of_all_needs_a_sound_rival(sets: list[PairSet], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siamese_cbow.paper.claims_on_sets.TWEETS", (2014, "images"))

    def best_on_images(gold: Any, rng: Any) -> Any:
        return gold / 5 + rng.normal(size=len(gold)) * (0.001 if np.array_equal(gold, images.gold) else 0.8)

    images = next(one for one in sets if one.name == "2014 images")
    for crowding, verdict in ((0.0, "holds"), (0.3, "cannot be told")):
        found = results(sets, random=poor, cbow=poor, siamese=best_on_images)
        for run in found.systems["cbow"]:
            run["crowding"] = crowding
        checked = {claim.key: claim for claim in claims(View(found, sets, ("table1",)))}
        assert checked["tweets-highest-siamese-learnt"].verdict == verdict


def test_claims_about_skip_thought_alone_need_three_runs(sets: list[PairSet]) -> None:
    found = results(sets, random=fair, siamese=good, **{"skip-thought": bad})
    found.systems["skip-thought"] = found.systems["skip-thought"][:1]
    view = View(found, sets, PARTS_COMPARED)
    checked = {claim.key: claim for claim in claims(view)}
    assert checked["random-skip-thought-learnt"].verdict == "cannot be told"
    assert "1 training run, 3 needed" in checked["random-skip-thought-learnt"].here
    assert view.unsound("skip-thought").startswith("significantly below random vectors")


def test_a_task_on_which_a_baseline_is_below_random_proves_nothing(sets: list[PairSet]) -> None:
    found = results(sets, **{"random": poor, "cbow": fair, "cbow-tuned": fair, "siamese": good})
    means = {"random": 0.5, "cbow": 0.3, "cbow-tuned": 0.6, "siamese": 0.8}
    for key, mean in means.items():
        for run in found.systems[key]:
            items = (np.arange(200) < 200 * mean).astype(float).tolist()
            task = {"kind": "transfer", "task": "mr", "measure": "accuracy", "items": items}
            run["tasks"] = [{**task, "treatment": treatment} for treatment in ("learnt", "full")]
    checked = {claim.key: claim for claim in task_claims(View(found, sets, ("tasks",)))}
    for treatment in ("learnt", "full"):
        assert checked[f"tasks-siamese-cbow-{treatment}-mr-accuracy"].verdict == "cannot be told"
        assert "below random" in checked[f"tasks-siamese-cbow-{treatment}-mr-accuracy"].here
        assert checked[f"tasks-siamese-cbow-tuned-{treatment}-mr-accuracy"].verdict == "holds"


def test_one_training_decides_nothing(sets: list[PairSet]) -> None:
    found = results(sets, random=poor, cbow=fair, siamese=good)
    found.systems["siamese"] = found.systems["siamese"][:1]
    checked = {claim.key: claim for claim in claims(View(found, sets, ("table1",)))}
    assert checked["cbow-siamese-learnt"].verdict == "cannot be told"
    assert "1 training run, 3 needed" in checked["cbow-siamese-learnt"].here


def curve_of(levels: list[float], n_sets: int) -> list[dict[str, Any]]:
    """Three runs of five epochs: the scores of every set at the start, after half an epoch, and after each epoch."""
    rng = np.random.default_rng(1)

    def point(epoch: float, level: float) -> dict[str, Any]:
        resampled = (level + rng.normal(size=(500, n_sets)) * 0.001).tolist()
        pearsons = {protocol: [level] * n_sets for protocol in ("official", "paper")}
        return {"epoch": epoch, "pearsons": pearsons, "resampled": resampled, "undefined": [False] * n_sets}

    return [
        {"points": [point(epoch, level) for epoch, level in zip((0, 0.5, 1, 2, 3, 4, 5), levels, strict=True)]}
        for _ in range(3)
    ]


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [([0.2, 0.6, 0.5, 0.45, 0.4, 0.3, 0.2], "holds"), ([0.2, 0.6, 0.1, 0.2, 0.3, 0.4, 0.5], "does not hold")],
)
def test_a_fall_that_is_taken_back_is_not_steady(sets: list[PairSet], levels: list[float], verdict: str) -> None:
    found = Results(curves={"matched": curve_of(levels, len(sets))})
    checked = {claim.key: claim for claim in claims(View(found, sets, ("figure2",)))}
    assert checked["epochs-drops-matched"].verdict == verdict


@pytest.mark.parametrize(("last", "verdict"), [(0.6, "holds"), (0.45, "does not hold")])
def test_more_dimensions_must_not_do_worse_anywhere(sets: list[PairSet], last: float, verdict: str) -> None:
    levels = {50: 0.2, 100: 0.3, 200: 0.5, 300: last}
    runs = {dim: [run["points"][0] for run in curve_of([level] * 7, len(sets))] for dim, level in levels.items()}
    checked = {claim.key: claim for claim in claims(View(Results(dims={"matched": runs}), sets, ("figure4",)))}
    claim = checked["dimensions-trend-matched"]
    assert claim.verdict == verdict
    assert ("from 200 to 300" in claim.here) == (verdict == "does not hold")


@pytest.mark.parametrize(("many", "verdict"), [(0.5, "holds"), (0.57, "does not hold")])
def test_markedly_better_is_more_than_better(sets: list[PairSet], many: float, verdict: str) -> None:
    levels = {1: 0.6, 2: 0.6, 10: many}
    runs = {n: [run["points"][0] for run in curve_of([level] * 7, len(sets))] for n, level in levels.items()}
    checked = {claim.key: claim for claim in claims(View(Results(negatives={"matched": runs}), sets, ("figure3",)))}
    assert checked["negatives-few-matched"].verdict == verdict
    assert "95% interval" in checked["negatives-suffice-matched"].here


def test_claims_need_their_systems(sets: list[PairSet]) -> None:
    assert claims(View(Results(), sets, ("table1", "words", "figure2"))) == ()
    only = View(results(sets, siamese=good), sets, ("table1",))
    assert all("random" not in claim.claim for claim in claims(only))


def test_undefined_figures_are_reported_and_break_nothing(sets: list[PairSet]) -> None:
    constant = results(sets, siamese=lambda gold, rng: gold * 0, cbow=good, random=fair)
    view = View(constant, sets, ("table1", "analysis"))
    assert view.n_ahead("siamese", ["cbow"]) == (0, 0)
    assert claims(view) == ()
    assert view.better("siamese", "cbow").verdict == "cannot be told"
    assert "undefined" in " ".join(cell.text for row in length_and_overlap(view).tables[0].rows for cell in row.cells)


# the files


def test_every_file_is_there_and_can_be_read(made: Any) -> None:
    report, folder, _ = made
    for table in report.tables:
        with (folder / "tables" / f"{table.key}.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.DictReader(file))) == len(table.records)
    for figure in report.figures:
        root = ET.parse(folder / "figures" / f"{figure.key}.svg").getroot()
        assert root.tag.endswith("svg")
        assert (folder / "figures" / f"{figure.key}.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads((folder / "report.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert content["systems"]["cbow"]["scores"]["official"]["sets"][0]["dataset"] == "MSRpar"
    assert content["missing_sets"] == [f"{y} {n}" for y, n in paper_sets() if (y, n) not in named(report)]
    assert {claim["key"] for claim in content["claims"]} == {claim.key for claim in report.claims}


def named(report: Report) -> set[tuple[int, str]]:
    table = next(table for table in report.tables if table.key == "table1-paper")
    return {(record["year"], record["dataset"]) for record in table.records if record["n_pairs"]}


def test_the_page_is_one_whole_file(made: Any) -> None:
    report, folder, _ = made
    page = Page()
    page.feed((folder / "index.html").read_text("utf-8"))
    assert page.open == []
    assert page.addresses
    assert all(address.startswith("#") for address in page.addresses)
    assert len(page.ids) == len(set(page.ids))
    assert {address[1:] for address in page.addresses} <= set(page.ids)
    text = " ".join(page.text)
    assert all(claim.claim in text for claim in report.claims)
    assert all(table.title in text for table in report.tables)
    assert "url(" not in re.sub(r"url\(#[^)]*\)", "", (folder / "index.html").read_text("utf-8"))


def test_markdown_has_every_table_and_closes_its_cells(made: Any) -> None:
    report, _, _ = made
    text = markdown(report)
    for table in report.tables:
        assert f"### {table.title}" in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        widths = {len(re.split(r"(?<!\\)\|", line)) for line in block.strip().split("\n")}
        assert len(widths) == 1


def test_what_comes_from_the_text_is_escaped(tiny: None, sets: list[PairSet], tmp_path: Path) -> None:
    words = ["<script>", "a|b", "her", "*x*", "&amp;"]
    documents = [[[*np.roll(words, i)] for i in range(4)] for _ in range(300)]
    reproduce(Stream.of_words(documents), sets, tmp_path, only=["words"], quick=True, threads=1)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "a\\|b" in (tmp_path / "report.md").read_text("utf-8")


# the work


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the pieces that are really computed."""
    names: list[str] = []
    compute = work_plan.compute

    def counting(piece: Any, *arguments: Any) -> Any:
        names.append(piece.name)
        return compute(piece, *arguments)

    monkeypatch.setattr(work_plan, "compute", counting)
    return names


def test_progress_reaches_its_total_and_names_the_pieces(made: Any, stream: Stream, sets: list[PairSet]) -> None:
    _, _, said = made
    assert said.amount == pytest.approx(reproduction_work(stream, sets, quick=True))
    assert re.search(r"\d+ training runs to do; about .*, estimated from a short run of each kind", said.messages[0])
    told = r"\[\d+/\d+\] word2vec CBOW, seed 2: trained in .* left"
    assert any(re.fullmatch(told, message) for message in said.messages)


def test_a_second_run_does_nothing(made: Any, counted: list[str], stream: Stream, sets: list[PairSet]) -> None:
    report, folder, _ = made
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    tasks, said = read_tasks(folder.parent / "tasks"), Said()
    again = reproduce(stream, sets, folder, name="toys", quick=True, threads=1, tasks=tasks, progress=said)
    assert counted == []
    assert said.messages == [f"{folder} is up to date: nothing has changed since it was written"]
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert again.claims == report.claims
    assert not [path for path in (folder / "cache").iterdir() if path.is_dir()]


def test_an_interrupted_report_resumes(
    tiny: None, counted: list[str], monkeypatch: pytest.MonkeyPatch, stream: Stream, sets: list[PairSet], tmp_path: Path
) -> None:
    options: Any = {"only": ["table2", "figure3"], "quick": True, "threads": 1}
    compute = work_plan.compute

    def interrupted(piece: Any, *arguments: Any) -> Any:
        if len(counted) == 2:
            raise KeyboardInterrupt
        return compute(piece, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(work_plan, "compute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reproduce(stream, sets, tmp_path, **options)
    first, counted[:] = list(counted), []
    reproduce(stream, sets, tmp_path, **options)
    assert len(first) == 2
    assert not set(first) & set(counted)
    every = [f"system-{key}-{seed}" for key in PARTS["table2"] for seed in (1, 2, 3)]
    points = [f"point-{key}-negatives-{n}-1" for key in ("siamese", "matched") for n in TINY.negatives]
    assert sorted([*first, *counted]) == sorted([*every, *points])


def test_a_report_of_finished_work_says_what_is_missing(
    made: Any, counted: list[str], stream: Stream, sets: list[PairSet], tmp_path: Path
) -> None:
    whole, folder, _ = made
    options: Any = {"quick": True, "threads": 1, "tasks": read_tasks(folder.parent / "tasks"), "finished_only": True}
    shutil.copytree(folder / "cache", tmp_path / "cache")
    for path in (tmp_path / "cache").glob("system-fastsent-[23]-*.json"):
        path.unlink()
    report = reproduce(stream, sets, tmp_path, **options)
    assert counted == []
    assert report.data["left_out"] == ["system-fastsent-2", "system-fastsent-3"]
    assert any("2 of its" in line and "seeds 2 and 3 of FastSent." in line for line in report.summary)
    of_fastsent = [claim for claim in report.claims if claim.key.startswith("fastsent-")]
    assert {claim.verdict for claim in of_fastsent} == {UNDECIDED}
    assert {claim.key for claim in report.claims} == {claim.key for claim in whole.claims}
    with pytest.raises(InputError, match=r"none of the \d+ training runs in .*empty is finished"):
        reproduce(stream, sets, tmp_path / "empty", **options)
    with pytest.raises(SettingsError, match="give one of the two"):
        reproduce(stream, sets, tmp_path, **options, restart=True)


def test_a_broken_cache_entry_is_reported_and_computed_again(
    tiny: None, counted: list[str], stream: Stream, sets: list[PairSet], tmp_path: Path
) -> None:
    options: Any = {"only": ["table2"], "quick": True, "threads": 1}
    reproduce(stream, sets, tmp_path, **options)
    counted.clear()
    broken = {
        next((tmp_path / "cache").glob("system-fastsent-1-*.json")): '{"about": {}, ',
        next((tmp_path / "cache").glob("system-siamese-2-*.json")): '{"about": {}, "result": {}}',
    }
    for path, text in broken.items():
        path.write_text(text)
    said = Said()
    reproduce(stream, sets, tmp_path, progress=said, **options)
    assert sorted(counted) == ["system-fastsent-1", "system-siamese-2"]
    for path in broken:
        assert any(str(path) in message and "computed again" in message for message in said.messages)
        assert "result" in json.loads(path.read_text())


def test_other_settings_are_other_pieces(
    tiny: None, counted: list[str], stream: Stream, sets: list[PairSet], tmp_path: Path
) -> None:
    for options in ({}, {"seed": 11}, {"restart": True}, {}):
        reproduce(stream, sets[: 6 if options else 7], tmp_path, only=["table2"], quick=True, threads=1, **options)  # type: ignore[arg-type]
    assert len(counted) == 4 * 3 * len(PARTS["table2"])  # the last ones too: --restart has deleted the first
    assert Cache(tmp_path).get("x", {}) is None


def test_what_other_code_has_kept_is_computed_again(
    tiny: None, counted: list[str], monkeypatch: pytest.MonkeyPatch, stream: Stream, sets: list[PairSet], tmp_path: Path
) -> None:
    options: Any = {"only": ["table2"], "quick": True, "threads": 1}
    with monkeypatch.context() as patch:
        patch.setattr("siamese_cbow.paper.work_pieces.code_of", lambda *modules: "another")
        reproduce(stream, sets, tmp_path, **options)
    older = counted.copy()
    reproduce(stream, sets, tmp_path, **options)
    assert sorted(counted) == sorted(older * 2)


def test_code_is_what_is_run() -> None:
    of_pieces = work_pieces.code_of("siamese_cbow.paper.pieces")
    assert of_pieces == work_pieces.code_of("siamese_cbow.paper.pieces")
    assert of_pieces != work_pieces.code_of("siamese_cbow.paper.pieces", "siamese_cbow.baselines.fastsent")
    closure = work_pieces._closure(frozenset({"siamese_cbow.paper.pieces"}))
    assert {"siamese_cbow.evaluation.evaluate", "siamese_cbow.model.model"} <= closure
    assert "siamese_cbow.baselines.word2vec" not in closure  # changing one system doesn't affect the others
    assert "siamese_cbow.paper.claims" not in closure


def test_words_about_code_are_not_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    codes = []
    for text in ('"""One."""\nx = 1  # one\n', '"""Two."""\n\nx = 1\n', '"""One."""\nx = 2\n'):
        (tmp_path / "module.py").write_text(text)
        monkeypatch.setattr(work_pieces, "_path", lambda name: tmp_path / "module.py")
        for cached in (work_pieces._code_of, work_pieces._plain, work_pieces._imports):
            cached.cache_clear()
        codes.append(work_pieces.code_of("siamese_cbow.module"))
    assert codes[0] == codes[1] != codes[2]
    monkeypatch.undo()
    for cached in (work_pieces._code_of, work_pieces._plain, work_pieces._imports):
        cached.cache_clear()


def test_the_rate_makes_up_for_a_smaller_text() -> None:
    class Text:
        n_sentences = 517_797

    assert matched(Text()) == {"learning_rate": 0.01429, "epochs": 1}  # type: ignore[arg-type]
    Text.n_sentences = 74_004_228
    assert matched(Text())["learning_rate"] == pytest.approx(1e-4)  # type: ignore[arg-type]
    Text.n_sentences = 10_000
    few = matched(Text())  # type: ignore[arg-type]
    assert few["epochs"] == 8
    assert few["learning_rate"] * few["epochs"] * 100 == pytest.approx(74.0042, rel=1e-3)


def test_operations_are_counted() -> None:
    assert operations.averaging(5) == {operations.ADDED: 4, operations.SCALED: 1}
    assert operations.skip_thought(7) == {
        operations.MATRIX: 42, operations.ADDED: 35, operations.ELEMENTWISE: 21, operations.MULTIPLIED: 21
    }  # fmt: skip


def test_the_same_is_done_to_all_rows(stream: Stream) -> None:
    model = RandomVectors(dim=8).train(stream)
    every = treated(model, stream)
    assert list(every) == ["learnt", "finished", "full"]
    recipe = SiameseCBOW(dim=8, learning_rate=1e-12, share_stems=False, spelling=0.0, fallback="none")
    plain = replace(recipe, idf_power=0.0, length_power=1.0, common_directions=0).train(stream, threads=1)
    again = treated(plain, stream)["finished"]
    np.testing.assert_allclose(again.vectors, recipe.train(stream, threads=1).vectors, atol=1e-4)
    words = Vocabulary.of_words(["play", "plays", "sea"])
    rows = with_stems(np.array([[4.0], [6.0], [1.0]], np.float32), words, "en")
    np.testing.assert_array_equal(rows, [[9], [11], [1]])


def test_without_a_library_its_systems_are_left_out(
    tiny: None, monkeypatch: pytest.MonkeyPatch, stream: Stream, sets: list[PairSet], tmp_path: Path
) -> None:
    compute = work_plan.compute

    def without(piece: Any, *arguments: Any) -> Any:
        if piece.key in ("cbow", "skipgram", "skip-thought"):
            raise MissingExtra("gensim", "baselines")
        return compute(piece, *arguments)

    monkeypatch.setattr(work_plan, "compute", without)
    said = Said()
    report = reproduce(stream, sets, tmp_path, only=["table1", "words"], quick=True, threads=1, progress=said)
    table = next(table for table in report.tables if table.key == "table1-paper")
    assert "word2vec CBOW" not in table.columns
    assert "Siamese CBOW (as published)" in table.columns
    assert any("word2vec CBOW is left out" in message for message in said.messages)
    assert "pip install" in (tmp_path / "index.html").read_text("utf-8")


def test_mistakes_come_before_any_work(
    monkeypatch: pytest.MonkeyPatch, counted: list[str], stream: Stream, sets: list[PairSet], tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"no part 'table9'.*table1, table2"):
        reproduce(stream, sets, tmp_path, only=["table9"])
    with pytest.raises(InputError, match="no sets"):
        reproduce(stream, [], tmp_path)
    for library in ("matplotlib", "jinja2"):
        with monkeypatch.context() as patch:
            patch.setitem(__import__("sys").modules, library, None)
            with pytest.raises(MissingExtra, match=rf"{library}.*\[report\]"):
                reproduce(stream, sets, tmp_path, quick=True)
    assert counted == []
    assert checked_parts(["figure3", "table1"]) == ("table1", "figure3")


# small things


def test_names_of_lines_keep_apart() -> None:
    np.testing.assert_allclose(spread([0.5, 0.5], gap=0.1), [0.45, 0.55])
    np.testing.assert_allclose(spread([0.9, 0.1], gap=0.1), [0.9, 0.1])
    rng = np.random.default_rng(0)
    for n in (0, 1, 5, 9):
        wanted = rng.random(n)
        found = np.array(spread(list(wanted), gap=0.07))
        assert (np.diff(np.sort(found)) > 0.07 - 1e-9).all()
        assert list(np.argsort(found)) == list(np.argsort(wanted))


def test_seconds_are_short() -> None:
    assert [seconds(x) for x in (98804.0, 7.7, 0.0004, 0.00004, 2e-8)] == [
        "98,804 s", "7.7 s", "400 µs", "40 µs", "0.0 µs"
    ]  # fmt: skip


# other people's files


def test_files_of_others_stay(tmp_path: Path, made: Any) -> None:
    report, _, _ = made
    for name in ("index.html", "tables/mine.csv"):
        folder = tmp_path / name.partition("/")[0]
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("mine")
        with pytest.raises(InputError, match=r"which `reproduce` did not write"):
            write_report(report, folder)
        assert [path.read_text() for path in folder.rglob("*.*") if path.is_file()] == ["mine"]
    folder = tmp_path / "report"
    write_report(report, folder)
    (folder / "tables" / "mine.csv").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    before = {path.name for path in folder.rglob("*")}
    write_report(replace(report, sections=report.sections[:1]), folder)
    after = {path.name for path in folder.rglob("*")}
    assert {"mine.csv", "notes.txt", "index.html"} <= after < before


def test_restart_forgets_what_is_ours(tmp_path: Path) -> None:
    heard = Said()
    cache = Cache(tmp_path / "cache", progress=heard)
    cache.put("system-cbow", {"dim": 3}, {"a": 1})
    (tmp_path / "cache" / "thesis.txt").write_text("mine")
    cache.clear()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["thesis.txt"]
    assert "thesis.txt is not part of the cache and is kept" in heard.messages[0]
    (tmp_path / "cache" / "thesis.txt").unlink()
    cache.clear()
    assert not (tmp_path / "cache").exists()
