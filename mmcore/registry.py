"""Plugins, found and loaded: which kernels, devices and commands there are, who brought them, and which failed to load.

Entry points in the group ``mmcore`` are loaded when :func:`registry` is first called, not when mmcore is imported. A
plugin that cannot be imported, raises in a hook or declares nonsense is reported with its reason; everything else works.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib.metadata
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import pluggy

from mmcore import hookspecs
from mmcore.errors import DuplicateName, MmcoreError, UnknownKernel, UnknownName
from mmcore.kernel.declaration import Kernel
from mmcore.tracebacks import place

if TYPE_CHECKING:
    from mmcore.devices.base import DeviceProvider

GROUP = "mmcore"
DISTRIBUTION = "mmcore-cuda"
"""The name of mmcore's own distribution. (Another project is called mmcore on PyPI.)"""

_FAILED_HINT = "; a plugin that failed to load may bring it, and mmcore doctor says which did"

_T = TypeVar("_T")


class Origin(NamedTuple):
    """Who brings something.

    Attributes:
        plugin: name of the entry point.
        distribution: name of the installed package, as pip knows it.
    """

    plugin: str
    distribution: str

    def __str__(self) -> str:
        return f"{self.plugin} of {self.distribution}"


class Registered(NamedTuple, Generic[_T]):
    """Something that a plugin brings.

    Attributes:
        item: the kernel, device provider, or whatever it is.
        origin: who brings it.
    """

    item: _T
    origin: Origin


class FailedPlugin(NamedTuple):
    """A plugin, or part of one, that failed to load.

    Attributes:
        origin: the plugin.
        reason: what is wrong, in one sentence.
    """

    origin: Origin
    reason: str

    def __str__(self) -> str:
        return f"plugin {self.origin} failed to load: {self.reason}"


class Named(dict[str, Registered[_T]]):
    """What plugins bring of one kind, by name. A name that several bring belongs to none of them.

    Args:
        what: what it is: "kernel".
        lists: the command that lists them; empty where none does.

    Attributes:
        duplicates: names that several plugins bring, and which.
    """

    def __init__(self, what: str, lists: str = "") -> None:
        super().__init__()
        self._what = what
        self._lists = lists
        self.duplicates: dict[str, list[Origin]] = {}

    def enter(self, name: str, item: _T, origin: Origin) -> None:
        """Add an item, unless somebody else has brought one of that name."""
        if name in self.duplicates:
            self.duplicates[name].append(origin)
        elif name in self:
            self.duplicates[name] = [self.pop(name).origin, origin]
        else:
            self[name] = Registered(item, origin)

    def conflicts(self) -> list[str]:
        """A sentence for every duplicate name."""
        return [
            f"{self._what} {name!r} is brought by {' and '.join(map(str, origins))}; it belongs to neither until one of "
            "them renames it"
            for name, origins in sorted(self.duplicates.items())
        ]

    def named(self, name: str, failed: Sequence[FailedPlugin] = ()) -> _T:
        """The item of that name.

        Raises:
            DuplicateName: several plugins bring it.
            UnknownName: there is none; the text gives the nearest names, or the plugin that was to bring it.
        """
        if not isinstance(name, str):
            raise UnknownName(f"a {self._what} is known by its name, not by {name!r}")
        if name in self:
            return self[name].item
        if name in self.duplicates:
            raise DuplicateName(next(each for each in self.conflicts() if each.startswith(f"{self._what} {name!r} ")))
        for each in failed:
            if each.origin.plugin == name:
                raise UnknownName(f"there is no {self._what} {name!r}: {each}")
        # Only for a name that was mistyped.
        import difflib

        near = difflib.get_close_matches(name.casefold(), self, n=3, cutoff=0.5)
        lists = f"; {self._lists} shows what there is" if self._lists else f"; there are {', '.join(self) or 'none'}"
        hint = f"; did you mean {' or '.join(near)}?" if near else lists
        raise UnknownName(f"there is no {self._what} {name!r}{hint}{_FAILED_HINT if failed else ''}")


