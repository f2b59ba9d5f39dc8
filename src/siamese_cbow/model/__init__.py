"""A model: a vocabulary plus vectors. Words and texts in, vectors out; saved to a folder and loaded.

    geometry      lengths, cosines, nearest rows; Gram matrices and directions; the record that undoes a change of rows
      [FEW_ROWS, Undo, blocks, cosines, eigenvectors, float32_lengths, gram_of, lengths, one_thread, paired_cosines,
      pca, side_by_side, strength_shares, strongest, units, with_signs]
    packed_rows   rows as float32, float16, int8 or int4, checked [Dtype, PackedRows, as_array, packed]
    info          where a model comes from: typed fields [ModelInfo]
    ngram_vectors  vectors of character n-grams, from which unknown words are composed [NGramVectors, fitted]
    text_watch    warns once about text in another language or of mostly unknown words
    encoding      texts -> means of rows; the switch between the small and the bulk path
      [Texts, as_list, check_strings, is_much]
    forms         useful neighbours: one form of each word
    word_vectors  the data of a model, and queries about single words
    model         operations on whole texts; methods from all rooms [Model]
    plots         charts with matplotlib
    folder_format  self-describing folders: config.json with format, version and hashes; rows written to a safetensors
      file and mapped back into memory [ANEW, CONFIG, FolderFormat, map_float32, read_table, write_rows]
    card          the description of a model, for programs and for people [describe]
    storage       a model as a folder that three libraries read
      [FORMAT, MODEL_FILES, PRETRAINED, RUN, RUN_FILE, VOCABULARY, check_is_model, check_target, load, save]

Training, other file formats and new models from old ones are in `training`, `formats` and `transform`.
"""
