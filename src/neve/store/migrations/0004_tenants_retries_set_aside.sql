-- Whose job it is, when it may begin, and how often it was tried.
ALTER TABLE jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN not_before REAL NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN max_attempts INTEGER NOT NULL DEFAULT 3;
ALTER TABLE jobs ADD COLUMN is_dead INTEGER NOT NULL DEFAULT 0;
-- It holds all that choosing the next job needs to know about those that are passed over.
DROP INDEX jobs_queued;
CREATE INDEX jobs_queued ON jobs (tenant, priority DESC, created_at, table_name, not_before)
    WHERE state = 'queued';
CREATE INDEX jobs_dead ON jobs (updated_at) WHERE is_dead = 1;
CREATE INDEX jobs_by_age ON jobs (created_at);
CREATE INDEX jobs_with_outcome ON jobs (updated_at) WHERE outcome IS NOT NULL;
CREATE INDEX claims_by_end ON claims (expires_at);
CREATE INDEX claims_by_job ON claims (job_id);
-- When a tenant was served last: a number that grows.
CREATE TABLE turns (
    tenant      TEXT PRIMARY KEY,
    turn        INTEGER NOT NULL
);
-- Attempts that failed since one succeeded, and whether workers leave the table alone.
CREATE TABLE troubled_tables (
    table_name        TEXT PRIMARY KEY,
    failures_in_a_row INTEGER NOT NULL DEFAULT 0,
    set_aside_at      REAL,
    reason            TEXT NOT NULL DEFAULT ''
);
