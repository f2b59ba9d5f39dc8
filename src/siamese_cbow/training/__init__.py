"""Training: recipe + stream -> model. In the order of the flow; each module imports only from those above it.

    recipe        settings, frozen: a field says default, bounds, help and the paper's value of an option
      [AUTO, AUTOMATIC, PRESETS, Recipe, Saving, check_batch]
    stems         words of one stem share a second row while they learn [group]
    strips        rows in memory: whole, or in two strips of columns [StripLayout, layout_of]
    optimizers    optimisers as numbers, what they remember of a row, learning rates
      [learning_rates, rule_of, state_shapes]
    engine        runs chunks of batches through the kernels, in memory of its own [BatchPicker, ChunkReport]
    batches       how a stream is cut into batches, and the randomness of an epoch
      [batch_shape, batches_per_epoch, epoch_keys, text_arrays]
    state         rows, optimiser's memory and counters; how they start, at random or from `init`
      [Counters, TrainingState, first_state, initial_model, random_matrices]
    plan          what a training will do, before any work: words, batches, schedule of several streams
      [Plan, fitted_to, plan_of, remarks_on_fit]
    loop          goes through the batches, counts, tells callbacks; a run gives a model at any time
      [BatchTrainer, Callback, Run]
    checkpoint    the files of an unfinished run: checkpoints and log
      [CHECKPOINT_FILES, Checkpoint, Checkpoints, TrainingLog]
    saved_run     training into a folder, which goes on after anything
      [LOG, about_run, clear_run, is_finished, open_run, train_into]
    ahead         on a fresh machine: kernels compiled in another process while this one reads text [compiled_ahead]
    siamese_cbow  the recipe that users train by, what it learns from, and recipes in files
      [SiameseCBOW, are_streams, read_recipe, recipe_text, write_recipe]

Text is not read here (`text`, `stream`): what is no stream yet is handed to `prepare`. No loss or gradient is computed
(`kernels`). What is done to the rows at the end is `transform.postprocessing`; other ways to train word vectors are
`baselines`.
"""
