-- What was asked for, by whom and why; a job may wait for a worker, and may be asked to stop.
ALTER TABLE jobs ADD COLUMN arguments TEXT NOT NULL DEFAULT '{}';
ALTER TABLE jobs ADD COLUMN requested_by TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN requested_through TEXT NOT NULL DEFAULT 'cli';
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN idempotency_key TEXT;
ALTER TABLE jobs ADD COLUMN cancel_requested INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX jobs_by_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX jobs_queued ON jobs (priority DESC, created_at) WHERE state = 'queued';
-- Jobs without an end, of all tables: few among many that have one.
CREATE INDEX jobs_open ON jobs (table_name)
    WHERE state NOT IN ('succeeded', 'failed', 'cancelled');
-- When a table's turn came last. Turns used to be recorded as jobs.
CREATE TABLE schedules (
    table_name  TEXT PRIMARY KEY,
    last_run    REAL NOT NULL
);
INSERT INTO schedules (table_name, last_run)
    SELECT table_name, max(created_at) FROM jobs WHERE operation = 'maintain' GROUP BY table_name;
