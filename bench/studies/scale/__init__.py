"""The cost of spreading cells over many workers, for the process that hands them out, the head.

It is measured on one machine without a GPU. Workers of the engines ``processes`` and ``ray`` return at once. Stand-ins
for GPUs sleep as long as cells take on an H200.
"""
