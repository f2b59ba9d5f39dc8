"""Another program's tokenizer: any `tokenizer.json` of the `tokenizers` library, such as the subwords of model2vec.

    "unbelievable"  ->  un · ##believable       as the file says; a "word" of such a model is a token

`known_tokenizer` recognises our own tokenizers, which need no library and are many times faster.

Not for training or counting: there, `Tokenizer` splits the text.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Ids, Offsets
from siamese_cbow.errors import InputError, needs
from siamese_cbow.words.tokenizer import Tokenizer, every_tokenizer, not_a_text
from siamese_cbow.words.unknown_words import LookedUp, UnknownWords, no_unknown_words

KIND = "json"  # in the settings of a saved model: the tokenizer is the file beside it


@dataclass(frozen=True, repr=False)
class JsonTokenizer(Tokenizer):
    """A tokenizer of the `tokenizers` library: `JsonTokenizer(json=Path("tokenizer.json").read_text())`."""

    json: str = ""

    def __post_init__(self) -> None:
        _ = self.library  # raises an error for a broken file

    def __repr__(self) -> str:
        return f"<JsonTokenizer, {json.loads(self.json)['model']['type']} of {len(self.ids):,} tokens>"

    @cached_property
    def library(self) -> Any:
        """The tokenizer as an object of the library; truncation and padding are off."""
        with needs("tokenizers", "interop"):
            from tokenizers import Tokenizer as Library
        try:
            json.loads(self.json)  # it must be JSON for Python as well
            library = Library.from_str(self.json)
        except Exception as error:  # the library raises no narrower type
            raise InputError(f"can't read the tokenizer ({error}); expected the JSON of `tokenizers`") from None
        library.no_truncation()
        library.no_padding()
        return library

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Token -> its id in the library, in the order of the ids."""
        return dict(sorted(self.library.get_vocab().items(), key=lambda pair: pair[1]))

    @cached_property
    def unknown(self) -> str | None:
        """The token for unknown input, if there is one."""
        model = json.loads(self.json)["model"]
        if isinstance(model.get("vocab"), list):  # Unigram
            return None if model.get("unk_id") is None else str(model["vocab"][model["unk_id"]][0])
        token = model.get("unk_token")
        return token if token in self.ids else None

    @cached_property
    def _tokens(self) -> Mapping[int, str]:
        return {i: token for token, i in self.ids.items()}

    def words(self, text: str) -> list[str]:
        """The tokens of a text: `words("unbelievable!")` -> ["un", "##believable", "!"].

        Tokens are looked up by id: for unknown input, Unigram would return the text instead of its token.
        """
        return [self._tokens[i] for i in self.encoded([text])[0]]

    def encoded(self, texts: Iterable[str]) -> list[Sequence[int]]:
        """The ids that the library gives the tokens of each text."""
        texts = list(texts)
        for text in texts:
            if not isinstance(text, str):
                raise not_a_text(text)
        # Lone surrogates, which UTF-8 can't hold, become spaces, as in our own tokenizers.
        valid = [text if text.isascii() else re.sub("[\ud800-\udfff]", " ", text) for text in texts]
        try:
            if len(valid) == 1:  # a batch would start the library's threads
                return [self.library.encode(valid[0], add_special_tokens=False).ids]
            return [encoding.ids for encoding in self.library.encode_batch_fast(valid, add_special_tokens=False)]
        except Exception as error:  # the library raises no narrower type
            raise InputError(
                f"the model's tokenizer can't tokenise this text ({error}): it has no token for unknown input; leave "
                "the text out, or use a model whose tokenizer has one"
            ) from None

    def settings(self) -> dict[str, Any]:
        """Only the kind: the rest is the file `tokenizer.json`."""
        return {"kind": KIND}

    def to_json(self, words: Sequence[str]) -> str:
        """The same tokenizer with the ids of a model: word i has id i, the unknown token has id `len(words)`."""
        parsed = json.loads(self.json)
        model = parsed["model"]
        rows = {word: i for i, word in enumerate(words)}
        absent = [token for token in self.ids if token not in rows] or ["[UNKNOWN WORD]"]
        if isinstance(model["vocab"], list):  # Unigram: tokens with their scores, in the order of the ids
            scores = dict(model["vocab"])
            lowest = min(scores.values(), default=0.0)
            model["vocab"] = [[token, scores.get(token, lowest)] for token in (*rows, *absent)]
            if self.unknown is not None:
                model["unk_id"] = rows.get(self.unknown, len(rows))
        else:
            model["vocab"] = rows | dict.fromkeys(absent, len(rows))
        ids = rows | dict.fromkeys(absent, len(rows))
        for token in parsed.get("added_tokens") or ():
            token["id"] = ids[token["content"]]
        # Special tokens don't belong in a mean, and texts are neither truncated nor padded.
        parsed |= {"post_processor": None, "truncation": None, "padding": None}
        return json.dumps(parsed, ensure_ascii=False, indent=1)


class JsonLookup:
    """Bulk text -> ids by the library, which works on all cores by itself; used like `lookup.Lookup`."""

    def __init__(self, id_of: Callable[[str], int | None], tokenizer: JsonTokenizer) -> None:
        self._encoded = tokenizer.encoded
        self._rows = np.full(max(tokenizer.ids.values(), default=0) + 1, -1, np.int32)  # id of the library -> row
        for token, i in tokenizer.ids.items():
            row = id_of(token)
            self._rows[i] = -1 if row is None else row

    def ids(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Ids of the known tokens: text i has `ids[offsets[i]:offsets[i + 1]]`."""
        encoded = self._encoded(texts)
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        rows = self._rows[np.fromiter(itertools.chain.from_iterable(encoded), np.int64, int(sizes.sum()))]
        known = np.concatenate([np.zeros(1, np.int64), np.cumsum(rows >= 0)])
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return rows[rows >= 0], known[ends]

    def words(self, texts: Sequence[str]) -> tuple[Ids, Offsets, UnknownWords]:
        """The result of `ids`, without unknown words: such a tokenizer splits every word into known tokens."""
        return *self.ids(texts), no_unknown_words(len(texts))

    def pieces(self, texts: Sequence[str]) -> Iterator[LookedUp]:
        """The result of `words`, as `Lookup.pieces` gives it, in one piece."""
        yield LookedUp(0, len(texts), *self.words(texts))


def known_tokenizer(text: str) -> Tokenizer | None:
    """Our own tokenizer, if that is what a `tokenizer.json` describes: `known_tokenizer(Tokenizer().to_json([]))`."""
    try:
        parsed = json.loads(text)
        described = [parsed["normalizer"], parsed["pre_tokenizer"], parsed["added_tokens"], parsed["model"]["type"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    for tokenizer in every_tokenizer():
        ours = json.loads(tokenizer.to_json([]))
        if described == [ours["normalizer"], ours["pre_tokenizer"], ours["added_tokens"], ours["model"]["type"]]:
            return tokenizer
    return None
