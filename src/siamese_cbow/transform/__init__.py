"""Model in, model out: each step reads finished rows and writes others.

    estimates       weights of words; mean and Gram matrix of sentences, of a stream or from counts
      [information]
    settings        what is done to rows after training, as values [Postprocess]
    postprocessing  doing it, at the end of a training or to any model, and undoing it
      [end_of_training, folded, ids_in, learnt_rows, postprocess, without_postprocessing]
    spelling        rare words drawn towards what their letters say, at the end of a training [drawn_to_letters]
    adaptation      a model for texts of one kind
      [adapt, adaptation, evened, not_adapted, scaled_along, shares_of, word_weights]
    compression     fewer bits, dimensions, words; several models of one vocabulary -> one [combine, compress]

Nothing is trained here, and nothing is written to a disk.
"""
