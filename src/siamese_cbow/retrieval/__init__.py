"""Searching in text: hits for a query, an index on disk, near-duplicates and groups. Text is read, never changed."""
