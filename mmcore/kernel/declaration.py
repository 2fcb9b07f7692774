"""The declaration of a kernel, by a plugin."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

from mmcore.errors import InvalidConfig, InvalidKernel, MmcoreError
from mmcore.files import read_text
from mmcore.kernel.arguments import Argument, Scalar, check_argument, inferred_arguments
from mmcore.kernel.configs import BLOCK, Config, Configs, Space
from mmcore.kernel.constraints import Constraint, FixingConstraint
from mmcore.kernel.geometry import Shape
from mmcore.kernel.launch import Launch, asking, covering_grid, tiles_over_read
from mmcore.kernel.problem import FLOAT22, Problem, accumulator_named, dtype_named
from mmcore.kernel.properties import DeviceProperties
from mmcore.kernel.signature import Signature, signatures
from mmcore.kernel.tiling import TilingRule

CallRule: TypeAlias = Callable[[Problem, Config, Mapping[str, Any]], Callable[[int], object]]
BuildRule: TypeAlias = Callable[[Problem, Config, str], Any]
LaunchRule: TypeAlias = Callable[[Problem, Config, DeviceProperties], Launch | Sequence[Launch]]
GridRule: TypeAlias = Callable[[Problem, Config], Shape]
SharedRule: TypeAlias = Callable[[Problem, Config], int]
OverRead: TypeAlias = str | Mapping[str, int] | Callable[[Problem, Config], Mapping[str, int]]

_ARCHITECTURE = re.compile(r"(\d+[af]?)?")
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_]*)+")


def _require(holds: object, sentence: str) -> None:
    if not holds:
        raise InvalidKernel(sentence)


def check_name(name: str) -> None:
    """Reject, as :class:`InvalidKernel`, what cannot be a kernel's name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidKernel(f"{name!r} is not a kernel name: words of a-z, 0-9 and _ joined by dots, such as acme.fast")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """One variant of the matrix product: its CUDA source, its configs, and its launch rule.

    A declaration that contradicts itself raises InvalidKernel. ``entry``, ``defines`` and ``options`` may hold ``{m}``,
    ``{n}``, ``{k}``, ``{block.x}`` and every parameter of the config: ``entry="tiled<{BM}, {BN}>"`` instantiates a C++
    template. Parameters in capitals that ``entry`` does not name are macros of the source: ``-DTILE=32``.

    Attributes:
        name: unique dotted identifier, package first: "acme.tiled".
        configs: named parameters, the thread block among them, the default first; or a :class:`~mmcore.Space`.
        source: path of its .cu, .ptx or .cubin file, relative to the plugin's module; the name's last word by default.
        text: the CUDA C++ in a source of another language, such as Python, at the lines of the source.
        build: what makes the code instead of a source, ``(problem, config, architecture) -> Binary``, for an
            architecture such as "90a"; see :class:`mmcore.Binary`.
        call: what computes the product instead of launches, a library: ``(problem, config, operands) -> enqueue``. The
            operands are "A", "B" and "C" on a GPU (:class:`~mmcore.devices.base.Operand`), and ``enqueue(stream)`` puts
            the call on a CUDA stream, given by its handle.
        title, reference: one line on what the variant does; where it comes from, down to the page.
        entry: the ``__global__`` function, or a template's name expression; the source's only one by default.
        arguments: what the function takes: "A", "B", "C" (pointers), "m", "n", "k", "lda", "ldb", "ldc" (int),
            :class:`Scalar`, :class:`Workspace`, :class:`TensorMap`; read off its signature by default.
        grid: the number of blocks, ``(problem, config) -> (x, y)``; one for each tile of C by default.
        shared_bytes: bytes of a block's dynamic shared memory, or a function of problem and config that returns them.
        launch: the whole launch rule instead, ``(problem, config, device) -> Launch`` or several made in turn.
        over_read: elements past the end of A and B that may be loaded but never used, by matrix, or a function of
            problem and config. "tiles" if unguarded loads of whole tiles explain it.
        dtype: element type of A and B, as in :class:`Problem`.
        accumulator: type the sums are kept in; when not given float32 for floats of 8 or 16 bits and tf32, int32 for
            integers, else ``dtype``. "float22" is what tensor cores sum 8-bit floats in, cut off behind 13 bits;
            "float22/128" if float32 takes over after at most 128 terms.
        output: element type of C; ``accumulator`` when not given, and ``dtype`` (float32 where that is tf32 or has 8
            bits) when neither is.
        column_major, alpha, beta, initial_c: as in :class:`Problem`; "zeros" is for kernels that add to C, or multiply
            it by 0.
        tiling: the tiles of a config, ``(problem, config, device) -> Tiling``. A model chooses a config by them where
            nothing is tuned. It is :func:`~mmcore.named_tiling` if the parameters have usual names.
        unit: the type that the hardware unit multiplies, whose peak rate the kernel is compared with: "tf32" for
            float32 products on tensor cores; ``dtype`` by default.
        algorithm: "strassen" for Strassen's or Winograd's product, whose errors have a norm-wise bound of their own.
        constraints: what problem and config must satisfy.
        program_sizes: what its own program's sizes satisfy, too, such as whole tiles; faults at others are warnings.
        defines, options: preprocessor macros besides the parameters; further options of the compiler.
        include: folders that the source's headers are looked for in, relative to the source.
        min_compute_capability: least compute capability it runs on, (major, minor).
        architecture: architecture to compile for instead of the device's own, such as "90a".
        known_bugs: deliberate mistakes, a sentence each; empty except in variants that teach a mistake.
        variant_of: the kernel from which it differs only in layout or type. Lists of all kernels leave variants out.
    """

    name: str
    configs: Sequence[Mapping[str, Any]] | Space = ()
    source: Path = Path()
    text: str = ""
    build: BuildRule | None = None
    call: CallRule | None = None
    title: str = ""
    reference: str = ""
    entry: str = ""
    arguments: tuple[Argument, ...] = ()
    grid: GridRule | None = None
    shared_bytes: int | SharedRule = 0
    launch: LaunchRule | None = None
    over_read: OverRead | None = None
    dtype: str = "float32"
    accumulator: str = ""
    output: str = ""
    column_major: str = ""
    alpha: float = 1.0
    beta: float = 0.0
    initial_c: str = "poison"
    tiling: TilingRule | None = None
    unit: str = ""
    algorithm: str = ""
    constraints: tuple[Constraint, ...] = ()
    program_sizes: tuple[Constraint, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    include: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    min_compute_capability: tuple[int, int] = (7, 5)
    architecture: str = ""
    known_bugs: tuple[str, ...] = ()
    variant_of: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        try:
            self._normalise()
        except MmcoreError as error:
            raise InvalidKernel(f"{self.name}: {error}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise InvalidKernel(f"{self.name} is declared with a value of the wrong type: {error}") from None

    def _normalise(self) -> None:
        """Check every attribute and fill in the defaults; lists become tuples."""
        for name in ("title", "reference", "entry", "variant_of"):
            text = getattr(self, name)
            _require(isinstance(text, str) and "\n" not in text, f"its {name} must be a text of one line, not {text!r}")
        for name in ("arguments", "constraints", "program_sizes", "include", "options", "known_bugs"):
            value = getattr(self, name)
            _require(isinstance(value, tuple | list), f"its {name} are several: ({value!r},) instead of {value!r}")
            objects = name in ("arguments", "constraints", "program_sizes")
            texts = objects or all(isinstance(text, str) for text in value)
            _require(texts, f"its {name} are texts, unlike {value!r}")
            object.__setattr__(self, name, tuple(value))
        pair = self.min_compute_capability
        valid = isinstance(pair, tuple | list) and [type(number) for number in pair] == [int, int]
        _require(valid, f"min_compute_capability is a pair of whole numbers such as (9, 0), not {pair!r}")
        source, dtype = Path(self.source), dtype_named(self.dtype)
        narrow = dtype.itemsize < 4 or dtype.name == "tf32"
        accumulator = self.accumulator or ("int32" if dtype.is_integer else "float32" if narrow else dtype.name)
        output = self.output or ("float32" if self.accumulator.startswith(FLOAT22.name) else self.accumulator)
        wide = dtype.itemsize > 1 and dtype.name != "tf32"
        settled = {
            "title": self.title or self.name,
            "source": Path(f"{self.name.rpartition('.')[2]}.cu") if source == Path() else source,
            "dtype": dtype_named(self.dtype).name,
            "accumulator": accumulator_named(accumulator).name,
            "output": dtype_named(output or (dtype.name if wide else accumulator)).name,
            "column_major": "".join(sorted(set(self.column_major))),
            "unit": dtype_named(self.unit or dtype.name).name,
            "alpha": float(self.alpha),
            "beta": float(self.beta),
            "min_compute_capability": tuple(pair),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        for argument in self.arguments:
            check_argument(argument)
        for each in (*self.constraints, *self.program_sizes):
            valid = isinstance(each, Constraint) and not isinstance(each, type) and callable(each.violation)
            words = valid and isinstance(each.description, str) and each.description.strip()
            _require(words, f"{each!r} is not a constraint: it has no description or no violation")
            _require("\n" not in each.description, f"the description of {each!r} has more than one line")
        if self.call is not None and not self.configs:
            object.__setattr__(self, "configs", ({},))
        ways = [name for name in ("launch", "grid", "build", "call") if getattr(self, name) is not None]
        for name in (*ways, *["tiling"] * (self.tiling is not None)):
            _require(callable(getattr(self, name)), f"its {name} rule is not callable")
        _require("call" not in ways or ways == ["call"], f"a library is called or kernels are launched: {ways}")
        has_arguments = not self.is_code or self.arguments
        _require(has_arguments, "its code is built or compiled and has no signature: it needs arguments=")
        said = [name for name in ("grid", "shared_bytes", "over_read") if getattr(self, name)]
        alone = self.launch is None or not said
        _require(alone, f"it has a launch rule, which says everything about a launch: leave out {' and '.join(said)}")
        _require("call" not in ways or not self.shared_bytes, "a library's call has no shared memory to declare")
        valid = callable(self.shared_bytes) or (type(self.shared_bytes) is int and self.shared_bytes >= 0)
        _require(valid, f"shared_bytes is a whole number of bytes or a function, not {self.shared_bytes!r}")
        known = self.over_read in (None, "tiles") or isinstance(self.over_read, Mapping) or callable(self.over_read)
        _require(known, f'over_read is "tiles", elements by matrix or a function, not {self.over_read!r}')
        _require(self.algorithm in ("", "strassen"), f'algorithm is "strassen" or left out, not {self.algorithm!r}')
        finite = math.isfinite(self.alpha) and math.isfinite(self.beta) and self.alpha
        _require(finite, f"alpha and beta are numbers, alpha not 0, instead of {self.alpha} and {self.beta}")
        valid = {self.alpha, self.beta} <= {0, 1} or not dtype.is_integer
        _require(valid, f"of whole numbers alpha is 1 and beta 0 or 1, not {self.alpha} and {self.beta}")
        _require(set(self.column_major) <= set("ABC"), f"column_major is such as 'B', not {self.column_major!r}")
        known = self.initial_c == "poison" or (self.initial_c == "zeros" and not self.beta)
        _require(known, f'initial_c is "poison", or "zeros" where beta is 0, not {self.initial_c!r}')
        form = _ARCHITECTURE.fullmatch(self.architecture)
        _require(form, f"architecture {self.architecture!r} is not of the form 90 or 90a")
        first = self.usual_configs[0]
        needed = "a config needs a block, the threads per block: {'block': (16, 16)}"
        _require(self.call or BLOCK in first, f"{needed}, not {dict(first)}")
        example = self.problem(64, 64, 64)
        for template in (self.entry, *self.defines.values(), *self.options):
            self.expand(template, example, first)

    @cached_property
    def all_configs(self) -> Configs:
        """Every config, including those of a space."""
        return Configs(self.configs)

    @property
    def is_code(self) -> bool:
        """True if it is compiled code instead of CUDA C++: built, or with PTX or a CUBIN as its source."""
        return self.build is not None or self.source.suffix in (".ptx", ".cubin")

    @property
    def usual_configs(self) -> tuple[Config, ...]:
        """The configs that are measured by default, the first of them in front."""
        return self.all_configs.usual

    def config(self, block: str | SupportsIndex | Shape | None = None, **parameters: Any) -> Config:
        """Return the first of :meth:`matching_configs`; a block is "32x8", (32, 8), or 32 for 32×32 (32×1 if flat)."""
        return self.matching_configs(**parameters, **({} if block is None else {BLOCK: block}))[0]

    def matching_configs(self, **asked: Any) -> tuple[Config, ...]:
        """Return the usual configs with these values. If there is none, return the first with its values replaced."""
        try:
            return self.all_configs.matching(**asked)
        except InvalidConfig as error:
            raise InvalidConfig(f"{self.name}: {error}") from None

    def located(self, folder: Path) -> Kernel:
        """Return the same kernel with its source in ``folder``, unless its path is absolute."""
        located = copy(self)  # it stays valid
        object.__setattr__(located, "source", folder / self.source)
        return located

    def launches(self, problem: Problem, config: Config, device: DeviceProperties) -> tuple[Launch, ...]:
        """Return the launches of its rule, before any limit is checked; none of a library. Raises InvalidKernel."""
        if self.call is not None:
            return ()
        with asking(f"{self.name}: its launch rule", f"{problem} with {config}"):
            ruled = self._ruled(problem, config, device)
            several = (ruled,) if isinstance(ruled, Launch) else tuple(ruled) if isinstance(ruled, Sequence) else ()
            shown = "" if several and all(isinstance(launch, Launch) for launch in several) else repr(ruled)
        if shown:
            raise InvalidKernel(f"{self.name}: its launch rule returned {shown}, not a Launch or several")
        return several

    def _ruled(self, problem: Problem, config: Config, device: DeviceProperties) -> Any:
        """Return the answer of its launch rule, or of its other rules, which may be anything at all."""
        if self.launch is not None:
            return self.launch(problem, config, device)
        grid, shared = (self.grid or covering_grid)(problem, config), self.shared_bytes
        dynamic = shared(problem, config) if callable(shared) else shared
        launch = Launch(grid=grid, block=config.block, shared_bytes=dynamic)
        if self.over_read == "tiles":
            return replace(launch, over_read=tiles_over_read(problem, config, launch))
        over_read: Any = self.over_read(problem, config) if callable(self.over_read) else self.over_read or {}
        return replace(launch, over_read=dict(over_read))

    def entry_named(self, entry: str | None = None) -> str:
        """Return the name expression of a launch's function: the launch's, the kernel's, or the only one of the source.

        It is empty for the only function of compiled code, as only the code has its name.
        """
        if entry or self.entry or self.is_code:
            return entry or self.entry
        functions = signatures(self.source_text())
        if len(functions) != 1:
            has = ", ".join(signature.name for signature in functions) or "no __global__ function"
            raise InvalidKernel(f"{self.name}: {self.source.name} has {has}; entry= says which is launched")
        name = functions[0].name
        if functions[0].template:
            template = f"{self.name}: {name} in {self.source.name} is a template"
            raise InvalidKernel(f'{template}; entry= names an instance, such as "{name}<{{block.x}}>"')
        return name

    def arguments_of(self, entry: str) -> tuple[Argument, ...]:
        """Return the declared arguments, or the ones that the function's signature implies."""
        if self.arguments:
            return self.arguments
        functions = self._functions(entry)
        if not functions:
            raise InvalidKernel(f"{self.name}: {self.source.name} has no function {entry} to read the arguments off")
        try:
            return inferred_arguments(functions[0])
        except InvalidKernel as error:
            raise InvalidKernel(f"{self.name}: {error}") from None

    def _functions(self, entry: str) -> list[Signature]:
        """Return the source's functions that a name expression names; all of them if it is empty."""
        name = entry.partition("<")[0].rpartition("::")[2].strip()
        return [signature for signature in signatures(self.source_text()) if name in ("", signature.name)]

    def macros(self, problem: Problem, config: Config) -> dict[str, str]:
        """Return the macros of one launch: ``defines``, and parameters in capitals that no entry names."""
        named = re.findall(r"\{(\w+)", self.entry)
        macros = {name: str(config[name]) for name in config if name.isupper() and name not in named}
        return macros | {name: self.expand(value, problem, config) for name, value in self.defines.items()}

    @property
    def operation(self) -> str:
        """The operation: "C=AB", "C=C+AB", or with factors such as "C=0.5AB+2C"."""
        if (self.alpha, self.beta) in ((1, 0), (1, 1)):
            return "C=C+AB" if self.beta else "C=AB"
        return f"C={self.alpha:g}AB" + (f"{self.beta:+g}C" if self.beta else "")

    @property
    def accumulate(self) -> bool:
        """True if C's old value is read."""
        return self.beta != 0

    @property
    def types(self) -> str:
        """The types, such as "float16→float32 summed in float16 by Strassen with A and B by columns"."""
        narrowest = min(dtype_named(name).unit_roundoff for name in (self.dtype, self.output, "float32"))
        narrow = accumulator_named(self.accumulator).unit_roundoff > narrowest
        sums = (f" summed in {self.accumulator}" if narrow else "") + (" by Strassen" if self.algorithm else "")
        layout = f" with {' and '.join(self.column_major)} by columns" if self.column_major else ""
        return "→".join(dict.fromkeys((self.dtype, self.output))) + sums + layout

    def source_text(self) -> str:
        """Return its CUDA C++, or the content of its file.

        Raises :class:`InvalidKernel` if it cannot be read or is not UTF-8 text. It is empty for code that has no text:
        machine code, code built without a source, and libraries.
        """
        if self.text:
            return self.text
        built = self.build is not None and not self.source.is_file()
        if self.source.suffix == ".cubin" or built or self.call is not None:
            return ""
        try:
            # Compilers take a byte order mark for a part of the first word.
            return read_text(self.source)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InvalidKernel(f"{self.name}: its source {self.source} cannot be read: {reason}") from None

    @property
    def strided(self) -> bool:
        """True if it takes leading dimensions; otherwise it gets its matrices packed."""
        if self.call is not None:
            return True
        names: set[object] = {each.value if isinstance(each, Scalar) else each for each in self.arguments}
        if not self.arguments:
            names = {each.name.casefold() for found in self._functions(self.entry) for each in found.parameters}
        return not names.isdisjoint(("lda", "ldb", "ldc"))

    def problem(self, m: int, n: int, k: int, *, lda: int = 0, ldb: int = 0, ldc: int = 0) -> Problem:
        """Return the m×n×k product in this kernel's types; raises as :class:`Problem` does."""
        return Problem(
            m, n, k, self.dtype, self.output, lda, ldb, ldc, self.alpha, self.beta, self.column_major, self.initial_c
        )

    def computes(self, problem: Problem) -> bool:
        """Return whether it computes such products: of the same types, layouts and factors."""
        names = ("dtype", "output", "alpha", "beta", "column_major")
        return all(getattr(self, name) == getattr(problem, name) for name in names)

    def violations(self, problem: Problem, config: Config) -> list[str]:
        """Return the reasons why its constraints forbid ``problem`` in a config, a clause each."""
        return self._violations(self.constraints, problem, config)

    def in_program(self, problem: Problem, config: Config) -> bool:
        """Return whether the kernel's own program uses a size of the kind of ``problem``."""
        return not self._violations(self.program_sizes, problem, config)

    def _violations(self, constraints: Sequence[Constraint], problem: Problem, config: Config) -> list[str]:
        with asking(f"{self.name}: a constraint", f"{problem} with {config}"):
            reasons = [constraint.violation(problem, config) for constraint in constraints]
            for reason in reasons:
                words = reason is None or (isinstance(reason, str) and reason.strip() and "\n" not in reason)
                _require(words, f"it answers {reason!r} instead of a reason of one line or None")
        return [reason for reason in reasons if reason is not None]

    def fitting_config(self, problem: Problem) -> Config:
        """Return the first usual config in which ``problem`` may run; the first of all if it may run in none."""
        usual = self.usual_configs
        return next((config for config in usual if not self.violations(problem, config)), usual[0])

    def square_problem(self, least: int, *configs: Config) -> Problem:
        """Return the first m = n = k from ``least`` up, else below, that one of ``configs`` (or the usual) allows.

        The kernel's own program uses such sizes. If its source fixes others, the problem has those.
        """
        constraints = (*self.constraints, *self.program_sizes)
        for size in (*range(least, least + 4097), *range(least - 1, 0, -1)):
            problem = self.problem(size, size, size)
            if not all(self._violations(constraints, problem, each) for each in configs or self.usual_configs):
                return problem
        usual = self.problem(least, least, least)
        fixing = next((each for each in self.constraints if isinstance(each, FixingConstraint)), None)
        return self.problem(*fixing.nearest(usual, (*configs, *self.usual_configs)[0])) if fixing else usual

    def expand(self, template: str, problem: Problem, config: Config) -> str:
        """Return ``template`` with the launch's values filled in. Raises :class:`InvalidKernel` for others."""
        try:
            return template.format(**{"m": problem.m, "n": problem.n, "k": problem.k, **config})
        except (KeyError, IndexError, AttributeError, ValueError) as error:
            reason = f"{error} is no value of a launch" if isinstance(error, KeyError) else str(error)
            raise InvalidKernel(f"{template!r} cannot be filled in: {reason}") from None
