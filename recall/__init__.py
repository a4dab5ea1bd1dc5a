"""Memory for any chat client: proxy, extraction, injection, MCP tools, dashboard."""
