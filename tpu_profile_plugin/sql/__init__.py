"""SQL over the runs of a logdir: `start(runs, statement) -> Query`, `schema()`, `EXAMPLES`.

    query = sql.start(runs, "SELECT host, count(*) AS n FROM events GROUP BY host")
    query.status()      # Status(state="running", ...)
    query.cancel()
    query.result()      # Result: .table, .to_pandas(), .to_arrow(), .notes

Needs the extra `sql`: DuckDB and pyarrow.
"""

from tpu_profile_plugin.sql.engine import Limits
from tpu_profile_plugin.sql.examples import EXAMPLES, Example
from tpu_profile_plugin.sql.result import Result
from tpu_profile_plugin.sql.running import Query, Status, missing, schema, start

__all__ = ["EXAMPLES", "Example", "Limits", "Query", "Result", "Status", "missing", "schema", "start"]
