"""The kernel of a file in the usual reading of its source, which a change of the source must make right."""

from __future__ import annotations

from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore.registry import registry
from mmcore_sources.cuda_file.files import inferred_of


def usual_kernel(file: FileKernel) -> Kernel:
    """Return the kernel of a file, read as usual where nothing in the file supports an unusual reading."""
    unsupported = [each.given for each in inferred_of(file.reference).unusual if not each.evidence]
    if not unsupported:
        return file.kernel
    given = {name: value for each in unsupported for name, value in each.items()}
    return registry().kernel({**file.reference, **given, "name": f"{file.kernel.name}.usual"})
