"""Statements that must not run: each with a part of the message that refuses or stops it.

Where there are two, the second is that of versions before DuckDB 2.
"""

from __future__ import annotations

LIMIT = "longer than|more memory|too much memory|more than .* bytes"
"""What the error of a stopped statement says: which limit comes first depends on the machine."""

REFUSED: tuple[tuple[str, str], ...] = (
    # Files and network.
    ("SELECT * FROM read_csv('/etc/passwd')", r"read_csv\(\) is not allowed"),
    ("SELECT * FROM read_text('/etc/passwd')", r"read_text\(\) is not allowed"),
    ("SELECT content FROM main.read_blob('/etc/*')", r"read_blob\(\) is not allowed"),
    ("SELECT * FROM read_parquet('/tmp/*.parquet')", r"read_parquet\(\) is not allowed"),
    ("SELECT * FROM parquet_scan('~/x.parquet')", r"parquet_scan\(\) is not allowed"),
    ("SELECT * FROM read_json_auto('/etc/x.json')", r"read_json_auto\(\) is not allowed"),
    ("SELECT * FROM read_csv('https://example.com/x.csv')", r"read_csv\(\) is not allowed"),
    ("SELECT * FROM glob('/**')", r"glob\(\) is not allowed"),
    ("SELECT * FROM sniff_csv('/etc/passwd')", r"sniff_csv\(\) is not allowed"),
    ("SELECT * FROM parquet_metadata('/tmp/x.parquet')", r"parquet_metadata\(\) is not allowed"),
    ("FROM '/etc/passwd'", r"no table '/etc/passwd'"),
    ("SELECT * FROM 'https://example.com/x.parquet'", r"no table 'https://example.com/x.parquet'"),
    ("SELECT (SELECT count(*) FROM read_csv('/etc/passwd'))", r"read_csv\(\) is not allowed"),
    ('SELECT * FROM (WITH "/etc/passwd" AS (SELECT 1) SELECT 2) a, "/etc/passwd"', r"no table '/etc/passwd'"),
    ("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 2 FROM read_text('/etc/passwd')) FROM t", "read_text"),
    ("DESCRIBE SELECT * FROM read_csv('/etc/passwd')", r"read_csv\(\) is not allowed"),
    ("SUMMARIZE '/etc/passwd'", r"no table '/etc/passwd'"),
    ("EXPLAIN SELECT * FROM read_csv('/etc/passwd')", r"read_csv\(\) is not allowed"),
    ("COPY steps TO '/tmp/steps.csv'", "COPY statements are not allowed"),
    ("COPY (SELECT 1) TO 's3://bucket/x.parquet'", "COPY statements are not allowed"),
    ("EXPORT DATABASE '/tmp/x'", "EXPORT statements are not allowed"),
    ("IMPORT DATABASE '/tmp/x'", "statements are not allowed|are disabled"),
    ("ATTACH '/tmp/x.db' AS x", "ATTACH statements are not allowed"),
    ("INSTALL httpfs", "statements are not allowed"),
    ("LOAD '/tmp/x.duckdb_extension'", "LOAD statements are not allowed"),
    # Settings and the state of the engine.
    ("PRAGMA database_list", "not allowed"),
    ("SET memory_limit = '100GB'", "SET statements are not allowed"),
    ("RESET lock_configuration", "statements are not allowed"),
    ("USE temp", "statements are not allowed"),
    ("CALL pragma_version()", "CALL statements are not allowed"),
    ("SELECT current_setting('allowed_paths')", r"current_setting\(\) is not allowed"),
    ("SELECT getenv('HOME')", r"getenv\(\) is not allowed"),
    ("SELECT setseed(0.5)", r"setseed\(\) is not allowed"),
    ("SELECT sleep_ms(60000)", r"sleep_ms\(\) is not allowed"),
    ("SELECT current_query()", r"current_query\(\) is not allowed"),
    ("SELECT a_function_of_tomorrow(duration_ps) FROM steps", r"a_function_of_tomorrow\(\) is not allowed"),
    ("SELECT summ(duration_ps) FROM steps", r"summ\(\) is not allowed. Did you mean sum\(\)\?"),
    ("SELECT * FROM duckdb_settings()", r"duckdb_settings\(\) is not allowed"),
    ("SELECT sql FROM duckdb_views()", r"duckdb_views\(\) is not allowed"),
    ("SELECT * FROM duckdb_secrets()", r"duckdb_secrets\(\) is not allowed"),
    ("SELECT view_definition FROM information_schema.views", r"no table 'information_schema.views'"),
    ("SELECT * FROM pg_catalog.pg_views", r"no table 'pg_catalog.pg_views'"),
    ("SELECT * FROM sqlite_master", r"no table 'sqlite_master'"),
    ("SHOW DATABASES", "SHOW databases is not allowed"),
    ("EXPLAIN ANALYZE SELECT 1", "EXPLAIN is not allowed"),
    ("CREATE SECRET (TYPE s3)", "CREATE statements are not allowed"),
    # Statements within others, and several.
    ("SELECT * FROM query('SELECT 1')", r"query\(\) is not allowed"),
    ("SELECT * FROM query_table('steps')", r"query_table\(\) is not allowed"),
    ("SELECT * FROM json_execute_serialized_sql('{}')", r"json_execute_serialized_sql\(\) is not allowed"),
    ("SELECT 1; SELECT 2", "2 statements"),
    ("", "no statement"),
    ("WITH x AS (INSERT INTO steps VALUES (1)) SELECT 1", "INSERT QUERY is not allowed|needs a SELECT"),
    ("PREPARE p AS SELECT 1", "PREPARE statements are not allowed"),
    ("EXECUTE p", "EXECUTE statements are not allowed"),
    # Changes.
    ("CREATE TABLE x (a INT)", "CREATE statements are not allowed"),
    ("CREATE MACRO f() AS 1", "CREATE statements are not allowed"),
    ("DROP VIEW steps", "DROP statements are not allowed"),
    ("INSERT INTO steps VALUES (1)", "INSERT statements are not allowed"),
    ("DELETE FROM steps", "DELETE statements are not allowed"),
    ("UPDATE steps SET number = 1", "UPDATE statements are not allowed"),
    ("BEGIN", "TRANSACTION statements are not allowed"),
    ("CHECKPOINT", "statements are not allowed"),
    ("VACUUM", "VACUUM statements are not allowed"),
    # Shapes that would take the parser or the program down.
    (f"SELECT {', '.join(['1'] * 1_000_000)}", "characters; the most are 100,000"),
    (f"SELECT {', '.join(['1'] * 30_000)}", "30,000 columns; the most are 1,000"),
    (f"SELECT {'(' * 40_000}1{')' * 40_000}", "nested too deeply"),
    (f"SELECT {'- ' * 40_000}1", "nested too deeply"),
    ("SELECT '\0'", "NUL character"),
    ("SELECT '\ud800'", "half of a surrogate pair"),
    ("PIVOT steps ON name USING count(*)", "PIVOT needs the values|2 statements"),
)
"""Statements, and what the error says."""

STOPPED: tuple[tuple[str, str], ...] = (
    ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t", LIMIT),
    ("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", LIMIT),
    ("SELECT count(DISTINCT hash(range)) FROM range(100000000000)", LIMIT),
    ("SELECT list(repeat('x', 1000000)) FROM range(100000)", LIMIT),
    ("SELECT string_agg(repeat('x', 1000), '') FROM range(100000000)", LIMIT),
    ("SELECT a.range || repeat('x', 1000) AS t FROM range(10000) a, range(10000) b ORDER BY 1", LIMIT),
    ("SELECT repeat('x', 4000000000)", LIMIT),
    ("SELECT repeat('x', 1000000) FROM range(10000)", LIMIT),
    ("SELECT range(2000000000)", LIMIT),
    ("SELECT count(*) FROM range(99999) a, range(999999999999) b WHERE a.range || '' = b.range || '7'", LIMIT),
)
"""Statements that take endless time or memory, and what the error says when it is stopped."""
