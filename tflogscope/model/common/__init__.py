"""What all parts of the model use: frames, intervals, figures, names, and the words of sentences.

It imports no other part.
"""
