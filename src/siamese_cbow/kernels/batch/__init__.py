"""The parts of a batch: picking, random numbers, words, updates."""
