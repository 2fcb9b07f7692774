"""Faults to plant in the kernels of this folder: small edits, each with the lines that a good finding would name."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """An edit that makes a right kernel wrong.

    Attributes:
        kernel: file of the kernel, without ``.cu``.
        name: what the edit does.
        kind: which mistake it is an instance of.
        old: text that stands once in the file.
        new: text in its place.
        expected: markers in comments of the edited file. A good finding names the line of one of them, as its place or
            as the other place that it mentions.
    """

    kernel: str
    name: str
    kind: str
    old: str
    new: str
    expected: frozenset[str]


def _fault(kernel: str, name: str, kind: str, old: str, new: str, *expected: str) -> Fault:
    return Fault(kernel, name, kind, old, new, frozenset(expected))


_COMMIT = '        asm volatile("cp.async.commit_group;" ::: "memory");\n'
_WGMMA_COMMIT = 'asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");'
_WGMMA_FENCE = 'asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); // #fence\n'
_WGMMA_WAIT = 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); // #wait-wgmma\n'
_PROXY_FENCE = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'

FAULTS = (
    # Shared memory read before its copies were waited for.
    _fault(
        "cp_async_ring",
        "one group more is left under way",
        "read too early",
        '"n"(STAGES - 2)',
        '"n"(STAGES - 1)',
        "#read-a",
        "#read-b",
    ),
    _fault(
        "cp_async_ring",
        "copies in the loop are not committed",
        "read too early",
        _COMMIT + "\n        const int stage",
        "\n        const int stage",
        "#read-a",
        "#read-b",
    ),
    _fault(
        "cp_async_mbarrier",
        "the arrival does not wait for the copies",
        "read too early",
        "COPIES_ARRIVE(full[stage]);",
        "ARRIVE(full[stage]);",
        "#read-a",
        "#read-b",
        "#arrive-full",
    ),
    _fault(
        "tma_ring",
        "every step waits for stage 0",
        "read too early",
        "WAIT(shared.full[stage], step / STAGES % 2);",
        "WAIT(shared.full[0], step / STAGES % 2);",
        "#wgmma",
    ),
    _fault(
        "cluster_multicast",
        "one warp of the warpgroup waits for all",
        "read too early",
        "            WAIT(shared.full[stage], step / STAGES % 2);",
        "            if (warp == 0)\n                WAIT(shared.full[stage], step / STAGES % 2);",
        "#wgmma",
    ),
    _fault(
        "cluster_split_k",
        "no cluster barrier before the other's part is read",
        "read too early",
        "    CLUSTER_BARRIER(); // #parts-there\n",
        "",
        "#read-part",
        "#write-part",
    ),
    # Memory overwritten that something in flight still reads or writes.
    _fault(
        "cp_async_ring",
        "the next copies are begun before the barrier",
        "overwrite in flight",
        "        __syncthreads(); // #barrier\n"
        "        // The barrier also says that every warp is done with the stage before, which is filled next.\n"
        "        if (step + STAGES - 1 < steps)\n"
        "            load(step + STAGES - 1);\n",
        "        if (step + STAGES - 1 < steps)\n"
        "            load(step + STAGES - 1);\n"
        "        __syncthreads(); // #barrier\n",
        "#copy",
        "#copy-a",
        "#copy-b",
        "#read-a",
        "#read-b",
    ),
    _fault(
        "cp_async_mbarrier",
        "the second round of stage 0 does not wait until it is empty",
        "overwrite in flight",
        "if (step >= STAGES)",
        "if (step > STAGES)",
        "#copy-a",
        "#copy-b",
        "#read-a",
        "#read-b",
    ),
    _fault(
        "tma_ring",
        "the stage is given back before wgmma is waited for",
        "overwrite in flight",
        f"        {_WGMMA_WAIT}"
        "        if (thread % 128 == 0)\n"
        "            ARRIVE(shared.empty[stage]); // #arrive-empty\n",
        "        if (thread % 128 == 0)\n"
        "            ARRIVE(shared.empty[stage]); // #arrive-empty\n"
        f"        {_WGMMA_WAIT}",
        "#load-a",
        "#load-b",
        "#wgmma",
        "#arrive-empty",
    ),
    _fault(
        "wgmma_registers",
        "one buffer for products of two steps",
        "overwrite in flight",
        "BUFFERS = 3",
        "BUFFERS = 1",
        "#write-b",
        "#wgmma",
    ),
    _fault(
        "tma_store",
        "the last store may still read the tile of C",
        "overwrite in flight",
        "cp.async.bulk.wait_group.read 0;",
        "cp.async.bulk.wait_group.read 1;",
        "#write-c",
        "#store-c",
    ),
    _fault(
        "tma_store",
        "only the storing thread knows that the tile of C is free",
        "overwrite in flight",
        "        MULTIPLIERS_BARRIER(WARPS * 32); // #c-free\n",
        "",
        "#write-c",
        "#store-c",
    ),
    _fault(
        "tma_store",
        "the store is not committed",
        "overwrite in flight",
        '            asm volatile("cp.async.bulk.commit_group;" ::: "memory"); // #commit-c\n',
        "",
        "#write-c",
        "#store-c",
    ),
    _fault(
        "tma_store",
        "the block ends while its last store may still read",
        "overwrite in flight",
        '    if (thread == 0)\n        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); // #wait-c\n',
        "",
        "#store-c",
    ),
    # Missing fence.proxy.async.
    _fault(
        "wgmma_registers",
        "no proxy fence behind the stores of B",
        "fence.proxy.async",
        f"        {_PROXY_FENCE} // #fence-proxy\n",
        "",
        "#write-b",
        "#wgmma",
    ),
    _fault(
        "wgmma_registers",
        "one thread's proxy fence for the stores of all",
        "fence.proxy.async",
        f"        {_PROXY_FENCE} // #fence-proxy\n",
        f"        if (thread == 0)\n            {_PROXY_FENCE}\n",
        "#write-b",
        "#wgmma",
    ),
    _fault(
        "tma_store",
        "no proxy fence between stmatrix and the TMA store",
        "fence.proxy.async",
        f"        {_PROXY_FENCE} // #fence-c\n",
        "",
        "#write-c",
        "#store-c",
    ),
    _fault(
        "tma_ring",
        "no proxy fence behind mbarrier.init",
        "fence.proxy.async",
        f"        {_PROXY_FENCE} // #fence-init\n",
        "",
        "#init-full",
        "#load-a",
        "#load-b",
    ),
    # Missing wgmma.fence.
    _fault("tma_ring", "no wgmma.fence behind the zeros", "wgmma.fence", f"        {_WGMMA_FENCE}", "", "#wgmma"),
    _fault(
        "wgmma_registers",
        "no wgmma.fence behind the loads of A",
        "wgmma.fence",
        f"        {_WGMMA_FENCE}",
        "",
        "#wgmma",
        "#write-a",
    ),
    _fault(
        "tma_store",
        "wgmma.fence in the first tile only",
        "wgmma.fence",
        f"            {_WGMMA_FENCE}",
        f"            if (tile == blockIdx.x)\n                {_WGMMA_FENCE}",
        "#wgmma",
    ),
    # Missing or too weak wgmma.wait_group.
    _fault(
        "tma_ring",
        "one group is left under way",
        "wgmma.wait_group",
        "wgmma.wait_group.sync.aligned 0;",
        "wgmma.wait_group.sync.aligned 1;",
        "#store",
        "#wgmma",
    ),
    _fault(
        "wgmma_registers",
        "the last group is not waited for",
        "wgmma.wait_group",
        '    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); // #wait-0\n',
        "",
        "#store",
        "#store-8",
    ),
    _fault(
        "tma_store",
        "no wgmma.wait_group",
        "wgmma.wait_group",
        f"            {_WGMMA_WAIT}",
        "",
        "#write-c",
        "#packed",
        "#wgmma",
    ),
    _fault(
        "cluster_multicast",
        "the products are not committed",
        "wgmma.wait_group",
        f"            {_WGMMA_COMMIT}\n",
        "",
        "#store",
        "#wgmma",
    ),
    # A phase waited for twice, or never.
    _fault(
        "tma_store",
        "the parity is not toggled",
        "phase",
        "            phase ^= 1; // #toggle\n",
        "",
        "#wait-full",
        "#wait-empty",
    ),
    _fault(
        "tma_ring",
        "the parity of full stays 0",
        "phase",
        "WAIT(shared.full[stage], step / STAGES % 2);",
        "WAIT(shared.full[stage], 0);",
        "#wait-full",
    ),
    _fault(
        "cluster_multicast",
        "full is never waited for",
        "phase",
        "            WAIT(shared.full[stage], step / STAGES % 2); // #wait-full\n",
        "",
        "#wgmma",
    ),
    _fault(
        "cp_async_mbarrier",
        "the parity of empty is the other one",
        "phase",
        "(step / STAGES - 1) % 2",
        "step / STAGES % 2",
        "#wait-empty",
        "#copy-a",
        "#copy-b",
    ),
    # Bytes that do not add up.
    _fault(
        "tma_ring",
        "the bytes of B are not expected",
        "transaction count",
        "EXPECT(shared.full[stage], TX);",
        "EXPECT(shared.full[stage], BM * BK * 2);",
        "#expect",
        "#load-a",
        "#load-b",
        "#wait-full",
    ),
    _fault(
        "tma_store",
        "16 bytes too many are expected",
        "transaction count",
        "EXPECT(shared.full[stage], TX);",
        "EXPECT(shared.full[stage], TX + 16);",
        "#expect",
        "#wait-full",
    ),
    _fault(
        "cluster_multicast",
        "the other block's half of B is not expected",
        "transaction count",
        "TX = (BM + BN) *",
        "TX = (BM + BN / CLUSTER) *",
        "#expect",
        "#load-b",
        "#wait-full",
    ),
    # Descriptors that do not fit the tensor map.
    _fault("tma_ring", "a swizzle of 64 bytes", "descriptor", "return 1ull << 62", "return 2ull << 62", "#wgmma"),
    _fault(
        "tma_store",
        "B's descriptor steps over rows instead of along k",
        "descriptor",
        "&shared.b[stage][p]",
        "&shared.b[stage][p * BK]",
        "#wgmma",
    ),
    _fault(
        "cluster_multicast",
        "512 bytes from eight rows to the next",
        "descriptor",
        "1024ull / 16 << 32",
        "512ull / 16 << 32",
        "#wgmma",
    ),
    _fault(
        "wgmma_registers",
        "leading and stride offset exchanged",
        "descriptor",
        "128ull / 16 << 32 | BN * 16ull / 16 << 16",
        "BN * 16ull / 16 << 32 | 128ull / 16 << 16",
        "#wgmma",
        "#descriptor",
    ),
    # A block that leaves its cluster.
    _fault(
        "cluster_multicast",
        "no cluster barrier at the end",
        "cluster left",
        "    CLUSTER_BARRIER(); // #stay: the other block still arrives at this one's mbarriers\n",
        "",
        "#arrive-empty",
        "#load-b",
    ),
    _fault(
        "cluster_split_k",
        "no cluster barrier at the end",
        "cluster left",
        "    CLUSTER_BARRIER(); // #stay: the other block still reads this one's part\n",
        "",
        "#read-part",
    ),
    _fault(
        "cluster_split_k",
        "one block waits at the end, the other leaves",
        "cluster left",
        "    CLUSTER_BARRIER(); // #stay",
        "    if (rank == 0)\n        CLUSTER_BARRIER(); // #stay",
        "#read-part",
    ),
    # Counts of barriers.
    _fault(
        "tma_store",
        "bar.sync for the copying warp, too, which does not come",
        "barrier count",
        "MULTIPLIERS_BARRIER(WARPS * 32); // #c-written",
        "MULTIPLIERS_BARRIER((WARPS + 1) * 32); // #c-written",
        "#c-written",
    ),
    _fault(
        "tma_store",
        "bar.sync for half of the threads",
        "barrier count",
        "MULTIPLIERS_BARRIER(WARPS * 32); // #c-written",
        "MULTIPLIERS_BARRIER(WARPS * 16); // #c-written",
        "#c-written",
        "#store-c",
        "#write-c",
    ),
    _fault(
        "cp_async_mbarrier",
        "full expects one arrival instead of the warp's",
        "barrier count",
        "INIT(full[stage], 32);",
        "INIT(full[stage], 1);",
        "#init-full",
        "#arrive-full",
    ),
    _fault(
        "tma_ring",
        "empty expects one warpgroup",
        "barrier count",
        "INIT(shared.empty[stage], WARPGROUPS);",
        "INIT(shared.empty[stage], 1);",
        "#init-empty",
        "#arrive-empty",
        "#load-a",
        "#load-b",
    ),
    _fault(
        "tma_ring",
        "the mbarriers are used before they are initialised",
        "barrier missing",
        "    __syncthreads(); // #initialised\n",
        "",
        "#init-full",
        "#init-empty",
        "#wait-full",
        "#expect",
    ),
    # Deadlocks.
    _fault(
        "tma_ring",
        "one warpgroup does not give stages back",
        "deadlock",
        "if (thread % 128 == 0)",
        "if (thread == 0)",
        "#wait-empty",
    ),
    _fault(
        "cluster_multicast",
        "stages are given back to the own block only",
        "deadlock",
        "if (lane < CLUSTER)",
        "if (lane == rank)",
        "#wait-empty",
    ),
    _fault(
        "tma_ring",
        "bytes are expected without an arrival",
        "deadlock",
        "EXPECT(shared.full[stage], TX);",
        'asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"'
        '::"r"(address(&shared.full[stage])), "r"(TX) : "memory");',
        "#wait-full",
    ),
    _fault(
        "cp_async_ring",
        "the barrier in a branch that one warp does not take",
        "deadlock",
        "        __syncthreads(); // #barrier",
        "        if (warp < 3)\n            __syncthreads(); // #barrier",
        "#barrier",
    ),
    _fault(
        "cluster_split_k",
        "the cluster barrier in a branch that one block does not take",
        "deadlock",
        "    CLUSTER_BARRIER(); // #parts-there",
        "    if (rank == 0)\n        CLUSTER_BARRIER(); // #parts-there",
        "#parts-there",
        "#read-part",
        "#write-part",
    ),
)

HARMLESS = (
    # Edits that leave a kernel right: a finding would be a false one.
    _fault(
        "tma_ring",
        "wgmma.fence behind the zeros, and not between products of the same shape",
        "harmless",
        f"        {_WGMMA_FENCE}",
        f"        if (step == 0)\n            {_WGMMA_FENCE}",
    ),
    _fault(
        "tma_ring",
        "another thread of the warpgroup gives the stage back",
        "harmless",
        "if (thread % 128 == 0)",
        "if (thread % 128 == 64)",
    ),
    _fault("tma_ring", "two stages", "harmless", "STAGES = 3", "STAGES = 2"),
    _fault("wgmma_registers", "four buffers", "harmless", "BUFFERS = 3", "BUFFERS = 4"),
    _fault("cp_async_ring", "every copy is waited for", "harmless", '"n"(STAGES - 2)', '"n"(0)'),
    _fault(
        "tma_store",
        "the store has also written C before the tile is used again",
        "harmless",
        "cp.async.bulk.wait_group.read 0;",
        "cp.async.bulk.wait_group 0;",
    ),
)
