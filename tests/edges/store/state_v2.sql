-- One row for each run of an operation on a table.
CREATE TABLE jobs (
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
CREATE INDEX jobs_by_table ON jobs (table_name, created_at);

-- Who may write to a table, and until when. A row is never removed: its epoch only grows.
CREATE TABLE claims (
    table_name  TEXT PRIMARY KEY,
    job_id      TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    expires_at  REAL NOT NULL
);
-- Files that a job wrote and did not commit. Nothing is deleted from here: the sweeper decides.
CREATE TABLE leftovers (
    path        TEXT PRIMARY KEY,
    table_name  TEXT NOT NULL,
    job_id      TEXT NOT NULL,
    recorded_at REAL NOT NULL
);
-- Who still reads a table from an old snapshot, or from a moment, on; it counts until the lease ends.
CREATE TABLE consumers (
    name         TEXT NOT NULL,
    table_name   TEXT NOT NULL,
    snapshot_id  INTEGER,
    read_from    REAL,
    leased_until REAL NOT NULL,
    PRIMARY KEY (name, table_name)
);
-- Orphans between being marked and being deleted. A row only ever gets another state.
CREATE TABLE quarantine (
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
CREATE UNIQUE INDEX quarantine_open ON quarantine (table_uuid, path)
    WHERE state IN ('quarantined', 'purging');
-- Sweeps that were completed: the first one of a table changes nothing.
CREATE TABLE sweeps (
    table_uuid   TEXT NOT NULL,
    table_name   TEXT NOT NULL,
    job_id       TEXT NOT NULL,
    swept_at     REAL NOT NULL,
    orphan_files INTEGER NOT NULL,
    orphan_bytes INTEGER NOT NULL
);
CREATE INDEX sweeps_by_table ON sweeps (table_uuid);
PRAGMA user_version = 2;
INSERT INTO jobs VALUES ('done', 'lake.db.other', 'rollback', 'succeeded', 1, 1767225600.0, 1767225600.0, 'why', NULL);
INSERT INTO jobs VALUES ('left', 'lake.db.other', 'rewrite_data_files', 'rewriting', 2, 1767312000.0, 1767312000.0, '', NULL);
INSERT INTO jobs VALUES ('turn', 'lake.db.other', 'maintain', 'succeeded', 0, 1767398400.0, 1767398400.0, '', NULL);
