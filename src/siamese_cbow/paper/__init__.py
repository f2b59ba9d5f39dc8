"""The report: every table and figure of the paper, made again on a stream of your own, and looked at honestly.

In the order of the flow:

    recipes             what is trained for which part, in full and in quick reports
    treatments          what is done to word vectors after learning, the same for every system; a look at the words
    work_pieces         pieces of work, and all that their results depend on, the code too
    pieces              one piece: train, score, time, look at words; its result as JSON
    durations           how long pieces take, from a measured piece of each kind
    work_plan           all pieces of some parts, done one by one and kept
    view                results as tables and verdicts look at them, with the paper's own figures
    document            a report as plain records: sections, tables, figures, claims; decisions in words [Report]
    system_tables       all systems side by side: means, training, Table 3, labels, retrieval and documents
    paper_tables        Tables 1 and 2, the tests behind the daggers
    charts              Figures 2, 3 and 4
    analysis            by sentence length and overlap; short, long and related words
    claims_on_sets      what the paper says of single sets
    claims_on_settings  of epochs, negatives and dimensions
    claims_on_words     of operations and seconds, words and sizes
    claims              of systems against each other; all claims
    writing             from a report to files: the page, Markdown, JSON, CSV, drawn charts
    reproduce           from a stream to a report [reproduce, reproduction_work]

A new column of Table 1 is an entry in `recipes`. How sets are scored is the business of `evaluation`.
"""
