"""Models by name, and files and folders of other programs as our models, and back.

In the order of the flow:

    resolver        the only place where a name becomes a model; up to the Hugging Face Hub
      [PRETRAINED, is_vector_file, load, local_path, open_model, push_to_hub]
    known_formats   a record for each format: how to tell it, read it, write it, what it keeps
      [Look, READABLE, WRITABLE]
    vector_layouts  how a word vector file is laid out, and its rows as bytes
    vector_files    word2vec, GloVe and fastText: rows -> arrays and models; the same files written
      [has_capitals, read_word_vectors]
    static_folder   folders of model2vec and of static sentence-transformers -> models [other_modules]
    word_table      a Parquet table of words, both ways; columns of vectors -> matrices [as_matrix]
    pickled         pickles of the original program and of gensim -> models
    safe_pickle     a pickle or .npy file -> plain values and arrays, running nothing [load_npy, load_pickle]
    pickle_machine  the opcodes of pickles
    onnx            a model -> a graph for onnxruntime
    spacy_parts     a model -> a spaCy pipeline; its tokenizer and component
    convert         from one format to another, saying what is lost [convert]

Each module imports its library when it is used, and a missing one says what to type. No code in a file is run. Does not
write pickles, and does not know how our own folder is laid out: that is `model.storage`.
"""
