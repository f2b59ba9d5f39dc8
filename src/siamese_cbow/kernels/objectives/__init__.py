"""What training minimises, and the kernels that train.

    reference  the definitions: plain NumPy, float64, slow
    losses     the loss of one anchor and its slopes, for every objective
    in_batch   the kernel of objectives that compare all sentences of a batch
          [IN_BATCH_PHASES, TILE, InBatchWork, train_in_batch]
    sampled    the kernel of objectives with a few candidates for each anchor
          [SAMPLED_PHASES, SampledWork, train_sampled]
    fastsent_kernel  FastSent's kernel [FASTSENT_PHASES, FastSentWork, Pairs, train_fastsent]

Kernels get all their memory from outside: see `training.engine` and `baselines.fastsent`. Optimisers are in `batch`.
"""
