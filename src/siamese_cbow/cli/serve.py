"""`siamese-cbow serve`: models over HTTP, and a page to look at them."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli.options import model_option, open_model, say
from siamese_cbow.errors import InputError, MissingExtra, SettingsError, counted

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model

KEY_VARIABLE = "SIAMESE_CBOW_API_KEY"
MEGABYTE = 1 << 20


@click.command(name="serve", context_settings={"show_default": True})
@click.argument("given", metavar="[[NAME=]MODEL]...", nargs=-1)
@model_option
@click.option("--index", "index", type=click.Path(path_type=Path), metavar="DIR",
              help="Let /search answer from an index that `siamese-cbow index` has made.")  # fmt: skip
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Where to listen; 0.0.0.0 for the whole network.")
@click.option("--port", default=8080, type=click.IntRange(0, 65_535), metavar="N", help="0 takes any that is free.")
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Another name under which to answer, besides localhost, the --host and IP addresses; '*' for all. Repeatable.",
)
@click.option(
    "--api-key",
    metavar="KEY",
    envvar=KEY_VARIABLE,
    help=f"Answer only requests with 'Authorization: Bearer KEY'.  [env var: {KEY_VARIABLE}]",
)
@click.option("--max-megabytes", default=8.0, metavar="N", help="Size of a request.")
@click.option("--max-inputs", default=2048, metavar="N", help="Texts in a request; /search takes as many as fit.")
@click.option("--max-seconds", default=30.0, metavar="N", help="Time for a request, from first to last byte.")
@click.option("--max-concurrent", default=256, metavar="N", help="Requests under way at once.")
@click.option("--max-idle", default=75.0, metavar="N", help="Seconds a connection may stay without a whole request.")
@click.option("--verbose", is_flag=True, help="Write a line for each request to standard error.")
def serve(
    given: tuple[str, ...],
    folder: Path | None,
    index: Path | None,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    api_key: str | None,
    max_megabytes: float,
    verbose: bool,
    **limits_by_name: Any,
) -> None:
    """Answer OpenAI's clients over HTTP, and show models on a page.

    Several models may be served at once, each under the name of its folder or the one given before it:
    serve models/books news=models/2026. Ctrl-C or SIGTERM ends it once every request has its answer.
    """
    try:
        from siamese_cbow.serve.app import build
        from siamese_cbow.serve.middleware import Hosts, Limits
        from siamese_cbow.serve.server import listen, run
    except ImportError as error:
        raise MissingExtra(error.name or "starlette", "serve") from error

    if api_key is None and KEY_VARIABLE in os.environ:  # click takes an empty variable for none
        expected = f"unset {KEY_VARIABLE} for a server without a key"
        raise SettingsError(f"the variable {KEY_VARIABLE} is empty; expected a key, or {expected}")
    if not math.isfinite(max_megabytes):
        raise SettingsError(f"--max-megabytes is {max_megabytes}; expected a number above 0")
    limits = Limits(max_bytes=int(max_megabytes * MEGABYTE), **limits_by_name)
    hosts = Hosts(host, allowed_hosts)
    models, opened = _models(given, folder, index), None
    if index is not None:
        from siamese_cbow.retrieval.index import Index

        opened = Index(index, model=next(iter(models.values())))
        if changed := opened.stale():
            say(
                f"{counted(len(changed), 'file')} changed or gone since {index} was made: "
                f"`siamese-cbow index -o {index}` brings it up to date"
            )
    app = build(models, limits=limits, api_key=api_key, hosts=hosts, index=opened)
    with listen(host, port) as listening:
        address = f"[{host}]" if ":" in host else host
        click.echo(f"serving {', '.join(models)} on http://{address}:{listening.getsockname()[1]}", err=True)
        run(app, listening, limits, log_level="info" if verbose else "warning")


def _models(given: tuple[str, ...], folder: Path | None, index: Path | None) -> dict[str, Model]:
    """The models by name: ("books=models/a", "models/b") -> {"books": ..., "b": ...}; or the one of an index."""
    models: dict[str, Model] = {}
    fallback = None
    if index is not None:
        from siamese_cbow.retrieval.manifest import kept_model

        kept, fallback = kept_model(index)
        folder = folder or (kept if not given else None)
    for one in given or ("",):
        name, equals, path = one.partition("=")
        if not equals or Path(one).exists():
            name, path = "", one
        at = Path(path) if path else folder
        name = name or (at.resolve().name if at else "siamese-cbow")
        if name in models:
            raise InputError(f"two models are called {name!r}; give one another name: NAME={path}")
        models[name] = open_model(at, fallback=fallback)
    return models
