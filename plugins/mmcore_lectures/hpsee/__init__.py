"""HP-SEE: Matrix Multiplication in CUDA.

Slides of HP-SEE, High-Performance Computing Infrastructure for South East Europe's Research Communities, in English; no
university or author is named. They bear no numbers in the text at hand; ours count them from the first of that text.
"""
