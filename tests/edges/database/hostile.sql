SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_csv_auto('/etc/passwd')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_blob('/etc/passwd')
SELECT * FROM read_parquet('/tmp/x.parquet')
SELECT * FROM read_json('/etc/passwd')
SELECT * FROM read_json_auto('/etc/passwd')
SELECT * FROM read_ndjson('/etc/passwd')
SELECT * FROM parquet_scan('/tmp/x.parquet')
SELECT * FROM parquet_metadata('/tmp/x.parquet')
SELECT * FROM parquet_schema('/tmp/x.parquet')
SELECT * FROM sniff_csv('/etc/passwd')
SELECT * FROM glob('/etc/*')
SELECT * FROM iceberg_scan('/tmp')
SELECT * FROM iceberg_metadata('/tmp')
SELECT * FROM delta_scan('/tmp')
SELECT * FROM sqlite_scan('state.db', 'jobs')
SELECT * FROM postgres_scan('host=x', 'a', 'b')
SELECT * FROM mysql_scan('host=x', 'a', 'b')
SELECT * FROM st_read('/etc/passwd')
SELECT * FROM read_xlsx('/tmp/x.xlsx')
SELECT * FROM arrow_scan(1, 2, 3)
SELECT * FROM '/etc/passwd'
SELECT * FROM "/etc/passwd"
SELECT * FROM 'x.csv'
SELECT * FROM "x.parquet"
SELECT * FROM 's3://bucket/x.parquet'
SELECT * FROM "https://example.com/x.csv"
SELECT * FROM file_search('x')
SELECT * FROM users, read_csv('/etc/passwd')
SELECT * FROM users JOIN read_text('/etc/passwd') ON true
SELECT * FROM users WHERE name IN (SELECT content FROM read_text('/etc/passwd'))
SELECT (SELECT content FROM read_text('/etc/passwd'))
SELECT * FROM (SELECT * FROM read_text('/etc/passwd')) AS x
WITH x AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM x
WITH read_text AS (SELECT 1) SELECT * FROM read_text('/etc/passwd')
WITH x AS (COPY users TO '/tmp/x') SELECT * FROM x
SELECT * FROM users UNION ALL SELECT content, 1 FROM read_text('/etc/passwd')
SELECT * FROM LATERAL read_text('/etc/passwd')
FROM read_text('/etc/passwd')
FROM users SELECT getenv('HOME')
SELECT getenv('HOME')
SELECT current_setting('memory_limit')
SELECT set_config('memory_limit', '9GB', false)
SELECT getvariable('x')
SELECT version()
SELECT current_user
SELECT current_user()
SELECT session_user
SELECT current_database()
SELECT current_schema()
SELECT current_schemas(true)
SELECT current_catalog
SELECT pg_typeof(1)
SELECT pg_sleep(100)
SELECT sleep(100)
SELECT txid_current()
SELECT nextval('s')
SELECT currval('s')
SELECT query('SELECT 1')
SELECT * FROM query('SELECT * FROM secrets')
SELECT * FROM query_table('secrets')
SELECT * FROM query_table(['a', 'b'])
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_views()
SELECT * FROM duckdb_columns()
SELECT * FROM duckdb_databases()
SELECT * FROM duckdb_extensions()
SELECT * FROM duckdb_functions()
SELECT * FROM duckdb_memory()
SELECT * FROM duckdb_temporary_files()
SELECT * FROM duckdb_logs()
SELECT * FROM pragma_database_list()
SELECT * FROM pragma_table_info('users')
SELECT * FROM pragma_version()
SELECT * FROM pragma_storage_info('users')
SELECT * FROM which_secret('a', 'b')
SELECT * FROM information_schema.tables
SELECT * FROM information_schema.columns
SELECT * FROM pg_catalog.pg_tables
SELECT * FROM pg_catalog.pg_class
SELECT * FROM sqlite_master
SELECT * FROM sqlite_schema
SELECT * FROM duckdb_settings
SELECT * FROM main.duckdb_tables
SELECT * FROM system.information_schema.tables
SELECT * FROM temp.main.users
SELECT * FROM memory.main.relation_0
SELECT * FROM relation_0
SELECT * FROM main.relation_0
SELECT * FROM secrets
SELECT * FROM default.secrets
SELECT * FROM t_other__default.secrets
SELECT * FROM "t_other__default".secrets
SELECT * FROM lake.t_other__default.secrets
SELECT * FROM "t_other__default.secrets"
SELECT * FROM other.default.secrets
SELECT * FROM "../t_other__default".secrets
SELECT * FROM "users; DROP TABLE users"
SELECT * FROM `users`
SELECT * FROM USERS_
SELECT * FROM users.files
SELECT * FROM users.snapshots
SELECT * FROM _maintenance_log
SELECT * FROM "Users"
SELECT * FROM "users "
SELECT * FROM users; SELECT * FROM users
SELECT 1; DROP TABLE users
SELECT 1; SET memory_limit = '9GB'
SELECT 1; ATTACH '/tmp/x.db'
; ; SELECT 1; SELECT 2
DROP TABLE users
DELETE FROM users
INSERT INTO users VALUES ('a', 1)
INSERT INTO users SELECT * FROM users
UPDATE users SET age = 1
MERGE INTO users USING users AS x ON true WHEN MATCHED THEN DELETE
TRUNCATE users
ALTER TABLE users ADD COLUMN x INT
CREATE TABLE x AS SELECT * FROM users
CREATE VIEW x AS SELECT * FROM users
CREATE MACRO f(a) AS a
CREATE SECRET s (TYPE s3)
CREATE SCHEMA x
CREATE TYPE x AS ENUM ('a')
CREATE SEQUENCE s
ATTACH '/tmp/x.db' AS x
ATTACH ':memory:' AS x
DETACH memory
USE memory
COPY users TO '/tmp/x.csv'
COPY (SELECT * FROM users) TO '/tmp/x.parquet'
COPY users FROM '/etc/passwd'
EXPORT DATABASE '/tmp/x'
IMPORT DATABASE '/tmp/x'
INSTALL httpfs
LOAD httpfs
FORCE INSTALL httpfs
UPDATE EXTENSIONS
SET memory_limit = '9GB'
SET enable_external_access = true
SET lock_configuration = false
SET VARIABLE x = 1
RESET memory_limit
PRAGMA database_list
PRAGMA enable_profiling
PRAGMA table_info('users')
CALL pragma_version()
CALL dbgen(sf = 1)
EXPLAIN SELECT * FROM users
EXPLAIN ANALYZE SELECT * FROM users
DESCRIBE users
DESCRIBE SELECT * FROM users
SUMMARIZE users
SHOW TABLES
SHOW ALL TABLES
SHOW users
CHECKPOINT
VACUUM
ANALYZE
BEGIN
COMMIT
ROLLBACK
PREPARE x AS SELECT 1
EXECUTE x
DEALLOCATE x
VALUES (1)
PIVOT users ON age
UNPIVOT users ON age
SELECT * FROM users PIVOT (count(*) FOR age IN (1))
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r
WITH RECURSIVE r(n) AS (VALUES (1) UNION SELECT n + 1 FROM r) SELECT * FROM r
SELECT * FROM range(1000000000)
SELECT * FROM generate_series(1, 1000000000)
SELECT * FROM repeat('x', 1000000000)
SELECT unnest(range(1000000000))
SELECT unnest([1, 2])
SELECT repeat('x', 2000000000)
SELECT lpad('x', 2000000000, 'y')
SELECT rpad('x', 2000000000, 'y')
SELECT list_transform([1], x -> x + 1)
SELECT [x FOR x IN [1, 2]]
SELECT string_agg(name, ',') FROM users
SELECT array_agg(name) FROM users
SELECT {'a': 1}
SELECT map {'a': 1}
SELECT md5('a')
SELECT sha256('a')
SELECT hash(1)
SELECT uuid()
SELECT random()
SELECT setseed(0.1)
SELECT regexp_matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '(a+)+$')
SELECT regexp_replace(name, 'a', 'b') FROM users
SELECT name SIMILAR TO '(a+)+' FROM users
SELECT format('{:1000000000}', 1)
SELECT printf('%1000000000d', 1)
SELECT strftime(current_date, '%Y')
SELECT json_extract('{}', '$')
SELECT json('{}')
SELECT from_base64('aaaa')
SELECT encode('a')
SELECT chr(0)
SELECT error('x')
SELECT write_log('x')
SELECT parse_path('/etc/passwd')
SELECT bar(1, 0, 10, 1000000000)
SELECT columns('a.*') FROM users
SELECT COLUMNS(*) FROM users
SELECT * EXCLUDE (name) FROM users
SELECT * REPLACE (getenv('HOME') AS name) FROM users
SELECT * RENAME (name AS x) FROM users
SELECT $1
SELECT ?
SELECT $x
SELECT :x
SELECT 'a'::made_up_type
SELECT CAST(name AS made_up) FROM users
SELECT name COLLATE nocase FROM users
SELECT * FROM users TABLESAMPLE 10%
SELECT * FROM users USING SAMPLE 10
SELECT * FROM users AT (VERSION => 1)
SELECT * FROM users FOR UPDATE
SELECT * INTO x FROM users
SELECT name.upper() FROM users
SELECT name[1:2] FROM users
SELECT users FROM users, nobody
SELECT * FROM users WHERE EXISTS (SELECT * FROM secrets)
SELECT * FROM users WHERE name = (SELECT max(secret) FROM secrets)
SELECT secret FROM users
SELECT * FROM users ORDER BY (SELECT secret FROM secrets)
WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
SELECT /* comment */ * FROM read_text('/etc/passwd') -- x
SELECT * FROM read_text/**/('/etc/passwd')
SELECT * FROM "read_text"('/etc/passwd')
SELECT "getenv"('HOME')
SELECT main.getenv('HOME')
SELECT system.main.getenv('HOME')
SELECT e'\x41', getenv('HOME')
SELECT 'unclosed
SELECT "unclosed
SELECT $$ a $$ FROM read_text('/etc/passwd')
SELECT
()
.
WITH duckdb_settings AS (SELECT * FROM duckdb_settings) SELECT * FROM duckdb_settings
WITH x AS (SELECT * FROM users) SELECT * FROM (WITH duckdb_tables AS (SELECT 1) SELECT 1) AS a, duckdb_tables
WITH a AS (SELECT * FROM duckdb_views), duckdb_views AS (SELECT 1) SELECT * FROM a
SELECT (WITH secrets AS (SELECT 1 AS secret) SELECT 1), secret FROM secrets
WITH "given_1" AS (SELECT 1 AS a), b AS (SELECT * FROM given_0) SELECT * FROM relation_1
SELECT name[1].read_text('/etc/passwd') FROM users
SELECT (name[1]).getenv('HOME') FROM users
SELECT [1, 2][(SELECT count(*) FROM read_csv('/etc/passwd'))] FROM users
SELECT users[1].x() FROM users
SELECT 'x'[1:] FROM users
SELECT name.lower().read_blob() FROM users
