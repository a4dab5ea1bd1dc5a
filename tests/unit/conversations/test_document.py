"""The OpenAPI document and the endpoints are the same, both ways."""

import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from conversations import access, drafts, fields, recorder, responses, search
from conversations.calls import Endpoint
from conversations.document import openapi
from conversations.endpoints import Services, endpoints
from conversations.settings import Settings
from serving.settings import settings_of
from tests.unit.docs.pages import page

SCHEMAS: dict[str, Any] = openapi()["components"]["schemas"]
METHODS = ("get", "post", "patch", "delete")


def served() -> dict[tuple[str, str], Endpoint]:
    nothing: Any = None  # what answers is not asked
    finder = search.Search(nothing, nothing, nothing)
    everything = endpoints(Services.on(nothing, nothing, nothing, finder, nothing, None))
    return {(endpoint.method.lower(), endpoint.path): endpoint for endpoint in everything}


def documented() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method, path): operation
        for path, item in openapi()["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def test_the_document_is_valid() -> None:
    validate(openapi())


def test_every_endpoint_is_documented_and_every_documented_one_is_served() -> None:
    assert documented().keys() - served().keys() == {("get", "/v1/health")}
    assert served().keys() <= documented().keys()


@pytest.mark.parametrize("place", sorted(documented()), ids="".join)
def test_who_may_call_is_documented(place: tuple[str, str]) -> None:
    operation = documented()[place]
    path = place[1]
    if path == "/v1/health":
        assert operation["security"] == []
    elif path.startswith("/v1/agent/"):
        assert operation["security"] == [{"agentKey": []}, {"agentKey": [], "bearer": []}]
    else:
        assert operation["security"] == [{"bearer": []}]
    endpoint = served().get(place)
    if endpoint is not None and endpoint.least is not None and "/agent/" not in path:
        word = re.search(r"\((\w+)\)", operation["summary"])
        assert word, "the summary names the least level"
        # Members may remove themselves, whatever their level.
        expected = "manager" if operation["operationId"] == "removeMembership" else None
        assert word[1] == (expected or endpoint.least.word)


def test_path_variables_are_parameters() -> None:
    for path, item in openapi()["paths"].items():
        given = [
            openapi()["components"]["parameters"][one["$ref"].rpartition("/")[2]]
            if "$ref" in one
            else one
            for one in item.get("parameters", [])
        ]
        assert {one["name"] for one in given} == set(re.findall(r"{(\w+)}", path))


def test_limits_and_choices_are_those_of_the_code() -> None:
    assert SCHEMAS["Role"]["enum"] == list(drafts.ROLES)
    assert SCHEMAS["Visibility"]["enum"] == list(drafts.VISIBILITIES)
    assert SCHEMAS["Channel"]["enum"] == list(drafts.CHANNELS)
    assert SCHEMAS["AccessLevel"]["enum"] == [level.word for level in access.Level]
    grantable = SCHEMAS["ShareConversationRequest"]["properties"]["accessLevel"]["enum"]
    assert grantable == list(access.GRANTABLE)
    assert SCHEMAS["Title"]["maxLength"] == fields.MAX_TITLE
    assert SCHEMAS["UserId"]["maxLength"] == fields.MAX_USER_ID
    assert SCHEMAS["Content"]["oneOf"][1]["maxItems"] == fields.MAX_PARTS
    many = SCHEMAS["CreateAgentMessagesRequest"]["properties"]["messages"]
    assert many["maxItems"] == drafts.MAX_MESSAGES
    asked = SCHEMAS["SearchMessagesRequest"]["properties"]
    assert asked["query"]["maxLength"] == search.MAX_QUERY
    assert asked["topK"]["maximum"] == search.MAX_RESULTS
    assert asked["conversationIds"]["maxItems"] == search.MAX_CONVERSATIONS
    recorded = SCHEMAS["RecordRequest"]["properties"]
    assert recorded["content"]["maxLength"] == recorder.MAX_RECORDING
    checked = SCHEMAS["ResumeCheckRequest"]["properties"]["conversationIds"]
    assert checked["maxItems"] == responses.MAX_CHECKED


def test_every_schema_is_used() -> None:
    text = str(openapi())
    for name in SCHEMAS:
        assert f"'#/components/schemas/{name}'" in text, name


def test_the_settings_on_the_page_are_those_of_the_code() -> None:
    rows = [
        [
            f"`{setting.flag}`",
            f"`{setting.env}`",
            "" if setting.default in (None, False) else f"`{_shown(setting.default)}`",
            setting.meaning,
        ]
        for setting in settings_of(Settings)
    ]
    head = ("Flag", "Environment", "Default", "Meaning")
    assert page("docs/memory-conversations/operating.md").table(*head).rows == rows


def _shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)


def test_the_endpoints_on_the_page_are_those_of_the_document() -> None:
    table = page("docs/memory-conversations/README.md").table("Endpoint", "Least level", "Success")
    shown = {tuple(cell.strip("`").split(" ")) for cell in table.column("Endpoint")}
    assert shown == {(method.upper(), path) for method, path in documented()}
