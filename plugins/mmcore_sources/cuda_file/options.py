"""The options that describe a .cu file where it does not describe itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from mmcore.cli.options import number_type
from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import BLOCK, parse_config
from mmcore.kernel.geometry import parse_shape

_OPTIONS = {
    "entry": ("F", "the __global__ function, that of line 12: f:12, or an instance of a template: f<32>."),
    "args": (
        "A,B,C,m,n,k",
        "what each parameter gets: a matrix, a size, lda, ldb, ldc, alpha, beta, a number, "
        "or a tensor map's box and swizzle: A:128x64:128.",
    ),
    "grid": ("X,Y", "the blocks along each axis, such as 'ceil(n/bx), ceil(m/by)'."),
    "shared": ("BYTES", "the dynamic shared memory of a block, such as '8*bx*by'."),
    "dtype": ("T", "the type of A's and B's elements, such as float32."),
    "output": ("T", "the type of C's elements."),
    "accumulator": ("T", "the type that the sums are kept in."),
    "column-major": ("ABC", "the matrices that are stored by columns."),
    "alpha": ("X", "the factor of the product."),
    "beta": ("X", "the factor of C's old value."),
    "arch": ("CC", "the compute capability that it needs, such as 8.0; 9.0a compiles for that alone."),
    "define": ("NAME=VALUE", "a macro; repeatable."),
    "option": ("OPTION", "an option of NVRTC, such as --option=-Iinclude; repeatable."),
}
_SEVERAL = ("define", "option")
_REAL = ("alpha", "beta")
_EXTENTS = re.compile("[1-9][0-9]*([x×][1-9][0-9]*){1,2}")
_LARGEST_FACTOR = 1e30  # keeps products within float32


def file_options() -> Iterator[click.Option]:
    """Yield the options that describe a kernel in a .cu file."""
    for name, (metavar, text) in _OPTIONS.items():
        kind = number_type(-_LARGEST_FACTOR, _LARGEST_FACTOR, float) if name in _REAL else click.STRING
        several = name in _SEVERAL
        yield click.Option([f"--{name}"], metavar=metavar, help=f"Of a .cu file: {text}", multiple=several, type=kind)


def _needed(text: str) -> dict[str, Any]:
    """Return the attributes of a kernel that needs a compute capability. Raises InvalidKernel."""
    form = re.fullmatch(r"(?:sm_)?([0-9]{1,2})\.?([0-9])([af]?)", text)
    if form is None:
        raise InvalidKernel(f"--arch {text!r} is not a compute capability such as 8.0 or 9.0a")
    major, minor, family = form.groups()
    return {"min_compute_capability": (int(major), int(minor))} | (
        {"architecture": f"{major}{minor}{family}"} if family else {}
    )


def words_of(reference: Mapping[str, Any]) -> list[str]:
    """Return the options that a reference contains, except those of the launch, which commands add themselves."""
    words = []
    for option in _OPTIONS:
        value = reference.get(option.replace("-", "_"))
        several = value if isinstance(value, list | tuple) and option in _SEVERAL else [] if value is None else [value]
        words += [f"--{option}={each if isinstance(each, str | float | int) else ','.join(each)}" for each in several]
    return words


def normalised(reference: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reference without its file, in the terms of :func:`~mmcore_sources.cuda_file.inference.infer.infer`.

    ``args`` become a list, ``define`` and ``option`` attributes of a kernel, ``configs`` parameters and a block. Raises
    InvalidKernel or InvalidConfig for a macro or parameter without a name.
    """
    given = {name: value for name, value in reference.items() if name not in ("file", "inferred", "sizes")}
    defines = {}
    for text in given.pop("define", ()):
        name, equals, value = text.partition("=")
        if not name.isidentifier():
            raise InvalidKernel(f"--define {text!r} is not NAME=VALUE")
        defines[name] = value if equals else "1"
    if "arch" in given:
        given |= _needed(str(given.pop("arch")))
    arguments = given.pop("args", None)
    if arguments is not None:
        given["args"] = (
            # Reports write "lda=n" for a parameter n that is lda.
            [each.rpartition("=")[2].strip() for each in arguments.split(",")]
            if isinstance(arguments, str)
            else list(arguments)
        )
    found: dict[str, Any] = {}
    for several in given.pop("configs", ()):
        found |= parse_config(several) if isinstance(several, str) else several
    if _EXTENTS.fullmatch(str(given.get("grid", ""))):  # as in reports: "16×1"
        given["grid"] = ", ".join(map(str, parse_shape(given["grid"])))
    block = given.pop("block", None) or found.pop(BLOCK, None)
    given |= {"parameters": found} if found else {}
    given |= {"block": block} if block else {}
    given |= {"defines": defines} if defines else {}
    if further := given.pop("option", ()):
        given["options"] = tuple(further)
    return given
