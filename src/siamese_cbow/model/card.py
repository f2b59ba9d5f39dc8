"""The description of a model: plain values for programs, and the README.md of its folder for people.

The card says what the model is, how to load it in three libraries, and what it was made from. Nothing is written here:
`storage` saves the card with the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from siamese_cbow.model.geometry import lengths
from siamese_cbow.model.model import Model

N_FREQUENT = 10

_CARD = """\
---
library_name: {library}
pipeline_tag: sentence-similarity
tags:
{tags}
---
# {name}

The vector of a sentence is the mean of its words' vectors{trained}.
{n_words:,} words, {dim} dimensions, {dtype}. Written by siamese-cbow.

## Use

{use}
## Words

Tokenizer: {tokenizer}. `vocabulary.txt` lists all words with their counts; the most frequent:

    {frequent}
{sections}"""

_TAGS = ("static-embeddings", "feature-extraction", "sentence-similarity")

_UNKNOWN = {
    "none": "Unknown words are ignored.",
    "prefix": "An unknown word counts as the known word with the longest common prefix, or is ignored "
    "if there is none.",
    "ngrams": "The vector of an unknown word is built from its character n-grams (`ngrams.safetensors`) plus "
    "a random part of its own.",
}

_USE = """\
With siamese-cbow (plain means, or vectors of length 1 with `normalize_embeddings=True`):

```python
import siamese_cbow

model = siamese_cbow.load("{name}")
vectors = model.encode(["A man plays a guitar.", "Someone is playing an instrument."])
```

{others} {unknown} A text in which no word counts gives a zero vector.
"""

_OTHER_LIBRARIES = """\
With sentence-transformers (vectors of length 1):

```python
from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer("{name}").encode(["A man plays a guitar."])
```

With model2vec (vectors of length 1):

```python
from model2vec import StaticModel

vectors = StaticModel.from_pretrained("{name}").encode(["A man plays a guitar."])
```

All three tokenise text in the same way."""

_FOUR_BITS = """\
Compressed to 4 bits, which other libraries can't read. For sentence-transformers and model2vec:
`siamese-cbow compress {name} -o {name}-int8 --dtype int8`."""

_USE_LANGUAGES = """\
The model covers several languages. Encode each text in its own language; then all can be compared:

```python
import siamese_cbow

model = siamese_cbow.load("{name}")
first, other = model.language("{first}"), model.language("{other}")
model.similarity(first.encode(["..."]), other.encode(["..."]))
```

For sentence-transformers and model2vec, save one language: `model.language("{first}").save("{name}-{first}")`.
"""


def describe(model: Model) -> dict[str, Any]:
    """Size, tokenizer, most frequent words, lengths of the vectors, and the model's info.

    `describe(model)["n_words"]` -> 50000; `describe(model)["frequent"]` -> {"the": 61012, "of": 30418, ...}
    """
    sizes = lengths(model.vectors)
    counts = model.vocabulary.counts
    ends = {"min": sizes.min(), "median": np.median(sizes), "max": sizes.max()}
    norms = {name: float(f"{size:.4g}") for name, size in ends.items()}
    return {
        "n_words": len(model.vocabulary),
        "dim": model.dim,
        "dtype": model.dtype,
        "megabytes": round(model.rows.nbytes / 1e6, 1),
        "tokenizer": model.tokenizer.settings(),
        "n_counted": int(counts.sum()),
        "frequent": model.vocabulary.frequent(N_FREQUENT),
        "norms": {**norms, "zero": int((sizes == 0).sum())},
        **model.info,
    }


def model_card(model: Model, name: str) -> str:
    """The text of the card for a model saved in a folder called `name`."""
    settings = ", ".join(f"{key} {_value(value)}" for key, value in model.tokenizer.settings().items())
    sections = [
        "\n".join(["", _text(f"## {key.replace('_', ' ').capitalize()}"), "", *map(_text, _lines(value)), ""])
        for key, value in model.info.items()
    ]
    is_read_by_others = model.dtype != "int4" and not model.languages
    libraries = [*(("sentence-transformers", "model2vec") if is_read_by_others else ()), "siamese-cbow"]
    return _CARD.format(
        library=libraries[0],
        tags="\n".join(f"- {tag}" for tag in (*libraries, *_TAGS)),
        trained=", which are trained to be averaged" if "objective" in (model.info.recipe or {}) else "",
        name=_text(name),
        n_words=len(model.vocabulary),
        dim=model.dim,
        dtype=model.dtype,
        tokenizer=settings,
        frequent=" ".join(model.vocabulary.frequent(20)),  # needs no escaping inside a code block
        use=_use(model, name),
        sections="".join(sections),
    )


def _use(model: Model, name: str) -> str:
    if model.languages:
        return _USE_LANGUAGES.format(name=name, first=model.languages[0], other=model.languages[-1])
    others = (_FOUR_BITS if model.dtype == "int4" else _OTHER_LIBRARIES).format(name=name)
    unknown = _UNKNOWN[model.fallback]
    if model.fallback != "none" and model.dtype != "int4":
        unknown += " The other two libraries ignore unknown words."
    return _USE.format(name=name, others=others, unknown=unknown)


def _text(text: str) -> str:
    """Text escaped for Markdown, so that it opens no tag and no link and stays on one line."""
    return " ".join(text.replace("<", "&lt;").replace("](", "]\\(").splitlines())


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """One entry of the model's info as lines of Markdown: {"dim": 300} -> "- dim: 300"."""
    if not isinstance(value, Mapping):
        yield f"{indent}{_value(value)}"
        return
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield f"{indent}- {key}:"
            yield from _lines(inner, indent + "  ")
        else:
            yield f"{indent}- {key}: {_value(inner)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_value, value)) if isinstance(value, list) else str(value)
