"""Text: from files, folders, standard input and Python's iterables to records, sentences and rows.

In the order of the flow:

    records      settings in, raw blocks, finished lines out [TextSettings, RawBlock, Lines]
    opening      files and standard input as bytes: opened, decompressed, checked to be text [STDIN, open_bytes]
    chunks       bytes as text: cleaned, cut into whole lines, made valid UTF-8
    inputs       what was given: files, folders and globs, or the texts themselves [Texts]
    table_files  JSON lines, CSV, TSV and Parquet: the cells of some columns
    reader       from files to blocks of records, by a table of formats [format_of, read_columns]
    layout       whether lines are sentences, paragraphs or wrapped text
    sentences    where sentences end in running text
    groups       groups of paraphrases: PPDB, tab separated lines, lists
    corpus       a view of records: sentences for training [Corpus]
    row_reader   a view of records: rows that know their place [Line, RowReader, Rows, iter_lines]

Knows nothing of words or vectors.
"""
