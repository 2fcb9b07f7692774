"""The files of a new plugin's package."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from types import ModuleType

from mmcore.errors import MmcoreError, PluginNotWritten
from mmcore.kernel.declaration import Kernel
from mmcore.registry import Registered
from mmcore_new_plugin.cases import Case, allowed, refused, same_launches
from mmcore_new_plugin.copied import Copy, copy_of
from mmcore_new_plugin.layout import Bracketed, CompiledModule, broken, text_literal
from mmcore_new_plugin.names import Names


@dataclass(frozen=True)
class Project:
    """A package that is not written yet.

    Attributes:
        names: what its parts are called.
        files: their texts, by path in its folder.
        example: options of ``mmcore run`` for a product that its kernel takes.
    """

    names: Names
    files: dict[str, str]
    example: str


def project(names: Names, model: Registered | None = None) -> Project:
    """A package with one kernel: a copy of ``model``, or one thread for each element of C when there is none.

    Raises:
        PluginNotWritten: the model cannot be copied; the text says why.
    """
    copy = copy_of(model, names) if model else _first_kernel(names)
    kernel = _declared(copy.module, names)
    right, wrong = allowed(kernel), refused(kernel)
    if not right:
        raise PluginNotWritten(f"no product was found that {kernel.name} takes in one of its blocks to be tested with")
    if model and not _does_the_same(kernel, model.kernel, right, wrong):
        raise PluginNotWritten(
            f"{model.kernel.name} cannot be copied: the copy's rule or constraints would say something else, as when "
            "its module changes a value after making it"
        )
    about = f"The CUDA matrix-product kernel `{names.kernel}`, a plugin of mmcore"
    origin = f", begun as a copy of `{model.kernel.name}` ({model.kernel.lecture})" if model else ""
    words = {
        **_words(names),
        "about": textwrap.fill(f"{about}{origin}.", 120, break_long_words=False, break_on_hyphens=False),
        "dependencies": _quoted(("mmcore", *copy.dependencies)),
        "package_data": _quoted(
            ("*.cu", "*.cuh", "*.h", *(path for path in copy.sources if path != f"{names.module}.cu"))
        ),
        "example": f"-m {right[0].m} -n {right[0].n} -k {right[0].k}",
        "allowed": _listed(right),
        "refused": _listed(wrong),
    }
    texts = {
        "pyproject.toml": _filled("pyproject.toml", words),
        "README.md": _filled("README.md", words),
        f"{names.package}/__init__.py": _filled("package.py", words),
        f"{names.package}/{names.module}.py": copy.module,
        **{f"{names.package}/{path}": text for path, text in copy.sources.items()},
        "tests/test_kernel.py": _filled("test_kernel.py", words),
        "bench/test_speed.py": _filled("test_speed.py", words),
    }
    return Project(names, texts, words["example"])


def _does_the_same(copy: Kernel, model: Kernel, right: list[Case], wrong: list[Case]) -> bool:
    return (allowed(model), refused(model)) == (right, wrong) and same_launches(copy, model, right)


def _first_kernel(names: Names) -> Copy:
    words = _words(names)
    return Copy(_filled("kernel.py", words), {f"{names.module}.cu": _filled("kernel.cu", words)}, ())


def _words(names: Names) -> dict[str, str]:
    return {each: getattr(names, each) for each in ("kernel", "family", "package", "distribution", "module", "entry")}


def _filled(template: str, words: dict[str, str]) -> str:
    text = files("mmcore_new_plugin").joinpath("templates", f"{template}.template").read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _declared(text: str, names: Names) -> Kernel:
    """The kernel that the new module declares, which shows that the module works."""
    module = ModuleType(f"{names.package}.{names.module}")
    module.__file__ = f"{names.module}.py"
    sys.modules[module.__name__] = module  # where dataclasses look up the types of their fields
    try:
        exec(compile(text, module.__file__, "exec"), vars(module))
        (kernel,) = module.mmcore_kernels()
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, MmcoreError) else f"{type(error).__name__}: {error}"
        raise PluginNotWritten(f"the module for {names.kernel} would not work: {reason}") from error
    finally:
        del sys.modules[module.__name__]
    assert isinstance(kernel, Kernel)
    return kernel


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _listed(cases: Iterable[Case]) -> str:
    return "\n".join(line for case in cases for line in broken("", _row(case), 4))


def _row(case: Case) -> Bracketed:
    block = case.block if case.block.z > 1 else case.block[:2]
    items: list[CompiledModule] = [Bracketed("(", tuple(("", str(extent)) for extent in block), ")")]
    items += [str(size) for size in (case.m, case.n, case.k)]
    items += [text_literal(case.reason)] if case.reason else []
    return Bracketed("(", tuple(("", item) for item in items), ")")
