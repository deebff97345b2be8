"""Tables as CSV, which has the values of the DataTable JSON."""

import csv
import io
import json

import numpy as np
import pytest

from tpu_profile_plugin.tables.datatable import datatable_json
from tpu_profile_plugin.tables.table import Column, Table, csv_text

NAME = Column("name", "Name", "string")
COUNT = Column("count", "Count", "number", "", "How often.")
GOOD = Column("good", "", "boolean")


def test_all_is_quoted_labels_are_the_header_and_empty_cells_empty_fields():
    table = Table((NAME, COUNT, GOOD), [['say "hi", you', None, ""], [400, None, 2.5], [True, None, False]])
    assert csv_text(table) == ('"Name","Count","good"\n"say ""hi"", you","400.0","True"\n"","",""\n"","2.5","False"\n')


def test_the_values_are_those_behind_formatted_texts():
    assert csv_text(Table((COUNT,), [[1536]], formatted={"count": ["1.5K"]})) == '"Count"\n"1536.0"\n'


def test_a_table_without_rows_has_a_header():
    assert csv_text(Table((COUNT, NAME), [[], []])) == '"Count","Name"\n'


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (COUNT, [1, 2**53 + 1, -(2**63)]),
        (COUNT, [0.1, 1e300, 5e-324, -0.0, 1e16, float("nan"), None]),
        (COUNT, np.array([0.1, np.inf], np.float32)),
        (COUNT, np.array([0, 2**64 - 1], np.uint64)),
        (NAME, ["é\t\r\n", None, "", '"', "a\udc80", "\0", " x "]),
        (GOOD, [True, None, False]),
        (COUNT, np.arange(10_000)),
    ],
)
def test_values_are_those_of_the_datatable(column, values):
    table = Table((column,), [values])
    parsed = json.loads(datatable_json(table))
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([column["label"] or column["id"] for column in parsed["cols"]])
    writer.writerows([cell["v"] for cell in row["c"]] for row in parsed["rows"])
    assert csv_text(table) == out.getvalue()
