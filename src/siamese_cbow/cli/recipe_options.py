"""A recipe on the command line: an option for each of its fields, and a help that shows them under headings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import is_dataclass

import click

from siamese_cbow.base.option_fields import Option, options
from siamese_cbow.cli.options import AUTO, AUTO_NUMBER
from siamese_cbow.training.recipe import AUTO as AUTO_WORD
from siamese_cbow.training.recipe import AUTOMATIC

_AUTOMATIC = {int: AUTO, float: AUTO_NUMBER}
_PARSERS = {int: int, float: float, bool: bool}  # the recipe itself makes of a text what else it needs


def options_of(recipe: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option for each field of a recipe. Its own default is None: what the recipe says."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(list(flat_options(recipe))):
            flag = f"--{option.name.replace('_', '-')}"
            kind = click.Choice(option.choices) if option.choices else _PARSERS.get(option.kind, str)
            command = click.option(
                (option.switch or f"{flag}/--no-{flag[2:]}") if option.kind is bool else flag,
                *filter(None, [option.short]),
                option.name,
                default=None,
                type=_AUTOMATIC.get(option.kind, kind) if option.name in AUTOMATIC else kind,
                help=option.help + _defaults(option),
            )(command)
        return command

    return decorate


def flat_options(recipe: type) -> Iterator[Option]:
    """The options of a recipe; of one that is a record, those of the record: `postprocess_components`, ..."""
    for option in options(recipe):
        if is_dataclass(option.kind):
            steps = [step for step in options(option.kind) if step.help]
            named = [step._replace(name=f"{option.name}_{step.name}") for step in steps]
            yield from (named[0]._replace(group="Post-processing"), *named[1:])
        else:
            yield option


def _defaults(option: Option) -> str:
    """'  [default: 256; paper: 100]'."""
    default = AUTO_WORD if option.name in AUTOMATIC else option.default
    shown = [] if default is None else [f"default: {default}"]
    shown += [] if option.paper is None else [f"paper: {option.paper}"]
    return f"  [{'; '.join(shown)}]" if shown else ""


class Grouped(click.Command):
    """A command whose help shows options under headings; those that none of them names come first."""

    headings: Mapping[str, Collection[str]] = {}  # heading -> names of options

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, one list under each heading."""
        shown = {str(parameter.name): record for parameter in self.get_params(ctx)
                 if (record := parameter.get_help_record(ctx))}  # fmt: skip
        listed = {name for names in self.headings.values() for name in names}
        others = [record for name, record in shown.items() if name not in listed]
        with formatter.section("Options"):
            formatter.write_dl(others)
        for heading, names in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([record for name, record in shown.items() if name in names])


def recipe_headings(recipe: type) -> dict[str, list[str]]:
    """The options of a recipe under the headings that its fields name."""
    heading = "Recipe"
    headings = {heading: ["recipe_name"]}
    for option in flat_options(recipe):
        heading = option.group or heading
        headings.setdefault(heading, []).append(option.name)
    return headings
