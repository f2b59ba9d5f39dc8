"""Ids on disk: a corpus is read once and stored as arrays that training maps into memory.

    stream       the arrays, and the folder they are read from [Stream, is_stream]
    counting     words of blocks -> provisional ids; finally, one vocabulary [COUNTERS, Merged, WordCounter, merge]
    spool        the first pass: blocks of text -> provisional ids, on disk [Spool, Tallies]
    writer       the second pass: blocks of final ids -> the arrays of a stream [StreamWriter]
    preparation  text in, stream out: both passes
      [OURS, WORDS_ONLY, Settings, check_changes, finish, opened, prepare]
    mix          several streams for one training run [Mix, joined]

Does not read text or split it into sentences (`text`), define words (`words`), shuffle or train (`training`).
"""
