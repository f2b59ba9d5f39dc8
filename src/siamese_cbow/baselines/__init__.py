"""Other sentence encoders, trained on the same stream: each is a recipe, `.train(stream) -> .encode(texts)`.

    random_vectors  a random vector for each word: how far word overlap alone gets [RandomVectors]
    word2vec        CBOW and skip-gram, trained by gensim [Word2Vec]
    fastsent        the sum of a sentence's words predicts the words of its neighbours [FastSent]
    skip_thought/   a GRU reads a sentence, two predict its neighbours [SkipThought, load_encoder, read_published]
    weighting       word weights and removal of common components, for any of them

To add one: a module here with a frozen dataclass that has `train`, its line in this map, and a row in
`tests/baselines/test_contract.py`. Nothing here evaluates or compares: `evaluation` and `paper` do.
"""
