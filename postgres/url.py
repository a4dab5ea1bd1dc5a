"""PostgreSQL URLs as people have them, with parameters of other clients.

Our driver passes every parameter that it does not know on to the server, which refuses it.
"""

# Of libpq, lib/pq and pgx; each concerns only the client that reads it.
_OF_OTHER_CLIENTS = frozenset(
    {
        "binary_parameters",
        "connect_timeout",
        "default_query_exec_mode",
        "description_cache_capacity",
        "fallback_application_name",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "sslcompression",
        "sslsni",
        "statement_cache_capacity",
        "statement_cache_mode",
        "tcp_user_timeout",
    }
)
_OF_OTHER_POOLS = "pool_"
# Protection that our driver does not have; it can do without unless the URL requires it.
_UNLESS_REQUIRED = frozenset({"channel_binding", "gssencmode"})


def for_driver(url: str) -> str:
    """The URL without parameters that only other clients understand."""
    address, mark, query = url.partition("?")
    kept = [pair for pair in query.split("&") if _is_known(*pair.partition("=")[::2])]
    return address + mark + "&".join(kept)


def _is_known(name: str, value: str) -> bool:
    if name in _UNLESS_REQUIRED:
        return value == "require"
    return name not in _OF_OTHER_CLIENTS and not name.startswith(_OF_OTHER_POOLS)
