"""The command ``mmcore report``: one HTML page with everything about a kernel.

- ``gathering`` measures a kernel, explains it, and counts what it does.
- ``page`` writes the page; ``source`` its marked source, ``roofline`` its drawing of the speed of light.
"""
