"""Configs: the named parameters of one way of launching a kernel, the thread block among them."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsIndex, TypeAlias

from mmcore.errors import InvalidConfig
from mmcore.kernel.geometry import Dim3, Shape, dim3, native, parse_shape
from mmcore.messages import suggestion

Derivation: TypeAlias = str | Callable[["Config"], Any]

BLOCK = "block"
# What ids and tables have for NAME=VALUE: "b32x8" and "32×8", "b32", "BM128".
_PRINTED = {r"b?(\d+([x×]\d+)+)": r"block=\1", r"b(\d+)": r"block=\1x\1", r"([A-Za-z_]+)(\d+)": r"\1=\2"}


class Config(Mapping[str, Any]):
    """The values of a kernel's parameters for one launch; each is also an attribute, as in ``config.BM``.

    Attributes:
        block: threads per block; one where a library is called.
        derived: names of the parameters that follow from the others.
        tile: (rows, columns, depth) of the tile of C that a block computes, and of the part of k it takes at a time.
            They are the parameters ``BM``, ``BN``, ``BK``, else ``TILE``, else the extents of the block.
    """

    def __init__(self, values: Mapping[str, Any], derived: frozenset[str] = frozenset()) -> None:
        self._values = dict(values)
        self.derived = derived

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __getattr__(self, name: str) -> Any:
        # Copying and unpickling ask before there are values.
        values = self.__dict__.get("_values", {})
        if name not in values:
            hint = f"; the extent is config.block.{name}" if name in Dim3._fields else ""
            raise AttributeError(f"the config has no parameter {name!r}; it has {', '.join(values)}{hint}")
        return values[name]

    @property
    def block(self) -> Dim3:
        return Dim3(*self._values.get(BLOCK, (1,)))

    @property
    def tile(self) -> tuple[int, int, int]:
        rows = self.get("BM", self.get("TILE", self.block.y))
        columns = self.get("BN", self.get("TILE", self.block.x))
        depth = self.get("BK", self.get("TILE", self.block.x))
        return int(rows), int(columns), int(depth)

    @property
    def block_text(self) -> str:
        """The block in ids: "32" for 32×32."""
        x, y, z = self.block
        return str(x) if x == y and z == 1 else self.block.spec

    @property
    def id(self) -> str:
        """The config in a test's id, of the parameters that do not follow from others: "b32", "b256x1-BM128-BN64"."""
        words = [f"{name}{self[name]}" for name in self if name not in self.derived and name != BLOCK]
        if BLOCK in self and (BLOCK not in self.derived or not words):
            words.insert(0, f"b{self.block_text}")
        return "-".join(words) or "library"

    def __str__(self) -> str:
        """Return the config as a user types it: "block=32x32, BM=128"."""
        return ", ".join(f"{name}={self[name].spec if name == BLOCK else self[name]}" for name in self)

    def __repr__(self) -> str:
        return f"Config({self})"

    def to_json(self) -> dict[str, Any]:
        """Return every parameter by name; the block is [x, y, z]."""
        return {name: list(self.block) if name == BLOCK else self[name] for name in self}


