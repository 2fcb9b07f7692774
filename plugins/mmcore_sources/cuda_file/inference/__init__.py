"""Inference of a kernel's declaration from a CUDA source.

- ``infer`` declares the kernel that ``entry`` chooses.
- ``roles`` are those of its parameters, ``parameters`` those of its template and macros, ``geometry`` block and grid.
- ``body`` reads the indexes in the kernel, ``fixed_sizes`` sizes that are constants, and ``host_code`` its launch.
- ``expressions`` evaluates grids written as text. ``notes`` lists the inferred values for the user.
"""
