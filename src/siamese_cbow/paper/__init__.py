"""The report: every table and figure of the paper, reproduced on your own stream and put to the test.

In the order of the flow:

    recipes             which systems each part trains, in full and in quick reports
    treatments          post-processing applied alike to every system; a look at the words
    work_pieces         pieces of work and everything their results depend on, including the code
    pieces              one piece: train, score, time and inspect words; the result is JSON
    durations           estimates of how long pieces take, from one measured piece of each kind
    work_plan           all pieces that some parts need, computed one by one and cached
    paper_figures       the figures of the paper's own tables
    view                results as tables and verdicts use them; which systems are sound rivals
    document            a report as plain records: sections, tables, figures, claims; decisions in words [Report]
    system_tables       all systems side by side: means, training, Table 3, classification, retrieval, documents
    paper_tables        Tables 1 and 2 and the tests behind the daggers
    charts              Figures 2, 3 and 4
    analysis            scores by sentence length and overlap; short, long and related words
    claims_on_sets      what the paper claims about single sets
    claims_on_settings  about epochs, negatives and dimensions
    claims_on_words     about operations and time, words and model sizes
    claims              about systems against each other; collects all claims
    writing             writes a report to files: HTML page, Markdown, JSON, CSV, charts
    reproduce           from a stream to a report [reproduce, reproduction_work]

To add a column to Table 1, add an entry to `recipes`. How sets are scored belongs to `evaluation`.
"""
