"""What spreading cells over many workers costs the process that hands them out, the head.

``python -m bench.studies.scale RESULTS.json`` measures it on one machine without a GPU: workers of the engines
``processes`` and ``ray`` with a function that returns at once, and stand-ins for GPUs, which sleep as long as cells
take on an H200.
"""
