"""What a word is: one definition in three equal forms, the vocabulary, and the way from text to ids.

The definition is `Tokenizer.words`, in plain Python. The scanner does the same in bulk, over UTF-8 bytes, and the
`tokenizer.json` of a saved model says the same to the `tokenizers` library. Tests hold the three equal on any text
and on every code point. Its version is the rule (`tokenizer.RULES`), which streams and models store.

    characters      code point -> letter, digit, mark ...; its lower case
    tokenizer       text -> words, in plain Python and as tokenizer.json [Kind, Tokenizer]
    json_tokenizer  tokenizers of other programs, run by their library [JsonTokenizer, known_tokenizer]
    vocabulary      words, their counts and ids, and the file of them [FEW, LazyVocabulary, Vocabulary]
    unknown_words   what a word out of the vocabulary counts as [Fallback, finder]
    hash_table      hashes of words, and open addressing [empty_slots, fill_slots, seeds]
    scanner         UTF-8 bytes -> ids at the speed of memory [Cursor, WordTable, count, tables, word_table]
    lookup          many texts -> ids, through the scanner [AnyLookup, Lookup, lookup_of]

The last three load numba; small calls do without. Does not read or split text (`text`) or count a corpus (`stream`).
"""
