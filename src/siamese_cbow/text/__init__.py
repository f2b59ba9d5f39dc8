"""Text: what a word is, where a sentence ends, and readers for files and pairs. Knows nothing of vectors."""
