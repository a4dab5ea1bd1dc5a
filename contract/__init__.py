"""The memory plugin contract, version 1: wire types, errors, the OpenAPI document, a client.

Code that calls a memory plugin, or implements one, imports from here and not from the submodules.
"""

from contract.address import Address
from contract.batch import (
    MAX_WRITES,
    BatchFailure,
    BatchRequest,
    BatchResponse,
    BatchWrite,
    parse_writes,
)
from contract.breaker import Breaker
from contract.client import MemoryClient
from contract.counting import MAX_GROUPS, CountGroup, CountRequest, CountResponse
from contract.document import openapi
from contract.envelope import Error
from contract.errors import (
    BadRequest,
    BreakerOpen,
    ContractViolation,
    ErrorCode,
    Forbidden,
    MemoryPluginError,
    NotFound,
    NotSupported,
    Timeout,
    Unavailable,
)
from contract.filter import (
    MAX_FIELD_NAME,
    MAX_FILTER_TEXT,
    MAX_PAIRS,
    FieldName,
    FilterValue,
    Where,
)
from contract.health import (
    CAPABILITIES,
    CONTRACT_VERSION,
    EXTENSIONS,
    DegradedHealth,
    HealthResponse,
)
from contract.listing import DEFAULT_PAGE, MAX_PAGE, ListRequest, ListResponse, MemoryDigest
from contract.memory import ForgetRequest, Memory, MemoryWrite, MemoryWriteResponse
from contract.model import WireModel, explain, faults, parse, parse_value
from contract.namespace import Namespace, NamespacePatch, NamespaceUpsert
from contract.negotiation import CAPABILITY_OF, LeftOut, extension_of, understood
from contract.scalars import (
    NAMESPACE_PATTERN,
    Capability,
    Extension,
    JsonObject,
    MemoryId,
    MemoryKind,
    MemorySource,
    NamespaceKind,
    NamespaceName,
    format_time,
    parse_time,
)
from contract.search import DEFAULT_LIMIT, MAX_LIMIT, SearchRequest, SearchResponse
from contract.wire import read_answer

__all__ = [
    "CAPABILITIES",
    "CAPABILITY_OF",
    "CONTRACT_VERSION",
    "DEFAULT_LIMIT",
    "DEFAULT_PAGE",
    "EXTENSIONS",
    "MAX_FIELD_NAME",
    "MAX_FILTER_TEXT",
    "MAX_GROUPS",
    "MAX_LIMIT",
    "MAX_PAGE",
    "MAX_PAIRS",
    "MAX_WRITES",
    "NAMESPACE_PATTERN",
    "Address",
    "BadRequest",
    "BatchFailure",
    "BatchRequest",
    "BatchResponse",
    "BatchWrite",
    "Breaker",
    "BreakerOpen",
    "Capability",
    "ContractViolation",
    "CountGroup",
    "CountRequest",
    "CountResponse",
    "DegradedHealth",
    "Error",
    "ErrorCode",
    "Extension",
    "FieldName",
    "FilterValue",
    "Forbidden",
    "ForgetRequest",
    "HealthResponse",
    "JsonObject",
    "LeftOut",
    "ListRequest",
    "ListResponse",
    "Memory",
    "MemoryClient",
    "MemoryDigest",
    "MemoryId",
    "MemoryKind",
    "MemoryPluginError",
    "MemorySource",
    "MemoryWrite",
    "MemoryWriteResponse",
    "Namespace",
    "NamespaceKind",
    "NamespaceName",
    "NamespacePatch",
    "NamespaceUpsert",
    "NotFound",
    "NotSupported",
    "SearchRequest",
    "SearchResponse",
    "Timeout",
    "Unavailable",
    "Where",
    "WireModel",
    "explain",
    "extension_of",
    "faults",
    "format_time",
    "openapi",
    "parse",
    "parse_time",
    "parse_value",
    "parse_writes",
    "read_answer",
    "understood",
]
