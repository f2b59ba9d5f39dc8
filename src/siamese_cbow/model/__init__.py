"""A model: a vocabulary plus vectors. Words and texts in, vectors out; a folder, and back.

    geometry      lengths, cosines, nearest rows; Gram matrices and directions; what undoes a change of rows
      [FEW_ROWS, Undo, blocks, cosines, eigenvectors, float32_lengths, gram_of, lengths, one_thread, paired_cosines,
      pca, side_by_side, strength_shares, strongest, units, with_signs]
    packed_rows   rows as float32, float16, int8 or int4, checked [Dtype, PackedRows, as_array, packed]
    info          where a model comes from: typed fields [ModelInfo]
    ngram_vectors  vectors of character n-grams, of which unknown words are made [NGramVectors, fitted]
    text_watch    says, once, that a text is of another language or mostly of unknown words
    encoding      texts -> means of rows; the switch between the small and the bulk path
      [Texts, as_list, at_least_1, check_strings, is_much]
    forms         neighbours worth reading: one form of each word
    word_vectors  what a model is made of, and what can be asked of its words
    model         what can be done with whole texts; the verbs of all rooms [Model]
    plots         pictures with matplotlib
    folder_format  folders that describe themselves: config.json with format, version, hashes; rows as a safetensors
      file, and back, mapped into memory [ANEW, CONFIG, FolderFormat, map_float32, read_table, write_rows]
    card          what there is to say of a model, for programs and for people [describe]
    storage       a model as a folder that three libraries read
      [FORMAT, MODEL_FILES, PRETRAINED, RUN, RUN_FILE, VOCABULARY, check_target, load, save]

Does not train, knows no other file format, and makes no new model: those are `training`, `formats` and `transform`.
"""
