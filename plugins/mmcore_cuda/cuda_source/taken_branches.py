"""The code in branches that the preprocessor takes: one of several definitions of a macro or kernel, and launches."""

from __future__ import annotations

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TypeAlias

from mmcore_cuda.cuda_source.includes import includes
from mmcore_cuda.cuda_source.tokens import Directive, blank, code, directives

_MACRO = re.compile(rb"\s*(?P<name>[A-Za-z_]\w*)(?P<parameters>\()?(?P<value>.*)", re.DOTALL)
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_OF_OTHERS = re.compile(r"_|CUD|NV|WIN|GCC|NDEBUG|__")  # names that the compiler, its headers or a build may define
_LAUNCH = re.compile(rb"<<<[^;#]*;")  # the end of a statement that launches
_KERNEL = re.compile(rb"\b__global__\b[^;{}]*?\b(\w+)\s*\([^;{}]*\)\s*\{")
_Part: TypeAlias = tuple[str, int, int]  # a text's name, begin and end
_DEEPEST = 20
_LONGEST = 2000


class _Preprocessor:
    """The state of the preprocessor: the macros that are defined, and each definition that it takes or skips.

    Conditions have three values; None stands for an unknown one, whose branches all count.
    """

    def __init__(self, texts: Mapping[str, bytes], defined: Mapping[str, object]) -> None:
        self.texts, self.macros = texts, {name: str(value) for name, value in defined.items()}
        self.taken: set[str] = set()
        self.skipped: dict[str, list[tuple[str, Directive]]] = defaultdict(list)  # by the name of a macro
        self.seen: set[str] = set()
        # The parts between directives that are skipped, by the file and begin of their outermost branch.
        self.branches: dict[tuple[str, int], list[_Part]] = defaultdict(list)

    def run(self, file: str, depth: int = 0) -> None:
        """Follow the directives of a file, and those of the headers that it includes."""
        conditions: list[list[bool | None]] = []  # of the branches so far, for each conditional that is open
        begins: list[int] = []  # of the last of these branches
        end = 0
        for each in directives(self.texts[file]):
            word, text = each.word, each.text.decode(errors="replace").replace("\\\n", " ").strip()
            taken = [_branch(branches) for branches in conditions]
            live = _all(taken)
            if live is False:
                self.branches[file, begins[taken.index(False)]].append((file, end, each.begin))
            end = each.end
            if word in ("if", "ifdef", "ifndef"):
                conditions.append([self._condition(word, text) if live is not False else False])
                begins.append(end)
            elif word in ("elif", "elifdef", "elifndef") and conditions:
                conditions[-1].append(self._condition(word.removeprefix("el"), text))
                begins[-1] = end
            elif word == "else" and conditions:
                conditions[-1].append(True)
                begins[-1] = end
            elif word == "endif" and conditions:
                conditions.pop()
                begins.pop()
            elif word == "define" and (macro := _MACRO.match(each.text)):
                name = macro["name"].decode()
                if live is False:
                    self.skipped[name].append((file, each))
                else:
                    self.taken.add(name)
                    self.macros.setdefault(name, "" if macro["parameters"] else macro["value"].decode(errors="replace"))
            elif word == "undef" and live:
                self.macros.pop(text, None)
            elif word == "include" and live is not False and depth < _DEEPEST:
                for include in includes(b"#include" + each.text).names:
                    if (name := PurePath(include.name).name) in self.texts.keys() - self.seen:
                        self.seen.add(name)
                        self.run(name, depth + 1)

    def _condition(self, word: str, text: str) -> bool | None:
        if word == "if":
            return self._value(text)
        defined = self._is_defined(text.split()[0]) if text else None
        return defined if word == "ifdef" or defined is None else not defined

    def _is_defined(self, name: str) -> bool | None:
        return True if name in self.macros else None if _OF_OTHERS.match(name) else False

    def _value(self, text: str) -> bool | None:
        """Return the value of an expression of the preprocessor."""
        tested = _DEFINED.sub(lambda found: f" {self._is_defined(found[1] or found[2])} ", text[:_LONGEST])
        words = tested.replace("&&", " and ").replace("||", " or ")
        words = re.sub(r"!(?!=)", " not ", words)
        try:
            found = self._number(_parsed(words), 0)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
        return None if found is None else bool(found)

    def _number(self, node: ast.expr, depth: int) -> int | None:
        if depth > _DEEPEST:
            return None
        match node:
            case ast.Constant(value=bool() | int() as number):
                return int(number)
            case ast.Name(name) if name in self.macros:
                return self._number(_parsed(self.macros[name].strip() or "None"), depth + 1)
            case ast.Name(name):
                return None if self._is_defined(name) is None else 0
            case ast.UnaryOp(ast.Not(), operand):
                negated = self._number(operand, depth + 1)
                return None if negated is None else int(not negated)
            case ast.BoolOp(operator, operands):
                values = [
                    None if (found := self._number(each, depth + 1)) is None else bool(found) for each in operands
                ]
                both = isinstance(operator, ast.And)
                whole = _all(values) if both else _all(None if each is None else not each for each in values)
                return None if whole is None else int(whole == both)
            case ast.Compare(
                left, [ast.Eq() | ast.NotEq() | ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as sign], [right]
            ):
                one, other = self._number(left, depth + 1), self._number(right, depth + 1)
                if one is None or other is None:
                    return None
                order = {ast.Eq: one == other, ast.NotEq: one != other, ast.Lt: one < other, ast.LtE: one <= other,
                         ast.Gt: one > other, ast.GtE: one >= other}  # fmt: skip
                return int(order[type(sign)])
        return None


