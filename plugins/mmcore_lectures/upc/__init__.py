"""UPC: CUDA – Producto de Matrices, Agustín Fernández, Universitat Politècnica de Catalunya.

Slides for the course Tarjetas Gráficas y Aceleradores, in Spanish. They bear no numbers in the text at hand; ours count
them from the title slide as 1.
"""
