"""Kernels: arrays and scalars in, arrays and scalars out. Each fast one has a plain NumPy reference.

    tables           the tables of objectives and optimisers, from which everything else about them follows
          [OBJECTIVES, OPTIMIZERS, SCORES, ObjectiveName, OptimizerName, sampled_objectives, users_of]
    batch/           the parts of a batch, and how rows move after it
    objectives/      losses, gradients and the kernels that train
    means_reference  means of rows in plain NumPy, which answer small calls
          [COLUMNS, NO_WORDS, compose, mean_of_rows, signs]
    ngram_rows       rows of unknown words, composed of their n-grams
          [BLOCK, UnknownRows, compose_rows, normal_product, padded, rows_as_asked_for, transposed_product]
    means            means at memory speed, and a bound that avoids computing most of them [bounds, means]
    bm25             scores of rows by the query words they contain, in NumPy [MOST, idf, norms, saturated]
    row_scores       rows compared with a query, by postings and by int8 vectors
          [GROUP, add_scores, code_scores, count_rows, count_terms]
    merging          merges rows that several workers have updated
          [NOBODY, merge_means, merge_moves, put_rows, take_rows]

Does not read files, recipes or text, and does not start threads or allocate: see `training.engine` for the memory that
kernels train in, and `machine` for how they are compiled.
"""
