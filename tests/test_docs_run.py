"""The docs are executed: the commands and Python of each page, in order, on small files with the same names.

Each page has its own folder. SKIPPED lists what is not run, with the test that covers it. Other tests run README.md
(`test_readme`), interop.md (`test_docs_interop`) and the interactive examples in text.md (`test_corpus`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import siamese_cbow as sc
from docs_world import write_world
from serve_world import running
from siamese_cbow.cli import main
from siamese_cbow.training.siamese_cbow import read_recipe

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"(?:-o |output=\")([\w./-]+)")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
ELSEWHERE = ("commands.md", "interop.md")  # generated; run by `test_docs_interop`
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in ELSEWHERE]
# Words of a command or of a block of Python -> why it is not run here.
SKIPPED = {
    "siamese-cbow serve": "runs until it is stopped: tests/serve",
    "siamese-cbow demo": "copies two million words: tests/cli/test_demo.py",
    "siamese-cbow download": "needs a network: tests/evaluation/test_download.py",
    "siamese-cbow reproduce": "takes minutes: tests/cli/test_reproduce.py",
    "sc.reproduce(": "takes minutes: tests/paper",
    "SkipThought(": "takes minutes: tests/baselines",
    "--cluster": "needs a cluster: tests/cluster",
    "sc.RayCluster(": "needs a cluster: tests/cluster",
    "sentence-transformers/": "needs a network",
    "SentenceTransformer(": "takes long to import: tests/integrations/test_docs_interop.py",
    "OpenAI(": "needs a server: below",
    "pyarrow is not installed": "needs an environment without the extra: tests/test_extras.py",
}
SHOWN = ("pretrained.md",)  # pages whose output depends only on the packaged model and must be up to date
UPDATE = "run: python tools/docs_sessions.py"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    write_world(folder)
    return folder


def left_to_the_reader() -> dict[str, Any]:
    """The names that pages use without defining them."""
    streams = {name: sc.Stream.load(f"data/{name}") for name in ("wikipedia", "captions", "novels")}
    texts = {"headlines": ["Taxes rise again", "The house is old"] * 50, "sets": sc.sts("data/sts")}
    return {"sc": sc, "np": np, "model": sc.load("models/books"), "stream": streams["wikipedia"], **streams, **texts}


def is_skipped(text: str) -> bool:
    return any(words in text for words in SKIPPED)


def sessions(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with the output shown below it."""
    command, shown = "", ""
    for line in [*block.splitlines(), "$ "]:
        typed = line.removeprefix("$ ")
        if line.startswith("$ ") or typed.startswith("siamese-cbow "):
            if command.startswith(("siamese-cbow ", "export ")):
                yield command, shown
            command, shown = typed, ""
        else:
            shown += f"{line}\n"


def run_command(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(command, comments=True)
    if words[0] == "export":
        monkeypatch.setenv(*words[1].split("=", 1))
    elif set(words) & {"|", "<"}:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        subprocess.run(["bash", "-c", command], check=True, env={**os.environ, "PATH": path}, stdout=subprocess.DEVNULL)
    else:
        main(words[1:])


def is_like(got: str, shown: str) -> bool:
    """Whether two outputs are equal up to the last digits of their numbers."""
    numbers = [[float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (got, shown)]
    return NUMBER.sub("0", got) == NUMBER.sub("0", shown) and numbers[0] == pytest.approx(numbers[1], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(
    page: Path, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page.read_text("utf-8")
    shutil.copytree(world, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("SIAMESE_CBOW_MODEL", raising=False)
    names = left_to_the_reader()
    for name in OUTPUT.findall(text):
        shutil.rmtree(name, ignore_errors=True)  # the page makes this folder
    checks: dict[str, Callable[[str], Any]] = {"toml": checked_recipe, "json": json.loads}
    for kind, block in BLOCK.findall(text):
        if kind == "python" and ">>>" not in block and not is_skipped(block):
            exec(compile(block, page.name, "exec"), names)
        elif kind in checks:
            checks[kind](block)
        for command, shown in sessions(block) if kind in ("", "console") else ():
            if not is_skipped(command + shown):
                run_command(command, monkeypatch)
                out, err = capsys.readouterr()
                assert page.name not in SHOWN or not shown or is_like(err + out, shown), f"{err + out}{UPDATE}"


def checked_recipe(block: str) -> None:
    Path("recipe.toml").write_text(block)
    read_recipe("recipe.toml")


@pytest.mark.slow
def test_the_server_answers_as_shown() -> None:
    """The requests of serve.md, sent to a server with the packaged model."""
    pytest.importorskip("openai", reason="OpenAI's client is in the extra test", exc_type=ImportError)
    text = (ROOT / "docs" / "serve.md").read_text("utf-8")
    requests = re.findall(r"^\$ curl localhost:8080(\S+) --json '(.*)'\n(.+)$", text, re.MULTILINE)
    assert len(requests) > 3
    blocks = [block for kind, block in BLOCK.findall(text) if kind == "python"]
    with running() as server:
        for path, body, shown in requests:
            answer = httpx.post(f"{server.url}{path}", json=json.loads(body), timeout=60).text
            assert is_like(answer, shown), f"{answer}\n{UPDATE}"
        for block in blocks:
            names: dict[str, Any] = {}
            exec(compile(block.replace("http://127.0.0.1:8080", server.url), "serve.md", "exec"), names)
            names["client"].close()
