"""Search in text: rows that match a query, with and without an index; near-duplicates; clusters.

    row_words   rows -> their words, on the small path and in bulk
    terms       the words of a query, BM25, and which rows of an index contain a word
    fitting     vectors fitted to a collection, the cosines of its rows, and compact codes of them for an index
    fusion      combines the two scores; relevance feedback; the pool of rows that are scored exactly
    kept_text   holds the rows of a text during a search
    scoring     a collection in memory: bounds first, exact scores for few rows
    search      searches a text without preparation; measures the recall of an index
      [Hit, search]
    graph       approximate nearest neighbours with usearch, for `duplicates`
    segment     some of the rows of an index on disk
    manifest    the contents of an index as one JSON file, and the fit of its rows [NAME, kept_model]
    updating    creates and updates an index [update]
    index       an index, open for searching [Index]
    agreement   decides whether two texts with similar vectors say the same thing
    duplicates  rows that repeat an earlier row [CheckedRow, duplicates]
    clusters    groups of rows on the same topic [Cluster, clusters]

Rows come from `text.row_reader`; nothing here reads text files itself.
"""
