"""Parameters: read by type, complaints name the parameter."""

from types import SimpleNamespace

import pytest

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.tool import Tool

COUNT = Param("count", "int", 7, "How many.", minimum=1, maximum=100)
START = Param("start_time_ms", "float", None, "From when.")
DEEP = Param("deep", "bool", False, "Whether.")
GROUP = Param("group_by", "string", "program", "How.", choices=("program", "category"))
TEXT = Param("query", "string", None, "What.")


@pytest.mark.parametrize(
    ("param", "text", "value"),
    [
        (COUNT, None, 7),
        (COUNT, "", 7),
        (COUNT, "1", 1),
        (COUNT, "100", 100),
        (START, None, None),
        (START, "", None),
        (START, "1.5", 1.5),
        (START, "-2", -2.0),
        (START, "1e3", 1000.0),
        (DEEP, None, False),
        (DEEP, "true", True),
        (DEEP, "TRUE", True),
        (DEEP, "True", True),
        (DEEP, "1", False),
        (DEEP, "yes", False),
        (DEEP, "false", False),
        (DEEP, "", False),
        (GROUP, None, "program"),
        (GROUP, "category", "category"),
        (TEXT, None, None),
        (TEXT, " a,b ", " a,b "),
    ],
)
def test_values(param, text, value):
    read = param.parse(text)
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("param", "text", "words"),
    [
        (COUNT, "x", "a whole number"),
        (COUNT, "1.5", "a whole number"),
        (COUNT, "0", "at least 1"),
        (COUNT, "101", "at most 100"),
        (START, "abc", "a number"),
        (START, "nan", "a finite number"),
        (START, "inf", "a finite number"),
        (START, "1e999", "a finite number"),
        (COUNT, "9" * 400, "a number of 64 bits"),
        (GROUP, "x", "one of program, category"),
    ],
)
def test_complaints(param, text, words):
    with pytest.raises(BadRequest) as caught:
        param.parse(text)
    assert caught.value.message == f"Parameter {param.name!r} must be {words}, not {text[:80]!r}."
    assert caught.value.details == {"parameter": param.name, "value": text[:80]}


def test_long_values_are_cut_in_the_complaint():
    with pytest.raises(BadRequest) as caught:
        COUNT.parse("9x" * 1000)
    assert len(caught.value.message) < 200


def test_description():
    assert GROUP.describe() == {
        "name": "group_by",
        "type": "string",
        "default": "program",
        "sentence": "How.",
        "choices": ["program", "category"],
    }
    assert "choices" not in COUNT.describe()


def test_numbers_of_64_bits():
    number = Param("number", "int", 0, "Which.")
    assert [number.parse(str(one)) for one in (2**63 - 1, 1 - 2**63)] == [2**63 - 1, 1 - 2**63]
    for one in (2**63, -(2**63)):
        with pytest.raises(BadRequest, match="64 bits"):
            number.parse(str(one))


class Made(Document):
    """What a tool makes."""


@pytest.mark.parametrize(
    ("returned", "document"),
    [
        (Made, Made),
        (str | Made, Made),
        (Document, None),
        (Document | Made, Made),
        (tuple[str, int], None),
        (None, None),
    ],
)
def test_the_documents_of_a_tool_are_told_by_what_it_builds(returned, document):
    def build():
        """Nothing."""

    build.__annotations__["return"] = returned
    assert Tool.document.fget(SimpleNamespace(build=build)) is document
