"""The SQL of the job store, by name."""

from __future__ import annotations

from neve.store.database import NOW

#: The claim of the row's job is alive.
IS_RUNNING = (
    f"EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id AND claims.expires_at > {NOW})"
)
#: No other job claimed the table since this epoch, though the claim may have ended.
IS_NEWEST = "EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id AND claims.epoch = ?)"
IS_OPEN = "state NOT IN ('succeeded', 'failed', 'cancelled')"

SUBMIT = (
    "INSERT INTO jobs (job_id, table_name, operation, state, epoch, created_at, updated_at, "
    "arguments, requested_by, requested_through, priority, idempotency_key, tenant, not_before, "
    "max_attempts, estimated_seconds) "
    f"VALUES (?, ?, ?, 'queued', 0, {NOW}, {NOW}, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
#: Rows of jobs with their place among all.
JOBS = "SELECT rowid AS position, * FROM jobs"
JOB = f"{JOBS} WHERE job_id = ?"
SUBMITTED = f"{JOBS} WHERE job_id = ? OR idempotency_key = ? ORDER BY job_id = ? LIMIT 1"
HOLDER = f"SELECT job_id FROM claims WHERE table_name = ? AND expires_at > {NOW}"
CLAIM_TABLE = (
    f"INSERT INTO claims (table_name, job_id, epoch, expires_at) VALUES (?, ?, 1, {NOW} + ?) "
    "ON CONFLICT (table_name) DO UPDATE SET job_id = excluded.job_id, "
    "epoch = claims.epoch + 1, expires_at = excluded.expires_at RETURNING epoch, expires_at"
)
BEGIN_JOB = (
    f"UPDATE jobs SET state = 'planning', reason = '', epoch = ?, updated_at = {NOW}, "
    f"started_at = {NOW}, progress = NULL, attempts = attempts + 1 "
    "WHERE job_id = ? AND state = 'queued'"
)
#: Tenants with queued jobs, the one that was served longest ago first; a step for each of them.
WAITING_TENANTS = (
    "WITH RECURSIVE waiting (tenant) AS ("
    "SELECT min(tenant) FROM jobs WHERE state = 'queued' UNION ALL SELECT "
    "(SELECT min(tenant) FROM jobs WHERE state = 'queued' AND tenant > waiting.tenant) "
    "FROM waiting WHERE waiting.tenant IS NOT NULL) "
    "SELECT waiting.tenant FROM waiting LEFT JOIN turns USING (tenant) "
    "WHERE waiting.tenant IS NOT NULL ORDER BY coalesce(turn, 0), waiting.tenant"
)
NEXT_QUEUED = (
    f"SELECT job_id, table_name FROM jobs WHERE state = 'queued' AND tenant = ? "
    f"AND not_before <= {NOW} "
    f"AND table_name NOT IN (SELECT table_name FROM claims WHERE expires_at > {NOW}) "
    "AND table_name NOT IN (SELECT table_name FROM troubled_tables "
    f"WHERE set_aside_at IS NOT NULL AND (retry_at IS NULL OR retry_at > {NOW})) "
    "ORDER BY priority DESC, created_at, rowid LIMIT 1"
)
TAKE_TURN = (
    "INSERT INTO turns (tenant, turn) SELECT ?, coalesce(max(turn), 0) + 1 FROM turns WHERE true "
    "ON CONFLICT (tenant) DO UPDATE SET turn = excluded.turn"
)
#: A claim whose time is over is still its job's, until somebody takes the table, settles the job or
#: queues it again, each of which ends its epoch; one that was given back is nobody's.
RENEW = (
    f"UPDATE claims SET expires_at = {NOW} + ? WHERE table_name = ? AND job_id = ? "
    "AND epoch = ? AND expires_at > 0 RETURNING expires_at, "
    "(SELECT cancel_requested FROM jobs WHERE jobs.job_id = claims.job_id) AS cancel_requested"
)
#: The row of a claim stays, so that its epoch goes on growing.
RELEASE = "UPDATE claims SET expires_at = 0 WHERE job_id = ? AND epoch = ?"
SET_STATE = (
    f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} WHERE job_id = ? AND {IS_OPEN} "
    "AND EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id "
    f"AND claims.epoch = ? AND claims.expires_at > {NOW})"
)
#: A lease may be over by now, but nobody else may have claimed the table or resolved the job.
FINISH = (
    f"UPDATE jobs SET state = ?, reason = ?, outcome = ?, updated_at = {NOW} WHERE job_id = ? "
    f"AND {IS_OPEN} AND {IS_NEWEST}"
)
END = (
    f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} WHERE job_id = ? "
    f"AND {IS_OPEN} AND {IS_NEWEST}"
)
#: After a failed attempt a job is tried again, unless it is to be cancelled or none is left.
RETRY = (
    "UPDATE jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' "
    "WHEN attempts >= max_attempts THEN 'failed' ELSE 'queued' END, "
    "is_dead = NOT cancel_requested AND attempts >= max_attempts, reason = ?, "
    f"not_before = {NOW} + ?, updated_at = {NOW} WHERE job_id = ? AND state <> 'queued' "
    f"AND {IS_OPEN}"
)
#: What a job of unknown end did is told by its table, not by who ran it.
RETRY_HELD = f"{RETRY} AND state <> 'unknown' AND {IS_NEWEST}"
RETRY_LEFT = f"{RETRY} AND epoch = ? AND NOT {IS_RUNNING}"
HAND_BACK = (
    "UPDATE jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, "
    f"attempts = attempts - 1, reason = ?, updated_at = {NOW} WHERE job_id = ? "
    f"AND state NOT IN ('queued', 'unknown') AND {IS_OPEN} AND {IS_NEWEST}"
)
DISMISS = "UPDATE jobs SET is_dead = 0 WHERE job_id = ? AND is_dead = 1"
DEAD = "WHERE is_dead = 1 ORDER BY updated_at DESC, rowid DESC LIMIT ?"
COUNT_FAILURE = (
    "INSERT INTO troubled_tables (table_name, failures_in_a_row) VALUES (?, 1) "
    "ON CONFLICT (table_name) DO UPDATE SET failures_in_a_row = failures_in_a_row + 1"
)
#: What workers set aside is well again; what a person set aside stays so.
FORGET_FAILURES = (
    "UPDATE troubled_tables SET failures_in_a_row = 0, "
    "set_aside_at = iif(retry_seconds IS NULL, set_aside_at, NULL), "
    "reason = iif(retry_seconds IS NULL, reason, ''), retry_at = NULL, retry_seconds = NULL "
    "WHERE table_name = ?"
)
FAILURES = "SELECT failures_in_a_row FROM troubled_tables WHERE table_name = ?"
#: What a person set aside stays so, whatever ends on the table after it.
SET_ASIDE = (
    "INSERT INTO troubled_tables (table_name, set_aside_at, reason, retry_at, retry_seconds) "
    f"VALUES (?1, {NOW}, ?2, {NOW} + ?3, ?3) ON CONFLICT (table_name) DO UPDATE SET "
    "reason = excluded.reason, retry_at = excluded.retry_at, "
    "retry_seconds = excluded.retry_seconds, "
    "set_aside_at = coalesce(set_aside_at, excluded.set_aside_at) "
    "WHERE excluded.retry_seconds IS NULL OR retry_seconds IS NOT NULL OR set_aside_at IS NULL"
)
#: Whoever begins the one job of a try lets the others wait for the next.
BEGIN_TRY = (
    f"UPDATE troubled_tables SET retry_at = {NOW} + retry_seconds WHERE table_name = ? "
    f"AND set_aside_at IS NOT NULL AND retry_at <= {NOW}"
)
PUT_BACK = (
    "UPDATE troubled_tables SET set_aside_at = NULL, reason = '', failures_in_a_row = 0, "
    "retry_at = NULL, retry_seconds = NULL WHERE table_name = ? AND set_aside_at IS NOT NULL"
)
ALL_SET_ASIDE = (
    "SELECT * FROM troubled_tables WHERE set_aside_at IS NOT NULL ORDER BY set_aside_at, table_name"
)
SETTLE = (
    f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} "
    f"WHERE job_id = ? AND epoch = ? AND {IS_OPEN} AND NOT {IS_RUNNING}"
)
#: A worker that wakes up late finds that its epoch is over.
END_EPOCH = "UPDATE claims SET epoch = epoch + 1, expires_at = 0 WHERE job_id = ? AND epoch = ?"
CANCEL_QUEUED = (
    f"UPDATE jobs SET state = 'cancelled', reason = ?, cancel_requested = 1, updated_at = {NOW} "
    "WHERE job_id = ? AND state = 'queued'"
)
CANCEL_RUNNING = f"UPDATE jobs SET cancel_requested = 1 WHERE job_id = ? AND {IS_OPEN}"
UNFINISHED = (
    f"WHERE (?1 IS NULL OR table_name = ?1) AND {IS_OPEN} AND state <> 'queued' "
    f"AND NOT {IS_RUNNING} ORDER BY created_at"
)
ADD_UNCOMMITTED = (
    "INSERT OR IGNORE INTO leftovers (path, table_name, job_id, recorded_at) "
    f"VALUES (?, ?, ?, {NOW})"
)
UNCOMMITTED = "SELECT path, job_id FROM leftovers WHERE table_name = ? ORDER BY recorded_at, path"
RECORD_RUN = (
    f"INSERT INTO schedules (table_name, last_run) VALUES (?, {NOW}) "
    "ON CONFLICT (table_name) DO UPDATE SET "
    "last_run = max(coalesce(last_run, 0), excluded.last_run)"
)
KNOW_SCHEDULE = "INSERT OR IGNORE INTO schedules (table_name) VALUES (?)"
#: Moments have whole microseconds outside of this file, which few fractions of seconds are.
RECORD_TURN = (
    f"UPDATE schedules SET last_run = max({NOW}, ?1) WHERE table_name = ?2 "
    "AND (last_run IS ?3 OR abs(last_run - ?3) < 0.000002)"
)
PAUSE = "UPDATE schedules SET is_paused = 1 WHERE table_name = ?"
RESUME = "UPDATE schedules SET is_paused = 0 WHERE table_name = ? AND is_paused = 1"
SCHEDULES = "SELECT * FROM schedules"
SCHEDULE = f"{SCHEDULES} WHERE table_name = ?"
APPEND_EVENT = (
    "INSERT INTO events (job_id, told_at, phase, message, progress) "
    f"VALUES (?, {NOW}, ?, ?, ?) RETURNING number"
)
#: A worker that was asleep may tell its own after the job's end.
SET_PROGRESS = f"UPDATE jobs SET progress = ? WHERE job_id = ? AND {IS_OPEN}"
EVENTS_AFTER = "SELECT * FROM events WHERE job_id = ? AND number > ? ORDER BY number LIMIT ?"
ACTIVE = f"SELECT DISTINCT table_name FROM jobs WHERE {IS_OPEN}"
