"""Plugins, found and loaded: which kernels, experiments and devices there are, who brought them, and which are broken.

Entry points in the group ``mmcore`` are loaded when :func:`registry` is first called, not when mmcore is imported. A
plugin that cannot be imported, raises in a hook or declares nonsense is set aside with its reason; everything else
works.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib.metadata
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pluggy

from mmcore import hookspecs
from mmcore.errors import ConflictingKernels, ConflictingSweeps, MmcoreError, UnknownKernel, UnknownSweep
from mmcore.places import place
from mmcore.planning.kernel import Kernel
from mmcore.printing import to_stderr
from mmcore.sweeping.sweep import Sweep

if TYPE_CHECKING:
    from mmcore.launching.device import DeviceProvider

GROUP = "mmcore"

# The distribution whose plugins are as trustworthy as what loads them.
_OWN = "mmcore"

_SET_ASIDE = "; a plugin that is set aside may bring it, and mmcore doctor says which are"


class Registered(NamedTuple):
    """A kernel and who brought it.

    Attributes:
        kernel: the kernel.
        plugin: name of the entry point.
        distribution: name of the installed package, as pip knows it.
    """

    kernel: Kernel
    plugin: str
    distribution: str


class RegisteredSweep(NamedTuple):
    """An experiment and who brought it.

    Attributes:
        sweep: the experiment.
        plugin: name of the entry point.
        distribution: name of the installed package, as pip knows it.
    """

    sweep: Sweep
    plugin: str
    distribution: str


_Claim = TypeVar("_Claim", Registered, RegisteredSweep)


class Broken(NamedTuple):
    """A plugin, or part of one, that was set aside.

    Attributes:
        plugin: name of the entry point.
        distribution: name of the installed package.
        reason: what is wrong, in one sentence.
    """

    plugin: str
    distribution: str
    reason: str

    def __str__(self) -> str:
        return f"plugin {self.plugin} of {self.distribution} is set aside: {self.reason}"


@dataclass
class Registry:
    """Everything the plugins bring.

    Attributes:
        kernels: by name, sorted.
        sweeps: the experiments, by name, sorted.
        providers: of devices, by name.
        broken: what was set aside.
        claims: names of kernels that several plugins claim, with the claimants; nobody gets them.
        sweep_claims: the same of experiments.
    """

    kernels: dict[str, Registered] = field(default_factory=dict)
    sweeps: dict[str, RegisteredSweep] = field(default_factory=dict)
    providers: dict[str, DeviceProvider] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    claims: dict[str, list[Registered]] = field(default_factory=dict)
    sweep_claims: dict[str, list[RegisteredSweep]] = field(default_factory=dict)

    def kernel(self, name: str) -> Kernel:
        """The kernel called ``name``.

        Raises:
            ConflictingKernels: several plugins claim the name.
            UnknownKernel: there is none; the text gives the nearest names, or the plugin that was to bring it.
        """
        if not isinstance(name, str):
            raise UnknownKernel(f"a kernel is known by its name, not by {name!r}")
        if name in self.kernels:
            return self.kernels[name].kernel
        if name in self.claims:
            raise ConflictingKernels(_conflict("kernel", name, self.claims[name]))
        hint = self._hint(name, self.kernels, "mmcore list-kernels")
        raise UnknownKernel(f"there is no kernel {name!r}{hint}")

    def sweep(self, name: str) -> Sweep:
        """The experiment called ``name``.

        Raises:
            ConflictingSweeps: several plugins claim the name.
            UnknownSweep: there is none; the text gives the nearest names.
        """
        if name in self.sweeps:
            return self.sweeps[name].sweep
        if name in self.sweep_claims:
            raise ConflictingSweeps(_conflict("experiment", name, self.sweep_claims[name]))
        hint = self._hint(name, self.sweeps, "mmcore experiment --list")
        raise UnknownSweep(f"there is no experiment {name!r}{hint}")

    def _hint(self, name: str, known: Iterable[str], lists: str) -> str:
        """What may have been meant by a name that is not known, and why it may be missing."""
        for broken in self.broken:
            if broken.plugin == name:
                return f": {broken}"
        # Only for a name that was mistyped.
        import difflib

        near = difflib.get_close_matches(name.casefold(), known, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; {lists} shows what there is"
        return hint + (_SET_ASIDE if self.broken else "")

    def matching(self, patterns: Sequence[str]) -> tuple[list[Kernel], list[Kernel]]:
        """The kernels that names and patterns select, and those left out because of their known faults.

        Args:
            patterns: names, or patterns with ``*``, ``?`` and ``[]``; none at all select every kernel. A kernel with
                known faults must be asked for by its name.

        Raises:
            ConflictingKernels: several plugins claim one of the names.
            UnknownKernel: there is no kernel of that name, or none that matches a pattern.
        """
        # A name without a pattern must be there.
        named = {pattern for pattern in patterns if not set(pattern) & set("*?[") and self.kernel(pattern)}
        for pattern in patterns:
            if pattern not in named and not fnmatch.filter(self.kernels, pattern):
                hint = f"no kernel's name matches {pattern!r}; mmcore list-kernels shows what there is"
                raise UnknownKernel(hint + (_SET_ASIDE if self.broken else ""))
        found = [
            registered.kernel
            for name, registered in self.kernels.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns or ("*",))
        ]
        faulty = [kernel for kernel in found if kernel.known_faults and kernel.name not in named]
        return [kernel for kernel in found if kernel not in faulty], faulty

    def complaints(self) -> list[str]:
        """One sentence for every broken plugin and every contested name."""
        return [
            *map(str, self.broken),
            *(_conflict("kernel", name, claims) for name, claims in sorted(self.claims.items())),
            *(_conflict("experiment", name, claims) for name, claims in sorted(self.sweep_claims.items())),
        ]

    def load(self, entry_point: importlib.metadata.EntryPoint, distribution: str) -> None:
        """Import a plugin and take over what it brings; what is wrong with it ends up in :attr:`broken`.

        Args:
            entry_point: what names it.
            distribution: name of the package it comes from.
        """
        loaded: list[object] = []
        if self._set_aside(entry_point.name, distribution, lambda: loaded.append(entry_point.load())):
            self.add(loaded[0], entry_point.name, distribution, _folders(entry_point.module))

    def add(self, plugin: object, name: str, distribution: str, folders: Sequence[Path] = ()) -> None:
        """Take over what one plugin's hooks return; what is wrong with it ends up in :attr:`broken`.

        Args:
            plugin: the module or object that implements the hooks.
            name: name of its entry point.
            distribution: name of the package it comes from.
            folders: where its kernels' sources must lie; anywhere when empty.
        """
        manager = pluggy.PluginManager(GROUP)
        manager.add_hookspecs(hookspecs)
        set_aside = functools.partial(self._set_aside, name, distribution)
        if not set_aside(lambda: self._register(manager, plugin, name)):
            return
        set_aside(lambda: self._add_kernels(_returned(manager.hook.mmcore_kernels), name, distribution, folders))
        set_aside(lambda: self._add_sweeps(_returned(manager.hook.mmcore_experiments), name, distribution))
        set_aside(lambda: self._add_providers(_returned(manager.hook.mmcore_devices)))

    def _set_aside(self, plugin: str, distribution: str, step: Callable[[], None]) -> bool:
        try:
            # What a plugin prints is no part of a command's output.
            with to_stderr():
                step()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may raise anything at all, SystemExit included
            text = str(error) if isinstance(error, MmcoreError) else f"{type(error).__name__}: {error}"
            text += f" ({where})" if (where := place(error)) else ""
            self.broken.append(Broken(plugin, distribution, " ".join(text.split())[:300] or repr(error)))
            return False
        return True

    @staticmethod
    def _register(manager: pluggy.PluginManager, plugin: object, name: str) -> None:
        manager.register(plugin, name=name)
        manager.check_pending()
        if not manager.get_hookcallers(plugin):
            raise MmcoreError("it implements no hook of mmcore")

    def _add_kernels(self, kernels: Iterable[Any], plugin: str, distribution: str, folders: Sequence[Path]) -> None:
        for kernel in kernels:
            if not isinstance(kernel, Kernel):
                raise MmcoreError(f"mmcore_kernels returned {kernel!r}, which is not a Kernel")
            source = kernel.source.resolve()
            if folders and not any(source.is_relative_to(folder) for folder in folders):
                raise MmcoreError(f"the source of {kernel.name}, {source}, lies outside its package {folders[0]}")
            _enter(self.kernels, self.claims, kernel.name, Registered(kernel, plugin, distribution))

    def _add_sweeps(self, sweeps: Iterable[Any], plugin: str, distribution: str) -> None:
        for sweep in sweeps:
            if not isinstance(sweep, Sweep):
                raise MmcoreError(f"mmcore_experiments returned {sweep!r}, which is not a Sweep")
            _enter(self.sweeps, self.sweep_claims, sweep.name, RegisteredSweep(sweep, plugin, distribution))

    def _add_providers(self, providers: Iterable[DeviceProvider]) -> None:
        for provider in providers:
            if provider.name in self.providers:
                raise MmcoreError(f"there is a device called {provider.name!r} already")
            self.providers[provider.name] = provider


def _enter(held: dict[str, _Claim], claims: dict[str, list[_Claim]], name: str, claim: _Claim) -> None:
    """Give a name to who claims it, unless somebody else does: then to neither."""
    if name in claims:
        claims[name].append(claim)
    elif name in held:
        claims[name] = [held.pop(name), claim]
    else:
        held[name] = claim


def _conflict(what: str, name: str, claims: Iterable[Registered | RegisteredSweep]) -> str:
    claimants = " and ".join(f"{claim.plugin} of {claim.distribution}" for claim in claims)
    return f"{what} {name!r} is claimed by {claimants}; it belongs to neither until one of them renames it"


def _folders(module: str) -> list[Path]:
    """Where the package lies that a loaded module is part of."""
    root = sys.modules[module.partition(".")[0]]
    found = getattr(root, "__path__", None) or [Path(str(root.__file__)).parent]
    return [Path(folder).resolve() for folder in found]


def _returned(hook: pluggy.HookCaller) -> list[Any]:
    items: list[Any] = []
    for returned in hook():
        if not isinstance(returned, Iterable):
            raise MmcoreError(f"{hook.name} returned {type(returned).__name__}, not a list")
        items += returned
    return items


@functools.cache
def registry() -> Registry:
    """Load every installed plugin, once per process."""
    from mmcore.launching import cuda

    found = Registry()
    found.add(cuda, "cuda", _OWN)
    entry_points = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
    refused = _refused([each for each in entry_points if _distribution(each) != _OWN])
    for entry_point in entry_points:
        if reason := refused.get(entry_point):
            found.broken.append(Broken(entry_point.name, _distribution(entry_point), reason))
        else:
            found.load(entry_point, _distribution(entry_point))
    found.kernels = dict(sorted(found.kernels.items()))
    found.sweeps = dict(sorted(found.sweeps.items()))
    return found


def _refused(strangers: list[importlib.metadata.EntryPoint]) -> dict[importlib.metadata.EntryPoint, str]:
    """The plugins that must not be loaded, and why."""
    if not strangers:
        return {}
    from mmcore.vetting.vet import vet

    return vet(strangers)


def _distribution(entry_point: importlib.metadata.EntryPoint) -> str:
    return _name(entry_point.dist) if entry_point.dist else "an unknown distribution"


@functools.cache
def _name(distribution: importlib.metadata.Distribution) -> str:
    # It is read from the package's metadata every time it is asked for, which takes most of a millisecond.
    return distribution.name
