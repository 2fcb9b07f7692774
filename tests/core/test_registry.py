"""Plugins: discovery, loading, and reports of failures."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

import mmcore
import mmcore_tools
from mmcore import Dim3, Kernel, Launch, Multiple, Scalar, Square, Workspace, hookimpl, hookspec
from mmcore.devices.violations import Violation
from mmcore.planning.kernel_choice import Choice
from mmcore.plugin_table import Origin, Registered
from mmcore.plugins import GROUP, instance_of, texts
from mmcore.registry import DISTRIBUTION, Registry, plugin_distributions, registry
from mmcore.verdict import Findings
from mmcore_tools.list_kernels import descriptions
from tests.command_line import install, installed, kernel_module

NOTHING: Any = None
HALF: Any = 0.5


def kernel(name: str = "acme.fast", **changes: Any) -> Kernel:
    declared: dict[str, Any] = {"name": name, "source": Path("acme.cu"), "configs": [{"block": (16, 16)}]}
    return Kernel(**declared | changes)


def plugin(**hooks: Any) -> ModuleType:
    """Return a plugin with hooks that return, or raise, the given values."""

    def implementation(result: Any) -> Any:
        def hook() -> Any:
            if isinstance(result, BaseException):
                raise result
            return result

        return hookimpl(hook)

    module = ModuleType("plugin")
    vars(module).update({name: implementation(result) for name, result in hooks.items()})
    return module


def undecorated() -> ModuleType:
    """Return a plugin whose function is no hook, as it has no decorator."""
    module = ModuleType("plugin")
    vars(module)["mmcore_kernels"] = kernel
    return module


class Provider:
    """A provider of no device."""

    def __init__(self, name: str) -> None:
        self.name = name


def test_every_kernel_knows_its_plugin_and_distribution() -> None:
    for name, registered in registry().kernels.items():
        assert registered.item.name == name
        assert registered.origin.plugin.partition(".")[0] == name.partition(".")[0]
        assert registered.origin.distribution == DISTRIBUTION


def test_nothing_of_mmcores_own_fails_to_load() -> None:
    assert registry().warnings() == []


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (plugin(mmcore_kernels=ValueError("no luck")), "ValueError: no luck (test_registry.py:"),
        (plugin(mmcore_kernels=ValueError("very " * 1000)), f"{'very ' * 40}"),
        (plugin(mmcore_kernels=SystemExit(3)), "SystemExit: 3"),
        (plugin(mmcore_kernels=[1]), "mmcore_kernels returned 1, which is not a Kernel"),
        (plugin(mmcore_kernels=7), "mmcore_kernels returned int, not a list"),
        (plugin(mmcore_kernels=None), "mmcore_kernels returned nothing (is a return missing?), not a list"),
        (plugin(mmcore_devices=[object()]), "AttributeError: 'object' object has no attribute 'name'"),
        (plugin(mmcore_commands=["tune"]), "ValueError: too many values to unpack"),
        (plugin(mmcore_commands={"tune": "tune"}), "the command 'tune' needs a \"module:function\", not 'tune'"),
        (plugin(mmcore_commands={"tune": len}), "the command 'tune' needs a \"module:function\", not <built-in"),
        (plugin(), "it implements no hook of mmcore"),
        (undecorated(), "no hook of mmcore: mmcore_kernels has no decorator @hookimpl (from mmcore import hookimpl)"),
    ],
)
def test_a_plugin_that_fails_to_load_is_reported_with_its_reason(broken: ModuleType, reason: str) -> None:
    registry = Registry()
    registry.add(broken, "acme.fast", "acme-kernels")
    registry.add(plugin(mmcore_kernels=[kernel("good.one")]), "good", "good-kernels")
    registry.finish_loading()
    assert set(registry.kernels) == {"good.one"}
    (warning,) = registry.warnings()
    assert warning.startswith("plugin acme.fast of acme-kernels failed to load: ")
    assert reason in warning
    assert "\n" not in warning
    assert len(registry.failed[0].reason) <= 300


@pytest.mark.parametrize(
    ("hooks", "warning"),
    [
        (
            {"mmcore_kernel": []},
            "mmcore_kernel, and it implements no other; did you mean mmcore_kernel_of_file or mmcore",
        ),
        ({"mmcore_hint": []}, "there is no hook mmcore_hint, and it implements no other; did you mean mmcore_hints?"),
        ({"mmcore_hint": [], "mmcore_kernels": [kernel("good.one")]}, "mmcore_hint, but its other hooks work; did you"),
        ({"qqqq": []}, "plugin acme of acme-kernels: there is no hook qqqq, and it implements no other"),
    ],
)
def test_an_unknown_hook_is_named_with_similar_ones(hooks: dict[str, Any], warning: str) -> None:
    registry = Registry()
    registry.add(mmcore_tools, "tools", DISTRIBUTION)
    registry.add(plugin(**hooks), "acme", "acme-kernels")
    registry.finish_loading()
    (said,) = registry.warnings()
    assert warning in said
    assert "failed" not in said
    assert set(registry.kernels) == ({"good.one"} if "mmcore_kernels" in hooks else set())


def test_what_else_a_plugin_brings_is_taken() -> None:
    registry = Registry()
    registry.add(plugin(mmcore_kernels=[kernel(), 1], mmcore_commands={"run": "acme"}), "acme.fast", "acme-kernels")
    assert set(registry.kernels) == {"acme.fast"}
    assert len(registry.failed) == 2


def test_a_kernel_whose_declaration_raises_does_not_lose_the_others() -> None:
    def yielding() -> Iterator[Any]:
        yield kernel("acme.first")
        yield partial(mmcore.Kernel, name="acme.bad", configs=[])
        yield lambda: kernel("acme.second")
        raise ValueError("no more")

    registry = Registry()
    registry.add(plugin(mmcore_kernels=yielding()), "acme", "acme-kernels")
    assert set(registry.kernels) == {"acme.first", "acme.second"}
    bad, end = registry.warnings()
    assert "failed to load: InvalidKernel: acme.bad: " in bad or "failed to load: acme.bad: " in bad
    assert "ValueError: no more" in end


def test_a_plugin_declares_a_hook_that_others_implement() -> None:
    def mmcore_tuners() -> Any:
        """Return tuners."""

    registry, tuners = Registry(), plugin(mmcore_kernels=[])
    tuners.mmcore_tuners = hookspec(mmcore_tuners)  # type: ignore[attr-defined]
    registry.add(plugin(mmcore_tuners=["random", "annealing"]), "acme", "acme-tuners")
    registry.add(tuners, "tuners", "tuners")
    registry.finish_loading()
    assert registry.warnings() == []
    assert [(each.item, str(each.origin)) for each in registry.collected("mmcore_tuners")] == [
        ("random", "acme of acme-tuners"),
        ("annealing", "acme of acme-tuners"),
    ]


@pytest.mark.parametrize(
    ("hook", "declared"), [("mmcore_hints", "result"), ("mmcore_findings", "result, kernel, extent")]
)
@pytest.mark.parametrize("late", [False, True])
def test_a_hook_with_other_arguments_than_declared_is_lost_alone(
    hook: str, declared: str, late: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(res: Any, *, unused: int = 0) -> Any:
        """Return a sentence that no result has."""
        return ["lost"]

    def mmcore_remarks(result: Any) -> Any:
        return [f"{result}, remarked"]

    acme = plugin(mmcore_kernels=[kernel()])
    acme.mmcore_remarks = hookimpl(mmcore_remarks)  # type: ignore[attr-defined]
    setattr(acme, hook, hookimpl(wrong))
    registry = Registry()
    if late:
        registry.add(mmcore_tools, "tools", DISTRIBUTION)
        registry.finish_loading()
        registry.add(acme, "acme", "acme-kernels")
    else:
        registry.add(acme, "acme", "acme-kernels")
        registry.add(mmcore_tools, "tools", DISTRIBUTION)
        registry.finish_loading()
    expected = f"plugin acme of acme-kernels: {hook} takes ({declared}), not (res)"
    assert registry.warnings() == [expected]
    assert capsys.readouterr().err == (f"warning: {expected}\n" if late else "")
    assert set(registry.kernels) == {"acme.fast"}
    assert [*registry.answers("mmcore_remarks", list, result="right")] == [["right, remarked"]]
    assert [*registry.answers("mmcore_hints", list, result="right")] == []


@pytest.mark.parametrize(("answer", "returned"), [(3, "int"), ("text", "str"), (b"text", "bytes")])
def test_an_answer_of_a_wrong_type_is_reported_with_its_place(answer: object, returned: str) -> None:
    def mmcore_notes(kernel: Any) -> Any:
        """Return no texts."""
        return answer

    registry, wrong = Registry(), plugin(mmcore_kernels=[])
    wrong.mmcore_notes = hookimpl(mmcore_notes)  # type: ignore[attr-defined]
    registry.add(mmcore_tools, "tools", DISTRIBUTION)
    registry.add(wrong, "wrong", "acme-wrong")
    registry.finish_loading()
    assert [*registry.answers("mmcore_notes", texts, kernel=kernel())] == []
    (failed,) = registry.warnings()
    line = mmcore_notes.__code__.co_firstlineno
    reason = f"it returned {returned}, not a list of texts (test_registry.py:{line})"
    assert failed == f"plugin wrong of acme-wrong failed in mmcore_notes: {reason}"


def test_a_plugins_own_hook_takes_arguments() -> None:
    def acme_owner(kernel: Any) -> Any:
        """Return owners of a kernel."""
        return [f"owner of {kernel}"]

    registry, declaring, owning = Registry(), plugin(mmcore_kernels=[]), plugin(mmcore_kernels=[])
    declaring.acme_owner = hookspec(lambda kernel: None)  # type: ignore[attr-defined]
    owning.acme_owner = hookimpl(acme_owner)  # type: ignore[attr-defined]
    registry.add(owning, "owning", "acme-owning")
    registry.add(declaring, "declaring", "acme-declaring")
    registry.finish_loading()
    assert [each.item for each in registry.collected("acme_owner", kernel="fast")] == ["owner of fast"]


def test_plugins_that_declare_a_hook_again_or_that_pluggy_refuses_are_lost_alone() -> None:
    def mmcore_hints() -> Any:
        """Return hints."""

    def mmcore_notes(kernel: Any) -> Any:
        """Return at once, unlike a wrapper."""

    again, refused = plugin(mmcore_kernels=[kernel()]), plugin(mmcore_kernels=[])
    again.mmcore_hints = hookspec(mmcore_hints)  # type: ignore[attr-defined]
    refused.mmcore_notes = hookimpl(wrapper=True)(mmcore_notes)  # type: ignore[attr-defined]
    registry = Registry()
    registry.add(mmcore_tools, "tools", DISTRIBUTION)
    registry.add(again, "again", "acme-kernels")
    registry.add(refused, "refused", "acme-notes")
    registry.finish_loading()
    first, second = registry.warnings()
    assert "plugin again of acme-kernels failed to load: ValueError: Hook 'mmcore_hints' is already registered" in first
    assert "plugin refused of acme-notes failed to load: PluginValidationError: " in second
    assert set(registry.kernels) == {"acme.fast"}
    assert registry.hook.mmcore_notes(kernel=kernel()) == []


def answering(hook: str, answer: object) -> ModuleType:
    """Return a plugin whose hook, of no arguments, returns that answer."""
    module = plugin(mmcore_kernels=[])

    def implementation() -> object:
        return answer

    setattr(module, hook, hookimpl(implementation))
    return module


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("a text", "it returned str, not Findings"),
        (Findings(NOTHING), "looked of Findings holds NoneType, not str"),
        (Findings("", violations=(cast(Any, "a text"),)), "violations of Findings holds str, not Violation"),
        (Findings("", violations=cast(Any, "a text")), "violations of Findings holds str, not tuple[mmcore"),
        (Findings("", warnings=(cast(Any, 1),)), "warnings of Findings holds int, not str"),
        (Findings("", sizes=(cast(Any, 64),)), "sizes of Findings holds int, not collections.abc.Mapping[str"),
        (Findings("", (Violation("trap", NOTHING),)), "message of Violation holds NoneType, not str"),
        (Findings("", (Violation("trap", "it", line=HALF),)), "line of Violation holds float, not int | None"),
    ],
)
def test_an_answer_that_holds_another_type_is_lost_alone(
    answer: object, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right = Findings("none", [Violation("trap", "it", line=7, block=Dim3(1))], sizes=[{"m": 1}])  # type: ignore[arg-type]
    registry = Registry()
    registry.add(answering("mmcore_findings", right), "good", "good-findings")
    registry.add(answering("mmcore_findings", answer), "bad", "bad-findings")
    registry.finish_loading()
    asked = {"result": None, "kernel": kernel(), "extent": "all"}
    assert [*registry.answers("mmcore_findings", instance_of(Findings), **asked)] == [right]
    (warning,) = registry.warnings()
    assert warning.startswith(f"plugin bad of bad-findings failed in mmcore_findings: {reason}")
    assert capsys.readouterr().err == f"warning: {warning}\n"


@pytest.mark.parametrize(
    ("config", "reason"),
    [(kernel().usual_configs[0], ""), ({"block": (16, 16)}, "config of Choice holds dict, not Config")],
)
def test_a_first_answer_that_holds_another_type_does_not_count(config: Any, reason: str) -> None:
    choice, usual = Choice(kernel(), config, "faster"), Choice(kernel(), kernel().usual_configs[0], "usual")
    registry = Registry()
    registry.add(answering("mmcore_tuned_config", usual), "usual", "usual-configs")
    registry.add(answering("mmcore_tuned_config", choice), "acme", "acme-configs")
    registry.finish_loading()
    answer = registry.hook.mmcore_tuned_config(kernel=kernel(), problem=None, device=None, fits=None)
    assert answer.item is (usual if reason else choice)
    failed = f"plugin acme of acme-configs failed in mmcore_tuned_config: {reason} (test_registry.py:"
    assert [each.startswith(failed) for each in registry.warnings()] == ([True] if reason else [])


def test_a_name_that_several_plugins_bring_belongs_to_none() -> None:
    registry = Registry()
    registry.add(plugin(mmcore_kernels=[kernel(), kernel("acme.other")]), "one", "first-package")
    registry.add(plugin(mmcore_kernels=[kernel()]), "two", "second-package")
    registry.add(plugin(mmcore_kernels=[kernel()]), "three", "third-package")
    assert set(registry.kernels) == {"acme.other"}
    with pytest.raises(mmcore.DuplicateName) as error:
        registry.kernel("acme.fast")
    assert "one of first-package and two of second-package and three of third-package" in str(error.value)
    assert registry.warnings() == [str(error.value)]


def test_a_third_partys_device_does_not_take_the_name_of_mmcores() -> None:
    registry = Registry()
    registry.add(plugin(mmcore_devices=[Provider("emulator")]), "emulator", DISTRIBUTION)
    for word in ("one", "two"):
        registry.add(plugin(mmcore_devices=[Provider("emulator"), Provider("fpga")]), word, f"acme-{word}")
    assert registry.providers["emulator"].origin == ("emulator", DISTRIBUTION)
    assert "fpga" not in registry.providers
    assert registry.warnings() == [
        "plugin one of acme-one failed to load: the device 'emulator' is mmcore's own",
        "plugin two of acme-two failed to load: the device 'emulator' is mmcore's own",
        registry.providers.conflict("fpga"),
    ]


def test_mmcores_own_device_is_there_first_whatever_a_plugin_is_called(tmp_path: Path) -> None:
    provides = "\nclass Provider: name = 'emulator'\n@hookimpl\ndef mmcore_devices(): return [Provider()]"
    install(tmp_path, "acme", "aaa", f"from mmcore import hookimpl\n{provides}")
    with installed(tmp_path):
        assert registry().providers["emulator"].origin.distribution == DISTRIBUTION
        assert registry().warnings() == ["plugin aaa of acme failed to load: the device 'emulator' is mmcore's own"]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("path", "the source of acme.borrowed, {}, lies outside its package {}"),
        ("link", ""),
        ("include", "the source of acme.borrowed includes {}, which lies outside its package"),
        ("included link", ""),
        ("included path", ""),
        ("nothing", "allowed"),
    ],
)
def test_a_kernels_source_is_in_its_own_package(tmp_path: Path, by: str, said: str) -> None:
    site, other = tmp_path / "site", tmp_path / "other.cu"
    other.write_text("// another's\n")
    module = kernel_module("acme.borrowed")
    if by == "path":
        module = module.replace('__file__.replace(".py", ".cu")', repr(str(other)))
    install(site, "acme", "acme.borrowed", module)
    source, mine = site / "acme_module.cu", site / "mine.cu"
    if by == "link":
        source.symlink_to(other)
    else:
        mine.write_text("// mine\n") if by == "nothing" else mine.symlink_to(other)
        names = {"include": str(other), "included link": "mine.cu", "nothing": 'mine.cu"\n# include "generated.cu'}
        included = names.get(by, "../other.cu")
        source.write_text(f'// mine\n  # include "{included}"\n')
    with installed(site):
        assert ("acme.borrowed" in registry().kernels) == (by == "nothing")
        if by == "nothing":
            assert registry().failed == []
            return
        (failed,) = registry().failed
        assert str(other) in failed.reason
        assert "outside its package" in failed.reason
        assert not said or failed.reason == said.format(other, site)


def test_a_result_names_what_brought_its_kernel_and_its_device(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.own", kernel_module("acme.own"))
    source = tmp_path / "acme_module.cu"
    source.write_text('extern "C" __global__ void f(float* A, float* B, float* C) { C[0] = 0; }')
    named = []
    for changed in ("", "// changed"):
        with source.open("a") as file:
            file.write(changed)
        with installed(tmp_path):
            named.append(mmcore.run("acme.own", 4, device="emulator", hazards=False).distributions)
    pattern = r"(acme|mmcore-cuda) \S+ sha256:[0-9a-f]{12}"
    assert all(re.fullmatch(pattern, text) for each in named for text in each.values())
    assert named[0]["device"] == named[1]["device"]
    assert named[0]["kernel"] != named[1]["kernel"]


def test_variants_of_a_kernel_are_selected_where_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    variant = dataclasses.replace(registry().kernel("upc.kernel01"), name="upc.variant", variant_of="upc.kernel01")
    monkeypatch.setitem(registry().kernels, variant.name, Registered(variant, Origin("own", "tests")))
    assert variant not in registry().matching(())[0]
    assert registry().matching(["upc.*"])[0].count(variant) == 1
    assert registry().matching(["upc.variant"]) == ([variant], [])


BUGGY = "upc.kernel11_naive_guard"


@pytest.mark.parametrize(
    ("patterns", "selected", "buggy"),
    [
        (["upc.*"], ["upc.kernel00", "upc.kernel01", "upc.kernel10", "upc.kernel11"], [BUGGY]),
        ([BUGGY], [BUGGY], []),
        (["upc.kernel0[01]"], ["upc.kernel00", "upc.kernel01"], []),
        (["upc.kernel0?"], ["upc.kernel00", "upc.kernel01"], []),
        (["upc.kernel01", "upc.kernel11*"], ["upc.kernel01", "upc.kernel11"], [BUGGY]),
        ([BUGGY, "upc.kernel11*"], ["upc.kernel11", BUGGY], []),
    ],
)
def test_known_bugs_are_selected_by_name_alone(patterns: list[str], selected: list[str], buggy: list[str]) -> None:
    found = registry().matching(patterns)
    assert tuple([kernel.name for kernel in kernels] for kernels in found) == (selected, buggy)


def test_a_pattern_without_a_match_is_refused() -> None:
    with pytest.raises(mmcore.UnknownKernel, match=r"no kernel's name matches 'zzz\*'"):
        registry().matching(["upc.*", "zzz*"])


def test_importing_mmcore_loads_neither_plugins_nor_cuda_nor_numpy() -> None:
    # cuda-bindings 12 makes a namespace of ``cuda`` when the interpreter starts.
    new = "set(sys.modules) - before if name.startswith(('mmcore_', 'cuda', 'numpy'))"
    probe = f"import sys; before = set(sys.modules); import mmcore; print([name for name in {new}])"
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_declaration_may_use_lists() -> None:
    declared = kernel(min_compute_capability=[9, 0], options=["-lineinfo"], constraints=[Square()])
    assert (declared.min_compute_capability, declared.options) == ((9, 0), ("-lineinfo",))
    assert descriptions(declared) == ["m = n = k"]


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        ({"shared_bytes": 64.0}, "shared_bytes is a whole number of bytes, not 64.0"),
        ({"shared_bytes": -1}, "shared_bytes is a whole number of bytes, not -1"),
        ({"block": 256}, "the block 256 is not one to three whole numbers, such as (16, 16)"),
        ({"grid": 4}, "the grid 4 is not one to three whole numbers, such as (16, 16)"),
        ({"cluster": 2}, "the cluster 2 is not one to three whole numbers, such as (16, 16)"),
        ({"arguments": (Scalar(2**31),)}, "2147483648 is no int32"),
        ({"arguments": "A"}, 'a launch\'s arguments are several: ("A", "B"), not \'A\''),
    ],
)
def test_a_launch_that_makes_no_sense_is_rejected_in_words(launch: dict[str, Any], reason: str) -> None:
    with pytest.raises(mmcore.InvalidKernel) as error:
        Launch(**{"grid": (1,), "block": (16, 16), **launch})
    assert str(error.value) == reason


def test_a_launch_takes_numpys_whole_numbers_and_lists() -> None:
    clusters: tuple[Any, ...] = ([2], (2, 4), None)
    assert [Launch((8,), (32,), cluster=each).cluster for each in clusters] == [Dim3(2, 1, 1), Dim3(2, 4, 1), None]
    one: Any = np.int64(1)
    two: Any = np.int32(2)
    arguments: Any = ["A"]
    launch = Launch((one, two), [two, one], shared_bytes=two, over_read={"A": two}, arguments=arguments)
    assert (launch.grid, launch.block, launch.arguments) == ((1, 2, 1), (2, 1, 1), ("A",))
    numbers = [*launch.grid_dim, *launch.block_dim, launch.shared_bytes, launch.over_read["A"]]
    assert {type(number) for number in [*numbers, Workspace("w", two).nbytes]} == {int}


@pytest.mark.parametrize(
    ("type", "beyond"),
    [("float16", 65520), ("float32", 2**128 - 2**103), ("float64", 2**1024 - 2**970), ("int8", 128), ("uint64", 2**64)],
)
def test_a_scalar_is_less_than_what_its_type_rounds_to_infinity_or_does_not_hold(type: str, beyond: int) -> None:
    assert kernel(arguments=(Scalar(math.inf, "float32"),)).arguments == (Scalar(math.inf, "float32"),)
    assert kernel(arguments=(Scalar(beyond - 1, type),)).arguments == (Scalar(beyond - 1, type),)
    for number in (beyond, -beyond - (type == "int8")):
        with pytest.raises(mmcore.InvalidKernel, match=f" is no {type}$"):
            kernel(arguments=(Scalar(number, type),))


def test_a_workspace_is_as_large_as_its_content() -> None:
    array: Any = np.zeros(3, np.int16)
    assert Workspace("sums", content=array) == Workspace("sums", 6, bytes(6))
    assert Workspace("sums") == Workspace("sums", 0, b"")


@pytest.mark.parametrize(
    ("sizes", "of", "times", "reason"),
    [
        (("q",), "block.x", 1, r"\('q',\) are not sizes of a problem"),
        ("n", "block.w", 1, r"a multiple of 'block\.w' makes no sense"),
        ("n", 0, 1, "a multiple of 0 makes no sense"),
        *(
            ("m", "block.x", times, r"times block\.x makes no sense; give a whole number from 1")
            for times in (0, -1, 0.5, True)
        ),
    ],
)
def test_a_constraint_that_can_never_be_tested_is_rejected(sizes: Any, of: Any, times: Any, reason: str) -> None:
    with pytest.raises(mmcore.InvalidKernel, match=reason):
        Multiple(sizes, of=of, times=times)


@pytest.mark.parametrize(
    ("change", "another"),
    [
        *(("kernels/own.cu", True), ("helper.py", True), ("new.cuh", True), ("renamed.py", True)),
        *(("kernels/__pycache__/own.pyc", False), ("__pycache__/helper.pyc", False)),
    ],
)
def test_a_packages_digest_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, another: bool
) -> None:
    package = tmp_path / "acme"
    for folder in ("kernels/__pycache__", "__pycache__"):
        (package / folder).mkdir(parents=True)
    for path in ("kernels/own.cu", "helper.py", "__pycache__/helper.pyc"):
        (package / path).write_text("")

    def digest() -> str:
        found, module = Registry(), plugin(mmcore_kernels=[])
        module.__name__, module.__path__ = "acme", [str(package)]
        monkeypatch.setitem(sys.modules, "acme", module)
        found.add(module, "acme", "acme-kernels")
        return found.content("acme-kernels")

    before = digest()
    assert re.fullmatch("sha256:[0-9a-f]{12}", before)
    if change == "renamed.py":
        (package / "helper.py").rename(package / change)
    else:
        (package / change).write_text("" if change == "new.cuh" else "other")
    assert (digest() != before) == another


def test_a_digest_reads_the_files_of_one_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "acme", "acme.own", kernel_module("acme.own"))
    (tmp_path / "acme_module.cu").write_text("// empty\n")
    read: list[Path] = []
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.append(path)
        return read_bytes(path)

    with installed(tmp_path):
        found = registry()
        monkeypatch.setattr(Path, "read_bytes", noted)
        assert re.fullmatch("sha256:[0-9a-f]{12}", found.content("acme"))
        assert {path.name for path in read} == {"acme_module.py", "acme_module.cu"}
        read.clear()
        found.content(DISTRIBUTION)
        assert {"measure.py", "cache.py", "kernel11.cu"} <= {path.name for path in read}
        assert not any(path.is_relative_to(tmp_path) for path in read)


def test_an_interrupt_ends_the_loading_of_plugins() -> None:
    registry = Registry()
    with pytest.raises(KeyboardInterrupt):
        registry.add(plugin(mmcore_kernels=KeyboardInterrupt()), "acme.fast", "acme-kernels")
    assert registry.failed == []


def test_a_module_without_hooks_is_no_plugin() -> None:
    registry = Registry()
    for module in (plugin(), plugin(mmcore_kernels=[kernel()])):
        registry.add(module, "acme.fast", "acme-kernels")
    assert (len(registry.failed), set(registry.kernels)) == (1, {"acme.fast"})
    assert len(registry.manager.get_plugins()) == 1


def test_a_mistyped_field_of_a_declaration_has_the_right_name_in_its_report() -> None:
    def mmcore_kernels() -> mmcore.Kernel:
        return mmcore.Kernel(name="acme.fast", acumulator="float32")  # type: ignore[call-arg]

    registry = Registry()
    registry.add(plugin(mmcore_kernels=[mmcore_kernels]), "acme.fast", "acme-kernels")
    assert re.search("'acumulator'. Did you mean '?accumulator", str(registry.failed[0]))


def test_a_pattern_that_matches_nothing_may_be_a_failed_plugins() -> None:
    registry = Registry()
    registry.add(plugin(mmcore_kernels=[kernel()]), "acme.fast", "acme-kernels")
    hints = (
        "; a new entry point counts once its package is installed again",
        "; a plugin that failed to load may bring it, and mmcore doctor says which did",
    )
    for hint in hints:
        for asked in (lambda: registry.matching(["other.*"]), lambda: registry.kernel("zzz")):
            with pytest.raises(mmcore.UnknownKernel) as error:
                asked()
            assert str(error.value).endswith(f"mmcore list-kernels shows what there is{hint}")
        registry.add(plugin(mmcore_kernels=ValueError("no luck")), "acme.slow", "acme-kernels")


# Installed distributions


def distribution(site: Path, name: str, entry_points: str, version: str = "1.0") -> Path:
    """Install a distribution that contains only entry points."""
    metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    return metadata


def acme() -> set[tuple[str, str, str]]:
    """Return the plugins of the acme distributions: distribution, version, and value of the entry point."""
    brought = {
        (name, each.version, entry.value)
        for name, each in plugin_distributions(GROUP).items()
        for entry in each.entry_points.select(group=GROUP)
    }
    known = [(each.dist, each.value) for each in importlib.metadata.entry_points(group=GROUP)]
    assert brought == {(dist.name, dist.version, value) for dist, value in known if dist}
    return {each for each in brought if each[0].startswith("acme")}


def test_changes_of_installed_plugins_are_seen_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert acme() == set()
    old = distribution(tmp_path, "acme-fast", f"[{GROUP}]\na = one\n")
    distribution(tmp_path, "acme-tools", "[console_scripts]\nmmcore = acme:main\n")
    assert acme() == {("acme-fast", "1.0", "one")}
    times = (old / "entry_points.txt").stat(), tmp_path.stat()
    (old / "entry_points.txt").write_text(f"[{GROUP}]\na = two\n")
    for path, was in zip((old / "entry_points.txt", tmp_path), times, strict=True):
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert acme() == {("acme-fast", "1.0", "two")}
    shutil.rmtree(old)
    distribution(tmp_path, "acme-fast", f"[other]\nx = y\n  [{GROUP}]  \na = three\nb=four:five\n", "2.0")
    assert acme() == {("acme-fast", "2.0", "three"), ("acme-fast", "2.0", "four:five")}
    shutil.rmtree(tmp_path / "acme_fast-2.0.dist-info")
    assert acme() == set()


@pytest.mark.parametrize("nearer", [f"[{GROUP}]\na = near\n", "[other]\na = near\n"])
def test_the_first_of_two_distributions_counts(nearer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder, text in (("acme.fast", "far", f"[{GROUP}]\na = far\n"), ("Acme_Fast", "near", nearer)):
        distribution(tmp_path / folder, name, text).rename(tmp_path / folder / "acme_fast-1.0.dist-info")
        monkeypatch.syspath_prepend(tmp_path / folder)
    found = [each for name, each in plugin_distributions(GROUP).items() if name.casefold().startswith("acme")]
    values = [entry.value for each in found for entry in each.entry_points.select(group=GROUP)]
    assert values == ["near"] * (GROUP in nearer)


@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        (lambda folder: (folder / "entry_points.txt").write_bytes(b"[mmcore]\na = \xff\n"), True),
        (lambda folder: (folder / "entry_points.txt").write_text("[mmcore]\nnonsense\n"), True),
        (lambda folder: (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-damaged\n"), True),
        (lambda folder: shutil.rmtree(folder), False),
        (lambda folder: (folder / "entry_points.txt").unlink() or (folder / "entry_points.txt").mkdir(), False),
    ],
)
@pytest.mark.filterwarnings("ignore:Implicit None:DeprecationWarning")  # of a distribution without a version
def test_a_damaged_distribution_costs_its_own_plugins(damage: Any, reported: bool, tmp_path: Path) -> None:
    install(tmp_path, "acme-sound", "sound", kernel_module("acme.sound"))
    damage(distribution(tmp_path, "acme-damaged", f"[{GROUP}]\nx = nowhere\n"))
    with installed(tmp_path):
        found = registry()
        assert "acme.sound" in found.kernels
        assert bool(found.failed) == reported
