-- One row for each run of an operation on a table.
CREATE TABLE IF NOT EXISTS jobs (
    job_id      TEXT PRIMARY KEY,
    table_name  TEXT NOT NULL,
    operation   TEXT NOT NULL,
    state       TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    created_at  REAL NOT NULL,
    updated_at  REAL NOT NULL,
    reason      TEXT NOT NULL DEFAULT '',
    outcome     TEXT
);
CREATE INDEX IF NOT EXISTS jobs_by_table ON jobs (table_name, created_at);

-- Who may write to a table, and until when. A row is never removed: its epoch only grows.
CREATE TABLE IF NOT EXISTS claims (
    table_name  TEXT PRIMARY KEY,
    job_id      TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    expires_at  REAL NOT NULL
);
-- Files that a job wrote and did not commit. Nothing is deleted from here: the sweeper decides.
CREATE TABLE IF NOT EXISTS leftovers (
    path        TEXT PRIMARY KEY,
    table_name  TEXT NOT NULL,
    job_id      TEXT NOT NULL,
    recorded_at REAL NOT NULL
);
-- Who still reads a table from an old snapshot, or from a moment, on; it counts until the lease ends.
CREATE TABLE IF NOT EXISTS consumers (
    name         TEXT NOT NULL,
    table_name   TEXT NOT NULL,
    snapshot_id  INTEGER,
    read_from    REAL,
    leased_until REAL NOT NULL,
    PRIMARY KEY (name, table_name)
);
-- Orphans between being marked and being deleted. A row only ever gets another state.
CREATE TABLE IF NOT EXISTS quarantine (
    entry_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    table_uuid   TEXT NOT NULL,
    table_name   TEXT NOT NULL,
    path         TEXT NOT NULL,
    size_bytes   INTEGER NOT NULL,
    modified_ms  INTEGER NOT NULL,
    etag         TEXT,
    reason       TEXT NOT NULL,
    job_id       TEXT NOT NULL,
    marked_at    REAL NOT NULL,
    state        TEXT NOT NULL,
    state_at     REAL NOT NULL,
    state_reason TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS quarantine_open ON quarantine (table_uuid, path)
    WHERE state IN ('quarantined', 'purging');
-- Sweeps that were completed: the first one of a table changes nothing.
CREATE TABLE IF NOT EXISTS sweeps (
    table_uuid   TEXT NOT NULL,
    table_name   TEXT NOT NULL,
    job_id       TEXT NOT NULL,
    swept_at     REAL NOT NULL,
    orphan_files INTEGER NOT NULL,
    orphan_bytes INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS sweeps_by_table ON sweeps (table_uuid);
