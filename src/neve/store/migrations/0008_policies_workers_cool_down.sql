-- Policies that were set while Neve runs; a change of any has a revision of its own.
CREATE TABLE policies (
    revision    INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    document    TEXT NOT NULL,
    updated_at  REAL NOT NULL,
    updated_by  TEXT NOT NULL DEFAULT ''
);
-- Workers that are there, each until its time is over.
CREATE TABLE workers (
    worker_id   TEXT PRIMARY KEY,
    announced   TEXT NOT NULL,
    expires_at  REAL NOT NULL
);
-- When a table that was set aside is tried once, and how long it waits between two tries.
ALTER TABLE troubled_tables ADD COLUMN retry_at REAL;
ALTER TABLE troubled_tables ADD COLUMN retry_seconds REAL;
