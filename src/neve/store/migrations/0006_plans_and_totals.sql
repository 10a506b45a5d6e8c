-- Plans that wait for somebody to apply them. A plan never changes, only who agreed to it.
CREATE TABLE plans (
    position     INTEGER PRIMARY KEY AUTOINCREMENT,
    plan_id      TEXT NOT NULL UNIQUE,
    table_name   TEXT NOT NULL,
    created_at   REAL NOT NULL,
    document     TEXT NOT NULL,
    requested_by TEXT NOT NULL DEFAULT '',
    approved_at  REAL,
    approved_by  TEXT NOT NULL DEFAULT ''
);
-- What was done since the state was made: figures that only grow.
CREATE TABLE totals (
    name  TEXT PRIMARY KEY,
    value REAL NOT NULL DEFAULT 0
);
-- Whoever ends a job counts it, with the change itself.
CREATE TRIGGER jobs_count_ends AFTER UPDATE OF state ON jobs
    WHEN new.state IN ('succeeded', 'failed', 'cancelled')
        AND old.state NOT IN ('succeeded', 'failed', 'cancelled') BEGIN
    INSERT OR IGNORE INTO totals (name) VALUES ('jobs:' || new.operation || ':' || new.state);
    UPDATE totals SET value = value + 1 WHERE name = 'jobs:' || new.operation || ':' || new.state;
END;
CREATE TRIGGER jobs_count_records AFTER INSERT ON jobs
    WHEN new.state IN ('succeeded', 'failed', 'cancelled') BEGIN
    INSERT OR IGNORE INTO totals (name) VALUES ('jobs:' || new.operation || ':' || new.state);
    UPDATE totals SET value = value + 1 WHERE name = 'jobs:' || new.operation || ':' || new.state;
END;
INSERT INTO totals (name, value)
    SELECT 'jobs:' || operation || ':' || state, count(*) FROM jobs
    WHERE state IN ('succeeded', 'failed', 'cancelled') GROUP BY operation, state;
