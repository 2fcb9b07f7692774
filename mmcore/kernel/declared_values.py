"""The attributes of a declaration: checks of their values, and defaults."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import check_argument
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.geometry import native
from mmcore.kernel.problem import FLOAT22, accumulator_named, dtype_named

if TYPE_CHECKING:
    from mmcore.kernel.declaration import Kernel

_ARCHITECTURE = re.compile(r"(\d+[af]?)?")
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_]*)+")
_TEXTS = ("title", "reference", "entry", "variant_of", "accumulator", "architecture")
_SEVERAL_TEXTS = ("include", "options", "known_bugs")
_SEVERAL_OBJECTS = ("arguments", "constraints", "program_sizes")


def require(holds: object, sentence: str) -> None:
    """Raise InvalidKernel with a sentence unless a condition holds."""
    if not holds:
        raise InvalidKernel(sentence)


def check_name(name: str) -> None:
    """Reject, as :class:`InvalidKernel`, what cannot be a kernel's name."""
    valid = isinstance(name, str) and _NAME.fullmatch(name)
    require(valid, f"{name!r} is not a kernel name: words of a-z, 0-9 and _ joined by dots, such as acme.fast")


def check_forms(kernel: Kernel) -> None:
    """Check that texts are texts of one line, and that several values are a tuple or a list. Raises InvalidKernel."""
    for name in _TEXTS:
        text = getattr(kernel, name)
        require(isinstance(text, str) and "\n" not in text, f"its {name} must be a text of one line, not {text!r}")
    for name in (*_SEVERAL_OBJECTS, *_SEVERAL_TEXTS):
        value = getattr(kernel, name)
        require(isinstance(value, tuple | list), f"its {name} are several: ({value!r},) instead of {value!r}")
        texts = name in _SEVERAL_OBJECTS or all(isinstance(text, str) for text in value)
        require(texts, f"its {name} are texts, unlike {value!r}")
    by_columns = kernel.column_major
    require(isinstance(by_columns, str), f"column_major is such as 'B', not {by_columns!r}")
    for name, factor in (("alpha", kernel.alpha), ("beta", kernel.beta)):
        require(isinstance(native(factor), int | float), f"{name} is a number, not {factor!r}")
    _check_defines(kernel.defines)
    pair = kernel.min_compute_capability
    valid = isinstance(pair, tuple | list) and [type(number) for number in pair] == [int, int]
    require(valid, f"min_compute_capability is a pair of whole numbers such as (9, 0), not {pair!r}")


def _check_defines(defines: object) -> None:
    """Check that macros have names, and texts or whole numbers as values."""
    require(isinstance(defines, Mapping), f'its defines are such as {{"BM": "128"}}, not {defines!r}')
    for name, value in defines.items() if isinstance(defines, Mapping) else ():
        valid = isinstance(name, str) and (isinstance(value, str) or type(native(value)) is int)
        require(valid, f'a macro in its defines is such as "BM": "128", not {name!r}: {value!r}')


def settled(kernel: Kernel) -> dict[str, object]:
    """Return the attributes that have defaults or other forms, such as tuples for lists. Raises InvalidProblem."""
    source, dtype = Path(kernel.source), dtype_named(kernel.dtype)
    narrow = dtype.itemsize < 4 or dtype.name == "tf32"
    accumulator = kernel.accumulator or ("int32" if dtype.is_integer else "float32" if narrow else dtype.name)
    output = kernel.output or ("float32" if kernel.accumulator.startswith(FLOAT22.name) else kernel.accumulator)
    wide = dtype.itemsize > 1 and dtype.name != "tf32"
    return {
        **{name: tuple(getattr(kernel, name)) for name in (*_SEVERAL_OBJECTS, *_SEVERAL_TEXTS)},
        "title": kernel.title or kernel.name,
        "defines": {name: str(value) for name, value in kernel.defines.items()},
        "source": Path(f"{kernel.name.rpartition('.')[2]}.cu") if source == Path() else source,
        "configs": ({},) if kernel.call is not None and not kernel.configs else kernel.configs,
        "dtype": dtype.name,
        "accumulator": accumulator_named(accumulator).name,
        "output": dtype_named(output or (dtype.name if wide else accumulator)).name,
        "column_major": "".join(sorted(set(kernel.column_major))),
        "unit": dtype_named(kernel.unit or dtype.name).name,
        "alpha": float(kernel.alpha),
        "beta": float(kernel.beta),
        "min_compute_capability": tuple(kernel.min_compute_capability),
    }


