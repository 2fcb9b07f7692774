"""HP-SEE: Matrix Multiplication in CUDA.

Slides of HP-SEE, High-Performance Computing Infrastructure for South East Europe's Research Communities, in English; no
university or author is named. The available text has no slide numbers; ours count from its first slide.
"""
