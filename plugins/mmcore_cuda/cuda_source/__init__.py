"""The reader of CUDA C++ source, which everything that looks into a .cu file or a header uses.

- ``tokens`` finds comments, strings and preprocessor directives.
- ``conditionals`` removes the directives that the grammar cannot read. ``tree`` parses the rest with tree-sitter.
- ``taken_branches`` removes definitions and launches that the preprocessor skips.
- ``expanded_macros`` replaces calls of macros by the code that they stand for.
- ``includes`` lists the headers that a file names.
- ``parameters``, ``functions`` and ``structures`` read the declarations of kernels and of the types that they take.
- ``program`` lists kernels, launches, macros and constants.
- ``entities`` finds the declarations that can be removed from a source, and removes them.
"""
