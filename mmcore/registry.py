"""The registry: the kernels, devices, compilers and commands that plugins add.

Plugins are the entry points in the group ``mmcore``, loaded when :func:`registry` is first called. One that cannot be
imported, raises in a hook or declares nonsense is reported, and everything else works.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import importlib.metadata
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mmcore.errors import InvalidKernel, MmcoreError, UnknownKernel, described
from mmcore.files import read_bytes
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel, KernelReference, is_file
from mmcore.plugin_table import FAILED_HINT, NEW_HINT, Origin, PluginTable
from mmcore.plugins import GROUP, LOADED_HOOKS, Plugins, named_target

if TYPE_CHECKING:
    from mmcore.compile.compiler import Compiler
    from mmcore.devices.base import DeviceProvider

DISTRIBUTION = "mmcore-cuda"  # mmcore's own; another project is called mmcore on PyPI

_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]+\.cu)[">]', re.MULTILINE)


class Registry(Plugins):
    """The items that plugins add.

    Attributes:
        kernels, providers, compilers: by name.
        commands: "module:function" by name.
        files: the kernels of files that were requested, by name.
        distributions: the version of each distribution that brings a plugin.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kernels: PluginTable[Kernel] = PluginTable("kernel", "mmcore list-kernels", UnknownKernel)
        self.providers: PluginTable[DeviceProvider] = PluginTable("device", owner=DISTRIBUTION)
        self.compilers: PluginTable[Compiler] = PluginTable("compiler")
        self.commands: PluginTable[str] = PluginTable("command", "mmcore --help", owner=DISTRIBUTION)
        self._tables: dict[str, PluginTable[Any]] = dict(
            zip(LOADED_HOOKS, (self.kernels, self.providers, self.compilers, self.commands), strict=True)
        )
        self.files: dict[str, FileKernel] = {}
        self.distributions: dict[str, str] = {}
        self.content = functools.cache(self._content)
        self._outside = functools.cache(_outside)  # several kernels have one source

    def add(self, plugin: object, name: str, distribution: str) -> None:
        """Add what a module or object returns from its hooks. Errors in it are reported."""
        with self.reported(origin := Origin(name, distribution)):
            registered = self.register(plugin, origin)
            for hook in LOADED_HOOKS:
                if hasattr(registered, hook):
                    self.collected(hook, functools.partial(self._enter, hook, plugin, origin), registered)

    def finish_loading(self) -> None:
        """Add the hooks that plugins declare, and sort the kernels."""
        super().finish_loading()
        for name in sorted(self.kernels):
            self.kernels[name] = self.kernels.pop(name)

    def kernel(self, reference: KernelReference) -> Kernel:
        """Return the kernel of that name, or of a file. Raises DuplicateName, UnknownKernel or InvalidKernel."""
        if not is_file(reference) or (isinstance(reference, str) and reference in self.kernels):
            return self.kernels.named(cast(str, reference), self.failed)
        facts = {"file": reference} if isinstance(reference, str) else reference
        answer = self.hook.mmcore_kernel_of_file(reference=facts, taken=self.files)
        if answer is None:
            raise UnknownKernel(f"no plugin reads {facts['file']}{FAILED_HINT if self.failed else ''}")
        file: FileKernel = answer.item
        self.files[file.kernel.name] = file
        return file.kernel

    def source_revision(self, kernel: Kernel, version: str) -> str:
        """Return the path of a kernel's source in another version, or "" for none. Raises InvalidKernel."""
        answer = self.hook.mmcore_source_revision(kernel=kernel, version=version) if version else None
        return answer.item if answer else ""

    def reference(self, kernel: Kernel) -> KernelReference:
        """Return the reference with which a cell names a kernel."""
        file = self.files.get(kernel.name)
        # A file may have been given a registered kernel's name.
        return kernel.name if file is None or file.kernel.source != kernel.source else file.reference

    def matching(self, patterns: Sequence[KernelReference]) -> tuple[list[Kernel], list[Kernel]]:
        """Return the kernels that names, files and patterns select, and the ones that are skipped for known bugs.

        Without a pattern, every kernel is selected except the variants of others. A kernel with known bugs is selected
        only by its name. Raises DuplicateName or UnknownKernel if a name or pattern matches no kernel.
        """
        files = [self.kernel(each) for each in patterns if is_file(each)]
        globs = [str(each) for each in patterns or ("*",) if not is_file(each)]
        named = {pattern for pattern in globs if not set(pattern) & set("*?[") and self.kernel(pattern)}
        for pattern in globs if patterns else ():
            if not fnmatch.filter(self.kernels, pattern):
                hint = f"no kernel's name matches {pattern!r}; mmcore list-kernels shows what there is"
                raise UnknownKernel(hint + (FAILED_HINT if self.failed else NEW_HINT))
        names = {name for pattern in globs for name in fnmatch.filter(self.kernels, pattern)}
        selected = [each.item for name, each in self.kernels.items() if name in names]
        if not patterns:
            selected = [kernel for kernel in selected if not kernel.variant_of]
        buggy = [kernel for kernel in selected if kernel.known_bugs and kernel.name not in named]
        return [*files, *(kernel for kernel in selected if kernel not in buggy)], buggy

    def warnings(self) -> list[str]:
        """Return a sentence for each plugin that failed, and for each name that several plugins use."""
        return [*dict.fromkeys(map(str, self.failed)), *self.conflicts()]

    def conflicts(self) -> list[str]:
        """Return a sentence for each name that several plugins use."""
        return [table.conflict(name) for table in self._tables.values() for name in sorted(table.duplicates)]

    def provenance(self, name: str, table: PluginTable[Any]) -> str:
        """Return the distribution of an item, its version and content: "acme-tiled 1.0 sha256:0123456789ab"."""
        if name not in table:
            return ""
        distribution = table[name].origin.distribution
        return f"{distribution} {self.distributions.get(distribution, '')} {self.content(distribution)}"

    def _content(self, distribution: str) -> str:
        """Return a digest of a distribution's packages, and of its kernels' sources: "sha256:" and 12 digits."""
        import hashlib  # only where results are written

        names = {getattr(module, "__name__", "") for each, module in self.modules.items() if each[1] == distribution}
        names |= {__name__} if distribution == DISTRIBUTION else set()
        files = {each.item.source for each in self.kernels.values() if each.origin.distribution == distribution}
        for module in filter(None, (sys.modules.get(name.partition(".")[0]) for name in names)):
            folders = [Path(folder) for folder in getattr(module, "__path__", ())]
            files |= {path for folder in folders for path in folder.rglob("*")} or {Path(str(module.__file__))}
        present = (path for path in files if path.is_file() and "__pycache__" not in path.parts)
        # The order does not depend on where they are installed.
        contents = sorted(f"{path.name}\0".encode() + path.read_bytes() for path in present)
        return f"sha256:{hashlib.sha256(b''.join(contents)).hexdigest()[:12]}"

    def _enter(self, hook: str, plugin: object, origin: Origin, item: Any) -> None:
        """Enter an item of a hook in its table. Raises MmcoreError if it is none, or takes a name of mmcore's."""
        if hook == "mmcore_commands":
            name, item = named_target(item, "command")
        else:
            item = _located(item, plugin, self._outside) if hook == "mmcore_kernels" else item
            name = item.name
        self._tables[hook].enter(name, item, origin)