@dataclass
class Registry:
    """Everything the plugins bring.

    Attributes:
        kernels: by name, sorted.
        providers: of devices, by name.
        commands: "module:function" of further commands, by name.
        failed: what failed to load.
        manager: pluggy's, with every plugin that loaded.
        distributions: name and version of every distribution that brought a plugin.
    """

    kernels: Named[Kernel] = field(default_factory=lambda: Named("kernel", "mmcore list-kernels"))
    providers: Named[DeviceProvider] = field(default_factory=lambda: Named("device"))
    commands: Named[str] = field(default_factory=lambda: Named("command", "mmcore --help"))
    failed: list[FailedPlugin] = field(default_factory=list)
    manager: pluggy.PluginManager = field(default_factory=lambda: pluggy.PluginManager(GROUP))
    distributions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.manager.add_hookspecs(hookspecs)
        self._origins: dict[object, Origin] = {}
        self._folders: dict[object, tuple[Path, ...]] = {}

    def kernel(self, name: str) -> Kernel:
        """The kernel called ``name``.

        Raises:
            DuplicateName: several plugins bring one of that name.
            UnknownKernel: there is none; the text gives the nearest names, or the plugin that was to bring it.
        """
        try:
            return self.kernels.named(name, self.failed)
        except UnknownName as error:
            raise UnknownKernel(str(error)) from None

    def matching(self, patterns: Sequence[str]) -> tuple[list[Kernel], list[Kernel]]:
        """The kernels that names and patterns select, and those left out because of their known bugs.

        Args:
            patterns: names, or patterns with ``*``, ``?`` and ``[]``; none at all select every kernel. A kernel with
                known bugs must be asked for by its name.

        Raises:
            DuplicateName: several plugins bring one of the names.
            UnknownKernel: there is no kernel of that name, or none that matches a pattern.
        """
        # A name without a pattern must be there.
        named = {pattern for pattern in patterns if not set(pattern) & set("*?[") and self.kernel(pattern)}
        for pattern in patterns:
            if pattern not in named and not fnmatch.filter(self.kernels, pattern):
                hint = f"no kernel's name matches {pattern!r}; mmcore list-kernels shows what there is"
                raise UnknownKernel(hint + (_FAILED_HINT if self.failed else ""))
        found = [
            registered.item
            for name, registered in self.kernels.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns or ("*",))
        ]
        buggy = [kernel for kernel in found if kernel.known_bugs and kernel.name not in named]
        return [kernel for kernel in found if kernel not in buggy], buggy

    def warnings(self) -> list[str]:
        """One sentence for every plugin that failed to load and every name that several bring."""
        conflicts = (each.conflicts() for each in (self.kernels, self.providers, self.commands))
        return [*map(str, self.failed), *(sentence for several in conflicts for sentence in several)]

    def load(self, entry_point: importlib.metadata.EntryPoint) -> None:
        """Import a plugin and take over what it brings; what is wrong with it ends up in :attr:`failed`."""
        name, version = _distribution(entry_point)
        self.distributions[name] = version
        loaded: list[object] = []
        if self._succeeds(Origin(entry_point.name, name), lambda: loaded.append(entry_point.load())):
            self.add(loaded[0], entry_point.name, name)

    def add(self, plugin: object, name: str, distribution: str) -> None:
        """Take over what one plugin's hooks return; what is wrong with it ends up in :attr:`failed`.

        Args:
            plugin: the module or object that implements the hooks.
            name: name of its entry point.
            distribution: name of the package it comes from.
        """
        origin = Origin(name, distribution)
        if not self._succeeds(origin, lambda: self._register(plugin, origin)):
            return
        for hook, enter in (
            ("mmcore_kernels", self._enter_kernel),
            ("mmcore_devices", self._enter_provider),
            ("mmcore_commands", self._enter_command),
        ):
            for item in self._returned(hook, plugin):
                self._succeeds(origin, functools.partial(enter, item, origin, plugin))

    def collected(self, hook: str) -> list[Registered[Any]]:
        """What every plugin returns for a hook that another plugin declares, each item with its origin."""
        return [Registered(item, self._origins[each]) for each in self._origins for item in self._returned(hook, each)]

    def finish(self) -> None:
        """Take plugins' own hooks, report what implements no hook that there is, and sort the kernels."""
        for plugin in self._origins:
            if any(self.manager.parse_hookspec_opts(plugin, name) is not None for name in dir(plugin)):  # type: ignore[arg-type]
                self.manager.add_hookspecs(plugin)
        for plugin, origin in self._origins.items():
            unknown = [
                hook.name for hook in self.manager.get_hookcallers(plugin) or () if not hook.has_spec()
            ]  # fmt: skip
            if unknown:
                self.failed.append(FailedPlugin(origin, f"there is no hook {' or '.join(unknown)}"))
        for name in sorted(self.kernels):
            self.kernels[name] = self.kernels.pop(name)

    def _register(self, plugin: object, origin: Origin) -> None:
        self.manager.register(plugin, name=f"{origin.distribution}:{origin.plugin}")
        if not self.manager.get_hookcallers(plugin):
            self.manager.unregister(plugin)
            raise MmcoreError("it implements no hook of mmcore")
        self._origins[plugin] = origin

    def _returned(self, hook: str, plugin: object) -> list[Any]:
        items: list[Any] = []
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            if implementation.plugin is plugin:
                self._succeeds(self._origins[plugin], lambda: items.extend(_several(hook, implementation.function())))  # noqa: B023
        return items

    def _succeeds(self, origin: Origin, step: Callable[[], None]) -> bool:
        """Whether a plugin's code does what it is to do; if not, why."""
        try:
            step()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may raise anything at all, SystemExit included
            text = str(error) if isinstance(error, MmcoreError) else f"{type(error).__name__}: {error}"
            text += f" ({where})" if (where := place(error)) else ""
            self.failed.append(FailedPlugin(origin, " ".join(text.split())[:300] or repr(error)))
            return False
        return True

    def _enter_kernel(self, kernel: object, origin: Origin, plugin: object) -> None:
        if not isinstance(kernel, Kernel):
            raise MmcoreError(f"mmcore_kernels returned {kernel!r}, which is not a Kernel")
        file = getattr(plugin, "__file__", None)
        if file is not None:
            kernel = kernel.located(Path(file).parent)
            source, folders = kernel.source.resolve(), _folders(plugin)
            if not any(source.is_relative_to(folder) for folder in folders):
                raise MmcoreError(f"the source of {kernel.name}, {source}, lies outside its package {folders[0]}")
        self.kernels.enter(kernel.name, kernel, origin)

    def _enter_provider(self, provider: DeviceProvider, origin: Origin, plugin: object) -> None:
        if provider.name in self.providers:
            raise MmcoreError(f"there is a device called {provider.name!r} already")
        self.providers.enter(provider.name, provider, origin)

    def _enter_command(self, command: Any, origin: Origin, plugin: object) -> None:
        name, target = command
        if not isinstance(target, str) or target.count(":") != 1:
            raise MmcoreError(f'the command {name} is "module:function", not {target!r}')
        self.commands.enter(name, target, origin)


