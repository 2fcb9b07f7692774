"""Plugins in pluggy, each isolated: one that raises in a hook is reported and loses its own answer alone."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import pluggy

from mmcore import hookspecs
from mmcore.errors import MmcoreError, described, place
from mmcore.field_types import check_fields
from mmcore.kernel.declaration import Kernel
from mmcore.messages import say, suggestion
from mmcore.plugin_table import FailedPlugin, Origin, Registered

GROUP = "mmcore"
LOADED_HOOKS = ("mmcore_kernels", "mmcore_devices", "mmcore_compilers", "mmcore_commands")
"""The hooks whose items are collected as soon as a plugin is added."""

_T = TypeVar("_T")


class Plugins:
    """The plugins of this process.

    Attributes:
        manager: pluggy's manager. An implementation's answer is a :class:`Registered`, with the plugin's origin.
        modules: the modules or objects that implement hooks, by origin.
        failed: plugins that failed to load or in a hook.
    """

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.modules: dict[Origin, object] = {}
        self.failed: list[FailedPlugin] = []
        self._loading = True

    @property
    def hook(self) -> pluggy.HookRelay:
        """The hooks, to be called as ``hook.mmcore_hints(result=result)``."""
        return self.manager.hook

    def register(self, plugin: object, origin: Origin) -> object:
        """Register a plugin and return the object that pluggy knows. Raises MmcoreError if it implements no hook."""
        isolated = ModuleType(_name_in_pluggy(origin))
        for name in _public_names(plugin):
            if (options := self.manager.parse_hookimpl_opts(plugin, name)) is not None:
                function = getattr(plugin, name)
                if not (options["wrapper"] or options["hookwrapper"]):
                    function = hookspecs.hookimpl(**options)(
                        self._isolated(function, options["specname"] or name, origin)
                    )
                setattr(isolated, name, function)
        if not _public_names(isolated):
            named = (name for name in _public_names(plugin) if name.startswith(f"{GROUP}_"))
            bare = " and ".join(name for name in named if inspect.isfunction(getattr(plugin, name)))
            lacks = f": {bare} has no decorator @hookimpl (from mmcore import hookimpl)" if bare else ""
            raise MmcoreError(f"it implements no hook of mmcore{lacks}")
        self._implement(isolated, origin)
        self.modules[origin] = plugin
        return isolated

    def finish_loading(self) -> None:
        """Add the hooks that plugins declare, and report implementations that fit no declaration."""
        implementing = {origin: self.manager.unregister(name=_name_in_pluggy(origin)) for origin in self.modules}
        for origin, plugin in self.modules.items():
            if any(self.manager.parse_hookspec_opts(plugin, name) is not None for name in _public_names(plugin)):  # type: ignore[arg-type]
                with self.reported(origin):
                    self.manager.add_hookspecs(plugin)  # type: ignore[arg-type]
        for origin, isolated in implementing.items():
            with self.reported(origin):
                self._implement(isolated, origin)
            self.failed += [FailedPlugin(origin, reason, "") for reason in self._unknown_hooks(origin)]
        self._loading = False

    def _implement(self, isolated: Any, origin: Origin) -> None:
        """Register a plugin with pluggy, without the hooks that have other arguments than declared: these are reported.

        Raises PluginValidationError, and registers nothing, if pluggy refuses a hook for another reason.
        """
        for name in _public_names(isolated):
            options = self.manager.parse_hookimpl_opts(isolated, name)
            hook = getattr(self.hook, (options and options["specname"]) or name, None)
            if options is not None and hook is not None and hook.spec:
                declared = (*hook.spec.argnames, *hook.spec.kwargnames)
                taken = _arguments(getattr(isolated, name))
                if not {*taken} <= {*declared}:
                    delattr(isolated, name)
                    reason = f"{hook.name} takes ({', '.join(declared)}), not ({', '.join(taken)})"
                    self._report(FailedPlugin(origin, reason, ""))
        try:
            self.manager.register(isolated, _name_in_pluggy(origin))
        except pluggy.PluginValidationError:
            if self.manager.is_registered(isolated):  # pluggy before 1.7 registers the hooks in front
                self.manager.unregister(isolated)
            raise

    def _unknown_hooks(self, origin: Origin) -> Iterator[str]:
        """Yield a sentence for each hook that a plugin implements and that no plugin declares."""
        plugin = self.manager.get_plugin(_name_in_pluggy(origin))
        hooks = self.manager.get_hookcallers(plugin) or []
        works = any(hook.has_spec() for hook in hooks)
        rest = "but its other hooks work" if works else "and it implements no other"
        declared = [name for name, hook in vars(self.hook).items() if not name.startswith("_") and hook.has_spec()]
        for hook in hooks:
            if not hook.has_spec():
                near = suggestion(hook.name, declared)
                yield f"there is no hook {hook.name}, {rest}{near and '; '}{near}"

    def collected(
        self, hook: str, convert: Callable[[Any], Any] = lambda item: item, plugin: object = None, **arguments: Any
    ) -> list[Registered[Any]]:
        """Return the items of the lists that plugins return for a hook with these arguments, each with its origin.

        If ``convert`` raises, the item is skipped and reported. If ``plugin`` is given, only it is asked.
        """
        call = getattr(self.hook, hook)
        if plugin is not None:
            others = [other for other in self.manager.get_plugins() if other is not plugin]
            call = self.manager.subset_hook_caller(hook, others)
        collected: list[Registered[Any]] = []
        for returned, origin in reversed(call(**arguments)):
            with self.reported(origin, hook):
                # A generator that raises keeps what it yielded before.
                for item in _listed(hook, returned):
                    with self.reported(origin, hook):
                        collected.append(Registered(convert(item), origin))
        return collected

    def answers(self, hook: str, convert: Callable[[Any], _T], **arguments: Any) -> Iterator[_T]:
        """Yield plugins' answers to a hook, converted. If ``convert`` raises, the answer is skipped and reported."""
        for answer, origin in getattr(self.hook, hook)(**arguments):
            converted: list[_T] = []
            with self.reported(origin, hook):
                converted.append(convert(answer))
            yield from converted

    @contextlib.contextmanager
    def reported(self, origin: Origin, hook: str = "", passed: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
        """Report what a plugin's code raises inside: in :attr:`failed`, and once plugins are loaded on stderr.

        KeyboardInterrupt and the ``passed`` exceptions are raised.
        """
        try:
            yield
        except BaseException as error:  # a plugin may raise anything
            if isinstance(error, (KeyboardInterrupt, *passed)):
                raise
            loads = hook in ("", *LOADED_HOOKS)
            what = "failed to load" if loads else f"failed in {hook}"
            where = place(error) or ("" if loads else self._implementation(origin, hook))
            text = described(error) + (f" ({where})" if where else "")
            self._report(FailedPlugin(origin, " ".join(text.split())[:300], what))

    def _implementation(self, origin: Origin, hook: str) -> str:
        """Return file and line of a plugin's implementation of a hook, "hooks.py:17"; empty if there is none."""
        code = getattr(getattr(self.modules.get(origin), hook, None), "__code__", None)
        return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code else ""

    def _report(self, failed: FailedPlugin) -> None:
        """Add a failure to :attr:`failed`, and once plugins are loaded print it to stderr."""
        if failed not in self.failed:
            self.failed.append(failed)
            if not self._loading:
                say(f"warning: {failed}")

    def _isolated(self, function: Callable[..., Any], hook: str, origin: Origin) -> Callable[..., Any]:
        """Return an implementation that answers with the plugin's answer and origin, or with None if it raises.

        Where the first answer counts, an MmcoreError is raised: it is a sentence for the user.
        """
        expected = hookspecs.FIRST_RESULTS.get(hook)

        @functools.wraps(function)
        def isolated(*arguments: Any, **named: Any) -> Registered[Any] | None:
            with self.reported(origin, hook, (MmcoreError,) if expected else ()):
                if (answer := function(*arguments, **named)) is None and hook not in LOADED_HOOKS:
                    return None
                with self.reported(origin, hook):
                    if expected:
                        _check_answer(answer, expected)
                    return Registered(answer, origin)
            return None

        return isolated


def _name_in_pluggy(origin: Origin) -> str:
    return f"{origin.distribution}:{origin.plugin}"


def _arguments(function: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments that pluggy passes: those without a default."""
    passed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind in passed and each.default is each.empty]


def _check_answer(answer: object, expected: str) -> None:
    """Raise MmcoreError if an answer is not of the type of that name, or a field of it holds another type."""
    if expected not in (each.__name__ for each in type(answer).__mro__):
        raise MmcoreError(f"it returned {type(answer).__name__}, not {expected}")
    check_fields(answer)


def _public_names(plugin: object) -> list[str]:
    return [name for name in dir(plugin) if not name.startswith("_")]


def _listed(hook: str, returned: Any) -> Iterable[Any]:
    """Return the items that a hook returned, a mapping's as pairs. Raises MmcoreError unless it returned several."""
    if isinstance(returned, Mapping):
        return returned.items()
    if isinstance(returned, Kernel) or (callable(returned) and hook == "mmcore_kernels"):
        return [returned]
    if not isinstance(returned, Iterable) or isinstance(returned, str | bytes):
        what = "nothing (is a return missing?)" if returned is None else type(returned).__name__
        raise MmcoreError(f"{hook} returned {what}, not a list")
    return returned


def named_target(item: Any, kind: str = "name") -> tuple[str, str]:
    """Return a name and its "module:function". Raises MmcoreError if it is anything else."""
    name, target = item
    if not isinstance(name, str) or not isinstance(target, str) or target.count(":") != 1:
        raise MmcoreError(f'the {kind} {name!r} needs a "module:function", not {target!r}')
    return name, target


def imported(what: str, target: str) -> Any:
    """Return the object that "module:function" names. Raises MmcoreError about ``what`` if it cannot be imported."""
    module, _, function = target.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:  # a plugin's module may raise anything
        raise MmcoreError(f"{what}, {target}, cannot be imported: {described(error)}") from error


def texts(answer: Any) -> list[str]:
    """Return an answer of several texts. Raises MmcoreError for a single one, or anything else."""
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise MmcoreError(f"it returned {type(answer).__name__}, not a list of texts")
    return [*map(str, answer)]


def instance_of(kind: type[_T]) -> Callable[[Any], _T]:
    """Return a function that returns an answer of that type, and raises MmcoreError for any other or a wrong field."""

    def checked(answer: Any) -> _T:
        _check_answer(answer, kind.__name__)
        return cast(_T, answer)

    return checked
