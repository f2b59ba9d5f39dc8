"""What a word is: one definition in three equal forms, the vocabulary, and the way from text to ids.

The definition is `Tokenizer.words`, in plain Python. The scanner does the same in bulk, over UTF-8 bytes, and the
`tokenizer.json` of a saved model defines the same for the `tokenizers` library. Tests check that the three agree on
any text and on every code point. The definition's version is the rule (`tokenizer.RULES`), which streams and models
store.

    characters      code point -> letter, digit, mark ...; its lower case; NFC
    patterns        the shape of a word as regular expressions
    tokenizer       text -> words, in plain Python and as tokenizer.json [Kind, Tokenizer]
    json_tokenizer  tokenizers of other programs, run by their library [JsonTokenizer, known_tokenizer]
    vocabulary      words, their counts and ids, and their file [FEW, LazyVocabulary, Vocabulary, most_frequent]
    stemmers        the stem that the forms of a word share [stemmer_of, word_stems]
    unknown_words   what an out-of-vocabulary word counts as
      [KEYS_ONLY, Fallback, UnknownWords, finder, key_of, ngrams, no_unknown_words]
    hash_table      hashes of words, and open addressing [empty_slots, fill_slots, hash_words, seeds]
    cutting         the shape of a word in kernels: where the next word ends
    word_parts      hashes of beginnings and n-grams, for unknown words in bulk [ngrams_of]
    scanner         UTF-8 bytes -> ids at memory speed
      [Cursor, WordTable, count, normal_lines, scratch, tables, word_table]
    lookup          many texts -> ids, through the scanner [AnyLookup, Lookup, as_lines, lookup_of, written_out]

The last five load numba; small calls don't need it. Does not read text or split it into sentences (`text`), or count a
corpus (`stream`).
"""
