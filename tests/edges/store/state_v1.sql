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
PRAGMA user_version = 1;
INSERT INTO jobs VALUES ('done', 'lake.db.other', 'rollback', 'succeeded', 1, 1767225600.0, 1767225600.0, 'why', NULL);
INSERT INTO jobs VALUES ('left', 'lake.db.other', 'rewrite_data_files', 'rewriting', 2, 1767312000.0, 1767312000.0, '', NULL);
INSERT INTO jobs VALUES ('turn', 'lake.db.other', 'maintain', 'succeeded', 0, 1767398400.0, 1767398400.0, '', NULL);
