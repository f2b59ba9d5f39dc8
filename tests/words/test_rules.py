"""The rule that splits text into words: stored with everything it has split, and never mistaken for another rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow as sc
from siamese_cbow.cli import main
from siamese_cbow.retrieval.manifest import fingerprint
from siamese_cbow.words import tokenizer as module
from siamese_cbow.words.json_tokenizer import known_tokenizer
from siamese_cbow.words.tokenizer import RULE, RULES, Tokenizer, every_tokenizer


def small_model() -> sc.Model:
    return sc.Model(sc.Vocabulary.of_words(["the", "cat"]), np.eye(2, dtype=np.float32))


def changed(path: Path, rule: Any) -> None:
    """Sets another rule in a config.json or stream.json; None removes it, because 0.1.0 wrote none."""
    content = json.loads(path.read_text("utf-8"))
    settings = content["tokenizer"] if "tokenizer" in content else content["settings"]["tokenizer"]
    assert settings.pop("rule") == RULE
    settings |= {} if rule is None else {"rule": rule}
    path.write_text(json.dumps(content), "utf-8")


def test_settings_hold_the_rule() -> None:
    assert Tokenizer().settings() == {"kind": "words", "lowercase": True, "punctuation": True, "rule": RULE}
    assert Tokenizer.from_settings({"kind": "words", "lowercase": True, "punctuation": True}).rule == 1
    assert Tokenizer() != Tokenizer.from_settings({}) or RULE == 1


def test_a_newer_rule_is_refused_with_what_to_install() -> None:
    with pytest.raises(sc.SettingsError, match=r"rule is 99; .* reads 1 and 2; type pip install -U siamese-cbow"):
        Tokenizer.from_settings({**Tokenizer().settings(), "rule": 99})
    for wrong in ("new", [1], None):
        with pytest.raises(sc.SettingsError, match="expected a whole number"):
            Tokenizer.from_settings({"rule": wrong})


def test_a_rule_that_was_dropped_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RULES", {2: "0.7.0"})
    monkeypatch.setattr(module, "RULE", 2)
    with pytest.raises(sc.SettingsError, match=r"rule is 1; this siamese-cbow reads 2; .*'siamese-cbow<0.7.0'"):
        Tokenizer.from_settings({})


def test_every_rule_differs_from_the_others() -> None:
    for tokenizer in every_tokenizer():
        found = known_tokenizer(tokenizer.to_json([]))
        assert found is not None
        assert found.to_json([]) == tokenizer.to_json([]), "a language may make no difference to this one"
    for rule in RULES:
        assert known_tokenizer(Tokenizer(rule=rule).to_json([])) == Tokenizer(rule=rule)


def test_models_hold_the_rule(tmp_path: Path) -> None:
    small_model().save(tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    assert json.loads(config.read_text("utf-8"))["tokenizer"]["rule"] == RULE
    changed(config, 99)
    with pytest.raises(sc.FormatError, match="rule is 99"):
        sc.load(tmp_path / "m")
    small_model().save(tmp_path / "old")
    changed(tmp_path / "old" / "config.json", None)
    assert sc.load(tmp_path / "old").tokenizer.rule == 1
    assert sc.load().tokenizer.rule == RULE


def test_indexes_go_by_the_rule_of_their_model() -> None:
    model = small_model()
    old = sc.Model(model.vocabulary, model.vectors, Tokenizer(rule=1))
    assert fingerprint(old) == "53410324ed7bc225a796af56fbd74681", "as 0.1.0 has it in its indexes"


def test_streams_hold_the_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("the cat sat\nthe dog sat\n")
    sc.prepare(tmp_path / "text.txt", output=tmp_path / "s", min_count=1)
    assert sc.Stream.load(tmp_path / "s").about["settings"]["tokenizer"]["rule"] == RULE
    changed(tmp_path / "s" / "stream.json", 99)
    with pytest.raises(SystemExit) as stop:
        main(["train", str(tmp_path / "s"), "-o", str(tmp_path / "m")])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "rule is 99; this siamese-cbow reads" in said
    assert f"siamese-cbow prepare TEXT -o {tmp_path / 's'}" in said
