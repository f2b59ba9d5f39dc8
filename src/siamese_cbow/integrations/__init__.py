"""Other libraries: their files as our models, our models in their hands.

formats        every file format: how to tell it, read it, write it, and what it keeps
convert        from one format to another, saying what is lost
static_folder  model2vec and sentence-transformers' static models      pickled     the original program, gensim's .kv
gensim         KeyedVectors        spacy        pipelines              onnx        a graph for onnxruntime
sklearn        SentenceVectorizer  langchain    Embeddings             columns     pandas, polars, pyarrow

Each module asks for its library when it is used, and a missing one says what to type. No code in a file is run.
"""
