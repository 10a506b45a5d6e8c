-- When it was begun last, how far it is, and how long it should take.
ALTER TABLE jobs ADD COLUMN started_at REAL;
ALTER TABLE jobs ADD COLUMN progress TEXT;
ALTER TABLE jobs ADD COLUMN estimated_seconds REAL;
-- What jobs said, by a number that only grows; the oldest are forgotten.
CREATE TABLE events (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id   TEXT NOT NULL,
    told_at  REAL NOT NULL,
    phase    TEXT NOT NULL,
    message  TEXT NOT NULL,
    progress TEXT
);
CREATE INDEX events_of_job ON events (job_id, number);
CREATE TRIGGER events_are_bounded AFTER INSERT ON events BEGIN
    DELETE FROM events WHERE number <= new.number - 50000;
END;
-- Every change of a job's state is an event, whoever makes it.
CREATE TRIGGER jobs_begin_as_event AFTER INSERT ON jobs BEGIN
    INSERT INTO events (job_id, told_at, phase, message)
        VALUES (new.job_id, new.updated_at, new.state, new.reason);
END;
CREATE TRIGGER jobs_move_as_event AFTER UPDATE OF state ON jobs WHEN new.state <> old.state BEGIN
    INSERT INTO events (job_id, told_at, phase, message)
        VALUES (new.job_id, new.updated_at, new.state, new.reason);
END;
-- A table whose turns are left out until somebody says so; it may never have had one.
ALTER TABLE schedules RENAME TO schedules_before;
CREATE TABLE schedules (
    table_name  TEXT PRIMARY KEY,
    last_run    REAL,
    is_paused   INTEGER NOT NULL DEFAULT 0
);
INSERT INTO schedules (table_name, last_run) SELECT table_name, last_run FROM schedules_before;
DROP TABLE schedules_before;
