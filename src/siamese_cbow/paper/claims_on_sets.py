"""The paper's claims about single sets: their length and overlap, and which system does well on them (section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.pair_sets import TextFacts
from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.evaluation.verdicts import FAILS, HOLDS, UNDECIDED, Statistic, decide_statistic, every
from siamese_cbow.paper.document import Claim, listed, value_of
from siamese_cbow.paper.recipes import BASELINES, label_of
from siamese_cbow.paper.treatments import Treatment
from siamese_cbow.paper.view import View

LITTLE_OVERLAP = ((2013, "FNWN"), (2015, "answers-forums"))
BEST_HERE = ((2015, "belief"), (2012, "MSRpar"))
TWEETS, BEST_OF_2014, IN_PAPER = (2014, "tweet-news"), 0.792, 0.7315
LONGEST = (2013, "SMT")
SHORTEST, LENGTH = (2012, "MSRvid"), 6.63
FEWEST_SETS = 10  # with fewer, "the shortest of all sets" means nothing


def facts(view: View) -> Iterator[Claim]:
    """Facts counted in the sets themselves; no training is involved, so there is no interval."""
    if len(view.sets) < FEWEST_SETS:
        return
    texts = {(pair_set.year, pair_set.dataset): pair_set.text() for pair_set in view.sets}
    if SHORTEST in texts:
        mean = texts[SHORTEST].words_per_sentence
        is_shortest = mean == min(text.words_per_sentence for text in texts.values())
        yield Claim(
            "length-msrvid",
            f"2012 MSRvid has the shortest sentences of all sets, {LENGTH} words (4.2)",
            f"{mean:.2f} words, {'the shortest' if is_shortest else 'not the shortest'} of {len(texts)} sets",
            HOLDS if is_shortest and abs(mean - LENGTH) < 0.01 else FAILS,
        )
    if all(place in texts for place in LITTLE_OVERLAP):
        order = sorted(texts, key=lambda place: texts[place].overlap)
        shown = _shown(texts, order[:4])
        yield Claim(
            "overlap-facts",
            "2013 FNWN and 2015 answers-forums have the least lexical overlap, then 2015 belief and 2012 MSRpar (4.1)",
            f"shared words divided by words in either sentence: the lowest are {shown}; the paper's other two have "
            f"{_shown(texts, BEST_HERE)}; the paper does not say how it measures overlap, so another order refutes "
            "nothing",
            HOLDS if set(order[:2]) == set(LITTLE_OVERLAP) and set(order[2:4]) == set(BEST_HERE) else UNDECIDED,
        )
    is_longest = LONGEST in texts and max(texts, key=lambda place: texts[place].words_per_sentence) == LONGEST
    yield Claim(
        "length-smt",
        "On 2013 SMT, the set with the longest sentences (24.7 words), Siamese CBOW is very close to skip-thought "
        "(4.1)",
        "the set is available, but skip-thought is not trained as published"
        if is_longest
        else "the set is not available",
        UNDECIDED,
    )


def _shown(texts: Mapping[tuple[int, str], TextFacts], places: Sequence[tuple[int, str]]) -> str:
    """`2013 FNWN 7%, 2015 answers-forums 7%`."""
    return ", ".join(f"{year} {name} {texts[year, name].overlap:.0%}" for year, name in places if (year, name) in texts)


def overlap(view: View) -> Iterator[Claim]:
    """Whether all methods struggle on the two sets with the least overlap, each tested by itself."""
    for (key, treatment, setting), place in product(view.settings(), _places(view, LITTLE_OVERLAP) or ()):
        rivals, below = view.rivals(BASELINES, treatment), _below(view, place)
        keys = [*rivals.compared, key]  # "all methods" are those of the paper's Table 1
        decisions = {one: decide_statistic(below, view.resampled(one, treatment), above=0) for one in keys}
        shown = "; ".join(f"{label_of(one)} {value_of(decision)}" for one, decision in decisions.items())
        if rivals.compared:
            yield Claim(
                f"overlap-{view.names[place].replace(' ', '-').lower()}-{key}-{treatment}",
                "All methods struggle on the sets with little lexical overlap, 2013 FNWN and 2015 answers-forums (4.1)",
                f"how far Pearson on {view.names[place]} is below the mean over all sets: {shown}",
                every(list(decisions.values())),
                f"{view.names[place]}, {setting}",
            )


def _below(view: View, place: int) -> Statistic:
    defined = view.defined
    return lambda figures: figures[..., defined].mean(axis=-1) - figures[..., place]


def _lead(place: int) -> Statistic:
    return lambda first, *others: first[..., place] - np.max([other[..., place] for other in others], axis=0)


def named_sets(view: View) -> Iterator[Claim]:
    """Sets on which the paper reports Siamese CBOW as the best system, or close to it."""
    yield from _best_of_all(view)
    place = view.place(*TWEETS)
    if place is None or place not in view.defined:
        return
    defined, others = view.defined, [i for i in view.defined if i != place]

    def lead(first: Floats, *rivals: Floats) -> Floats:
        best = np.max([first[..., others].max(axis=-1), *(rival[..., defined].max(axis=-1) for rival in rivals)], 0)
        return np.asarray(first[..., place] - best)

    for key, treatment, setting in view.settings():
        rivals = view.rivals(BASELINES, treatment)
        systems = [view.resampled(system, treatment, "paper") for system in (key, *rivals.compared)]
        highest = decide_statistic(lead, *systems, above=0).but(rivals.why)
        yield Claim(
            f"tweets-highest-{key}-{treatment}",
            "The highest Pearson of all methods on all sets is that of Siamese CBOW on 2014 tweet-news (4.1)",
            f"Pearson there minus the best of all others, under the paper's protocol: {value_of(highest)}{rivals.note}",
            highest.verdict,
            setting,
        )
        near = decide_statistic(lambda r: r[..., place], systems[0], above=IN_PAPER)
        yield Claim(
            f"tweets-near-{key}-{treatment}",
            f"On 2014 tweet-news Siamese CBOW is not very far from the best system of that year, {number(IN_PAPER)} "
            f"against {number(BEST_OF_2014)} (4.1)",
            f"{value_of(near, number)}{_of_random(view, place, treatment)}; here this means: at least as close as in "
            "the paper",
            near.verdict,
            setting,
        )


def _of_random(view: View, place: int, treatment: Treatment) -> str:
    """`; random vectors .7245`: how much of a score needs no training."""
    there = view.among(["random"], treatment)
    return f"; random vectors {number(view.figures('random', treatment=treatment)[place])}" if there else ""


def _best_of_all(view: View) -> Iterator[Claim]:
    places = _places(view, BEST_HERE)
    if places is None:
        return
    for key, treatment, setting in view.settings():
        rivals = view.rivals(BASELINES, treatment)
        if not rivals.compared:
            continue
        systems = [view.resampled(system, treatment) for system in (key, *rivals.compared)]
        decisions = [decide_statistic(_lead(place), *systems, above=0).but(rivals.why) for place in places]
        shown = [f"{view.names[place]} {value_of(decision)}" for place, decision in zip(places, decisions, strict=True)]
        yield Claim(
            f"belief-{key}-{treatment}",
            "On the two sets with the next least overlap, 2015 belief and 2012 MSRpar, Siamese CBOW is best (4.1)",
            f"lead over the best of {listed(map(label_of, rivals.compared))}: {'; '.join(shown)}{rivals.note}",
            every(decisions),
            setting,
        )


def _places(view: View, wanted: Sequence[tuple[int, str]]) -> list[int] | None:
    """Positions of these sets; None if one is missing or undefined."""
    places = [view.place(*name) for name in wanted]
    return [place for place in places if place is not None] if all(place in view.defined for place in places) else None
