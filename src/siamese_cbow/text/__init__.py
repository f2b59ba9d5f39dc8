"""Text: turns files, folders, standard input and Python iterables into records, sentences and rows.

In the order of the flow:

    languages    names and tags of languages, what each determines, and detection
      [ASSUMED, AUTO, DOTLESS, Detected, ELISIONS, Language, UNDETERMINED, detect, find_language, language]
    records      settings in, raw blocks, finished lines out
      [BLOCK_BYTES, AnyLayout, Lines, NoText, RawBlock, TextSettings, text_settings]
    opening      files and standard input as bytes: opened, decompressed, checked to be text
      [STDIN, check_is_no_other_file, compression_of, open_bytes]
    alphabets    which of several encodings gives the letters of a single language
    encodings    which encoding a text is in, and the text in UTF-8 [Decoding]
    chunks       bytes as text: cleaned, divided into whole lines, made valid UTF-8
    folders      the files of a folder, without hidden, ignored and binary ones
    inputs       the inputs of a command: files, folders and globs, or the texts themselves
      [Texts, check_is_no_table, is_name, looks_like_name, no_text_remark]
    table_files  the cells of some columns of CSV and TSV
    parquet_files  the cells of some columns of Parquet, in bounded memory [arrow_cells]
    json_files   the cells of some keys of JSON lines and arrays; whole tables of any format [table_rows]
    reader       from files to blocks of records, by the table of formats below
      [RecordColumns, column_names_of, format_of, language_samples, read_columns, telling_files]
    documents    HTML, Markdown, PDF and subtitles: their paragraphs
    layout       whether lines are sentences, paragraphs or wrapped text
    splitters    where sentences end in running text, found in this process or in several [Splitters]
    sentences    from raw blocks to lines of sentences; groups of paraphrases: PPDB, tab-separated lines, lists
    corpus       a view of records: sentences for training; files and parts of files, read independently
      [Corpus, FileLook, chosen_layouts, first_of_blocks, look_at, n_pieces, part_blocks, piece_start]
    row_reader   a view of records: rows with their positions [Line, RowReader, Rows, block_texts, iter_lines]

Knows nothing about words or vectors. To add a format, write its reader in a new module and list both here.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from siamese_cbow.errors import needs


class FileFormat(NamedTuple):
    """A kind of file, and how it is read.

    endings  of file names, without that of the compression
    text     "lines" if each line is a record; else "module.function" in this room, a `reader.ReadCells`, which is
             imported on use; "" if files of this kind are skipped in a folder
    groups   the same for groups of paraphrases
    rows     "module.function" that reads all columns of a table, for `reader.RecordColumns`
    document "module.function" that reads the file as paragraphs, a `documents.Paragraphs`; its lines are records
             only if lines are requested
    needs    the library that reads it and the extra that installs it, if the base install lacks it
    """

    name: str
    endings: tuple[str, ...]
    text: str = ""
    groups: str = ""
    document: str = ""
    rows: str = ""
    needs: tuple[str, str] | None = None

    @property
    def is_table(self) -> bool:
        """Whether its records have columns rather than being lines."""
        return "." in self.text

    def check_installed(self) -> None:
        """Raises an error that says what to type if the library of this format is missing."""
        if self.needs:
            with needs(*self.needs):
                import_module(self.needs[0])


FORMATS = (  # the first is for files with any other ending
    FileFormat("plain text", (".txt", ".text", ".sentences", ".tok"), "lines", "lines"),
    FileFormat("JSON lines", (".jsonl", ".ndjson", ".json"), "json_files.json_cells", "json_files.json_cells",
               rows="json_files.json_rows"),
    FileFormat("CSV", (".csv", ".psv"), "table_files.csv_cells", rows="table_files.csv_rows"),
    FileFormat("TSV", (".tsv", ".tab"), "table_files.csv_cells", "lines", rows="table_files.csv_rows"),
    FileFormat("Parquet", (".parquet",), "parquet_files.parquet_cells", "parquet_files.parquet_cells",
               rows="parquet_files.parquet_rows", needs=("pyarrow", "tables")),
    FileFormat("HTML", (".html", ".htm", ".xhtml", ".xht", ".shtml"), "lines", document="documents.html_paragraphs"),
    FileFormat("Markdown", (".md", ".markdown", ".mkd", ".mdx", ".rmd", ".qmd"), "lines",
               document="documents.markdown_paragraphs"),
    FileFormat("subtitles", (".srt", ".vtt"), "lines", document="documents.subtitle_paragraphs"),
    FileFormat("PDF", (".pdf",), "lines", document="documents.pdf_paragraphs", needs=("pypdf", "pdf")),
    FileFormat("PPDB", (".ppdb",), "", "lines"),
)  # fmt: skip
