"""The size of an install in megabytes: the base, and each extra with everything it pulls in.

    python -m benchmarks.install [--only EXTRA]... [--write]

The script installs the wheel of this checkout under constraints.txt into an empty environment and measures it, then
adds the extras one after the other. pip reports which distributions each extra needs on its own. Sizes are the disk
blocks that their files take in site-packages, including compiled modules, as `du` counts them.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow.errors import EXTRAS

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ("--constraint", ROOT / "constraints.txt")
DOCS = ROOT / "docs" / "install.md"
SHOWN = re.compile(r"^The base install, .*?\|$(?=\n\n)", re.MULTILINE | re.DOTALL)  # the docs page repeats it
LARGE = 5  # MB; smaller packages are not named


class Environment:
    """An environment without pip, and the wheel of the package."""

    def __init__(self, folder: Path) -> None:
        pip("wheel", "--no-deps", "--wheel-dir", folder, ROOT)
        self._wheel, self._folder = next(folder.glob("*.whl")), folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self._folder], check=True)

    def install(self, extra: str = "") -> None:
        pip("--python", self._folder / "bin" / "python", "install", *CONSTRAINTS, self._named(extra))

    def needed(self, extra: str = "") -> set[str]:
        """The distributions that the base, or the base with an extra, would install into an empty environment."""
        report = pip("install", "--dry-run", "--ignore-installed", "--report", "-", *CONSTRAINTS, self._named(extra))
        return {plain(each["metadata"]["name"]) for each in json.loads(report)["install"]}

    def sizes(self) -> dict[str, float]:
        """Distribution -> MB."""
        packages = next(self._folder.glob("lib/python*/site-packages"))
        return {
            plain(each.name): sum(size(Path(str(each.locate_file(file)))) for file in each.files or ()) / (1 << 20)
            for each in importlib.metadata.distributions(path=[str(packages)])
        }

    def whole(self) -> float:
        """The size of site-packages in MB."""
        packages = next(self._folder.glob("lib/python*/site-packages"))
        return sum(size(path) for path in packages.rglob("*")) / (1 << 20)

    def _named(self, extra: str) -> str:
        return f"{self._wheel}[{extra}]" if extra else str(self._wheel)


def plain(name: str) -> str:
    """`plain("backports.zstd")` -> "backports-zstd": names that pip treats as the same become equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pip(*arguments: object) -> str:
    command = [sys.executable, "-m", "pip", *map(str, arguments), "--quiet"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def size(path: Path) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:  # listed, but not created yet
        return 0


def listed(sizes: dict[str, float], names: Iterable[str], most: int) -> str:
    """ "pyarrow 166, tzdata 5": the largest of these distributions."""
    large = sorted(((sizes[name], name) for name in names if sizes[name] >= LARGE), reverse=True)
    return ", ".join(f"{name} {mb:.0f}" for mb, name in large[:most])


def rows_of_page() -> dict[str, list[str]]:
    """The rows of the last measurement, by extra."""
    lines = (ROOT / "results" / "install.md").read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| `")]
    return {row[0].strip("`"): row for row in cells}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--only", action="append", choices=list(EXTRAS), help="measure only these extras; the rows of the others stay"
    )
    options = parser.parse_args()
    brings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    with tempfile.TemporaryDirectory() as name:
        environment = Environment(Path(name))
        environment.install()
        whole, sizes = environment.whole(), environment.sizes()
        base = set(sizes)
        named = listed(sizes, base, len(base))
        print(f"base: {whole:.0f} MB: {named}", flush=True)
        rows = rows_of_page() if options.only else {}
        for extra in options.only or EXTRAS:
            environment.install(extra)
            sizes, new = environment.sizes(), environment.needed(extra) - base
            asked = ", ".join(f"`{re.split('[<>=;]', each)[0]}`" for each in brings[extra])
            more = f"{sum(sizes[each] for each in new):.0f}"
            about = EXTRAS[extra]
            parts = listed(sizes, new, 4) or "small ones"
            rows[extra] = [f"`{extra}`", about.purpose, about.where, asked, more, parts]
            print(*rows[extra], sep=" | ", flush=True)
    header = ["extra", "purpose", "needed by", "installs", "adds MB", "largest parts"]
    table = markdown(header, [rows[extra] for extra in EXTRAS if extra in rows])
    text = (
        f"The base install, without extras, takes **{whole:.0f} MB** of site-packages: {named}, and "
        f"smaller ones. The table shows how much each extra adds; extras share what they have in common.\n\n{table}"
    )
    report("install", "Size of an install", f"{machine('numba', 'numpy')}\n\n{text}", write=options.write)
    if options.write:
        DOCS.write_text(SHOWN.sub(lambda _: text, DOCS.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
