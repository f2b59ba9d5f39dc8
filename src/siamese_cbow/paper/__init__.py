"""The report: every table and figure of the paper, made again on a stream of your own, and looked at honestly.

recipes    what is trained, in full and in quick reports          plan       the pieces of work, cached one by one
pieces     one piece: train, score, time, look at words           document   tables, figures, claims as plain records
tables ... from results to a document                             writing    from a document to files
"""
