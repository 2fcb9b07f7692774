"""Inference of a kernel's declaration from a CUDA source.

- ``infer`` declares a kernel of a program, with the function that ``entry`` chooses, the ``roles`` of its parameters,
  the ``parameters`` of its template and macros, and its block and grid from ``geometry``.
- ``body`` reads the indexes in the kernel, ``fixed_sizes`` sizes that are constants, and ``host_code`` its launch.
- ``expressions`` evaluates grids written as text. ``notes`` lists the inferred values for the user.
"""
