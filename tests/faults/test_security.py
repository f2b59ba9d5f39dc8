"""What SECURITY.md promises: no code from files, nothing outside the output, markup stays text, limits hold."""

from __future__ import annotations

import ast
import hmac
import io
import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow
from serve_world import running
from siamese_cbow import Model, Stream, Vocabulary, evaluate
from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.evaluation.download import unpack
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.model.card import model_card
from siamese_cbow.paper.document import Claim, Figure, Panel, Report, Section, Series, Table, text_row
from siamese_cbow.paper.writing import markdown, page

PACKAGE = Path(siamese_cbow.__file__).parent
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "yaml", "subprocess", "pty", "code"}
FORBIDDEN_CALLS = {"eval", "exec", "__import__", "os.system", "os.popen", "torch.load", "yaml.load", "pickle.loads",
                   "pickle.load", "numpy.load", "np.load"}  # fmt: skip
FORBIDDEN_BEGINNINGS = ("os.exec", "os.spawn", "os.posix_spawn")
# Each with its reason. Whatever is added here runs code or starts programs: review it carefully.
# This Python with a fixed program: splits text on all cores, and compiles kernels while text is read.
ALLOWED_MODULES = {("text.splitters", "subprocess"), ("training.ahead", "subprocess")}
SAFE_OPTIONS = {"np.load": ("allow_pickle", False), "torch.load": ("weights_only", True)}

# Would run, or change the page, if it weren't treated as text; it would set `window.owned`.
SCRIPT = "<script>window.owned=1</script>"
IMAGE = '"><img src=x onerror=window.owned=1>'
LINK = "[x](javascript:window.owned=1)"
EVENT = "' onmouseover='window.owned=1"
NASTY = [SCRIPT, IMAGE, LINK, EVENT, "</td></table><svg/onload=window.owned=1>", "{{7*7}}", "${window.owned=1}"]


def dotted(node: ast.expr) -> str:
    """`os.system` -> "os.system"; anything but a plain name gives ""."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def dangers(source: str, module: str) -> Iterator[str]:
    """Everything in a module that could run code from a file or start a program."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").partition(".")[0]]
        for name in names:
            if name in FORBIDDEN_MODULES and (module, name) not in ALLOWED_MODULES:
                yield f"{module} line {node.lineno} imports {name}"
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            option, value = SAFE_OPTIONS.get(name, ("", None))
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            is_safe = option in given and ast.unparse(given[option]) == repr(value)
            if (name in FORBIDDEN_CALLS or name.startswith(FORBIDDEN_BEGINNINGS)) and not is_safe:
                yield f"{module} line {node.lineno} calls {name}"
            for keyword, wrong in (("shell", "True"), ("trust_remote_code", "True"), ("allow_pickle", "True")):
                if keyword in given and ast.unparse(given[keyword]) == wrong:
                    yield f"{module} line {node.lineno} says {keyword}={wrong}"


def test_nothing_in_the_package_runs_what_a_file_brings() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 100
    found = [
        danger
        for path in paths
        for danger in dangers(
            path.read_text("utf-8"), ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        )
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from pickle import loads", "eval('1')", "import os\nos.system('x')", "torch.load(f)",
     "torch.load(f, weights_only=False)", "np.load(f)", "np.load(f, allow_pickle=True)", "import subprocess",
     "os.execv('a', [])", "f(shell=True)", "AutoModel.from_pretrained(x, trust_remote_code=True)"],
)  # fmt: skip
def test_the_walk_sees_what_it_should(source: str) -> None:
    assert list(dangers(source, "a.b"))


@pytest.mark.parametrize("name", ["../evil.txt", "/tmp/evil-siamese-cbow.txt", "a/../../evil.txt", "..\\evil.txt"])
def test_archives_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    place = tmp_path / "inner" / "place"
    for kind in ("zip", "tgz"):
        path = tmp_path / f"a.{kind}"
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(name, "evil")
        else:
            with tarfile.open(path, "w:gz") as tar:
                member = tarfile.TarInfo(name)
                member.size = 4
                tar.addfile(member, io.BytesIO(b"evil"))
        try:
            unpack(path, place)
        except InputError as error:
            assert "evil" in str(error) or path.name in str(error)  # noqa: PT017 (either outcome will do)
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and place not in p.parents and p.suffix == ".txt"]
    assert not outside
    assert not Path("/tmp/evil-siamese-cbow.txt").exists()


