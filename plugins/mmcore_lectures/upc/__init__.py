"""UPC: CUDA – Producto de Matrices, Agustín Fernández, Universitat Politècnica de Catalunya.

Slides for the course Tarjetas Gráficas y Aceleradores, in Spanish. The available text has no slide numbers;
ours count from the title slide as 1.
"""
