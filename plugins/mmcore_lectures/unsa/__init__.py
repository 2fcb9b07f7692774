"""UNSA: Laboratorio Multiplicación de Matrices con CUDA, Diego André Ranilla Gallegos.

Laboratory report for Alvaro Henry Mamani Aliaga's course Algoritmos Paralelos, Universidad Nacional de San Agustín, in
Spanish, 2017; cited by section and listing.
"""
