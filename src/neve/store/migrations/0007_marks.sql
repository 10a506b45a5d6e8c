-- Short texts by name, on which several processes agree.
CREATE TABLE marks (
    name        TEXT PRIMARY KEY,
    value       TEXT NOT NULL
);