@dataclass(frozen=True)
class Space:
    """All combinations of some parameters' values that a condition allows, for a tuner to search.

    Attributes:
        parameters: values by parameter's name; a function of the config or a text such as "{block.x}" for one that
            follows from others.
        where: the condition of the combinations that may be launched, of other values too; all when None.
        default: the combinations that are measured by default: the first alone unless given.
    """

    parameters: Mapping[str, Sequence[Any] | Derivation]
    where: Callable[[Config], bool] | None = None
    default: Sequence[Mapping[str, Any]] = ()

    @property
    def derivations(self) -> dict[str, Any]:
        """The parameters that follow from others."""
        return {name: value for name, value in self.parameters.items() if _is_derivation(value)}

    @property
    def free(self) -> dict[str, Any]:
        """The values of the parameters that do not follow from others."""
        return {name: value for name, value in self.parameters.items() if not _is_derivation(value)}

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Yield every combination; the last parameter varies fastest."""
        free, derivations = self.free, self.derivations
        for values in itertools.product(*free.values()):
            declared = {**dict(zip(free, values, strict=True)), **derivations}
            if self.allows(resolve(declared)):
                yield declared

    def has(self, config: Config) -> bool:
        """Return whether a config is one of the combinations."""
        among = (config[name] in [_value(name, each) for each in values] for name, values in self.free.items())
        return all(among) and self.allows(config)

    def allows(self, config: Config) -> bool:
        """Return whether the condition holds for a config, of any values. Raises InvalidConfig if it fails."""
        try:
            return self.where is None or bool(self.where(config))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise InvalidConfig(f"the condition of its space fails for {config}: {reason}") from None


def _is_derivation(value: object) -> bool:
    return callable(value) or (isinstance(value, str) and "{" in value)


def resolve(declared: Mapping[str, Any]) -> Config:
    """Return the config of declared parameters: the block as a :class:`Dim3`, and derived values computed."""
    for name in declared:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidConfig(f"{name!r} is not a parameter's name")
        if name in ("m", "n", "k") or (name != BLOCK and hasattr(Config, name)):
            raise InvalidConfig(f"a parameter cannot be called {name!r}, which means something else already")
    values = {name: _value(name, value) for name, value in declared.items() if not _is_derivation(value)}
    derived = [name for name in declared if name not in values]
    for name in derived:
        values[name] = _value(name, _derived(name, declared[name], Config(values)))
    return Config({name: values[name] for name in declared}, frozenset(derived))


def _derived(name: str, derivation: Derivation, config: Config) -> Any:
    try:
        if callable(derivation):
            return derivation(config)
        text = derivation.format_map(config)
    except Exception as error:
        reason = f"{error} is no parameter" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise InvalidConfig(f"the parameter {name!r} cannot be derived: {reason}") from None
    return int(text) if text.lstrip("-").isdecimal() else text


def _value(name: str, value: Any) -> Any:
    if name == BLOCK:
        return dim3(value)
    # C++ has no True: -DUNROLL=1.
    value = int(value) if isinstance(value, bool) else native(value)
    if not isinstance(value, int | float | str):
        meant = suggestion(name, [BLOCK])
        raise InvalidConfig(f"the parameter {name!r} is a number or a text, not {value!r}{meant and f'; {meant}'}")
    return value


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def parse_config(text: str) -> dict[str, Any]:
    """Return the parameters of ``"BM=128, block=32x8"``, ``"32×8 BM=128"`` or an id; :class:`InvalidConfig` else."""
    parameters: dict[str, Any] = {}
    parts = re.split(r",\s*|\s+", re.sub(r"\s*=\s*", "=", text.strip()))
    for word in itertools.chain.from_iterable([part] if "=" in part else part.split("-") for part in parts):
        for printed, typed in _PRINTED.items():
            word = re.sub(rf"^{printed}$", typed, word)
        name, _, value = word.partition("=")
        if not name.isidentifier() or not value:
            raise InvalidConfig(f"{word!r} is not NAME=VALUE, such as BM=128 or block=32x8")
        parameters[name] = parse_shape(value) if name == BLOCK else _number(value)
    return parameters


class Configs:
    """The configs that a list of parameters or a :class:`Space` declares; ``usual`` are measured by default."""

    def __init__(self, declared: Sequence[Mapping[str, Any]] | Space) -> None:
        space = declared if isinstance(declared, Space) else None
        several = declared if space is None else space.default or tuple(itertools.islice(space, 1))
        if not isinstance(several, list | tuple) or not all(isinstance(each, Mapping) for each in several):
            raise InvalidConfig(f"configs are several, such as [{{'block': (16, 16)}}], not {declared!r}")
        if not several:
            raise InvalidConfig("there is no config")
        self._space = space or ()
        self._declared = [{**space.derivations, **each} if space else each for each in several]
        names = frozenset(space.parameters if space else several[0])
        if any(frozenset(each) != names for each in self._declared):
            raise InvalidConfig("all configs have the same parameters: one of them lacks one that another has")
        self.usual = tuple(dict.fromkeys(map(resolve, self._declared)))

    def __iter__(self) -> Iterator[Config]:
        """Yield every config, including a space's, with the parameters of all in one order."""
        seen: set[Config] = set()
        for config in map(resolve, itertools.chain(self._declared, self._space)):
            if config not in seen:
                seen.add(config)
                yield Config({name: config[name] for name in self.usual[0]}, config.derived)

    @cached_property
    def every(self) -> tuple[Config, ...]:
        """Every config, including a space's."""
        return tuple(self)

    def own(self, /, **asked: Any) -> Config:
        """Return the config of these values; derived ones are ignored. Raises InvalidConfig if there is none."""
        free = {name: value for name, value in asked.items() if not _is_derivation(self._declared[0].get(name))}
        config = self.matching(**free)[0]
        if config not in self.usual and not (isinstance(self._space, Space) and self._space.has(config)):
            raise InvalidConfig(f"{config} is none of its configs")
        return config

    def violation(self, config: Config) -> str | None:
        """Return the reason why the condition of a space forbids a config; None for a usual one and without a space."""
        if config in self.usual or not isinstance(self._space, Space) or self._space.allows(config):
            return None
        return f"{config} is not among the combinations that where= allows"

    def block(self, shape: str | SupportsIndex | Shape) -> Dim3:
        """Return a block given as "32x8", (32, 8), or 32 for 32×32 (32×1 if all usual blocks are rows)."""
        extents = parse_shape(shape) if isinstance(shape, str) else native(shape)
        if isinstance(extents, int):
            extents = (extents,)
        flat = all(config.block.y == config.block.z == 1 for config in self.usual)
        return dim3(extents * 2 if isinstance(extents, tuple | list) and len(extents) == 1 and not flat else extents)

    def matching(self, /, **asked: Any) -> tuple[Config, ...]:
        """Return the usual configs with these values. If there is none, return the first with its values replaced."""
        unknown = [name for name in asked if name not in self.usual[0]]
        if unknown:
            raise InvalidConfig(f"there is no parameter {unknown[0]!r}; there are {', '.join(self.usual[0])}")
        wanted = {name: _value(name, self.block(value) if name == BLOCK else value) for name, value in asked.items()}
        configs = tuple(each for each in self.usual if wanted.items() <= each.items())
        if configs:
            return configs
        first = self._declared[0]
        other = resolve({**first, **{name: value for name, value in wanted.items() if not _is_derivation(first[name])}})
        return (other if wanted.items() <= other.items() else resolve({**first, **wanted}),)
