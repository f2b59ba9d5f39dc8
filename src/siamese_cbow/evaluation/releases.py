"""What SemEval released: the test sets of each year and where their archives are. Data, no code.

The addresses are those of the task's own pages. No checksums were published; `download` writes down the one it sees.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """A test set as released."""

    year: int
    dataset: str
    n_scored: int  # pairs with a gold score


@dataclass(frozen=True)
class Archive:
    """A file to fetch, and the folder its files go to."""

    name: str
    url: str
    folder: str
    sha256: str | None = None  # None: not known; the first download is written down and held against later ones


RELEASES = (
    Release(2012, "MSRpar", 750),
    Release(2012, "MSRvid", 750),
    Release(2012, "OnWN", 750),
    Release(2012, "SMTeuroparl", 459),
    Release(2012, "SMTnews", 399),
    Release(2013, "FNWN", 189),
    Release(2013, "OnWN", 561),
    Release(2013, "SMT", 750),
    Release(2013, "headlines", 750),
    Release(2014, "OnWN", 750),
    Release(2014, "deft-forum", 450),
    Release(2014, "deft-news", 300),
    Release(2014, "headlines", 750),
    Release(2014, "images", 750),
    Release(2014, "tweet-news", 750),
    Release(2015, "answers-forums", 375),
    Release(2015, "answers-students", 750),
    Release(2015, "belief", 375),
    Release(2015, "headlines", 750),
    Release(2015, "images", 750),
    Release(2016, "answer-answer", 254),
    Release(2016, "headlines", 249),
    Release(2016, "plagiarism", 230),
    Release(2016, "postediting", 244),
    Release(2016, "question-question", 209),
)

WHERE = {
    (2013, "SMT"): (
        "its sentences are distributed by the Linguistic Data Consortium only, as LDC2013T18 "
        "(https://catalog.ldc.upenn.edu/LDC2013T18); save them as STS.input.SMT.txt beside STS.gs.SMT.txt"
    )
}

_WIKI = "http://ixa2.si.ehu.es/stswiki/images"
ARCHIVES = (
    Archive("STS 2012", f"{_WIKI}/4/40/STS2012-en-test.zip", "2012"),
    Archive("STS 2013", f"{_WIKI}/2/2f/STS2013-en-test.zip", "2013"),
    Archive("STS 2014", f"{_WIKI}/8/8c/STS2014-en-test.zip", "2014"),
    Archive("STS 2015", f"{_WIKI}/d/da/STS2015-en-test.zip", "2015"),
    Archive("STS 2016", f"{_WIKI}/9/98/STS2016-en-test.zip", "2016"),
    Archive("STS-Benchmark", f"{_WIKI}/4/48/Stsbenchmark.tar.gz", "stsbenchmark"),
    Archive("SICK", "http://alt.qcri.org/semeval2014/task1/data/uploads/sick_test_annotated.zip", "sick"),
)
