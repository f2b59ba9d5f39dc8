"""Our models in the hands of other libraries, in memory; their files are the work of `formats`.

    gensim     KeyedVectors, both ways
    sklearn    SentenceVectorizer, for pipelines and grid searches
    langchain  Embeddings, for vector stores and retrievers
    columns    columns of texts -> columns of vectors: pandas, polars, pyarrow

Each module imports its library when it is used, and a missing one says what to type.
"""
