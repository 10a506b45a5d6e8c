from __future__ import annotations

from datetime import timedelta

from neve.model.groups import Interval
from neve.model.outcome import CompactionStats, Outcome, Proof, Status
from neve.model.policy import Engine
from neve.model.table import TableRef
from neve.planning.cost import CostModel, actual_usd, estimate
from neve.planning.rates import DEFAULT_BYTES_PER_SECOND, learn_rates
from neve.testing.facts import MB, NOW, TABLE


def outcome(
    megabytes,
    seconds,
    *,
    saved=0.0,
    table=TABLE,
    deleted=0,
    status=Status.SUCCEEDED,
    engine="spark",
):
    return Outcome(
        job_id="j",
        table=table,
        operation="rewrite_data_files",
        status=status,
        reason="",
        started_at=NOW,
        finished_at=NOW + timedelta(seconds=seconds),
        stats=CompactionStats(bytes_saved=int(saved * megabytes * MB)),
        bytes_rewritten=int(megabytes * MB),
        engines={engine: 1},
        proof=Proof("metadata", 100, deleted, 100 - deleted, "metadata"),
    )


def test_nothing_learned_means_defaults():
    rates = learn_rates([outcome(100, 10), outcome(100, 10, status=Status.FAILED)], TABLE)

    assert (rates.bytes_per_second, rates.samples) == (DEFAULT_BYTES_PER_SECOND, 0)


def test_speed_and_overhead_are_learned():
    runs = [outcome(0.1, 2), outcome(100, 12), outcome(200, 22), outcome(300, 32)]

    rates = learn_rates(runs, TABLE)

    assert rates.overhead_seconds == 2
    assert rates.bytes_per_second == Interval(10 * MB, 10 * MB, 10 * MB)
    assert rates.samples == 4


def test_small_runs_say_nothing_about_speed():
    rates = learn_rates([outcome(0.1, 3), outcome(0.2, 4), outcome(0.3, 5)], TABLE)

    assert (rates.bytes_per_second, rates.overhead_seconds) == (DEFAULT_BYTES_PER_SECOND, 3)


def test_compression_is_learned_from_the_table_itself():
    other = TableRef("lake", ("db",), "other")

    assert learn_rates([outcome(100, 10, saved=0.4)], TABLE).compression_ratio == 0.6
    assert learn_rates([outcome(100, 10, saved=0.4)], other).compression_ratio == 1.0


def test_what_deletes_removed_is_not_compression():
    assert learn_rates([outcome(100, 10, saved=0.4, deleted=40)], TABLE).compression_ratio == 1.0


def test_one_strange_run_is_bounded():
    assert learn_rates([outcome(100, 10, saved=0.99)], TABLE).compression_ratio == 0.5


def test_the_price_of_a_run():
    rates = learn_rates([], TABLE)
    cost = estimate(CostModel(), rates, file_sizes=[10 * MB] * 5, delete_files=2, output_files=1)

    assert (cost.get_requests, cost.put_requests) == (5 * 3 + 2, 4)
    requests_usd = 17 * 0.0000004 + 4 * 0.000005
    assert actual_usd(CostModel(), cost, 10) == requests_usd + 2 * 0.0000166667 * 10


def test_copying_and_encoding_have_speeds_of_their_own():
    encoded = [outcome(0.1, 2), *(outcome(100, 12) for _ in range(3))]
    copied = [outcome(1000, 4, engine="remote_copy", saved=0.0) for _ in range(3)]

    rates = learn_rates([*encoded, *copied], TABLE)

    assert rates.bytes_per_second.expected == 10 * MB
    assert rates.copy_bytes_per_second.expected == 500 * MB


def test_a_copy_tells_nothing_of_compression():
    runs = [outcome(100, 10, saved=0.4), outcome(100, 1, engine="copy")]

    assert learn_rates(runs, TABLE).compression_ratio == 0.6


def test_the_store_copies_in_few_requests():
    sizes = [20 * MB] * 10
    spark = estimate(
        CostModel(), learn_rates([], TABLE), file_sizes=sizes, delete_files=0, output_files=2
    )
    remote = estimate(
        CostModel(),
        learn_rates([], TABLE),
        file_sizes=sizes,
        delete_files=0,
        output_files=2,
        engine=Engine.REMOTE_COPY,
    )

    assert (remote.get_requests, remote.put_requests) == (30, 16)
    assert remote.seconds.expected < spark.seconds.expected
