"""Which pairs count. Two protocols, because the paper's is not everybody else's.

    official  pairs with a gold score: what SemEval and all later papers report
    paper     every released pair, one without a gold score counting as 0

In 2015 SemEval released 8,500 pairs and scored 3,000. The paper's timing table counts all 17,608 pairs, and counting
the unscored ones as 0 gives its figures. Use `paper` only next to the paper's own tables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from siamese_cbow.errors import SettingsError
from siamese_cbow.evaluation.pair_sets import PairSet

Protocol: TypeAlias = Literal["official", "paper"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


@lru_cache(maxsize=128)  # the same sets are used for every model, and remember what they know of their text
def counted(pair_set: PairSet, protocol: Protocol) -> PairSet:
    """The pairs that count, each with a score: gold [4, nan, 2] -> official [4, 2], paper [4, 0, 2]."""
    if protocol not in PROTOCOLS:
        raise SettingsError(f"protocol is {protocol!r}; expected {' or '.join(PROTOCOLS)}")
    if protocol == "paper":
        return replace(pair_set, gold=np.nan_to_num(pair_set.gold, nan=0.0))
    pairs = tuple(pair for pair, is_scored in zip(pair_set.pairs, pair_set.scored, strict=True) if is_scored)
    return replace(pair_set, pairs=pairs, gold=pair_set.gold[pair_set.scored])
