"""Text: from files, folders, standard input and Python's iterables to records, sentences and rows.

In the order of the flow:

    records      settings in, raw blocks, finished lines out [TextSettings, RawBlock, Lines]
    opening      files and standard input as bytes: opened, decompressed, checked to be text [STDIN, open_bytes]
    alphabets    which of several encodings gives the letters of one language
    encodings    which encoding a text is in, and the text in UTF-8 [Decoding]
    chunks       bytes as text: cleaned, cut into whole lines, made valid UTF-8
    inputs       what was given: files, folders and globs, or the texts themselves [Texts]
    table_files  JSON lines, CSV, TSV and Parquet: the cells of some columns
    reader       from files to blocks of records, by the table of formats below [format_of, read_columns]
    layout       whether lines are sentences, paragraphs or wrapped text
    sentences    where sentences end in running text
    groups       groups of paraphrases: PPDB, tab separated lines, lists
    corpus       a view of records: sentences for training [Corpus]
    row_reader   a view of records: rows that know their place [Line, RowReader, Rows, iter_lines]

Knows nothing of words or vectors. To add a format, write its reader in a module of its own, and name both here.
"""

from __future__ import annotations

from typing import NamedTuple


class FileFormat(NamedTuple):
    """A kind of file, and how it is read.

    endings  of the names of such files, without the compression
    text     "lines" where each line is a record; else "module.function" in this room, a `reader.ReadCells`, which is
             imported when it is needed; "" where files of this kind are passed over in a folder
    groups   the same for groups of paraphrases
    """

    name: str
    endings: tuple[str, ...]
    text: str = ""
    groups: str = ""

    @property
    def is_table(self) -> bool:
        """Whether its records are not lines, but have columns."""
        return "." in self.text


FORMATS = (  # the first one is what a file of any other ending is taken for
    FileFormat("plain text", (".txt", ".text", ".md", ".sentences", ".tok"), "lines", "lines"),
    FileFormat("JSON lines", (".jsonl", ".ndjson", ".json"), "table_files.json_cells", "table_files.json_cells"),
    FileFormat("CSV", (".csv",), "table_files.csv_cells"),
    FileFormat("TSV", (".tsv",), "table_files.csv_cells", "lines"),
    FileFormat("Parquet", (".parquet",), "table_files.parquet_cells", "table_files.parquet_cells"),
    FileFormat("PPDB", (".ppdb",), "", "lines"),
)