def test_a_pipe_in_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    """An archive may contain one, and opening it would block for ever."""
    for folder, name, load in (("m", "config.json", siamese_cbow.load), ("s", "stream.json", Stream.load)):
        (tmp_path / folder).mkdir()
        os.mkfifo(tmp_path / folder / name)
        with pytest.raises(SiameseCBOWError):
            load(tmp_path / folder)


def test_keys_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with `==`, which stops at the first letter that differs."""
    source = (PACKAGE / "serve" / "middleware.py").read_text("utf-8")
    compared = [dotted(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    assert "hmac.compare_digest" in compared
    assert not [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq) and "_key" in ast.unparse(node)
    ]
    assert hmac.compare_digest(b"a", b"a")


# markup


def nasty_model() -> Model:
    rows = np.random.default_rng(1).standard_normal((len(NASTY) + 3, 8)).astype(np.float32)
    info = {"data": SCRIPT, "recipe": {"name": IMAGE, "dim": 8}, "licence": LINK}
    return Model(Vocabulary.of_words([*NASTY, "cat", "dog", "the"]), rows, info=info)


def nasty_report() -> Report:
    claim = Claim(SCRIPT, SCRIPT, IMAGE, "holds")
    panel = Panel(SCRIPT, IMAGE, EVENT, (Series(SCRIPT, (1.0, 2.0), (0.1, 0.2)),), ticks=((1.0, IMAGE), (2.0, SCRIPT)))
    table = Table("t", SCRIPT, IMAGE, (SCRIPT, IMAGE), (text_row(SCRIPT, EVENT),), ({"a": SCRIPT},))
    figure = Figure("f", SCRIPT, IMAGE, (panel,))
    section = Section("s", IMAGE, (SCRIPT, LINK), (table,), (figure,))
    return Report(SCRIPT, (IMAGE, SCRIPT), (claim,), (section,), {"command": f"reproduce {SCRIPT}"})


def notebook_html() -> str:
    stream = Stream.of_words([[[SCRIPT, "cat"], [IMAGE, "cat"]]])
    pairs = PairSet(2014, "x", (("the cat", "cat"), ("dog", "the"), ("the dog", "cat")), np.array([5.0, 1, 0]))
    scores = evaluate(nasty_model(), [pairs])._repr_html_()
    return nasty_model()._repr_html_() + stream._repr_html_() + scores


def test_markup_in_a_card_is_text() -> None:
    for text in (model_card(nasty_model(), SCRIPT), markdown(nasty_report())):
        blocks = "".join(text.split("```")[::2])
        outside_code = "\n".join(line for line in blocks.splitlines() if not line.startswith("    "))
        assert "<script" not in outside_code.replace("\\<script", "").replace("`<script", "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        if os.environ.get("BROWSER_TESTS") == "required":
            pytest.fail("no browser found, and this run requires one: apt-get install chromium")
        pytest.skip("no browser found: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield one
        one.close()


def test_markup_is_text_in_a_browser(browser: Any, tmp_path: Path) -> None:
    """In report and notebook: nothing runs, and no element comes from a text."""
    for name, html in (("report", page(nasty_report())), ("notebook", notebook_html())):
        path = tmp_path / f"{name}.html"
        path.write_text(html, "utf-8")
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(path.as_uri())
        tab.wait_for_timeout(200)
        assert tab.evaluate("window.owned") is None, name
        assert tab.locator("img[src=x]").count() == 0, name
        assert tab.locator("a[href^=javascript]").count() == 0, name
        assert SCRIPT in tab.inner_text("body"), name  # it is there as readable text
        context.close()


def test_markup_is_text_in_the_explorer(browser: Any, tmp_path: Path) -> None:
    nasty_model().save(tmp_path / "m")
    with running(tmp_path / "m") as server:
        context = browser.new_context()
        tab = context.new_page()
        for view in ("sentences", "words", "map", "compare", "norms", "search"):
            tab.goto("about:blank")
            tab.goto(f"{server.url}/#{view}")
            tab.wait_for_load_state("networkidle")
            for field in tab.locator("input[type=text]:visible, input[type=search]:visible, textarea:visible").all():
                field.fill(f"{IMAGE} cat {SCRIPT}")
                field.press("Enter")
            tab.wait_for_timeout(150)
            assert tab.evaluate("window.owned") is None, view
            assert tab.locator("img[src=x]").count() == 0, view
        policy = tab.request.get(server.url).headers.get("content-security-policy", "")
        assert "default-src" in policy or "script-src" in policy
        context.close()
