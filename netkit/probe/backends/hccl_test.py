"""hccl_test: all-reduce between Ascend NPUs, each of which has a NIC of its own (HCCL of the CANN toolkit).

Read is the table `data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:`, as the HCCL performance
tester's documentation ("Result Description", hiascend.com) has it; GB are 10**9 bytes. The command line follows the
same documentation. Neither was tried on NPUs: the format was checked against public logs only.
"""

from __future__ import annotations

from netkit.probe.table_jobs import Columns, TableTests

BENCHMARK = TableTests(
    id="hccl_test",
    title="hccl_test",
    program="all_reduce_test",
    remedy="install the CANN toolkit there and name its tools/hccl_test/bin with --programs",
    visible_devices="HCCL_TEST_USE_DEVS",
    options=("-b", "{size}", "-e", "{size}", "-d", "fp32", "-o", "sum", "-w", "5", "-n", "20", "-c", "1", "-p", "1"),
    columns=Columns(
        separator="|",
        size=("data_size(Bytes)",),
        size_bytes=1,
        seconds=("aveg_time(us)", "avg_time(us)"),
        check="check_result",
        passed="success",
    ),
    all_passed="",
)
