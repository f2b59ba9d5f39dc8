"""The objectives: reference, in-batch, sampled, FastSent."""
