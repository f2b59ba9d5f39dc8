"""Skip-thought (Kiros et al. 2015): a sentence's vector lets a decoder predict the surrounding sentences.

    encoder = SkipThought(kind="uni", dim=600).train(stream)
    encoder.encode(["the cat sat", "a dog ran"])       # (2, 600) float32
    encoder.save("models/skip-thought")
    load_encoder("models/skip-thought")
    read_published("downloads/skip-thoughts")          # the files released in 2015

In the order of the flow:

    examples   sentences packed side by side, and the batches of a stream
    parts      the arrays of an encoder, in memory and on disk; the reference in NumPy
    network    GRU encoders and decoders in PyTorch, for training and for encoding
    learning   one step of training: softmax, Adam, all parameters
    encoder    texts -> vectors, and the folder of an encoder [FORMAT]
    published  the encoders released in 2015, and a larger vocabulary from word vectors of other programs
    run        the recipe: settings, batch after batch, checkpoints

Needs PyTorch (extra `skipthought`), which only `network` and `learning` import: it is loaded for training or
encoding, not before.
"""

from __future__ import annotations

from siamese_cbow.baselines.skip_thought.encoder import SkipThoughtEncoder, load_encoder
from siamese_cbow.baselines.skip_thought.published import expand, read_published
from siamese_cbow.baselines.skip_thought.run import SkipThought

__all__ = ["SkipThought", "SkipThoughtEncoder", "expand", "load_encoder", "read_published"]
