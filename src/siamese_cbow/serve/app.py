"""The application: endpoints, the page, and the middleware around them. It does not listen; `server` runs it."""

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
from siamese_cbow.retrieval.index import Index
from siamese_cbow.serve.api import Api, Jobs
from siamese_cbow.serve.bodies import Problem, Reader, json_response
from siamese_cbow.serve.explorer import Explorer
from siamese_cbow.serve.middleware import Hosts, Limits, Metrics, Middleware
from siamese_cbow.serve.registry import Embedder, Registry
from siamese_cbow.serve.schemas import Endpoint, description

PAGE = Path(__file__).parent / "page"
OPEN_PATHS = {"/", "/openapi.json", *(f"/page/{path.name}" for path in PAGE.glob("*.*"))}  # the page asks for the key


def build(
    models: Mapping[str, Model | Embedder],
    *,
    limits: Limits | None = None,
    api_key: str | None = None,
    hosts: Hosts | None = None,
    index: Index | None = None,
    folder: Path | None = None,
    warm: bool = True,
) -> Middleware:
    """The ASGI application over some models: `build({"books": model}, api_key="secret")`.

    hosts   the host names it answers to; None for all, if a server in front checks them
    index   searched by `/search` if a request has no texts
    folder  models in it can be loaded from the page
    warm    load the bulk path in a thread once the application starts
    """
    limits, registry, metrics, jobs = limits or Limits(), Registry(models, folder), Metrics(), Jobs()
    index = index and index.in_memory()
    explorer = Explorer(registry, limits, jobs, index)
    parts = (Api(registry, limits, metrics, jobs, index), explorer, _About(registry, metrics))
    endpoints = [endpoint for part in parts for endpoint in part.endpoints]
    document = description(endpoints, limits, importlib.metadata.version("siamese-cbow"), has_key=api_key is not None)

    async def openapi(_: Request) -> Response:
        return json_response(document)

    async def page(_: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if warm:  # a daemon, so that shutdown doesn't wait for a compiler
            threading.Thread(target=registry.warm, name="warm", daemon=True).start()
        yield
        jobs.close()

    routes = [
        *(_route(endpoint, limits.max_bytes) for endpoint in endpoints),
        Route("/openapi.json", openapi),
        Route("/", page),
        Mount("/page", StaticFiles(directory=PAGE)),
    ]
    handlers = {Problem: _problem, InputError: _bad_input, HTTPException: _http_problem, Exception: _mistake}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)  # type: ignore[arg-type]
    app.router.redirect_slashes = False
    return Middleware(
        app,
        limits=limits,
        api_key=api_key,
        hosts=hosts,
        metrics=metrics,
        paths={"/", "/openapi.json", *(endpoint.path for endpoint in endpoints)},
        open_paths=OPEN_PATHS | {endpoint.path for endpoint in endpoints if endpoint.is_open},
        busy_paths={endpoint.path for endpoint in endpoints if endpoint.is_for_busy},
    )


def _route(endpoint: Endpoint, max_bytes: int) -> Route:
    if endpoint.body is None:
        return Route(endpoint.path, endpoint.handler)
    read = Reader(endpoint.body, max_bytes)

    async def answer(request: Request) -> Response:
        return await endpoint.handler(await read(request))

    return Route(endpoint.path, answer, methods=["POST"])


class _About:
    """Endpoints about the server itself."""

    def __init__(self, models: Registry, metrics: Metrics) -> None:
        self._models, self._metrics = models, metrics
        self.endpoints = [
            Endpoint("/v1/models", self.models, "Models"),
            Endpoint("/v1/models/{model:path}", self.model, "Model"),
            Endpoint("/health", self.health, "Health", is_open=True, is_for_busy=True),
            Endpoint("/metrics", self.metrics, None, is_for_busy=True),
        ]

    async def models(self, _: Request) -> Response:
        """The available models."""
        return json_response({"object": "list", "data": [entry.described for entry in self._models]})

    async def model(self, request: Request) -> Response:
        """One model."""
        return json_response(self._models[request.path_params["model"]].described)

    async def health(self, _: Request) -> Response:
        """Whether the server is running; needs no key."""
        names = [entry.name for entry in self._models]
        return json_response({"status": "ok", "models": names, "is_warm": self._models.is_warm})

    async def metrics(self, _: Request) -> Response:
        """Metrics for Prometheus."""
        return Response(self._metrics.page(), headers={"content-type": self._metrics.content_type})


async def _problem(_: Request, problem: Problem) -> Response:
    return problem.response()


async def _bad_input(_: Request, error: InputError) -> Response:
    """Input errors raised by the library."""
    return Problem(400, str(error)).response()


async def _http_problem(request: Request, error: HTTPException) -> Response:
    """Errors of Starlette's router: no such path, or wrong method."""
    path = request.scope["path"][:80]  # not `request.url`, which requires a UTF-8 query
    message = f"{error.detail}: {request.method} {path}; see /openapi.json"
    return Problem(error.status_code, message, headers=error.headers).response()


async def _mistake(_: Request, error: Exception) -> Response:
    """The response to a bug, which is logged with its traceback; the server keeps running."""
    return Problem(500, f"internal server error ({type(error).__name__}); see the server's log").response()
