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
SELECT * FROM parquet_scan('/etc/passwd')
SELECT * FROM "parquet_scan"('/etc/passwd')
SELECT * FROM iceberg_scan('s3://other/t')
SELECT * FROM delta_scan('/tmp/x')
SELECT * FROM read_csv_auto('/proc/self/environ')
SELECT * FROM read_blob('/proc/self/environ')
SELECT * FROM read_text('/proc/self/maps')
SELECT * FROM read_ndjson_objects('/etc/hostname')
SELECT * FROM glob('/**')
SELECT * FROM 'http://169.254.169.254/latest'
SELECT * FROM 's3://bucket/*.parquet'
SELECT * FROM "users.parquet"
SELECT * FROM file('/etc/passwd')
SELECT * FROM main.users
SELECT * FROM memory.main.users
SELECT * FROM system.information_schema.schemata
SELECT * FROM temp.users
SELECT * FROM given_0
WITH relation_0 AS (SELECT 1) SELECT * FROM relation_1
WITH users AS (SELECT * FROM other.secrets) SELECT * FROM users
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, secrets
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r
WITH x AS MATERIALIZED (DELETE FROM users RETURNING *) SELECT * FROM x
WITH x AS (INSERT INTO users VALUES ('a', 1) RETURNING *) SELECT * FROM x
ATTACH DATABASE '/tmp/x.db' (TYPE sqlite)
/* c */ ATTACH 'x' AS y
COPY users TO '/tmp/x'
COPY (SELECT * FROM users) TO 's3://x/y' (FORMAT parquet)
CALL force_checkpoint()
SET threads = 64
RESET ALL
LOAD 'httpfs'
INSTALL spatial FROM community
CREATE MACRO m(x) AS x
CREATE TEMP MACRO t() AS TABLE SELECT 1
CREATE SECRET (TYPE s3, KEY_ID 'x', SECRET 'y')
CREATE TABLE x AS SELECT 1
CREATE OR REPLACE VIEW users AS SELECT 1
CREATE TYPE mood AS ENUM ('a')
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE p
FROM read_csv('/etc/passwd')
PIVOT users ON name USING count(*)
UNPIVOT users ON age INTO NAME n VALUE v
SELECT * FROM (PIVOT users ON name USING count(*))
SELECT * FROM users FOR SYSTEM_TIME AS OF now()
SELECT * FROM users USING SAMPLE 5
SELECT COLUMNS('.*') FROM users
SELECT COLUMNS(c -> c LIKE 'n%') FROM users
SELECT * REPLACE (upper(name) AS name) FROM users
SELECT list_transform([1, 2], x -> x + 1)
SELECT [x + 1 for x in range(1000000000)]
SELECT list_reduce(range(10), (a, b) -> a + b)
SELECT * FROM range(100000000000)
SELECT * FROM generate_series(1, 1000000000000)
SELECT * FROM unnest(range(1000000000))
SELECT unnest(generate_series(1, 1000000000))
SELECT printf('%2000000000d', 1)
SELECT format('{:>2000000000}', 1)
SELECT bit_count(repeat('1', 1000000000)::BIT)
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('users')
SELECT eval('1')
SELECT regexp_matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '(a+)+$')
SELECT regexp_replace(name, '(.*)*', '') FROM users
SELECT hash(name) FROM users
SELECT struct_pack(a := 1)
SELECT map(['a'], [1])
SELECT row(1, 2)
SELECT MAP {'a': 1}
SELECT @x
SELECT 1 \gexec
SELECT 1;--
SELECT 1 /* ; */ ; SELECT 2
SELECT 1 INTO OUTFILE '/tmp/x'
SELECT $$a$$ || read_text('/etc/passwd')
SELECT E'\x41' FROM read_text('/etc/passwd')
SELECT * FROM ｕｓｅｒｓ
SELECT * FROM users‮
SELECT ‮1
SELECT * FROM "users" "; DROP TABLE x"."y"
SELECT name FROM users UNION ALL SELECT secret FROM secrets
SELECT (SELECT secret FROM secrets)
SELECT EXISTS (SELECT 1 FROM secrets)
SELECT name FROM users WHERE name IN (SELECT secret FROM other.secrets)
SELECT * FROM users, LATERAL (SELECT * FROM secrets)
SELECT * FROM users JOIN t_other__default.secrets ON true
SELECT * FROM "t_other__default"."secrets"
SELECT * FROM t_a__default.users
SELECT * FROM other__default.secrets
SELECT CAST('x' AS mood)
SELECT 'x'::STRUCT(a MOOD)
SELECT rowid FROM users
SELECT filename FROM users
SELECT age::UNION(a INT) FROM users
SELECT name COLLATE de FROM users
SELECT 'a' GLOB '*'
SELECT 'a' SIMILAR TO '(a+)+'
SELECT 'a' ~ '(a+)+'
SELECT 1 AS x QUALIFY read_text('/etc/passwd') = 1
SELECT 1 ORDER BY read_text('/etc/passwd')
SELECT 1 LIMIT (SELECT count(*) FROM read_text('/etc/passwd'))
SELECT 1 OFFSET getenv('X')
SELECT sum(age) OVER (ORDER BY getenv('X')) FROM users
SELECT count(*) FILTER (WHERE getenv('X') = 1) FROM users
SELECT list(name ORDER BY name) FROM users
SELECT histogram(age) FROM users
SELECT reservoir_quantile(age, 0.5) FROM users
SELECT TRY(getenv('X'))
SELECT CASE WHEN 1 = 1 THEN getenv('X') END
SELECT extract(epoch FROM read_text('/etc/passwd'))
SELECT users.getenv('X') FROM users
SELECT name.read_text() FROM users
SELECT ('/etc/passwd').read_text()
SELECT GETENV ('HOME')
SELECT get/**/env('HOME')
SELECT getenv/**/('HOME')
