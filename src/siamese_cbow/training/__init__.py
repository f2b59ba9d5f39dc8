"""Training: recipe + stream -> model. In the order of the flow; each module imports only from those above it.

    recipe        settings, frozen: a field holds an option's default, bounds, help and value in the paper
      [AUTO, AUTOMATIC, PRESETS, Recipe, Saving, check_batch]
    stems         words of one stem share a second row while training [group]
    strips        rows in memory: whole, or in two strips of columns [StripLayout, layout_of]
    optimizers    optimisers as numbers, their state per row, learning rates
      [learning_rates, rule_of, state_shapes]
    engine        runs chunks of batches through the kernels, in its own memory [BatchPicker, ChunkReport]
    batches       how a stream is divided into batches, and the randomness of an epoch
      [batch_shape, batches_per_epoch, epoch_keys, keep_chances, text_arrays]
    state         rows, optimiser state and counters; initialised at random or from `init`
      [Counters, TrainingState, first_state, initial_model, random_matrices]
    plan          what a run will do, before any work: words, batches, schedule of several streams
      [Plan, fitted_to, plan_of, remarks_on_fit]
    loop          runs the batches, counts, calls callbacks; a run gives a model at any time
      [BatchTrainer, Callback, Run]
    checkpoint    the files of an unfinished run: checkpoints and log
      [CHECKPOINT_FILES, Checkpoint, Checkpoints, TrainingLog]
    saved_run     training into a folder; resumes after any interruption
      [LOG, about_run, clear_run, is_finished, open_run, train_into]
    ahead         on a fresh machine: compiles kernels in another process while this one reads text [compiled_ahead]
    siamese_cbow  the recipe that users train with, its input, and recipes in files
      [SiameseCBOW, are_streams, read_recipe, recipe_text, write_recipe]

Does not read text (`text`, `stream`): input that is not yet a stream goes to `prepare`. Does not compute losses or
gradients (`kernels`). `transform.postprocessing` finishes the rows; `baselines` has other ways to train word vectors.
"""
