"""The cost of spreading cells over many workers, for the process that hands them out, the head.

It is measured on one machine without a GPU: workers of the engines ``processes`` and ``ray`` with a function that
returns at once, and stand-ins for GPUs, which sleep as long as cells take on an H200.
"""
