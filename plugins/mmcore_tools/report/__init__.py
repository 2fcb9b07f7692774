"""The command ``mmcore report``: all that mmcore says of a kernel, on one HTML page.

- ``gathering`` measures a kernel, explains it, and counts what it does.
- ``page`` writes the page; ``source`` its marked source, ``roofline`` its drawing of the speed of light.
"""
