"""Post-processing: weights for words, a common mean, common directions; all of it folded into the rows of a model.

    rows -> weights x rows -> less the mean -> directions removed or evened out -> rows

Each step is affine, and a text's vector is the plain mean of its rows, so doing it to the rows is doing it to every
text: the result is an ordinary model, in any library that averages. What is estimated (mean, directions) comes from
sentences of a stream or from the counts of the vocabulary, never from the texts to be encoded: a text has one vector
whatever stands beside it.

    settings.py    what to do
    weights.py     SIF, uSIF, idf
    components.py  mean and directions of the sentences of a stream
    folding.py     doing it and undoing it
    adaptation.py  the same for texts of one kind, estimated on some of them: another model for each kind
"""
