"""Poznań: Programowanie CUDA na NVIDIA GPU, Adam Szczepański and Mateusz Czajka, Politechnika Poznańska.

Project report for Rafał Walkowiak's course Przetwarzanie równoległe, in Polish, 2014; cited by its own sections, pages
and listings.
"""
