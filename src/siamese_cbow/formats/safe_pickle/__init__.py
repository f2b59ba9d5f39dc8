"""Reads the data in other programs' pickles without running any of it.

    load_pickle("options.pkl")     -> {"dim": 2400, "encoder": "gru", ...}
    load_npy("utable.npy")         -> an array, also where it is an array of objects, which NumPy reads by pickle only

A pickle is a program for a small stack machine, and the usual reader lets it call any function that is installed. The
machine here knows only how to build plain values, ordered dictionaries and NumPy arrays; whatever else a file asks for
is refused by name, before anything happens. Nothing is imported and nothing is called on a file's behalf.

Reads what Python 2 and 3 wrote, protocols 0 to 5. A Python 2 string comes back as text: UTF-8, or else Latin-1. Memory
is bounded by the size of the file: some hundred bytes for each of its bytes in the worst case, about one in the usual.
Does not write pickles, and does not rebuild objects of any class (see `Record`).
"""

from __future__ import annotations

from siamese_cbow.formats.safe_pickle.reading import load_npy, load_pickle
from siamese_cbow.formats.safe_pickle.values import Record

__all__ = ["Record", "load_npy", "load_pickle"]
