"""The SQL of the job store, by name."""

from __future__ import annotations

from neve.store.database import NOW

#: The claim of the row's job is alive.
IS_RUNNING = (
    f"EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id AND claims.expires_at > {NOW})"
)
IS_OPEN = "state NOT IN ('succeeded', 'failed', 'cancelled')"

SUBMIT = (
    "INSERT INTO jobs (job_id, table_name, operation, state, epoch, created_at, updated_at, "
    "arguments, requested_by, requested_through, priority, idempotency_key) "
    f"VALUES (?, ?, ?, 'queued', 0, {NOW}, {NOW}, ?, ?, ?, ?, ?) "
    "ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING"
)
HOLDER = f"SELECT job_id FROM claims WHERE table_name = ? AND expires_at > {NOW}"
CLAIM_TABLE = (
    f"INSERT INTO claims (table_name, job_id, epoch, expires_at) VALUES (?, ?, 1, {NOW} + ?) "
    "ON CONFLICT (table_name) DO UPDATE SET job_id = excluded.job_id, "
    "epoch = claims.epoch + 1, expires_at = excluded.expires_at RETURNING epoch, expires_at"
)
BEGIN_JOB = (
    f"UPDATE jobs SET state = 'planning', epoch = ?, updated_at = {NOW} "
    "WHERE job_id = ? AND state = 'queued'"
)
NEXT_QUEUED = (
    "SELECT job_id, table_name FROM jobs WHERE state = 'queued' AND NOT EXISTS ("
    f"SELECT 1 FROM claims WHERE claims.table_name = jobs.table_name AND claims.expires_at > {NOW}"
    ") ORDER BY priority DESC, created_at, job_id LIMIT 1"
)
RENEW = (
    f"UPDATE claims SET expires_at = {NOW} + ? WHERE table_name = ? AND job_id = ? "
    f"AND epoch = ? AND expires_at > {NOW} RETURNING expires_at, "
    "(SELECT cancel_requested FROM jobs WHERE jobs.job_id = claims.job_id) AS cancel_requested"
)
#: The row of a claim stays, so that its epoch goes on growing.
RELEASE = "UPDATE claims SET expires_at = 0 WHERE job_id = ? AND epoch = ?"
SET_STATE = (
    f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} WHERE job_id = ? "
    "AND EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id "
    f"AND claims.epoch = ? AND claims.expires_at > {NOW})"
)
#: A lease may be over by now, but nobody else may have claimed the table or resolved the job.
FINISH = (
    f"UPDATE jobs SET state = ?, reason = ?, outcome = ?, updated_at = {NOW} WHERE job_id = ? "
    "AND EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id AND claims.epoch = ?)"
)
END = (
    f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} WHERE job_id = ? "
    "AND EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id AND claims.epoch = ?)"
)
SETTLE = (
    f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} "
    f"WHERE job_id = ? AND epoch = ? AND {IS_OPEN} AND NOT {IS_RUNNING}"
)
#: A worker that wakes up late finds that its epoch is over.
END_EPOCH = "UPDATE claims SET epoch = epoch + 1, expires_at = 0 WHERE job_id = ? AND epoch = ?"
RECORD = (
    "INSERT OR IGNORE INTO jobs (job_id, table_name, operation, state, epoch, created_at, "
    f"updated_at, reason, outcome) VALUES (?, ?, ?, ?, 0, {NOW}, {NOW}, ?, ?)"
)
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
    "ON CONFLICT (table_name) DO UPDATE SET last_run = max(last_run, excluded.last_run)"
)
LAST_RUN = "SELECT table_name, last_run FROM schedules WHERE table_name = ?"