def _located(kernel: object, plugin: Any, outside: Any) -> Kernel:
    """Return the kernel, or what a function returns, with its source beside the plugin's module and in its package.

    Raises MmcoreError for anything else, and whatever the function raises.
    """
    if callable(kernel):
        kernel = kernel()
    if not isinstance(kernel, Kernel):
        raise MmcoreError(f"mmcore_kernels returned {kernel!r}, which is not a Kernel")
    if getattr(plugin, "__file__", None) is None:
        return kernel
    kernel = kernel.located(Path(plugin.__file__).parent)
    root = sys.modules.get(plugin.__name__.partition(".")[0], plugin)
    folders = tuple(map(str, getattr(root, "__path__", None) or [Path(root.__file__).parent]))
    # A kernel may be built from a function in another package.
    if reason := outside(kernel.source, folders, kernel.build is not None):
        raise MmcoreError(f"the source of {kernel.name}{reason}")
    return kernel


def _outside(source: Path, folders: tuple[str, ...], built: bool) -> str:
    """Return a clause on the source, or the .cu file it includes, that is outside its package; "" if none is."""
    source, package = source.resolve(), [Path(folder).resolve() for folder in folders]
    if not built and not any(source.is_relative_to(folder) for folder in package):
        return f", {source}, lies outside its package {package[0]}"
    text = read_bytes(source) if source.is_file() else b""
    for name in _INCLUDED.findall(text):
        included = (source.parent / os.fsdecode(name)).resolve()
        if included.is_file() and not any(included.is_relative_to(folder) for folder in package):
            return f" includes {included}, which lies outside its package"
    return ""


def plugin_distributions(group: str) -> dict[str, importlib.metadata.Distribution]:
    """Return the distributions that have entry points in a group, by name; the first on ``sys.path`` of each name."""
    distributions: dict[str, importlib.metadata.Distribution | None] = {}
    # importlib.metadata would make an object of every distribution, which takes longer than loading all plugins.
    for folder in sys.path:
        in_folder: dict[str, importlib.metadata.Distribution | None] = {}
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder or os.curdir):
                stem, _, kind = entry.rpartition(".")
                if kind in ("dist-info", "egg-info"):
                    path, name = os.path.join(folder, entry), re.sub("[-_.]+", "-", stem.partition("-")[0]).lower()
                    in_folder.setdefault(name, None)
                    with contextlib.suppress(OSError):
                        if f"[{group}]".encode() in read_bytes(os.path.join(path, "entry_points.txt")):
                            in_folder[name] = importlib.metadata.Distribution.at(path)
        distributions = in_folder | distributions
    return {each.metadata["Name"] or name: each for name, each in distributions.items() if each}


@functools.cache
def registry() -> Registry:
    """Return the registry of the installed plugins, loaded once per process, mmcore's own first."""
    loaded = Registry()
    entries = []
    for name, distribution in plugin_distributions(GROUP).items():
        with loaded.reported(Origin(GROUP, name)):
            version = distribution.version
            entries += [(each, name, version) for each in distribution.entry_points.select(group=GROUP)]
    for entry, name, version in sorted(entries, key=lambda each: (each[1] != DISTRIBUTION, each[0].name)):
        loaded.distributions[name] = version
        with loaded.reported(Origin(entry.name, name)):
            loaded.add(entry.load(), entry.name, name)
    loaded.finish_loading()
    return loaded


def referenced_kernel(reference: KernelReference) -> Kernel:
    """Return the kernel that a cell names. Raises as :meth:`Registry.kernel`."""
    if not isinstance(reference, str) or is_file(reference) or ":" not in reference:
        return registry().kernel(reference)
    module_name, _, attribute = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
        kernel = getattr(module, attribute)
    except Exception as error:
        raise InvalidKernel(f"{reference} cannot be imported: {described(error)}") from None
    if not isinstance(kernel, Kernel):
        raise InvalidKernel(f"{reference} is no Kernel but {type(kernel).__name__}")
    return kernel.located(Path(str(module.__file__)).parent)
