"""The parts of a batch, in the order of the flow.

    batch_records  the records that kernels take, and which sentences are neighbours in them
          [Batches, Grouping, Keys, Matrices, Objective, Picked, Rule, Shape, Steps, Text, Tokens,
          n_slots_of_positives]
    random   randomness as a function of where it is used
          [Purpose, alias_table, draw_normals, half_bits, key, ziggurat]
    picking  which sentences form a batch, and which negatives are drawn for its anchors [pick]
    tokens   their words, by sentence and by word
    updates  how a row moves, given its gradient: one rule for each optimiser

Knows nothing about losses: see `objectives`.
"""
