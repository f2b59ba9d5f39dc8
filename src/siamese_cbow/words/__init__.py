"""Words: the tokenizer and its equal forms, the vocabulary, lookup, unknown words."""