def check_values(kernel: Kernel) -> None:
    """Check the settled attributes, each and together. Raises InvalidKernel."""
    for argument in kernel.arguments:
        check_argument(argument)
    _check_constraints((*kernel.constraints, *kernel.program_sizes))
    _check_rules(kernel)
    _check_launch(kernel)
    _check_product(kernel)
    form = _ARCHITECTURE.fullmatch(kernel.architecture)
    require(form, f"architecture {kernel.architecture!r} is not of the form 90 or 90a")


def _check_constraints(constraints: Iterable[Constraint]) -> None:
    for each in constraints:
        require(not isinstance(each, type), f"the class {each!r:.80} is no constraint; a call of it makes one")
        valid = isinstance(each, Constraint) and callable(each.violation)
        words = valid and isinstance(each.description, str) and each.description.strip()
        require(words, f"{each!r} is not a constraint: it has no description or no violation")
        require("\n" not in each.description, f"the description of {each!r} has more than one line")


def _check_rules(kernel: Kernel) -> None:
    """Check that functions are functions, and that only one way leads to the code."""
    ways = [name for name in ("launch", "grid", "build", "call") if getattr(kernel, name) is not None]
    for name in (*ways, *["tiling"] * (kernel.tiling is not None)):
        require(callable(getattr(kernel, name)), f"its {name} rule is not callable")
    require("call" not in ways or ways == ["call"], f"a library is called or kernels are launched: {ways}")
    has_arguments = not kernel.is_code or kernel.arguments
    require(has_arguments, "its code is built or compiled and has no signature: it needs arguments=")


def _check_launch(kernel: Kernel) -> None:
    said = [name for name in ("grid", "shared_bytes", "over_read") if getattr(kernel, name)]
    alone = kernel.launch is None or not said
    require(alone, f"it has a launch rule, which says everything about a launch: leave out {' and '.join(said)}")
    shared, over_read = kernel.shared_bytes, kernel.over_read
    require(kernel.call is None or not shared, "a library's call has no shared memory to declare")
    valid = callable(shared) or (type(shared) is int and shared >= 0)
    require(valid, f"shared_bytes is a whole number of bytes or a function, not {shared!r}")
    known = over_read in (None, "tiles") or isinstance(over_read, Mapping) or callable(over_read)
    require(known, f'over_read is "tiles", elements by matrix or a function, not {over_read!r}')


def _check_product(kernel: Kernel) -> None:
    require(kernel.algorithm in ("", "strassen"), f'algorithm is "strassen" or left out, not {kernel.algorithm!r}')
    alpha, beta = kernel.alpha, kernel.beta
    finite = math.isfinite(alpha) and math.isfinite(beta) and alpha
    require(finite, f"alpha and beta are numbers, alpha not 0, instead of {alpha} and {beta}")
    valid = {alpha, beta} <= {0, 1} or not dtype_named(kernel.dtype).is_integer
    require(valid, f"of whole numbers alpha is 1 and beta 0 or 1, not {alpha} and {beta}")
    by_columns = kernel.column_major
    require(set(by_columns) <= set("ABC"), f"column_major is such as 'B', not {by_columns!r}")
    known = kernel.initial_c == "poison" or (kernel.initial_c == "zeros" and not beta)
    require(known, f'initial_c is "poison", or "zeros" where beta is 0, not {kernel.initial_c!r}')
