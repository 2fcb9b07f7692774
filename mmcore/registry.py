"""Plugins: the entry points in the group ``mmcore``, loaded when :func:`registry` is first called, and what they bring.

A plugin that cannot be imported, raises in a hook or declares nonsense is reported, and everything else works.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import pluggy

from mmcore import hookspecs
from mmcore.cell import FileKernel, KernelReference, is_file
from mmcore.errors import DuplicateName, MmcoreError, UnknownKernel, UnknownName, described
from mmcore.files import read_bytes
from mmcore.kernel.declaration import Kernel
from mmcore.messages import say
from mmcore.tracebacks import place

if TYPE_CHECKING:
    from mmcore.compile.compiler import Compiler
    from mmcore.devices.base import DeviceProvider

GROUP = "mmcore"
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]+\.cu)[">]', re.MULTILINE)
DISTRIBUTION = "mmcore-cuda"  # mmcore's own; another project is called mmcore on PyPI
#: mmcore's own commands, in the order of ``mmcore --help``; no plugin can take their names.
COMMANDS = {
    "list-kernels": "mmcore.cli.list_kernels:list_kernels",
    "show": "mmcore.cli.show:show",
    "run": "mmcore.cli.run:run",
}
_FAILED_HINT = "; a plugin that failed to load may bring it, and mmcore doctor says which did"
_T = TypeVar("_T")


class Origin(NamedTuple):
    """Who brings something: the name of an entry point, and that of the distribution it comes from."""

    plugin: str
    distribution: str

    def __str__(self) -> str:
        return f"{self.plugin} of {self.distribution}"


class Registered(NamedTuple, Generic[_T]):
    """Something that a plugin brings, a kernel for example, and its origin."""

    item: _T
    origin: Origin


class FailedPlugin(NamedTuple):
    """A plugin, or part of one, that failed to load, and the reason in one sentence."""

    origin: Origin
    reason: str

    def __str__(self) -> str:
        return f"plugin {self.origin} failed to load: {self.reason}"


class Named(dict[str, Registered[_T]]):
    """What plugins bring of one kind (``what``: "kernel"), by name; ``lists`` is the command that lists them.

    A name that several plugins bring belongs to none of them, but is in ``duplicates``.
    """

    def __init__(self, what: str, lists: str = "", unknown: type[UnknownName] = UnknownName) -> None:
        super().__init__()
        self._what, self._lists, self._unknown = what, lists, unknown
        self.duplicates: dict[str, list[Origin]] = {}

    def enter(self, name: str, item: _T, origin: Origin) -> None:
        """Add an item, unless another plugin has brought one of that name; MmcoreError where the name is no text."""
        if not isinstance(name, str):
            raise MmcoreError(f"the name of a {self._what} is a text, not {name!r}")
        if name in self.duplicates:
            self.duplicates[name].append(origin)
        elif name in self:
            self.duplicates[name] = [self.pop(name).origin, origin]
        else:
            self[name] = Registered(item, origin)

    def conflict(self, name: str) -> str:
        """A sentence on a duplicate name."""
        origins = " and ".join(map(str, self.duplicates[name]))
        return f"{self._what} {name!r} is brought by {origins}; it belongs to none of them until it is renamed"

    def named(self, name: str, failed: Sequence[FailedPlugin] = ()) -> _T:
        """The item of that name. Raises DuplicateName, or UnknownName with the nearest names or the failed plugin."""
        if not isinstance(name, str):
            raise UnknownName(f"a {self._what} is known by its name, not by {name!r}")
        if name in self:
            return self[name].item
        if name in self.duplicates:
            raise DuplicateName(self.conflict(name))
        if reasons := [each for each in failed if each.origin.plugin == name]:
            raise self._unknown(f"there is no {self._what} {name!r}: {reasons[0]}")
        import difflib  # only for a name that was mistyped

        near = difflib.get_close_matches(str(name).casefold(), self, n=3, cutoff=0.5)
        lists = f"{self._lists} shows what there is" if self._lists else f"there are {', '.join(self) or 'none'}"
        hint = f"did you mean {' or '.join(near)}?" if near else lists
        raise self._unknown(f"there is no {self._what} {name!r}; {hint}{_FAILED_HINT if failed else ''}")


class Registry:
    """Everything the plugins bring; ``distributions`` has the version of every one that brings a plugin."""

    def __init__(self) -> None:
        self.kernels: Named[Kernel] = Named("kernel", "mmcore list-kernels", UnknownKernel)
        self.providers: Named[DeviceProvider] = Named("device")
        self.compilers: Named[Compiler] = Named("compiler")
        self.commands: Named[str] = Named("command", "mmcore --help")  # "module:function" each
        self.files: dict[str, FileKernel] = {}  # those that were asked for, by the kernel's name
        self.failed: list[FailedPlugin] = []
        self.manager = pluggy.PluginManager(GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.distributions: dict[str, str] = {}
        self._origins: dict[object, Origin] = {}
        self.content = functools.cache(self._content)
        self._outside = functools.cache(_outside)  # several kernels have one source

    def told(self, name: str, among: Named[Any]) -> str:
        """The distribution that brings something, its version and content: "acme-tiled 1.0 sha256:0123456789ab"."""
        if name not in among:
            return ""
        distribution = among[name].origin.distribution
        return f"{distribution} {self.distributions.get(distribution, '')} {self.content(distribution)}"

    def _content(self, distribution: str) -> str:
        """A digest of a distribution's packages, and of its kernels' sources: "sha256:" and 12 digits."""
        import hashlib  # only where results are written

        plugins = dict(self.manager.list_name_plugin())
        found = {getattr(each, "__name__", "") for name, each in plugins.items() if name.startswith(f"{distribution}:")}
        found |= {__name__} if distribution == DISTRIBUTION else set()
        files = {each.item.source for each in self.kernels.values() if each.origin.distribution == distribution}
        for module in filter(None, (sys.modules.get(name.partition(".")[0]) for name in found)):
            folders = [Path(folder) for folder in getattr(module, "__path__", ())]
            files |= {path for folder in folders for path in folder.rglob("*")} or {Path(str(module.__file__))}
        found_files = (path for path in files if path.is_file() and "__pycache__" not in path.parts)
        # In an order that does not depend on where they are installed.
        contents = sorted(f"{path.name}\0".encode() + path.read_bytes() for path in found_files)
        digest = hashlib.sha256(b"".join(contents))
        return f"sha256:{digest.hexdigest()[:12]}"

    def kernel(self, name: KernelReference) -> Kernel:
        """The kernel called ``name``, or that of a file. Raises DuplicateName, UnknownKernel or InvalidKernel."""
        if not is_file(name) or (isinstance(name, str) and name in self.kernels):
            return self.kernels.named(cast(str, name), self.failed)
        reference = {"file": name} if isinstance(name, str) else name
        answers = self.asked("mmcore_kernel_of_file", instance_of(FileKernel), reference=reference, taken=self.files)
        if (found := next(answers, None)) is None:
            raise UnknownKernel(f"no plugin reads {reference['file']}{_FAILED_HINT if self.failed else ''}")
        self.files[found.kernel.name] = found
        return found.kernel

    def other_source(self, kernel: Kernel, version: str) -> str:
        """Return the path of a kernel's source in another version, empty for none. Raises InvalidKernel."""
        answers = self.asked("mmcore_other_source", instance_of(str), kernel=kernel, version=version)
        return next(answers, "") if version else ""

    def reference(self, kernel: Kernel) -> KernelReference:
        """What a cell names a kernel by."""
        file = self.files.get(kernel.name)
        # A file may have been given a registered kernel's name.
        return kernel.name if file is None or file.kernel.source != kernel.source else file.reference

    def matching(self, patterns: Sequence[KernelReference]) -> tuple[list[Kernel], list[Kernel]]:
        """The kernels that names, files and patterns (``*``, ``?``, ``[]``) select, and those left out for known bugs.

        No pattern at all selects every kernel but the variants of others. One with known bugs is left out unless it is
        asked for by its name.
        Raises DuplicateName or UnknownKernel, also for a pattern that no kernel's name matches.
        """
        files = [self.kernel(each) for each in patterns if is_file(each)]
        globs = [str(each) for each in patterns or ("*",) if not is_file(each)]
        named = {pattern for pattern in globs if not set(pattern) & set("*?[") and self.kernel(pattern)}
        for pattern in globs if patterns else ():
            if not fnmatch.filter(self.kernels, pattern):
                hint = f"no kernel's name matches {pattern!r}; mmcore list-kernels shows what there is"
                raise UnknownKernel(hint + (_FAILED_HINT if self.failed else ""))
        wanted = {name for pattern in globs for name in fnmatch.filter(self.kernels, pattern)}
        found = [each.item for name, each in self.kernels.items() if name in wanted]
        if not patterns:
            found = [kernel for kernel in found if not kernel.variant_of]
        buggy = [kernel for kernel in found if kernel.known_bugs and kernel.name not in named]
        return [*files, *(kernel for kernel in found if kernel not in buggy)], buggy

    def warnings(self) -> list[str]:
        """One sentence for every plugin that failed to load, and for every name that several bring."""
        return [*dict.fromkeys(map(str, self.failed)), *self.conflicts()]

    def conflicts(self) -> list[str]:
        """One sentence for every name that several plugins bring."""
        kinds: tuple[Named[Any], ...] = (self.kernels, self.providers, self.compilers, self.commands)
        return [kind.conflict(name) for kind in kinds for name in sorted(kind.duplicates)]

    def collected(self, hook: str, made: Callable[[Any], Any] = lambda item: item) -> list[Registered[Any]]:
        """What every plugin returns for a hook that is asked late, each item with its origin.

        ``made`` makes something else of an item; one for which that fails is left out, and a warning says so.
        """
        before, found = len(self.failed), []
        for plugin, origin in self._origins.items():
            for item in self._returned(hook, plugin):
                with self.reported(origin):
                    found.append(Registered(made(item), origin))
        for failed in self.failed[before:]:
            say(f"warning: {failed}")
        return found

    def asked(self, hook: str, made: Callable[[Any], _T], **arguments: Any) -> Iterator[_T]:
        """Yield what plugins answer to a hook, None left out; one that fails is warned of and costs its own answer.

        ``made`` makes something else of an answer, or raises. Where the first answer counts, a MmcoreError is one.
        """
        caller = getattr(self.manager.hook, hook)
        plugins = [each.plugin for each in reversed(caller.get_hookimpls())]
        for plugin in plugins:
            alone = self.manager.subset_hook_caller(hook, [each for each in plugins if each is not plugin])
            try:
                answer = alone(**arguments)
                answers = answer if isinstance(answer, list) else [answer]
                found = [made(each) for each in answers if each is not None]
            except (Exception, SystemExit) as error:
                if isinstance(error, MmcoreError) and caller.spec.opts["firstresult"]:
                    raise
                say(f"warning: {hook} of plugin {self._origins.get(plugin, plugin)} failed: {described(error)}")
            else:
                yield from found

    def add(self, plugin: object, name: str, distribution: str) -> None:
        """Take over what a module or object brings by its hooks; what is wrong with it ends up in :attr:`failed`."""
        with self.reported(origin := Origin(name, distribution)):
            self.manager.register(plugin, name=f"{distribution}:{name}")
            if not self.manager.get_hookcallers(plugin):
                self.manager.unregister(plugin)
                raise MmcoreError("it implements no hook of mmcore")
            self._origins[plugin] = origin
            for hook in ("mmcore_kernels", "mmcore_devices", "mmcore_compilers", "mmcore_commands"):
                for item in self._returned(hook, plugin):
                    with self.reported(origin):
                        self._enter(hook, item, origin, plugin)

    def finish(self) -> None:
        """Take plugins' own hooks, report what implements no hook that there is, and sort the kernels."""
        for plugin in self._origins:
            if any(self.manager.parse_hookspec_opts(plugin, name) is not None for name in dir(plugin)):  # type: ignore[arg-type]
                self.manager.add_hookspecs(plugin)  # type: ignore[arg-type]
        for plugin, origin in self._origins.items():
            unknown = [hook.name for hook in self.manager.get_hookcallers(plugin) or () if not hook.has_spec()]
            if unknown:
                self.failed.append(FailedPlugin(origin, f"there is no hook {' or '.join(unknown)}"))
        for name in sorted(self.kernels):
            self.kernels[name] = self.kernels.pop(name)

    def _returned(self, hook: str, plugin: object) -> list[Any]:
        items: list[Any] = []
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            if implementation.plugin is plugin:
                with self.reported(self._origins[plugin]):
                    returned = implementation.function()
                    returned = [returned] if isinstance(returned, Kernel) else returned
                    items.extend(listed(hook, returned.items() if isinstance(returned, Mapping) else returned))
        return items

    @contextlib.contextmanager
    def reported(self, origin: Origin) -> Iterator[None]:
        """Report what a plugin's code raises, which may be anything at all."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            text = described(error) + (f" ({where})" if (where := place(error)) else "")
            failed = FailedPlugin(origin, " ".join(text.split())[:300])
            self.failed += [failed] if failed not in self.failed else []

    def _enter(self, hook: str, item: Any, origin: Origin, plugin: object) -> None:
        if hook == "mmcore_kernels":
            kernel = _located(item, plugin, self._outside)
            self.kernels.enter(kernel.name, kernel, origin)
        elif hook == "mmcore_devices":
            if item.name in self.providers and self.providers[item.name].origin.distribution == DISTRIBUTION:
                raise MmcoreError(f"the device {item.name!r} is mmcore's own")
            self.providers.enter(item.name, item, origin)
        elif hook == "mmcore_compilers":
            self.compilers.enter(item.name, item, origin)
        else:
            name, target = named_target(item, "command")
            if name in COMMANDS:
                raise MmcoreError(f"the command {name!r} is mmcore's own")
            self.commands.enter(name, target, origin)


def listed(hook: str, returned: Any) -> list[Any]:
    """Return what a hook returned as a list; MmcoreError where it is none."""
    if not isinstance(returned, Iterable) or isinstance(returned, str | bytes):
        raise MmcoreError(f"{hook} returned {type(returned).__name__}, not a list")
    return list(returned)


def named_target(item: Any, what: str = "name") -> tuple[str, str]:
    """Return a name and the "module:function" that it stands for; MmcoreError where it stands for anything else."""
    name, target = item
    if not isinstance(name, str) or not isinstance(target, str) or target.count(":") != 1:
        raise MmcoreError(f'the {what} {name!r} is to be a "module:function", not {target!r}')
    return name, target


def imported(what: str, target: str) -> Any:
    """Return the object that "module:function" names; a MmcoreError about ``what`` says why it cannot be imported."""
    module, _, function = target.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:  # a plugin's module may raise anything
        raise MmcoreError(f"{what}, {target}, cannot be imported: {described(error)}") from error


def instance_of(kind: type[_T]) -> Callable[[Any], _T]:
    """Return a function that returns an answer of that kind, and raises TypeError for any other."""

    def checked(answer: Any) -> _T:
        if not isinstance(answer, kind):
            raise TypeError(f"it returned {type(answer).__name__}, not {kind.__name__}")
        return answer

    return checked


def _located(kernel: object, plugin: Any, outside: Callable[[Path, tuple[str, ...], bool], str]) -> Kernel:
    """The kernel with its source beside the plugin's module, and inside its package."""
    if not isinstance(kernel, Kernel):
        raise MmcoreError(f"mmcore_kernels returned {kernel!r}, which is not a Kernel")
    if getattr(plugin, "__file__", None) is None:
        return kernel
    kernel = kernel.located(Path(plugin.__file__).parent)
    root = sys.modules.get(plugin.__name__.partition(".")[0], plugin)
    folders = tuple(map(str, getattr(root, "__path__", None) or [Path(root.__file__).parent]))
    # What is built may be built of a function that is another package's.
    if found := outside(kernel.source, folders, kernel.build is not None):
        raise MmcoreError(f"the source of {kernel.name}{found}")
    return kernel


