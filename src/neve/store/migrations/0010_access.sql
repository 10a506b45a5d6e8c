-- Who may ask, by keys: a digest of each, never the key.
CREATE TABLE api_keys (
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    prefix      TEXT NOT NULL UNIQUE,
    document    TEXT NOT NULL,
    revoked_at  REAL
);
-- Who did what, as a chain: nothing in it is changed, and rows only come after the head.
CREATE TABLE audit (
    number      INTEGER PRIMARY KEY,
    document    TEXT NOT NULL,
    previous    TEXT NOT NULL,
    digest      TEXT NOT NULL
);
CREATE TABLE audit_head (
    only        INTEGER PRIMARY KEY CHECK (only = 1),
    number      INTEGER NOT NULL,
    digest      TEXT NOT NULL
);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is not changed');
END;
CREATE TRIGGER audit_is_not_cut BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is not cut');
END;
-- What waits for a second person to agree.
CREATE TABLE approvals (
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    approval_id TEXT NOT NULL UNIQUE,
    request     TEXT NOT NULL,
    document    TEXT NOT NULL,
    created_at  REAL NOT NULL,
    state       TEXT NOT NULL,
    decided_by  TEXT NOT NULL DEFAULT ''
);
CREATE INDEX approvals_of_requests ON approvals (request, state);
