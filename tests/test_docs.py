"""README and docs: commands parse, names exist, links work, and the page on formats describes real files."""

from __future__ import annotations

import ast
import inspect
import json
import re
import runpy
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import siamese_cbow as sc
from siamese_cbow.cli import COMMANDS, group, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = "siamese-cbow "


def blocks(page: Path, *kinds: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text("utf-8")) if kind in kinds]


def commands(page: Path) -> list[list[str]]:
    """The arguments of each `siamese-cbow ...` in the blocks of a page; for a pipeline, those of its first command."""
    lines = [line.removeprefix("$ ") for text in blocks(page, "console", "text", "") for line in text.splitlines()]
    calls = [line[line.index(PROGRAM) :] for line in lines if re.match(rf"(?:\S.* && |export \S+ )?{PROGRAM}\w", line)]
    split = [shlex.split(call, comments=True)[1:] for call in calls]
    ends = [min((i for i, word in enumerate(words) if word in "|<>"), default=len(words)) for words in split]
    return [words[:end] for words, end in zip(split, ends, strict=True) if words[0] in COMMANDS]


def test_there_are_commands_to_look_at() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 60


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_have_the_options_that_are_shown(page: Path) -> None:
    parent = group.make_context("siamese-cbow", [next(iter(COMMANDS))])
    for name, *arguments in commands(page):
        command = group.get_command(parent, name)
        assert command is not None
        try:
            command.make_context(name, list(arguments), parent=parent)
        except click.UsageError as error:
            pytest.fail(f"{page.name}: siamese-cbow {name} {shlex.join(arguments)}: {error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_options_in_the_text_exist(page: Path) -> None:
    """`--layout`, also between commands; options of pip, docker and other programs are not checked."""
    parent = group.make_context("siamese-cbow", [next(iter(COMMANDS))])
    known = {"--version"}
    for name in COMMANDS:
        command = group.get_command(parent, name)
        assert command is not None
        context = click.Context(command, parent)
        known |= {option for each in command.get_params(context) for option in (*each.opts, *each.secondary_opts)}
    theirs = {
        "--head",
        "--num-cpus",
        "--object-store-memory",
        "--write",
        "--scale",
        "--only",
        "--json",
        "--write-recipe",
    }
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    used = {word for code in re.findall(r"`([^`\n]+)`", text) if "python -m" not in code and "docker" not in code
            for word in re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)}  # fmt: skip
    assert sorted(used - known - theirs) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_is_python_and_public_names_exist(page: Path) -> None:
    for text in blocks(page, "python", "pycon"):
        code = (
            "\n".join(line[4:] for line in text.splitlines() if line[:4] in (">>> ", "... ")) if ">>>" in text else text
        )
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sc":
                assert hasattr(sc, node.attr), f"sc.{node.attr}"


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("[CS]*.md"))], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        to = (page.parent / name).resolve() if name else page
        assert to.exists(), target
        if anchor and to.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", to.read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}
            assert anchor in slugs, target


SCORE = re.compile(r"(?<![\w.])\.\d{3,4}(?!\d)")  # .709, .7091
QUOTED = {"evaluation.md"}  # the paper's figures, and what `evaluate random` prints


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in QUOTED], ids=lambda page: page.name)
def test_scores_are_those_of_the_results(page: Path) -> None:
    """Each score in text or tables is, up to rounding, on a results/ page that the same page names."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    named = {ROOT / "results" / path for name in re.findall(r"results/([\w-]+)", text)
             for path in (f"{name}.md", f"{name}/report.md")}  # fmt: skip
    known = "".join(path.read_text("utf-8") for path in named if path.is_file())
    measured = [float(number) for number in re.findall(r"(?<![\d.])\d*\.\d+", known)]
    shown = {score for score in SCORE.findall(text) if 0.1 <= float(score) <= 0.95}  # other numbers may be settings
    stale = [
        score
        for score in shown
        if all(abs(number - float(score)) > 0.501 * 10 ** (1 - len(score)) for number in measured)
    ]
    assert stale == []


def test_the_method_shows_the_kernels_as_they_are() -> None:
    page = (ROOT / "docs" / "method.md").read_text("utf-8")
    shown = re.findall(r"^From `(\S+\.py)`[^\n]*\n\n```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(shown) == page.count("```python") - 1  # the first block is the definition in NumPy
    kernels = ROOT / "src" / "siamese_cbow" / "kernels"
    assert [path for path, code in shown if code not in (kernels / path).read_text("utf-8")] == []


FEW = sc.Vocabulary.of_words(["east", "north", "between"])
VECTORS = np.array([[1, 0, 0.5], [0, 1, -0.25], [0.6, -1.0, 0.25]], np.float32)


def tensors(path: Path) -> dict[str, np.ndarray]:
    """A safetensors file by its definition: eight bytes of length, JSON, numbers."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    kinds = {"F32": np.float32, "F16": np.float16, "I8": np.int8, "U8": np.uint8, "F64": np.float64}
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], kinds[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
    }


