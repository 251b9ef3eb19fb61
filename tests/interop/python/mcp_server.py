"""An MCP server with OAuth, whose tools tell whose token they were called with."""
import hashlib, sys
from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.dependencies import get_access_token
from mcp.server.auth.settings import ClientRegistrationOptions
port = int(sys.argv[1])
auth = InMemoryOAuthProvider(
    base_url=f"http://127.0.0.1:{port}",
    client_registration_options=ClientRegistrationOptions(enabled=True),
)
mcp = FastMCP("Python", auth=auth)
@mcp.tool
def whose() -> str:
    """Names the token."""
    return hashlib.sha256(get_access_token().token.encode()).hexdigest()
mcp.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
