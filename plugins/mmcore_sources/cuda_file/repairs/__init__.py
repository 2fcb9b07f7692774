"""Repairs of a wrong kernel: changes of a word or two in its source, tried at a small size.

- ``edits`` makes the changed sources, likely ones first, each of one kind of mistake.
- ``bound_edits`` makes those of the sizes that guards and loops compare with.
- ``index_edits`` makes those of the variables in indexes.
- ``loop_edits`` makes those of the bounds of loops.
- ``remainder_edits`` makes those for sizes that leave a remainder: guards, zeros and the last step.
- ``return_edits`` makes a guard that ends the threads beyond C.
- ``fragment_edits`` makes those of a thread's place in a fragment of ``mma``, and of packed halves.
- ``matrix_load_edits`` makes those of tensor maps' coordinates and of ``ldmatrix``.
- ``tensor_core_edits`` makes those of fragments, ``mma`` and descriptors.
- ``likely_edits`` orders them by the faults of a result.
- ``launch_changes`` makes kernels with other launches, and ``tiled_grids`` those with other grids.
- ``trial`` runs them until one makes the product right.
- ``right_sizes`` asks the verdict where a changed kernel is right.
"""