def test_a_model_can_be_read_by_the_page_on_formats(tmp_path: Path) -> None:
    model = sc.Model(FEW, VECTORS)
    model.save(tmp_path / "float32")
    np.testing.assert_array_equal(tensors(tmp_path / "float32" / "model.safetensors")["embeddings"][:-1], VECTORS)
    model.compress("int8").save(tmp_path / "int8")
    small = tensors(tmp_path / "int8" / "model.safetensors")
    rows = small["embeddings"] * small["weights"][:, None]
    np.testing.assert_allclose(rows[:-1], VECTORS, atol=0.005)
    assert not rows[-1].any()
    model.compress("int4").save(tmp_path / "int4", int4=True)
    packed = tensors(tmp_path / "int4" / "model.safetensors")
    pairs = np.stack([packed["codes"] & 15, packed["codes"] >> 4], axis=2).astype(int) - 8
    rows = pairs.reshape(len(VECTORS), -1)[:, :3] * packed["scales"][:, None]
    np.testing.assert_allclose(rows, sc.load(tmp_path / "int4").vectors, atol=1e-6)
    assert pairs[2].ravel()[:3].tolist() == [4, -7, 2]  # the example of the page
    lines = (tmp_path / "float32" / "vocabulary.txt").read_text("utf-8").splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == FEW.words


def test_unknown_words_can_be_composed_by_the_page_on_formats() -> None:
    code = "".join(blocks(ROOT / "docs" / "formats.md", "python"))
    page: dict[str, Any] = {}
    exec(code[: code.index("rows = ")] + code[code.index("SEED, ") :], page)
    model = sc.load()
    stored = Path(sc.__file__).parent / "pretrained" / "ngrams.safetensors"
    for word in ("zzqwx", "kdoe77x", "2.19.77", "naïvezz" * 15):
        assert word not in model
        np.testing.assert_allclose(page["composed"](word, stored), model.encode(word), atol=1e-6)


def test_a_stream_can_be_read_by_the_page_on_formats(tmp_path: Path) -> None:
    documents = [["the cat sat", "the dog ran"], ["a cat ran"]]
    sc.prepare(documents, output=tmp_path / "s", min_count=1, text=sc.TextSettings(layout="sentences", language="en"))
    words = [line.split(" ", 1)[1] for line in (tmp_path / "s" / "vocabulary.txt").read_text("utf-8").splitlines()]
    ids, sentences, bounds = (np.load(tmp_path / "s" / f"{name}.npy") for name in ("ids", "sentences", "documents"))
    assert (ids.dtype, sentences.dtype, bounds.dtype) == (np.int32, np.int64, np.int64)
    read = [" ".join(words[i] for i in ids[a:b]) for a, b in pairwise(sentences)]
    assert [read[a:b] for a, b in pairwise(bounds)] == documents


def test_formats_names_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    text = tmp_path / "a.txt"
    text.write_text("\n".join(["the cat sat", "a dog ran"] * 20) + "\n")
    sc.Model(FEW, VECTORS).with_fallback("ngrams").save(tmp_path / "m")
    main(["index", str(text), "-o", str(tmp_path / "ix")])
    capsys.readouterr()
    for folder in ("m", "ix"):
        for path in (tmp_path / folder).rglob("*"):
            if path.is_file():
                assert path.name in page or (path.parent.name.startswith("fit-") and "fit-*/*.npy" in page), path.name


def test_columns_of_parameters_become_lists() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "docs_parameters.py"))["listed"]
    text = "Reads text.\n\na, b   one\n         and more\nlong_name  two\n\nNot  so.\nNor this."
    assert tool(text) == ("Reads text.\n\n- **a, b**: one and more\n- **long_name**: two\n\nNot  so.\nNor this.")
    assert tool("Adds.\n\n>>> 1 + 1\n2") == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```"


@pytest.mark.parametrize("name", sc.__all__)
def test_no_columns_of_parameters_are_left(name: str) -> None:
    """A name that fills its column leaves one space, and the whole block would become one paragraph."""
    tool = runpy.run_path(str(ROOT / "tools" / "docs_parameters.py"))
    text = tool["listed"](inspect.getdoc(getattr(sc, name)) or "")
    assert [line for line in text.splitlines() if re.match(r"\w+ {4,}\w", line)] == []


@pytest.mark.parametrize("name", ["cluster", "scaling"])
def test_tables_of_figures_are_those_of_the_results(name: str) -> None:
    """A table with the header of a table in results/ has only rows of that page."""
    pages = [path.read_text("utf-8").splitlines() for path in sorted((ROOT / "results").glob("*.md"))]
    measured = {line for page in pages for line in page if line.startswith("|")}
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    tables = [table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    taken = [table for table in tables if table[0] in measured]
    assert len(taken) >= 2
    assert [line for table in taken for line in table if line not in measured] == []


def test_mentions_of_results_become_links() -> None:
    linked = runpy.run_path(str(ROOT / "tools" / "docs_results.py"))["linked"]
    text = "See `results/train.md`, `results/reproduce-novels`, `results/`.\n![x](../results/compress.svg)\n`results/x`"
    assert linked(text) == (
        "See [`results/train.md`](results/train.md), [`results/reproduce-novels`](results/reproduce-novels/report.md), "
        "`results/`.\n![x](results/compress.svg)\n`results/x`"
    )
