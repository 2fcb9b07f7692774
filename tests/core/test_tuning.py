"""Tuned configs: which ones are used, their precedence, and the kernels that ``matmul`` chooses from them."""

from __future__ import annotations

import itertools
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mmcore
from mmcore import Config, InvalidProblem, Kernel, Launch, Problem, hookimpl
from mmcore.cell import Cell, Timing
from mmcore.executor import worker
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import measure, prepared_cell
from mmcore.planning.plan import DEFAULT, usual_config
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.files import PROPERTIES, SCHEMA, all_tuned, best_kernels, file_of, other_card, own_folder
from mmcore_cuda.tuned_configs.model import MODELLED
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.launch_facts import Launched
from mmcore_pytest.collection import Benchmark, tuned
from mmcore_tools.experiments.results import benchmark_record
from tests.command_line import mmcore as command
from tests.core.test_api import normal
from tests.core.test_matmul_in_place import PACKED, RIGHT, EmulatedGpu, WithDlpack

CARD = "Test GPU"
TESTED = DeviceProperties(compute_capability=(9, 1), card=CARD)  # no shipped config was tuned on this card
KERNEL = "upc.kernel11"  # its default block is 32×32
TILES = "ladder.f32.03_tiles"  # supports every size and reads nothing past the matrices
Write = Callable[..., Path]


def entry(block: int, size: int = 64, kernel: str = KERNEL, seconds: float = 1e-3, **config: Any) -> dict[str, Any]:
    values = {"block": [block, block, 1], **config} if block else config
    return {"kernel": kernel, "config": values, "m": size, "n": size, "k": size, "seconds": seconds, "provenance": {}}


