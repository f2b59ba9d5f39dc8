"""Opens models by name, and converts files and folders of other programs to our models and back.

In the order of the flow:

    resolver        the only place where a name becomes a model; up to the Hugging Face Hub
      [PRETRAINED, is_vector_file, load, local_path, open_model, push_to_hub]
    known_formats   a record for each format: how to recognise, read and write it, and what it keeps
      [Look, READABLE, WRITABLE]
    vector_layouts  the layout of a word vector file, and its rows as bytes
    vector_files    word2vec, GloVe and fastText: rows -> arrays and models; the same files written
      [has_capitals, read_word_vectors]
    static_folder   folders of model2vec and of static sentence-transformers -> models [other_modules]
    word_table      a Parquet table of words, both ways; columns of vectors -> matrices [as_matrix]
    pickled         pickles of the original program and of gensim -> models
    safe_pickle     a pickle or .npy file -> plain values and arrays, running nothing [load_npy, load_pickle]
    pickle_machine  the opcodes of pickles
    onnx            a model -> a graph for onnxruntime
    spacy_parts     a model -> a spaCy pipeline; its tokenizer and component
    convert         from one format to another, reporting what is lost [convert]

Each module imports its library on use; if it is missing, the error says what to type. Code in a file is never run.
Nothing here writes pickles or knows the layout of our own folder: that is `model.storage`.
"""
