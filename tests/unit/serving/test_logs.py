"""One line of the log."""

import json
import logging
from typing import Any

import pytest

from serving.logs import JsonLines


@pytest.mark.parametrize("value", ["/data/\udcff", 2**70])
def test_a_line_is_written_whatever_its_fields_are(value: Any) -> None:
    record = logging.makeLogRecord({"msg": "listening", "levelname": "INFO", "address": value})
    line = json.loads(JsonLines().format(record))
    assert (line["event"], line["address"]) == ("listening", value)