@contextmanager
def plugin(name: str = "tuned", **hooks: Callable[[], Any]) -> Iterator[None]:
    """Register a plugin until the block ends."""
    failed, kernels = [*registry().failed], [*registry().kernels]
    content = {hook: staticmethod(hookimpl(returning)) for hook, returning in hooks.items()}
    registry().add(type("Plugin", (), content)(), name, f"acme-{name}")
    try:
        yield
    finally:
        registry().manager.unregister(name=f"acme-{name}:{name}")
        registry().failed[:] = failed
        for new in registry().kernels.keys() - kernels:
            del registry().kernels[new]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Yield a function that writes the user's tuning file, or a plugin's."""
    monkeypatch.setenv("MMCORE_TUNING_DIR", str(tmp_path / "own"))

    def write(*entries: Mapping[str, Any], card: str = CARD, own: bool = True, like: Any = None) -> Path:
        path = file_of(card, own_folder() if own else tmp_path / "theirs")
        path.parent.mkdir(exist_ok=True)
        properties = {"properties": {name: getattr(like, name) for name in PROPERTIES}} if like else {}
        path.write_text(json.dumps({"schema": SCHEMA, "card": card, **properties, "tuned": entries}))
        return path

    with plugin(mmcore_tuning=lambda: [tmp_path / "theirs"]):
        yield write


class Card(EmulatedGpu):
    """An emulated GPU of a model that may have tuned configs."""

    supports_timing = True
    card = CARD

    @property
    def properties(self) -> DeviceProperties:
        return replace(super().properties, card=self.card, compute_capability=TESTED.compute_capability)


def taken(size: int = 64, kernel: str = KERNEL, card: str = CARD) -> tuple[str, str]:
    """Return the default config of a square product, and its origin."""
    found = mmcore.kernels()[kernel]
    config, origin = usual_config(found, found.problem(size, size, size), replace(TESTED, card=card))
    return config.id, origin


def test_the_users_own_come_before_a_plugins_and_those_before_the_default_and_changes_are_read(write: Write) -> None:
    assert taken() == ("b32", DEFAULT)
    write(entry(16), own=False)
    assert taken() == ("b16", "tuned for 64×64×64 on Test GPU (acme-tuned)")
    path = write(entry(8))
    assert taken() == ("b8", "tuned for 64×64×64 on Test GPU (your own)")
    write(entry(32))
    os.utime(path, ns=(0, 0))
    assert taken()[0] == "b32"


def test_what_was_tuned_for_such_a_product_comes_before_what_was_not(write: Write) -> None:
    write(entry(16, size=65), own=False)
    write(entry(8, size=1024))
    assert taken(64) == ("b16", "tuned for 65×65×65 on Test GPU (acme-tuned)")
    assert taken(1000)[0] == taken(600)[0] == "b8"


LARGE, OLD = replace(TESTED, card=""), replace(TESTED, card="", compute_capability=(8, 0))


def test_a_card_takes_no_configs_of_another_capability_or_of_unknown_properties(write: Write) -> None:
    write(entry(8), card="Test GPU XL")
    write(entry(8), card="Old GPU", like=OLD)
    assert taken() == ("b32", DEFAULT)
    write(entry(8), card="Large GPU", like=LARGE)
    assert taken(card="") == ("b32", DEFAULT)
    assert taken() == ("b8", "tuned for 64×64×64 on another card, Large GPU (your own)")


def test_of_other_cards_the_most_similar_one_counts(write: Write) -> None:
    near, clocked = replace(LARGE, multiprocessors=131), replace(LARGE, clock_mhz=1979)
    more_memory = replace(LARGE, shared_bytes_optin=228 << 10)
    several = [
        *(("few", replace(LARGE, multiprocessors=114), 8), ("near", near, 16)),
        *(("shared", more_memory, 24), ("clocked", clocked, 32), ("alike", LARGE, 4)),
    ]
    found = replace(mmcore.kernels()[KERNEL], configs=[{"block": (each, each)} for *_, each in several])
    registry().kernels[KERNEL], kept = registry().kernels[KERNEL]._replace(item=found), registry().kernels[KERNEL]
    try:
        for name, properties, block in several:
            write(entry(block), card=f"{name} GPU", like=properties)
            assert taken()[1] == f"tuned for 64×64×64 on another card, {name} GPU (your own)"
        write(entry(8), own=False)
        assert taken() == ("b8", "tuned for 64×64×64 on Test GPU (acme-tuned)")
    finally:
        registry().kernels[KERNEL] = kept


def test_the_product_counts_for_more_than_the_card(write: Write) -> None:
    write(entry(8, 4096), entry(8, 64, "upc.kernel01"))
    write(entry(16, 64), card="Large GPU", like=LARGE, own=False)
    assert taken(64) == ("b16", "tuned for 64×64×64 on another card, Large GPU (acme-tuned)")
    assert taken(4096) == taken(1000) == ("b8", "tuned for 4096×4096×4096 on Test GPU (your own)")


def test_kernels_tuned_on_similar_cards_compare_by_the_rate_to_expect_on_this_one(write: Write) -> None:
    slow, fast = TILES, "upc.kernel01"
    small = replace(TESTED, multiprocessors=66, clock_mhz=990)

    def first(device: DeviceProperties) -> str:
        problem = mmcore.kernels()[fast].problem(64, 64, 64)
        return next(name for each in best_kernels(problem, device) if (name := each.kernel.name) in (slow, fast))

    write(entry(0, kernel=slow, seconds=3e-3))
    write(entry(8, kernel=fast, seconds=1e-3), card="Large GPU", like=LARGE)
    assert first(TESTED) == fast, "tuning a slow kernel must not make matmul slower"
    assert first(small) == slow
    assert first(replace(small, compute_capability=(8, 0))) == slow


@pytest.mark.parametrize(
    "wrong", [{"multiprocessors": 0}, {"clock_mhz": "fast"}, {"compute_capability": 9}, {"compute_capability": None}]
)
def test_damaged_properties_cost_one_file(wrong: Any, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(entry(8), card="Large GPU", like=LARGE)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "properties": {**document["properties"], **wrong}}))
    assert taken() == ("b32", DEFAULT)
    assert f"the tuning file {path} cannot be read" in capsys.readouterr().err


def test_the_ladder_on_an_h100_takes_what_was_tuned_on_an_h200() -> None:
    h100 = DeviceProperties(card="NVIDIA H100 80GB HBM3")
    for name in ("ladder.f32.09_any", "ladder.f64.03_ring", "ladder.tf32.02_any_nt", "ladder.f16.02_any_nt"):
        kernel = mmcore.kernels()[name]
        for sizes in ((512, 512, 512), (16, 4096, 4096)):
            problem = kernel.problem(*sizes)
            config, origin = usual_config(kernel, problem, h100)
            assert config == usual_config(kernel, problem, replace(h100, card="NVIDIA H200"))[0]
            assert other_card(origin) == "NVIDIA H200"
            assert usual_config(kernel, problem, replace(h100, compute_capability=(10, 0)))[1] == MODELLED


def test_a_model_chooses_for_products_unlike_the_tuned_ones(write: Write) -> None:
    kernel, device = mmcore.kernels()["ladder.f64.03_ring"], replace(TESTED, compute_capability=(10, 0))
    tuned_for_2048 = {"config": kernel.usual_configs[0].to_json()}
    write({**entry(0, 2048, kernel.name), **tuned_for_2048}, like=device)
    reasons = {n: usual_config(kernel, kernel.problem(n, n, n), device)[1] for n in (512, 2000, 8192)}
    assert reasons == {512: MODELLED, 2000: "tuned for 2048×2048×2048 on Test GPU (your own)", 8192: MODELLED}
    chosen = next(each for each in best_kernels(kernel.problem(512, 512, 512), device) if each.kernel is kernel)
    assert chosen.why == MODELLED


def test_configs_that_a_kernel_has_no_more_or_that_do_not_fit_are_passed_over(write: Write) -> None:
    write({**entry(8), "config": {"STAGES": 3}}, entry(16, size=128))
    assert taken()[0] == "b16"
    multiples = "upc.kernel10"  # supports whole blocks only
    write(entry(32, 64, multiples), entry(16, 1024, multiples))
    assert [taken(size, multiples)[0] for size in (96, 48)] == ["b32", "b16"]
    write(entry(32), entry(16, size=1024))
    found = mmcore.kernels()[KERNEL]
    small = DeviceProperties(card=CARD, threads_per_block=256)
    assert usual_config(found, found.problem(64, 64, 64), small)[0].id == "b16"
    write(entry(24), {**entry(8), "config": {"self": 1}}, entry(0, kernel="ladder.f64.03_ring", BM=9999))
    assert taken()[1] == taken(kernel="ladder.f64.03_ring")[1] == DEFAULT


def test_what_follows_from_other_parameters_does_so_today(write: Write) -> None:
    write(entry(7, kernel=TILES, TILE=32))
    found = mmcore.kernels()[TILES]
    config, origin = usual_config(found, found.problem(64, 64, 64), DeviceProperties(card=CARD))
    assert (config.block, origin) == ((32, 32, 1), "tuned for 64×64×64 on Test GPU (your own)")


def test_every_config_has_one_id_however_it_is_named() -> None:
    for kernel in mmcore.kernels().values():
        for config in itertools.islice(kernel.all_configs, 20):
            assert kernel.config(**config.to_json()).id == config.id
            assert kernel.all_configs.own(**config.to_json()) == config


def test_near_products_compare_by_rate(write: Write) -> None:
    slow, fast = "ladder.f32.05_register_tile", "ladder.f32.06_vectors"
    configs = {name: mmcore.kernels()[name].usual_configs[0].to_json() for name in (slow, fast)}
    write(
        {**entry(0, size=2000, kernel=fast, seconds=0.9e-3), "config": configs[fast]},
        {**entry(0, size=2048, kernel=slow, seconds=50e-3), "config": configs[slow]},
    )
    problem = mmcore.kernels()[fast].problem(2048, 2048, 2048)
    device = DeviceProperties(card=CARD)
    ranked = [each.kernel.name for each in best_kernels(problem, device) if each.kernel.name in (slow, fast)]
    assert ranked == [fast, slow]


def test_tuned_configs_are_measured_beside_several_usual_ones_and_in_place_of_a_single_one(write: Write) -> None:
    found = mmcore.kernels()
    write(entry(16), {**entry(0, kernel="upc.kernel00"), "config": {"block": [8, 8, 1]}})
    for kernel, several in ((found[KERNEL], 3), (found["upc.kernel00"], len(found["upc.kernel00"].usual_configs))):
        pairs = [(kernel.problem(64, 64, 64), config) for config in kernel.usual_configs]
        cases = [*tuned(kernel, pairs, lambda: DeviceProperties(card=CARD))]
        assert len(cases) == len({config for _, config, _ in cases}) >= several
        assert [origin for *_, origin in cases if origin] == ["tuned for 64×64×64 on Test GPU (your own)"]


NO_ENTRY = "no kernel, sizes, time or config"
WRONG = ({"m": 10**400}, {"m": True}, {"m": 16.5}, {"kernel": ["a"]}, {"seconds": 0}, {"seconds": float("inf")})


def test_two_cards_have_two_files() -> None:
    names = ("NVIDIA H200", "カード A", "卡 A", "日本", "Test GPU (MIG 1g.5gb)", "Test GPU-MIG 1g 5gb", "x" * 300)
    assert len({file_of(name, Path()) for name in names}) == len(names)
    assert file_of("NVIDIA H200", Path()) == Path("nvidia-h200.json")
    assert all(len(file_of(name, Path()).name) < 128 for name in names)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        ('{"schema": 9, "tuned": []}', "is of version 9; this mmcore reads version 1"),
        (json.dumps({"schema": 1, "card": CARD, "tuned": [{"kernel": KERNEL}]}), "TypeError"),
        *((json.dumps({"schema": 1, "card": CARD, "tuned": [{**entry(8), **each}]}), NO_ENTRY) for each in WRONG),
        ("[" * 100_000, "RecursionError"),
    ],
)
def test_a_damaged_file_is_ignored(write: Write, capsys: pytest.CaptureFixture[str], content: str, said: str) -> None:
    write(entry(16), own=False)
    path = write()
    path.write_text(content)
    assert taken()[0] == "b16"
    warning = capsys.readouterr().err
    assert warning.startswith("warning: ")
    assert said in warning
    assert str(path) in warning


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_only_files_are_read(write: Write, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None]) -> None:
    path = write()
    path.unlink()
    make(path)
    assert taken() == ("b32", DEFAULT)
    assert f"the tuning file {path} cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("returned", [5, "/", Path("/"), [5], [None]])
def test_a_hook_that_returns_no_folders_costs_a_sentence(returned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with plugin(mmcore_tuning=lambda: returned):
        for _ in range(3):
            all_tuned()
    assert capsys.readouterr().err.count("warning: plugin tuned of acme-tuned failed in mmcore_tuning: ") == 1


def test_check_and_profile_say_which_config_is_tuned() -> None:
    kernel = mmcore.kernels()[KERNEL]
    for origin, said in (("tuned for it", "TILE=32\ntuned for it"), (DEFAULT, "TILE=32"), ("", "TILE=32")):
        with prepared_cell(Cell(KERNEL, 32, 32, 32), Emulator()) as loaded:
            launched = Launched.of(loaded)
        assert kernel.usual_configs[0].to_json() == launched.config
        assert dict(replace(launched, config_origin=origin).facts(auto=False))["config"] == said
        assert launched.to_json()["config_origin"] == DEFAULT


def test_what_the_user_names_comes_first_and_the_result_says_which_it_was(write: Write) -> None:
    write(entry(8))
    device, cell = Card(), Cell(KERNEL, 40, 40, 40)
    tuned = measure(cell, device)
    assert (tuned.config_id, tuned.config_origin) == ("b8", "tuned for 64×64×64 on Test GPU (your own)")
    named = measure(replace(cell, config={"block": [16, 16, 1]}), device)
    assert (named.config_id, named.config_origin, named.verified) == ("b16", "", True)
    assert measure(cell, Emulator()).config_origin == DEFAULT


def test_run_shows_where_a_config_comes_from(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(entry(8))
    monkeypatch.setattr(Card, "supports_timing", False)
    monkeypatch.setitem(worker._devices, "emulator", Card())
    shown = command("run", KERNEL, "--size", "40", "--device", "emulator").output.replace("\n", " ")
    assert "tuned for 64×64×64 on Test GPU (your own)" in shown
    assert "tuned" not in command("run", KERNEL, "--size", "40", "--device", "emulator", "--block", "16").output


# matmul


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Card:
    device = Card()
    monkeypatch.setitem(worker._devices, "cuda:1", device)
    return device


class Torch(WithDlpack):
    """An array that can be copied and assigned to."""

    def clone(self) -> Torch:
        return Torch(self.device, self.content)

    def __setitem__(self, where: Any, other: Torch) -> None:
        assert where is Ellipsis
        padded = np.array(self.whole)
        padded[..., : self.shape[-1]] = other.content
        self.buffer.upload(np.ascontiguousarray(padded.ravel(self._order)))


def test_the_fastest_tuned_kernel_is_taken(write: Write, gpu: Card, caplog: pytest.LogCaptureFixture) -> None:
    write(entry(0, kernel=TILES, seconds=2e-3), entry(8, kernel="upc.kernel01"), entry(8, seconds=1e-9))
    a, b = normal(9, 5), normal(5, 11)
    with caplog.at_level(logging.INFO, "mmcore"):
        product = mmcore.matmul(Torch(gpu, a), Torch(gpu, b))
    np.testing.assert_allclose(product.content, a @ b, rtol=0, atol=1e-5)
    said = "upc.kernel01 with block=8x8x1: tuned for 64×64×64 on Test GPU (your own)"
    assert caplog.messages == [said.replace("8x8x1", "8x8")]
    assert str(mmcore.best_kernel(Torch(gpu, a), Torch(gpu, b))) == caplog.messages[0]


def test_kernels_are_ranked_by_what_was_measured_nearest_to_the_product(write: Write, gpu: Card) -> None:
    write(entry(0, 16, TILES), entry(8, 16, "upc.kernel01", 2e-3))
    write(entry(0, 512, TILES, 2.0), entry(8, 512, "upc.kernel01"), own=False)
    best = {size: mmcore.best_kernel(*[Torch(gpu, normal(size, size))] * 2).kernel.name for size in (20, 300)}
    assert best == {20: TILES, 300: "upc.kernel01"}


def test_a_kernel_that_the_device_cannot_run_is_not_taken(write: Write, gpu: Card) -> None:
    write(entry(50, kernel="unsa.tiled", seconds=1e-6))
    write(entry(0, kernel=TILES), own=False)
    a = Torch(gpu, normal(9, 9))
    assert mmcore.best_kernel(a, a).kernel.name == TILES


def test_each_layout_has_a_kernel_that_knows_what_was_tuned_for_another(write: Write, gpu: Card) -> None:
    write(entry(0, kernel="ladder.f32.09_any_nt", STAGES=3), entry(0, kernel="ladder.f32.09_any_tn", STAGES=4))
    a, b = normal(9, 5), normal(5, 11)
    for kernel, second in (("ladder.f32.09_any_nt", Torch(gpu, b, order="F")), ("ladder.f32.09_any", Torch(gpu, b))):
        chosen = mmcore.best_kernel(Torch(gpu, a), second)
        assert (chosen.kernel.name, chosen.config.STAGES) == (kernel, 3)
        np.testing.assert_allclose(mmcore.matmul(Torch(gpu, a), second).content, a @ b, rtol=0, atol=1e-5)


def test_what_was_tuned_on_another_card_is_taken_where_nothing_is_tuned_on_this_one(write: Write, gpu: Card) -> None:
    write(entry(0, kernel=TILES), card="Another GPU")
    arrays = Torch(gpu, normal(9, 5)), Torch(gpu, normal(5, 11))
    assert mmcore.best_kernel(*arrays).why == "tuned for 64×64×64 on another card, Another GPU (your own)"
    write(entry(0, 1024, TILES, 10.0))
    assert mmcore.best_kernel(*arrays).why == "tuned for 1024×1024×1024 on Test GPU (your own)"


def test_an_array_in_a_layout_of_no_kernel_is_copied(write: Write, gpu: Card) -> None:
    write(entry(8, kernel="upc.kernel01"))
    a, b = normal(9, 5), normal(5, 11)
    shifted = Torch(gpu, np.pad(a, [(0, 0), (1, 0)]))
    shifted.shape = a.shape
    shifted.buffer = SimpleNamespace(address=shifted.buffer.address + 4)  # type: ignore[assignment]
    shifted.clone = lambda: Torch(gpu, a)  # type: ignore[method-assign]
    np.testing.assert_allclose(mmcore.matmul(shifted, Torch(gpu, b)).content, a @ b, rtol=0, atol=1e-5)
    out = Torch(gpu, np.zeros((9, 11), np.float32), order="F")
    assert mmcore.matmul(Torch(gpu, a), Torch(gpu, b), out) is out
    np.testing.assert_allclose(out.content, a @ b, rtol=0, atol=1e-5)


def test_numpys_arrays_take_the_usual_kernel_without_a_gpu_and_a_tuned_one_on_a_gpu(write: Write, gpu: Card) -> None:
    write(entry(8), entry(0, kernel="ladder.f64.02_dmma"))
    a = normal(8, 8)
    assert mmcore.best_kernel(a, a, device="emulator").kernel.name == TILES
    assert mmcore.best_kernel(a, a, device="cuda:1").kernel.name == KERNEL
    wide = a.astype(np.float64)
    np.testing.assert_allclose(mmcore.matmul(wide, wide, device="cuda:1"), wide @ wide, atol=1e-12)
    with pytest.raises(InvalidProblem, match="no kernel is tuned for float64 on emulator; name the one to take"):
        mmcore.matmul(wide, wide, device="emulator")


def test_kernels_with_known_bugs_and_of_another_operation_are_never_taken(write: Write, gpu: Card) -> None:
    odd = [each for each in mmcore.kernels().values() if each.dtype == "float32" and (each.known_bugs or each.beta)]
    a = normal(64, 64)
    assert odd
    assert not any(each.violations(each.problem(64, 64, 64), each.config()) for each in odd)
    write(entry(8), *(entry(0, kernel=each.name, seconds=1e-9) for each in odd))
    assert mmcore.best_kernel(a, a, device="cuda:1").kernel.name == KERNEL


def test_a_kernel_whose_nearest_config_does_not_fit_is_taken_with_the_next_one(write: Write, gpu: Card) -> None:
    multiples = "upc.kernel10"  # supports whole blocks only
    write(entry(32, 64, multiples), entry(8, 512, multiples))
    a = normal(40, 40)
    chosen = mmcore.best_kernel(a, a, device="cuda:1")
    assert (chosen.kernel.name, chosen.config.id) == (multiples, "b8")


@pytest.mark.parametrize("label", ["A", "B"])
def test_over_reads_are_avoided(label: str, write: Write, gpu: Card, cu_file: Path) -> None:
    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=(1,), block=config.block, over_read={label: 1})

    cu_file.write_text('extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k) {}')
    kernel = Kernel(name="tests.reading", source=cu_file, configs=[{"block": (8, 8)}], launch=launch)
    write(entry(8, kernel=kernel.name, seconds=1e-9), entry(0, kernel=TILES))
    a = normal(16, 16)
    with plugin("added", mmcore_kernels=lambda: kernel):
        assert mmcore.best_kernel(a, a, device="cuda:1").kernel is kernel
        assert mmcore.best_kernel(Torch(gpu, a), Torch(gpu, a)).kernel.name == TILES


@pytest.mark.parametrize("order", ["C", "F"])
def test_out_may_be_by_columns(order: Any, write: Write, gpu: Card, cu_file: Path) -> None:
    text = (PACKED + RIGHT).replace("LEADING", "").replace("const float*", "const signed char*").replace("OUT", "int")
    cu_file.write_text(text)
    kernel = Kernel(name="tests.wide", source=cu_file, configs=[{"block": (8, 8)}], dtype="int8", output="int32")
    write(entry(8, kernel="tests.wide"))
    a = np.arange(-18, 18, dtype=np.int8).reshape(6, 6)
    out = Torch(gpu, np.zeros((6, 6), np.int32), order=order)
    with plugin("added", mmcore_kernels=lambda: kernel):
        assert mmcore.matmul(Torch(gpu, a), Torch(gpu, a), out) is out
    np.testing.assert_array_equal(out.content, a.astype(np.int32) @ a)


@pytest.mark.parametrize("out", [[[0.0]], "x", memoryview(b"abcd")])
def test_an_out_that_is_no_array_is_refused(out: Any) -> None:
    a = normal(1, 1)
    for made in (mmcore.matmul, mmcore.best_kernel):
        with pytest.raises(InvalidProblem, match=f"out is a {type(out).__name__}, not an array"):
            made(a, a, out, device="emulator")


def test_shipped_files_name_kernels_that_there_are() -> None:
    for each in all_tuned():
        kernel: Kernel = mmcore.kernels()[each.kernel]
        problem = kernel.problem(each.m, each.n, each.k)
        assert not kernel.violations(problem, kernel.all_configs.own(**each.config)), each


def test_an_experiments_results_say_where_a_tuned_config_comes_from() -> None:
    found = mmcore.kernels()[KERNEL]
    benchmark = Benchmark(found, found.problem(16, 16, 16), found.config(block=8), Timing(), origin="tuned for it")
    result = mmcore.run(KERNEL, 16, block=8, device="emulator", seed=1)
    assert result.config_origin == ""
    assert benchmark_record(benchmark, result, "key")["extra_info"]["config_origin"] == "tuned for it"
