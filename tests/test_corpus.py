"""Corpora: what blocks and lines come out of files, standard input and iterables."""

from __future__ import annotations

from pathlib import Path

from siamese_cbow.text.corpus import Corpus, TextSettings

SENTENCES = TextSettings(layout="sentences")


def text_of(corpus: Corpus) -> bytes:
    return b"".join(corpus.lines(block).text for block in corpus.blocks())


def test_sentences_keep_their_lines_and_a_file_ends_with_a_boundary(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfone two\r\nthree\0four\n \t\r\nfive \xff\n\nsix")
    corpus = Corpus(file, SENTENCES)
    assert text_of(corpus) == "one two\nthree four\n\nfive \ufffd\n\nsix\n\n".encode()
    assert sum(block.n_source_bytes for block in corpus.blocks()) == corpus.total_bytes
