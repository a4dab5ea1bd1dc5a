"""Thousands of cases made from the OpenAPI document, valid and not: no harm comes of any."""

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
from tests.faults.plugin import Plugin, http

pytestmark = pytest.mark.anyio

ANSWER_SECONDS = 15.0
GROWTH = 16 * 2**20
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


@pytest.mark.parametrize(
    "cases", [280, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
async def test_generated_requests_do_no_harm(tcp_plugin: Plugin, cases: int) -> None:
    await asyncio.to_thread(fuzz, tcp_plugin.address, cases // 4)
    before = tcp_plugin.memory
    sent = await asyncio.to_thread(fuzz, tcp_plugin.address, cases)
    assert sent >= cases
    assert tcp_plugin.memory - before < GROWTH
    assert tcp_plugin.alarms == []
    async with http(tcp_plugin.address) as client:
        assert (await client.get("/v1/health")).status_code == 200


def fuzz(address: str, cases: int) -> int:
    """Send at least so many cases, spread over all operations; returns how many were sent."""
    schema = openapi.from_dict(contract.openapi())
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    # Health takes nothing that could be wrong; it is asked at the end.
    strategies = [
        operation.as_strategy(generation_mode=mode)
        for operation in found
        if operation.method != "get"
        for mode in GenerationMode
    ]
    sent = 0
    with requests.Session() as session:

        def send(case: Any) -> None:
            nonlocal sent
            sent += 1
            answer = case.call(base_url=address, session=session, timeout=ANSWER_SECONDS)
            case.validate_response(answer, checks=CHECKS)

        settings = hypothesis.settings(
            max_examples=-(-cases // len(strategies)),
            database=None,
            deadline=None,
            derandomize=False,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        while sent < cases:
            for strategy in strategies:
                settings(hypothesis.given(strategy)(send))()
    return sent