def _outside(source: Path, folders: tuple[str, ...], built: bool) -> str:
    """What of a source, or of what it includes, lies outside its package's folders; "" where nothing does."""
    source, package = source.resolve(), [Path(folder).resolve() for folder in folders]
    if not built and not any(source.is_relative_to(folder) for folder in package):
        return f", {source}, lies outside its package {package[0]}"
    text = read_bytes(source) if source.is_file() else b""
    for name in _INCLUDED.findall(text):
        included = (source.parent / os.fsdecode(name)).resolve()
        if included.is_file() and not any(included.is_relative_to(folder) for folder in package):
            return f" includes {included}, which lies outside its package"
    return ""


@functools.cache
def registry() -> Registry:
    """Return every installed plugin, loaded once per process: mmcore's own first."""
    found = Registry()
    entries = []
    for name, distribution in _distributions().items():
        with found.reported(Origin(GROUP, name)):
            version = distribution.version
            entries += [(each, name, version) for each in distribution.entry_points.select(group=GROUP)]
    for entry, name, version in sorted(entries, key=lambda each: (each[1] != DISTRIBUTION, each[0].name)):
        found.distributions[name] = version
        with found.reported(Origin(entry.name, name)):
            found.add(entry.load(), entry.name, name)
    found.finish()
    return found


def _distributions() -> dict[str, importlib.metadata.Distribution]:
    """Return the distributions that bring plugins by name, of each name the first on ``sys.path``."""
    found: dict[str, importlib.metadata.Distribution | None] = {}
    # importlib.metadata would make an object of every distribution, which takes longer than everything else here.
    for folder in sys.path:
        here: dict[str, importlib.metadata.Distribution | None] = {}
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder or os.curdir):
                stem, _, kind = entry.rpartition(".")
                if kind in ("dist-info", "egg-info"):
                    path, name = os.path.join(folder, entry), re.sub("[-_.]+", "-", stem.partition("-")[0]).lower()
                    here.setdefault(name, None)
                    with contextlib.suppress(OSError):
                        if f"[{GROUP}]".encode() in read_bytes(os.path.join(path, "entry_points.txt")):
                            here[name] = importlib.metadata.Distribution.at(path)
        found = here | found
    return {each.metadata["Name"] or name: each for name, each in found.items() if each}
