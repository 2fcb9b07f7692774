"""Plugins that are wrong in one way each, as strangers might write them, and what must be reported of each.

``plugins/`` has a module and a .cu file for each, where they are not the good one's; ``installation`` makes packages of
them; ``table`` says what must come of them.
"""
