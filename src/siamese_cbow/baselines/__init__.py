"""Other ways to vectors of sentences, trained on the same stream: each is a recipe, `.train(stream) -> .encode(texts)`.

    random_vectors   a random vector for each word: what sharing words is worth [RandomVectors]
    word2vec         CBOW and skip-gram, trained by gensim [Word2Vec]
    fastsent         the sum of a sentence's words guesses the words of its neighbours [FastSent]
    fastsent_engine  the memory that its kernels work in
    skip_thought/    a GRU reads a sentence, two others guess its neighbours [SkipThought, load_encoder, read_published]
    weighting        weights for the words of any of them, and common components removed

To add one: a module here with a frozen dataclass that has `train`, its line in this map, and a row in
`tests/baselines/test_contract.py`. Nothing here evaluates or compares: `evaluation` and `paper` do.
"""
