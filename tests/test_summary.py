"""The benchmark summary reads the figures on the results pages and flags those that moved."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from benchmarks import summary
from benchmarks.summary import FIGURES, Figure, flag, frontier, value

PAGE = """# Speed

| system | words/s | CPU |
|---|---|---|
| **ours**, from text | 3.5 | 9 |
| **ours** | 1,234.5 ± 3 | 8 |
| peer | x | 7 |

## Second

| system | kind | words/s |
|---|---|---|
| ours | a | 5 |
| ours | b | 6 |
"""


def figure(row: str, column: str = "words/s", heading: str = "", absolute: float = 0.0) -> Figure:
    return Figure("Speed", "", "page", row, column, heading, absolute)


def test_a_figure_is_found_in_its_table() -> None:
    assert value(figure("ours"), PAGE) == 1234.5  # not the row that only begins with it
    assert value(figure("ours", "CPU"), PAGE) == 8
    assert value(figure("ours, from"), PAGE) == 3.5
    assert value(figure("ours | b"), PAGE) == 6
    assert value(figure("ours", heading="Second"), PAGE) == 5


@pytest.mark.parametrize("missing", [figure("peer"), figure("others"), figure("ours", "GB"), figure("our")])
def test_a_figure_that_is_gone_is_an_error(missing: Figure) -> None:
    with pytest.raises(LookupError, match=r"results/page\.md has no .* correct FIGURES"):
        value(missing, PAGE)


def test_what_moved_beyond_its_noise_is_flagged() -> None:
    assert flag(figure("ours"), 110, 100) == ""
    assert flag(figure("ours"), 121, 100) == "**+21%**"
    assert flag(figure("ours"), 79, 100) == "**-21%**"
    assert flag(figure("ours", absolute=0.004), 0.699, 0.697) == ""
    assert flag(figure("ours", absolute=0.004), 0.690, 0.697) == "**-0.0070**"
    assert flag(figure("ours"), 1, None) == "new"


def test_the_frontier() -> None:
    systems = [("a", 1.0, 0.5), ("b", 2.0, 0.4), ("beaten", 1.0, 0.4), ("c", 3.0, 0.1)]
    assert [name for name, _, _ in frontier(systems)] == ["a", "b", "c"]


def test_every_figure_is_on_its_page() -> None:
    for each in FIGURES:
        assert value(each, (summary.RESULTS / f"{each.page}.md").read_text("utf-8")) > 0, each.label
    page = summary.page()
    assert all(each.label in page for each in FIGURES)
    drawn = ElementTree.fromstring(summary.plot(summary.points()))
    assert sum(part.tag.endswith("circle") for part in drawn) == len(summary.SYSTEMS)
