"""How well vectors agree with human judgements: sentence pairs, scores, significance tests, classification.

Anything with `.encode(list of str) -> (n, dim) array` can be scored. In the order of the flow:

    download      downloads the public archives and unpacks them as `sts` reads them [DEFAULT_FOLDER, download_sts]
    pair_sets     a set of pairs with gold scores, and which pairs count under a protocol
      [PROTOCOLS, PairSet, Protocol, TextFacts, counted, counting]
    sts           folders and files of sets as released -> pair sets [TUNING, WHERE, sts]
    pair_files    your own tables of two texts and a score -> a pair set [pairs]
    systems       what can be evaluated by name [RANDOM, TFIDF, open_system, open_systems, short_names, words_of]
    correlation   Pearson, Spearman, bootstrap [Interval, interval, pearson]
    scores        the one place that scores a set, and aggregates of several
      [Scores, SetScore, headline, mean]
    evaluate      encode, take cosines, score; optionally adapted to the text of each set
      [PairSystem, System, evaluate, unit_vectors, unknown_words]
    significance  is one system significantly better than another? [Comparison, DAGGER, compare, wilcoxon]
    verdicts      does a claim hold? Intervals over pairs and runs, and which rivals are sound
      [FAILS, HOLDS, LEAST_RUNS, NEAR, UNDECIDED, Decision, Resampled, Statistic, Verdict, crowding, decide,
      decide_by_runs, decide_statistic, every, is_collapsed, item_replicates, one_run_each, resampled_pearsons]
    probe         classification with frozen vectors [TFIDF, most_frequent_share, probe, read_labelled]
    transfer      standard sets of labelled sentences: MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC
    ranking       retrieval with relevance judgements: nDCG@10, MAP; BM25
    tasks         halves and passages of whole documents; the three kinds of tasks, by folder
      [TaskScore, Tasks, read_tasks]
    score_tables  scores and tests as tables for people
      [UNDEFINED, best_of, both_numbers, comparison_table, details_table, number, probability, remarks, score_tables,
      signed, task_table, verdict]

Nothing here trains; `paper` makes the report on the paper.
"""
