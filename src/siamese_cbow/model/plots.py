"""Charts with matplotlib: a map of words, and a heat map of similarities.

Each function draws into `ax`, or into a new figure, and returns the axes; a notebook displays them.
They take a method of the model: `plot_words(["cat", "dog", "king"], model.vector)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.base.option_fields import checked_list
from siamese_cbow.errors import InputError, SettingsError, needs
from siamese_cbow.model.geometry import pca, units

LABEL = 32  # characters of a text that labels a heat map
CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
MANY = 16  # texts; with more, the cells show no numbers


def plot_words(words: Sequence[str], vector: Callable[[str], Vectors], ax: Any = None) -> Any:
    """A map of words: the two directions in which their unit vectors differ most (principal components)."""
    words = checked_list("words", words, "three or more words")
    if len(words) < 3:
        raise InputError(f"plot_words got {words!r}; expected a list of three or more words")
    vectors = np.stack([vector(word) for word in words])
    places, _ = pca(units(vectors))
    ax = _axes(ax, (6.4, 5.2))
    ax.scatter(places[:, 0], places[:, 1], s=12)
    ax.set(xticks=[], yticks=[], title=f"{len(words)} words in two of {vectors.shape[1]} dimensions")
    ax.margins(0.12)
    _label(ax, words, places)
    return ax


def plot_similarity(
    a: Sequence[str], b: Sequence[str] | None, similarity: Callable[[list[str], list[str]], Vectors], ax: Any = None
) -> Any:
    """A heat map of the cosines of some texts with others, or among themselves."""
    a = checked_list("a", a, "texts")
    columns = a if b is None else checked_list("b", b, "texts")
    if not a or not columns:
        raise InputError("plot_similarity got no texts; expected a list of one or more")
    cosines = similarity(a, columns)
    ax = _axes(ax, (3.2 + 0.6 * len(columns), 2.4 + 0.5 * len(a)))
    drawn = ax.imshow(cosines, vmin=-1, vmax=1, cmap="RdBu_r")
    ax.set_xticks(range(len(columns)), _labels(columns), rotation=35, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(a)), _labels(a))
    if max(len(a), len(columns)) <= MANY:
        for (row, column), value in np.ndenumerate(cosines):
            colour = "white" if abs(value) > 0.6 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    ax.figure.colorbar(drawn, ax=ax, label="cosine", shrink=0.8)
    return ax


def _label(ax: Any, words: Sequence[str], places: Floats) -> None:
    """Label each point at the first of its four corners that is free."""
    ax.figure.draw_without_rendering()  # computes the positions of points and text
    taken: list[Any] = []
    for word, place in zip(words, places, strict=True):
        label = ax.annotate(word, place, xytext=(0, 0), textcoords="offset points", parse_math=False)
        for x, y in CORNERS:
            label.set(position=(3 * x, 3 * y), ha="left" if x > 0 else "right", va="bottom" if y > 0 else "top")
            box = label.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)


def _labels(texts: Sequence[str]) -> list[str]:
    # A dollar sign would start a formula.
    return [shorten(text, LABEL, placeholder="…").replace("$", r"\$") for text in texts]


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        if not hasattr(ax, "scatter"):  # a figure, or an array of axes
            raise SettingsError(f"ax is {ax!r:.60}; expected the axes to draw into, such as plt.subplots()[1]")
        return ax
    with needs("matplotlib", "plots"):
        from matplotlib import pyplot
    return pyplot.subplots(figsize=size, layout="constrained")[1]
