"""The declaration of a registered kernel in a revision, which a comparison does not use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mmcore.errors import InvalidKernel
from mmcore.registry import registry


def unlike_declaration(name: str, revision: str) -> str:
    """Return that a registered kernel's declaration may have changed since a revision; empty if its module has not.

    The source of a revision is launched by today's declaration.
    """
    entry = registry().kernels[name]
    module = getattr(registry().modules.get(entry.origin), "__file__", None)
    if module is None:
        return ""
    today, source = Path(module), entry.item.source.name
    try:
        then = Path(registry().source_revision(replace(entry.item, source=today), revision))
        if then.read_bytes() == today.read_bytes():
            return ""
        differs = f"whose {today.name} differs"
    except InvalidKernel:
        differs = f"which has no {today.name}"
    return f"the declaration is today's; only {source} is of {revision}, {differs}"
