"""The report: every table and figure of the paper, made again on a stream of your own, and looked at honestly.

In the order of the flow:

    recipes             what is trained for which part, in full and in quick reports; pieces of work
    pieces              one piece: train, score, time, look at words; its result as JSON
    work_plan           all pieces of some parts, done one by one and kept
    view                results as tables look at them, with the paper's own figures
    document            a report as plain records: sections, tables, figures, claims [Report]
    paper_tables        Tables 1, 2 and 3, the tests behind the daggers, the systems
    charts              Figures 2, 3 and 4
    analysis            by sentence length and overlap; short, long and related words
    claims_on_settings  what the paper says of settings, time and words, held against the run
    claims              what it says of systems against each other; all claims
    drawing             charts with matplotlib
    writing             from a report to files: the page, Markdown, JSON, CSV
    reproduce           from a stream to a report [reproduce, reproduction_seconds]

A new column of Table 1 is an entry in `recipes`. How sets are scored is the business of `evaluation`.
"""
