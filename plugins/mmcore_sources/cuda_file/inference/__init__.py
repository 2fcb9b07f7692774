"""Inference of a kernel's declaration from a CUDA source.

- ``infer`` declares the kernel that ``roles`` chooses.
- ``roles`` are those of its parameters; ``parameters`` are those of its template, its macros, and sizes that it fixes.
- ``geometry`` is block and grid. ``body`` reads the indexes in the kernel, and ``host_code`` its launch.
- ``expressions`` evaluates grids written as text. ``notes`` lists the inferred values for the user.
"""
