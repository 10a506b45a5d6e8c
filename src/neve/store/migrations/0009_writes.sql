-- Writes through the database operations: how many a table has had, and the keys that they came with.
CREATE TABLE write_counts (
    table_uuid  TEXT PRIMARY KEY,
    writes      INTEGER NOT NULL
);
CREATE TABLE write_keys (
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    table_uuid  TEXT NOT NULL,
    write_key   TEXT NOT NULL,
    content     TEXT NOT NULL,
    UNIQUE (table_uuid, write_key)
);
