"""Products of arrays, in numpy's or a GPU's memory."""
