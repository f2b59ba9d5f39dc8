"""The application: endpoints, the page, and the guard around them."""

from __future__ import annotations

import importlib.metadata
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from siamese_cbow.errors import InputError
from siamese_cbow.model.model import Model
from siamese_cbow.serve.api import Texts
from siamese_cbow.serve.embedder import Embedder, Embeds
from siamese_cbow.serve.explorer import Explorer
from siamese_cbow.serve.limits import Limits
from siamese_cbow.serve.metrics import Metrics
from siamese_cbow.serve.middleware import Guard
from siamese_cbow.serve.openapi import GETS, POSTS, description
from siamese_cbow.serve.problems import Problem, json_response
from siamese_cbow.serve.registry import Shelf

PAGE = Path(__file__).parent / "page"
PAGE_FILES = frozenset(
    f"/page/{path.name}" for path in PAGE.glob("*.*")
)  # served without a key, which the page asks for
WITHOUT_KEY = frozenset({"/", "/health", "/openapi.json"})


def build(
    models: Mapping[str, Model | Embeds], *, limits: Limits | None = None, api_key: str | None = None, warm: bool = True
) -> Guard:
    """The ASGI application over some models: `build({"books": model}, api_key="secret")`.

    warm  load the bulk path in a thread once the application starts
    """
    limits, shelf, metrics = limits or Limits(), Shelf(models), Metrics()
    texts = Texts(shelf, limits, metrics)
    explorer = Explorer(shelf, limits, texts)
    about = _About(shelf, metrics, limits, has_key=api_key is not None)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if warm:  # as a daemon: a server that is told to stop doesn't wait for a compiler
            threading.Thread(target=shelf.warm, name="warm", daemon=True).start()
        yield
        texts.pool.shutdown(cancel_futures=True)

    routes = [
        Route("/v1/embeddings", texts.embeddings, methods=["POST"]),
        Route("/similarity", texts.similarity, methods=["POST"]),
        Route("/neighbours", texts.neighbours, methods=["POST"]),
        Route("/search", texts.search, methods=["POST"]),
        Route("/explore/map", explorer.map, methods=["POST"]),
        Route("/explore/norms", explorer.norms),
        Route("/explore/settings", explorer.settings),
        Route("/v1/models", about.models),
        Route("/v1/models/{name:path}", about.model),
        Route("/health", about.health),
        Route("/metrics", about.metrics),
        Route("/openapi.json", about.openapi),
        Route("/", _page),
        Mount("/page", StaticFiles(directory=PAGE)),
    ]
    handlers = {Problem: _problem, InputError: _bad_input, HTTPException: _http_problem, Exception: _mistake}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)  # type: ignore[arg-type]
    app.router.redirect_slashes = False
    paths = {*POSTS, *GETS, "/", "/openapi.json"}
    return Guard(app, limits=limits, api_key=api_key, metrics=metrics, paths=paths, open_paths=WITHOUT_KEY | PAGE_FILES)


class _About:
    """What there is to know of the server itself."""

    def __init__(self, shelf: Shelf, metrics: Metrics, limits: Limits, *, has_key: bool) -> None:
        self._shelf, self._metrics = shelf, metrics
        self._description = description(limits, importlib.metadata.version("siamese-cbow"), has_key=has_key)

    async def models(self, _: Request) -> Response:
        return json_response({"object": "list", "data": [entry.described for entry in self._shelf]})

    async def model(self, request: Request) -> Response:
        return json_response(self._shelf[request.path_params["name"]].described)

    async def health(self, _: Request) -> Response:
        is_warm = all(entry.embedder.is_warm for entry in self._shelf if isinstance(entry.embedder, Embedder))
        return json_response({"status": "ok", "models": [entry.name for entry in self._shelf], "is_warm": is_warm})

    async def metrics(self, _: Request) -> Response:
        return Response(self._metrics.page(), headers={"content-type": self._metrics.content_type})

    async def openapi(self, _: Request) -> Response:
        return json_response(self._description)


async def _page(_: Request) -> Response:
    return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})


async def _problem(_: Request, problem: Problem) -> Response:
    return problem.response()


async def _bad_input(_: Request, error: InputError) -> Response:
    """What the library has to say of the texts it got."""
    return Problem(400, str(error)).response()


async def _http_problem(request: Request, error: HTTPException) -> Response:
    """What Starlette's router has to say: no such path, or not with this method."""
    message = f"{error.detail}: {request.method} {request.url.path[:80]}; see /openapi.json"
    return Problem(error.status_code, message, headers=error.headers).response()


async def _mistake(_: Request, error: Exception) -> Response:
    """A mistake of ours: it is in the log with its traceback, and the server goes on."""
    return Problem(500, f"the server made a mistake ({type(error).__name__}); see its log").response()
