"""The command ``mmcore compare``: two kernels, versions or configs, and which of them is faster.

- ``operands`` reads the command line's words and configs as two sides.
- ``measuring`` gives each side a verdict, and times both in turns or counts what they do.
- ``ratio`` derives the answer from the interval of the rounds.
- ``counts`` lists the counts that grew and shrank.
- ``explained`` predicts times without a GPU, and finds the reasons that a change removed and added.
- ``report`` shows a comparison as text, JSON and HTML.
"""
