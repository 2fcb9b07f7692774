"""The arguments of a template's instance: those of ``Pair<64, Tile<8, 8>>`` are ``64`` and ``Tile<8, 8>``."""

from __future__ import annotations


def template_arguments(instance: str) -> tuple[str, list[str]]:
    """Return the name of an instance, and the arguments of its template; none for a name that has none."""
    name, _, listed = instance.partition("<")
    arguments, depth = [""], 0
    for character in listed.rpartition(">")[0]:
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += character
    return name.strip(), [each.strip() for each in arguments if each.strip()]
