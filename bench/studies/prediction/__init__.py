"""Predicted times of kernels beside measured ones.

``prediction measure RESULTS.json`` measures the study's cells on a GPU. ``prediction evidence RESULTS.json…`` counts
them on the emulator, without a GPU; a second run takes up where the first one ended. ``prediction fit RESULTS.json…``
fits the parameters of the model to one half of the kernels, on all cards of the files together. ``prediction report
RESULTS.json…`` prints the errors of both halves. Counts are kept beside the results, in emulator/prediction.json.
"""