def _parsed(text: str) -> ast.expr:
    """Return a preprocessor's expression as Python's, without the suffixes of numbers."""
    text = _SUFFIX.sub(r"\1", text)
    return ast.parse(f"({text})", mode="eval").body


def _all(values: Iterable[bool | None]) -> bool | None:
    """Return whether all hold; None if that is unknown."""
    several = list(values)
    return False if False in several else None if None in several else True


def _branch(conditions: list[bool | None]) -> bool | None:
    """Return whether the last branch of a conditional is taken."""
    *before, last = conditions
    return _all([*(None if each is None else not each for each in before), last])


def without_skipped_code(
    text: str, headers: Iterable[tuple[str, str]], defined: Mapping[str, object]
) -> tuple[str, list[tuple[str, str]]]:
    """Return a source and its headers without definitions and launches that the preprocessor skips in favour of others.

    A branch with a kernel that taken code defines, too, is left out as a whole. A name that is only defined in branches
    which are not taken keeps its definitions, and a program that launches nothing in other branches its launches. Lines
    keep their numbers.
    """
    named = list(headers)
    texts = {"": text.encode(), **{name: content.encode() for name, content in reversed(named)}}
    preprocessor = _Preprocessor(texts, defined)
    preprocessor.run("")
    skipped = [
        (file, each.begin, each.end)
        for name in preprocessor.taken & preprocessor.skipped.keys()
        for file, each in preprocessor.skipped[name]
    ]
    branches = preprocessor.branches.values()
    taken = _without(texts, [*skipped, *_defined_otherwise(texts, branches)])
    launched = _without(taken, [
        (file, begin + first, begin + last)
        for file, begin, end in itertools.chain.from_iterable(branches)
        for first, last in _launches(taken[file][begin:end])
    ])  # fmt: skip
    if any(_LAUNCH.search(code(content)) for content in launched.values()):
        taken = launched
    read = {file: content.decode(errors="replace") for file, content in taken.items()}
    return read[""], [(name, read[name]) for name, _ in named]


def kernel_names(text: str) -> list[str]:
    """Return the names of the kernels that a source defines, in all branches, in order."""
    return [name.decode() for name in _kernels(text.encode())]


def _kernels(content: bytes) -> list[bytes]:
    return [match[1] for match in _KERNEL.finditer(code(content))]


def _defined_otherwise(texts: Mapping[str, bytes], branches: Collection[Sequence[_Part]]) -> Iterator[_Part]:
    """Yield the parts of skipped branches that define a kernel which taken code defines, too."""
    live = _without(texts, itertools.chain.from_iterable(branches))
    taken = {name for content in live.values() for name in _kernels(content)}
    for branch in branches:
        if not taken.isdisjoint(_kernels(b"".join(texts[file][begin:end] for file, begin, end in branch))):
            yield from branch


def _launches(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the statements that launch."""
    for match in _LAUNCH.finditer(content):
        before = (content.rfind(sign, 0, match.start()) for sign in (b";", b"{", b"}", b"#"))
        yield max(before) + 1, match.end()


def _without(texts: Mapping[str, bytes], parts: Iterable[_Part]) -> dict[str, bytes]:
    """Return texts with blanks in place of some parts."""
    changed = dict(texts)
    for name, begin, end in parts:
        content = changed[name]
        changed[name] = content[:begin] + blank(content[begin:end]) + content[end:]
    return changed
