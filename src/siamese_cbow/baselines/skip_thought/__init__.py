"""Skip-thought (Kiros et al. 2015): a sentence's vector is what lets a decoder guess the sentences around it.

    encoder = SkipThought(kind="uni", dim=600).train(stream)
    encoder.encode(["the cat sat", "a dog ran"])       # (2, 600) float32
    encoder.save("models/skip-thought")
    load_encoder("models/skip-thought")
    read_published("downloads/skip-thoughts")          # the files that were released in 2015

In the order of the flow:

    examples   sentences packed side by side, and the batches of a stream
    parts      the arrays that an encoder is made of, in memory and on disk; the definition in NumPy
    network    GRU encoders and decoders in PyTorch, for training and for reading
    learning   one step of training: softmax, Adam, all that is learnt
    encoder    texts -> vectors, and the folder of an encoder [FORMAT]
    published  the encoders of 2015, and word vectors of other programs for more words
    run        the recipe: settings, batch after batch, checkpoints

Needs PyTorch (extra `skipthought`), which only `network` and `learning` import: it is loaded when something is trained
or encoded, not before.
"""

from __future__ import annotations

from siamese_cbow.baselines.skip_thought.encoder import SkipThoughtEncoder, load_encoder
from siamese_cbow.baselines.skip_thought.published import expand, read_published
from siamese_cbow.baselines.skip_thought.run import SkipThought

__all__ = ["SkipThought", "SkipThoughtEncoder", "expand", "load_encoder", "read_published"]
