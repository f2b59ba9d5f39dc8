"""`siamese-cbow serve`: models over HTTP, with an explorer page."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli import Grouped
from siamese_cbow.cli.options import PATH, model_option, open_model, refuse_options, say
from siamese_cbow.errors import InputError, MissingExtra, SettingsError

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model

KEY_VARIABLE = "SIAMESE_CBOW_API_KEY"
MEGABYTE = 1 << 20


@click.command(name="serve", cls=Grouped)
@click.argument("given", metavar="[[NAME=]MODEL]...", nargs=-1)
@model_option
@click.option("--index", "index", type=PATH, metavar="DIR",
              help="Answer /search from an index written by `siamese-cbow index`.")  # fmt: skip
@click.option("--models", "library", metavar="DIR", type=PATH,
              help="Let the explorer page load the models in this folder.")  # fmt: skip
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on; 0.0.0.0: all interfaces.")
@click.option(
    "--port", default=8080, type=click.IntRange(0, 65_535), metavar="N", help="Port to listen on; 0: any free port."
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Accept requests for this host name too, besides localhost, --host and IP addresses; '*': any. Repeatable.",
)
@click.option(
    "--api-key",
    metavar="KEY",
    envvar=KEY_VARIABLE,
    help=f"Require the header 'Authorization: Bearer KEY'.  [env var: {KEY_VARIABLE}]",
)
@click.option("--max-megabytes", default=8.0, metavar="N", help="Maximum size of a request.")
@click.option(
    "--max-inputs", default=2048, metavar="N", help="Maximum number of texts per request; /search has no such limit."
)
@click.option("--max-seconds", default=30.0, metavar="N", help="Maximum time for a request, from first to last byte.")
@click.option("--max-concurrent", default=256, metavar="N", help="Maximum number of concurrent requests.")
@click.option("--max-idle", default=75.0, metavar="N", help="Seconds before an idle connection is closed.")
@click.option("--verbose", is_flag=True, help="Log each request to standard error.")
def serve(
    given: tuple[str, ...],
    folder: Path | None,
    index: Path | None,
    library: Path | None,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    api_key: str | None,
    max_megabytes: float,
    verbose: bool,
    **limits_by_name: Any,
) -> None:
    """Serve models over HTTP, with an OpenAI-compatible API and an explorer page.

    Several models can be served at once, each under the name of its folder or a name of your choice:
    serve models/books news=models/2026. On Ctrl-C or SIGTERM, the server answers open requests and stops.
    """
    try:
        from siamese_cbow.serve.app import build
        from siamese_cbow.serve.middleware import Hosts, Limits
        from siamese_cbow.serve.server import listen, run
    except ImportError as error:
        raise MissingExtra(error.name or "starlette", "serve") from error

    if api_key is None and KEY_VARIABLE in os.environ:  # click treats an empty variable as unset
        expected = f"unset {KEY_VARIABLE} to serve without a key"
        raise SettingsError(f"the variable {KEY_VARIABLE} is empty; expected a key, or {expected}")
    if not math.isfinite(max_megabytes):
        raise SettingsError(f"--max-megabytes is {max_megabytes}; expected a number above 0")
    limits = Limits(max_bytes=int(max_megabytes * MEGABYTE), **limits_by_name)
    if library is not None and not library.is_dir():
        raise InputError(f"no folder {library}; expected a folder of models: --models DIR")
    hosts = Hosts(host, allowed_hosts)
    if given and not any(argument.endswith("=") for argument in given):  # NAME= is the model of --model
        refuse_options({"folder"}, f"the model is already named, {given[0]}; name several models as arguments")
    models, opened = _models(given, folder, index), None
    if index is not None:
        from siamese_cbow.cli.looking import tell_stale
        from siamese_cbow.retrieval.index import Index

        opened = Index(index, model=next(iter(models.values())))
        tell_stale(opened)
    app = build(models, limits=limits, api_key=api_key, hosts=hosts, index=opened, folder=library)
    with listen(host, port) as listening:
        address = f"[{host}]" if ":" in host else host
        say(f"serving {', '.join(models)} on http://{address}:{listening.getsockname()[1]}")
        run(app, listening, limits, log_level="info" if verbose else "warning")


def _models(given: tuple[str, ...], folder: Path | None, index: Path | None) -> dict[str, Model]:
    """The models by name: ("books=models/a", "models/b") -> {"books": ..., "b": ...}; or the model of an index."""
    models: dict[str, Model] = {}
    fallback = None
    if index is not None:
        from siamese_cbow.retrieval.manifest import kept_model

        model_folder, fallback = kept_model(index)
        folder = folder or (model_folder if not given else None)
    for argument in given or ("",):
        name, equals, path = argument.partition("=")
        if not equals or Path(argument).exists():
            name, path = "", argument
        at = Path(path) if path else folder
        name = name or (at.resolve().name if at else "siamese-cbow")
        if name in models:
            raise InputError(f"two models are called {name!r}; rename one of them: NAME={path}")
        models[name] = open_model(at, fallback=fallback)
    return models
