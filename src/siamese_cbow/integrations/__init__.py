"""Our models in other libraries, in memory; `formats` reads and writes their files.

    gensim     KeyedVectors, both ways
    sklearn    SentenceVectorizer, for pipelines and grid searches
    langchain  Embeddings, for vector stores and retrievers
    columns    columns of texts -> columns of vectors: pandas, polars, pyarrow; vectors in Parquet files
      [arrow_vectors, parquet_writer]

Each module imports its library on use; if it is missing, the error says what to type.
"""
