"""Lezione 9: il prodotto di matrici.

Slides of Lezione 9, Unità 1, in Italian; no university or author is named. The numbers are those printed on the slides.
"""
