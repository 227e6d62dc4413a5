"""CNCL's own benchmark (`allreduce` of the Cambricon Neuware toolkit) between MLUs.

The command line is the one its public users write (`--mincount`, `--maxcount` in elements of four bytes), and a run
that is right ends with `All Result Check: PASSED`. Which columns its table has in which version is not documented in
public: read are those named below, and a table that names them otherwise is no number. It was not tried on MLUs.
"""

from __future__ import annotations

from netkit.probe.table_jobs import Columns, TableTests

BENCHMARK = TableTests(
    id="cncl",
    title="CNCL benchmark",
    program="allreduce",
    remedy="install the Neuware toolkit there and name its bin with --programs (/usr/local/neuware/bin)",
    visible_devices="MLU_VISIBLE_DEVICES",
    options=("--warmup_loop", "5", "--thread", "1", "--loop", "20", "--mincount", "{count}", "--maxcount", "{count}"),
    columns=Columns(
        separator=None,
        size=("count", "count(elements)"),
        size_bytes=4,
        seconds=("in-avg-lat(us)", "avg-lat(us)"),
        check="",
        passed="",
    ),
    all_passed="All Result Check: PASSED",
)
