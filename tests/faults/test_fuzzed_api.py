"""Thousands of cases generated from the OpenAPI document, valid and invalid: none does any harm."""

import asyncio
from typing import Any

import hypothesis
import pytest
import requests
from schemathesis import GenerationMode, openapi
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

import contract
from tests.faults.plugin import Plugin

pytestmark = pytest.mark.anyio

ANSWER_SECONDS = 60.0
GROWTH = 16 * 2**20
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


@pytest.mark.parametrize(
    "cases", [140, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]
)
async def test_generated_requests_do_no_harm(tcp_plugin: Plugin, cases: int) -> None:
    fuzzer = Fuzzer(tcp_plugin.address)
    await asyncio.to_thread(fuzzer.send_cases, cases // 10)
    before = tcp_plugin.memory
    await asyncio.to_thread(fuzzer.send_cases, cases)
    assert fuzzer.sent >= cases
    assert tcp_plugin.memory - before < GROWTH
    assert tcp_plugin.alarms == []
    await tcp_plugin.ready()


class Fuzzer:
    """Generates cases from the document, sends them and checks the answers."""

    def __init__(self, address: str) -> None:
        self.sent = 0
        self._address = address
        self._session = requests.Session()
        schema = openapi.from_dict(contract.openapi())
        found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
        # Health has no input that could be wrong; it is requested at the end.
        self._strategies = [
            operation.as_strategy(generation_mode=mode)
            for operation in found
            if operation.method != "get"
            for mode in GenerationMode
        ]

    def send_cases(self, cases: int) -> None:
        """Send this many cases over all operations, valid and invalid."""
        settings = hypothesis.settings(
            max_examples=-(-cases // len(self._strategies)),
            database=None,
            deadline=None,
            derandomize=False,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        with self._session:
            for strategy in self._strategies:
                settings(hypothesis.given(strategy)(self._send))()

    def _send(self, case: Any) -> None:
        self.sent += 1
        answer = case.call(base_url=self._address, session=self._session, timeout=ANSWER_SECONDS)
        case.validate_response(answer, checks=CHECKS)
