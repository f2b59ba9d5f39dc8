"""Searching in text: rows near a query, with and without an index, near-duplicates, and groups.

    scoring     rows -> cosines with a query, for little and for much text
    search      the rows of a text that are nearest to a query, in one pass [Hit, search]
    graph       the graph of near vectors, by usearch
    segment     some of the rows of an index on disk
    manifest    what an index holds, as one JSON file [NAME, kept_model]
    updating    making an index, and bringing it up to date [update]
    index       an index, opened for searching [Index]
    duplicates  rows that say what an earlier row has said [CheckedRow, duplicates]
    clusters    groups of rows that are about the same [Cluster, clusters]

Rows come from `text.row_reader`; nothing here reads files of text itself.
"""
