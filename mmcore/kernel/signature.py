"""The ``__global__`` functions of a CUDA source, read off its text; macros are not expanded."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(\w*)")
_GLOBAL = re.compile(r"\b__global__\b")

# The text in parentheses, up to four deep.
_INSIDE = r"[^()]*+"
for _ in range(3):
    _INSIDE = rf"(?:[^()]|\({_INSIDE}\))*+"
_ATTRIBUTE = re.compile(rf"\b(?:__\w+__|alignas)\s*(?:\({_INSIDE}\))?|\[\[.*?\]\]", re.DOTALL)
_FUNCTION = re.compile(rf"[^;{{}}=(]*\b([A-Za-z_]\w*)\s*\(({_INSIDE})\)")
_TEMPLATE = re.compile(r"\btemplate\s*<[^;{}]*\Z")
_QUALIFIER = re.compile(r"\b(?:const|restrict|__restrict|volatile|struct|register)\b")
_NAME = re.compile(r"(?P<type>.*?[\s*&>])(?P<name>[A-Za-z_]\w*)\s*(?P<array>(?:\[[^\]]*\])*)\Z", re.DOTALL)

_SCALARS = {
    "char": "int8", "signed char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
    "int": "int32", "signed": "int32", "unsigned": "uint32", "long": "int64", "unsigned long": "uint64",
    "long long": "int64", "unsigned long long": "uint64",
    "size_t": "uint64", "ptrdiff_t": "int64", "float": "float32", "double": "float64",
    "half": "float16", "__half": "float16",
    **{f"{unsigned}int{bits}_t": f"{unsigned}int{bits}" for unsigned in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function; its name is empty where it has none, its type without qualifiers: "float*", "int"."""

    name: str
    type: str

    @property
    def scalar(self) -> str:
        """The name of its type in numpy, if that is a number, else empty."""
        words = self.type.removeprefix("std::").split()
        if len(words) > 1 and "int" in words:
            words.remove("int")
        return _SCALARS.get(" ".join(sorted(words, key=("unsigned", "signed").__contains__, reverse=True)), "")


@dataclass(frozen=True)
class Signature:
    """A ``__global__`` function, or a template of them, whose instances must be named."""

    name: str
    parameters: tuple[Parameter, ...]
    template: bool


@functools.lru_cache(maxsize=256)
def signatures(source: str) -> tuple[Signature, ...]:
    """Return the ``__global__`` functions of a source, in order, each name once."""
    text = _NOISE.sub(lambda functions: " " * len(functions[0]) if functions[0][0] == "/" else '""', source)
    text = _enabled(text.replace("\\\n", " "))
    functions: dict[str, Signature] = {}
    for keyword in _GLOBAL.finditer(text):
        function = _FUNCTION.match(_ATTRIBUTE.sub(" ", text[keyword.end() : keyword.end() + 4000]))
        if function is None:
            continue
        name, parameters = function[1], tuple(map(_parameter, _split(function[2])))
        # A prototype before the definition need not name its parameters.
        if name not in functions or not all(parameter.name for parameter in functions[name].parameters):
            functions[name] = Signature(name, parameters, _TEMPLATE.search(text[: keyword.start()]) is not None)
    return tuple(functions.values())


def _enabled(text: str) -> str:
    """Return the lines that are neither directives nor disabled by ``#if 0``."""
    kept, depth = [], 0
    for line in text.splitlines():
        directive = _DIRECTIVE.match(line)
        if directive is None:
            kept += [] if depth else [line]
        elif not depth:
            depth = directive.groups() in (("if", "0"), ("if", "false"))
        elif directive[1] in ("if", "ifdef", "ifndef"):
            depth += 1
        elif directive[1] == "endif" or (directive[1] in ("else", "elif") and depth == 1):
            depth -= 1
    return "\n".join(kept)


def _split(text: str) -> list[str]:
    """Return the parts between commas that are not in brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def _parameter(text: str) -> Parameter:
    text = _QUALIFIER.sub(" ", text.partition("=")[0]).strip()
    match = _NAME.fullmatch(text)
    written, name, array = (match["type"], match["name"], match["array"]) if match else (text, "", "")
    if name in _SCALARS:
        written, name = text, ""
    return Parameter(name, re.sub(r"\s+", " ", written).replace(" *", "*").strip() + ("*" if array else ""))
