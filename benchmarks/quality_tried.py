"""What the search says in words."""

PROTOTYPES = """### Tried with throw-away kernels

No script runs these any more, so there are no figures, only what was seen on the sets of 2012 and 2013.

- No gain: the nearest of the two neighbours counting instead of their mean; hashed pieces of words for rare words only;
  Adagrad's memory starting above zero; half of all words left out at random, in twice the epochs; a learning rate that
  grows; epochs alternating between sentences and dealt words; a word's learning rate growing with its information; rows
  for words that stand once or twice in the text; the novels beside Wikipedia from the start; lengths learnt further
  alone; rows drawn towards what regression from their contexts says; vectors by hash for unknown words that no prefix
  finds; random rows or constant columns beside the rest; vectors of GloVe beside the rest.
- Worse: the nearest of neighbours up to three sentences away; the same with sentences cut into halves.
- Better: several seeds made one whose rows get back their lengths (taken); ten seeds are no better than five."""

CONCLUSIONS = """## What came out

- **Spread.** Three seeds of the default differ by a standard deviation of .003 on the sets of 2012 and 2013. Most rows
  have one seed, so a row is no better than the default (.6406, mean of three seeds) unless it is above .647; what came
  near was run with three seeds.
- **Taken**, in the order of what they brought: weights of words (square roots of the learnt lengths times information),
  a row shared by all words of a stem, no punctuation, and two common directions removed (within the spread; it costs
  nothing). For the model in the package also: going on with novels at a tenth of the rate, and several seeds made one,
  though 2014 and 2015 don't confirm the latter (results/pretrained.md).
- **Not taken, as good as the default**: neighbours inside a paragraph only, subsampling from 3e-5 to 3e-4, temperature
  .07, or from .1 down to .05, batches of 128 to 1024, runs of 8, 2 and 3 epochs, a mean of checkpoints, one to five
  directions, a little whitening, rows drawn a little towards their neighbours, longer rows for words without kin,
  smaller and larger rows at the start, a row shared by numbers with as many digits, hashed pieces of words, rates from
  .02 to .1, Adam, 200 and 600 dimensions, other views of the text beside the default. The default is the plainest of
  them.
- **Not taken, worse**: any positives beyond the sentence next door (up to two or three sentences away, anywhere in the
  paragraph or the article), negatives from the same article, halves and pieces of sentences instead of sentences, one
  word for all numbers, rows for pairs of words, hinge loss, linear decay, SGD, a start from word2vec, 100 dimensions,
  directions of sentences removed instead of those of words, SIF and uSIF instead of our weights, full whitening, and
  FastSent or word2vec, alone or beside the default.
- **Beyond one model for all text**: what adapting it to texts of one kind is worth stands in results/adapt.md.
- **Not tried**: titles as positives (the text has none), a learnt temperature (fixed ones and schedules show nothing to
  be learnt).

Rows were trained with several versions of the kernels, which round differently and are otherwise the same: 47 rows of
one seed are taken over, to four digits, from an earlier run of this script."""
