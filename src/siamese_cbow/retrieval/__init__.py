"""Searching in text: rows that match a query, with and without an index, near-duplicates, and groups.

    row_words   rows -> their words, on the small path and in bulk
    terms       the words of a query, and BM25
    fitting     vectors made to fit a collection, and the cosines of its rows
    fusion      two scores made one; feedback; which rows are looked at closely
    kept_text   the rows of a text while it is searched
    scoring     a collection in memory: bounds first, exact scores for few rows
    search      the rows of a text that match a query, without preparation [Hit, search]
    graph       the graph of near vectors, by usearch, for `duplicates`
    postings    which rows hold a word
    coding      vectors in few bytes, and a fit on disk
    segment     some of the rows of an index on disk
    manifest    what an index holds, as one JSON file, and the fit of its rows [NAME, kept_model]
    updating    making an index, and bringing it up to date [update]
    recall      how many of the best rows an index finds
    index       an index, opened for searching [Index]
    agreement   whether two texts with nearly the same vector say the same
    duplicates  rows that say what an earlier row has said [CheckedRow, duplicates]
    clusters    groups of rows that are about the same [Cluster, clusters]

Rows come from `text.row_reader`; nothing here reads files of text itself.
"""
