"""Forms of bulk copies, and the operands that they must not have."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.isa.asynchronous.bulk import copies as bulk_copies
from tests.tables import table, words_of

TO_CLUSTER, TO_GLOBAL = (
    "source=global target=cluster completion=mbarrier",
    "source=cta target=global completion=bulk_group",
)


# cp.async.bulk and its mbarrier's form are left out; %L is a load to the cluster, %S a store.
@table(
    "opcode expected",
    """
    .tensor.2d.shared::cluster.global.BYTES                      copy axes=2 %L operands=target,tensor,mbarrier
    .tensor.2d.shared::cluster.global.BYTES.multicast::cluster.L2::cache_hint \
                                             copy axes=2 %L multicast=True operands=target,tensor,mbarrier,mask,policy
    .tensor.5d.shared::cta.global.tile.BYTES.L2::cache_hint \
             copy axes=5 source=global target=cta completion=mbarrier operands=target,tensor,mbarrier,policy
    .tensor.3d.global.shared::cta.bulk_group                     copy axes=3 %S operands=tensor,source
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group \
                                                                 reduce axes=2 %S reduction=add operands=tensor,source
    .shared::cluster.global.BYTES                                copy %L operands=target,source,size,mbarrier
    .shared::cluster.shared::cta.BYTES \
                       copy source=cta target=cluster completion=mbarrier operands=target,source,size,mbarrier
    .global.shared::cta.bulk_group.L2::cache_hint.cp_mask        copy %S operands=target,source,size,policy,bytes
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 \
                                                       reduce %S reduction=add kind=bf16 operands=target,source,size
    .prefetch.tensor.2d.L2.global.tile                           prefetch axes=2 source=global operands=tensor
    .prefetch.L2.global                                          prefetch source=global operands=source,size
    .commit_group                                                commit_group
    .wait_group.read                                             wait_group read=True operands=count
    prefetch.tensormap                                           prefetch_map operands=source
    prefetch.param.tensormap                                     prefetch_map operands=source
    .tensor.4d.shared::cluster.global.im2col::w.BYTES            none
    .tensor.2d.shared::cluster.global.tile::gather4.BYTES        none
    .tensor.6d.shared::cluster.global.BYTES                      none
    .tensor.2d.global.shared::cta.BYTES                          none
    .tensor.2d.shared::cluster.shared::cta.BYTES                 none
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.bulk_group none
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add       none
    .global.shared::cta                                          none
    cp.async.ca.shared.global                                    none
    prefetch.global.L2                                           none
    """,
)
def test_forms_of_bulk_copies(opcode: str, expected: str) -> None:
    whole = ("cp.async.bulk" * opcode.startswith(".") + opcode).replace("BYTES", "mbarrier::complete_tx::bytes")
    wanted = expected.replace("%L", TO_CLUSTER).replace("%S", TO_GLOBAL)
    assert words_of(bulk_copies.parse_copy(tuple(whole.split(".")))) == wanted


def test_addresses_and_sizes_of_bytes_are_multiples_of_16() -> None:
    addresses, size = np.array([0, 8, 16], np.uint64), np.array([16, 16, 20], np.uint32)
    first, second = bulk_copies.bulk_problems(addresses, np.zeros(3, np.uint64), size)
    assert first.lanes.tolist() == [False, True, False]
    assert first.clause == "its target is no multiple of 16 bytes"
    assert second.lanes.tolist() == [False, False, True]
