-- Room that is held for jobs of tenants with a quota, until they are queued.
CREATE TABLE rooms (
    room_id     TEXT PRIMARY KEY,
    tenant      TEXT NOT NULL,
    jobs        INTEGER NOT NULL,
    expires_at  REAL NOT NULL
);
