"""`siamese-cbow download`: public data for evaluation."""

from __future__ import annotations

import click

from siamese_cbow.evaluation.download import DEFAULT_FOLDER, download_sts


@click.command(name="download")
@click.argument("what", type=click.Choice(["sts"]))
@click.option("--to", "folder", metavar="DIR", default=DEFAULT_FOLDER, show_default=True, help="Folder for the sets.")
def command(what: str, folder: str) -> None:
    """Fetch the public STS sets of SemEval, STS-Benchmark and SICK.

    An interrupted download goes on where it stopped; files that are there already are left alone.
    """
    from siamese_cbow.evaluation.sts import sts
    from siamese_cbow.progress import bar

    with bar(f"download {what}", None, unit="B") as progress:
        download_sts(folder, progress=progress)
        sets = sts(folder, progress=progress)
    click.echo(f"{len(sets)} sets in {folder}; try: siamese-cbow evaluate random --sts {folder}")