def _several(hook: str, returned: Any) -> Iterable[Any]:
    if isinstance(returned, Mapping):
        return returned.items()
    if isinstance(returned, Kernel):
        return [returned]
    if not isinstance(returned, Iterable):
        raise MmcoreError(f"{hook} returned {type(returned).__name__}, not a list")
    return returned


def _folders(plugin: Any) -> list[Path]:
    """Where the package lies that a plugin's module is part of."""
    root = sys.modules.get(str(getattr(plugin, "__name__", "")).partition(".")[0], plugin)
    found = getattr(root, "__path__", None) or [Path(str(root.__file__)).parent]
    return [Path(folder).resolve() for folder in found]


@functools.cache
def registry() -> Registry:
    """Load every installed plugin, once per process."""
    from mmcore.devices import cuda

    found = Registry()
    found.add(cuda, "cuda", DISTRIBUTION)
    for entry_point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        found.load(entry_point)
    found.finish()
    return found


def _distribution(entry_point: importlib.metadata.EntryPoint) -> tuple[str, str]:
    return _name_and_version(entry_point.dist) if entry_point.dist else ("an unknown distribution", "")


@functools.cache
def _name_and_version(distribution: importlib.metadata.Distribution) -> tuple[str, str]:
    # They are read from the package's metadata every time they are asked for, which takes most of a millisecond.
    return distribution.name, distribution.version
