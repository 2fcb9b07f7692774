"""The declaration of a kernel, by a plugin."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

from mmcore.errors import InvalidConfig, InvalidKernel, MmcoreError, asking
from mmcore.files import read_text
from mmcore.kernel.arguments import MATRICES, PITCHES, Argument, Scalar, TensorMap, inferred_arguments
from mmcore.kernel.configs import BLOCK, Config, Configs, Space
from mmcore.kernel.constraints import Constraint, FixingConstraint
from mmcore.kernel.declared_values import check_forms, check_name, check_values, require, settled
from mmcore.kernel.geometry import Shape
from mmcore.kernel.launch import Launch, covering_grid, tiles_over_read
from mmcore.kernel.missing_source import advice_about
from mmcore.kernel.problem import Problem, accumulator_named, dtype_named
from mmcore.kernel.properties import DeviceProperties
from mmcore.kernel.signature import Signature, signatures
from mmcore.kernel.tiling import TilingRule

CallRule: TypeAlias = Callable[[Problem, Config, Mapping[str, Any]], Callable[[int], object]]
BuildRule: TypeAlias = Callable[[Problem, Config, str], Any]
LaunchRule: TypeAlias = Callable[[Problem, Config, DeviceProperties], Launch | Sequence[Launch]]
GridRule: TypeAlias = Callable[[Problem, Config], Shape]
SharedRule: TypeAlias = Callable[[Problem, Config], int]
OverRead: TypeAlias = str | Mapping[str, int] | Callable[[Problem, Config], Mapping[str, int]]


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
            check_forms(self)
            for name, value in settled(self).items():
                object.__setattr__(self, name, value)
            check_values(self)
            self._check_templates()
        except MmcoreError as error:
            raise InvalidKernel(f"{self.name}: {error}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise InvalidKernel(f"{self.name} is declared with a value of the wrong type: {error}") from None

    def _check_templates(self) -> None:
        """Check that there is a block, and that the texts with ``{m}`` can be filled in."""
        first = self.usual_configs[0]
        needed = "a config needs a block, the threads per block: {'block': (16, 16)}"
        require(self.call or BLOCK in first, f"{needed}, not {dict(first)}")
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
            raise InvalidKernel(f"{self.name}: its launch rule returned {shown}, not a Launch or a list of several")
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
            has = ", ".join(each.name for each in self._functions("")) or "no __global__ function"
            lacks = f"{self.source.name} has no function {entry} to read the arguments off"
            raise InvalidKernel(f"{self.name}: {lacks}; it has {has}")
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
            advice = advice_about(self.source) if isinstance(error, FileNotFoundError) else ""
            raise InvalidKernel(f"{self.name}: its source {self.source} cannot be read: {reason}{advice}") from None

    @property
    def strided(self) -> str:
        """The matrices whose leading dimensions it takes, such as "ABC"; it gets the others packed."""
        if self.call is not None:
            return "ABC"
        names: set[object] = {each.value if isinstance(each, Scalar) else each for each in self.arguments}
        if not self.arguments:
            names = {each.name.casefold() for found in self._functions(self.entry) for each in found.parameters}
        passed = {length for pitch, length in PITCHES.items() if not names.isdisjoint((pitch, length))}
        mapped = {each.matrix for each in self.arguments if passed and isinstance(each, TensorMap)}
        return "".join(each for each in MATRICES if each in mapped or f"ld{each.lower()}" in passed)

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
        """Return the reasons why its constraints or its space forbid ``problem`` in a config, a clause each."""
        try:
            of_space = self.all_configs.violation(config)
        except InvalidConfig as error:
            raise InvalidConfig(f"{self.name}: {error}") from None
        return [*([of_space] if of_space else []), *self._violations(self.constraints, problem, config)]

    def in_program(self, problem: Problem, config: Config) -> bool:
        """Return whether the kernel's own program uses a size of the kind of ``problem``."""
        return not self._violations(self.program_sizes, problem, config)

    def _violations(self, constraints: Sequence[Constraint], problem: Problem, config: Config) -> list[str]:
        with asking(f"{self.name}: a constraint", f"{problem} with {config}"):
            reasons = [constraint.violation(problem, config) for constraint in constraints]
            for reason in reasons:
                words = reason is None or (isinstance(reason, str) and reason.strip() and "\n" not in reason)
                require(words, f"it answers {reason!r} instead of a reason of one line or None")
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
        return self.with_fixed_sizes(self.problem(least, least, least), (*configs, *self.usual_configs)[0])

    def least_problem(self, least: int, *configs: Config) -> Problem:
        """Return the problem of :meth:`square_problem`; if it is more than twice as large, with the fewest m = n.

        A kernel may need a long k, or many rows, alone.
        """
        square = self.square_problem(least, *configs)
        constraints = (*self.constraints, *self.program_sizes)
        for size in range(least, square.n) if square.n > 2 * least else ():
            problem = self.problem(size, size, square.k)
            if not all(self._violations(constraints, problem, each) for each in configs or self.usual_configs):
                return problem
        return square

    def with_fixed_sizes(self, problem: Problem, config: Config) -> Problem:
        """Return the nearest problem with the sizes that its source fixes, or has one parameter for."""
        for each in self.constraints:
            if isinstance(each, FixingConstraint):
                problem = self.problem(*each.nearest(problem, config))
        return problem

    def expand(self, template: str, problem: Problem, config: Config) -> str:
        """Return ``template`` with the launch's values filled in. Raises :class:`InvalidKernel` for others."""
        try:
            return template.format(**{"m": problem.m, "n": problem.n, "k": problem.k, **config})
        except (KeyError, IndexError, AttributeError, ValueError) as error:
            reason = f"{error} is no value of a launch" if isinstance(error, KeyError) else str(error)
            raise InvalidKernel(f"{template!r} cannot be filled in: {reason}") from None
