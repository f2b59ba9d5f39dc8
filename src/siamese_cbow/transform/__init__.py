"""Model in, model out: each step reads trained rows and writes new ones.

    estimates       word weights; mean and Gram matrix of sentences, from a stream or from counts
      [idf, information]
    settings        post-processing settings [Postprocess]
    postprocessing  applies them, at the end of training or to any model, and undoes them; moves rare words towards the
      vectors of their n-grams
      [drawn_to_letters, end_of_training, folded, ids_in, learnt_rows, postprocess, without_postprocessing]
    adaptation      domain adaptation
      [adapt, adaptation, evened, not_adapted, scaled_along, shares_of, word_weights]
    compression     fewer bits, dimensions, words; several models with one vocabulary -> one [combine, compress]

Nothing is trained here, and nothing is written to disk.
"""
