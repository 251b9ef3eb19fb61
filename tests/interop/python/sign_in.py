"""How a client of the official SDK, 1 or 2, or of FastMCP signs in and steps up.

Usage: sign_in.py mcp1|mcp2|fastmcp legacy|auto URL
Prints "AUTHORIZE " and an address for each sign-in, and reads from standard
input where the browser arrived; then one line of JSON.
"""

import json
import sys
import webbrowser
from threading import Thread
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import anyio
from client import Storage, ask, facts_of
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

LANGUAGE, MODE, URL = sys.argv[1:]
arrivals = []


async def send_to_browser(address):
    arrivals.append(await ask(address))


async def arrive():
    query = {
        name: values[0]
        for name, values in parse_qs(urlsplit(arrivals[-1]).query).items()
    }
    if LANGUAGE == "mcp1":
        return query["code"], query["state"]
    from mcp.client.auth import AuthorizationCodeResult

    return AuthorizationCodeResult(
        code=query["code"], state=query["state"], iss=query.get("iss")
    )


PROVIDER = OAuthClientProvider(
    server_url=URL,
    client_metadata=OAuthClientMetadata(
        client_name="interop",
        redirect_uris=["http://127.0.0.1:1/callback"],
    ),
    storage=Storage(),
    redirect_handler=send_to_browser,
    callback_handler=arrive,
)


async def run_mcp1():
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(URL, auth=PROVIDER) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            return await facts_of(session)


async def run_mcp2():
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(auth=PROVIDER, timeout=60) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=MODE) as client:
            return await facts_of(client)


def visit(address):
    """What a browser does, in a thread of its own: FastMCP listens meanwhile."""
    arrivals.append(anyio.run(ask, address))
    while True:
        try:
            return urlopen(arrivals[-1]).close()
        except URLError as error:
            # Its listener may be on the way still.
            if not isinstance(error.reason, ConnectionRefusedError):
                raise


async def run_fastmcp():
    from fastmcp import Client

    webbrowser.open = lambda address: Thread(
        target=visit, args=[address], daemon=True
    ).start()
    async with Client(URL, auth="oauth") as client:
        return await facts_of(client)


RUNS = {"mcp1": run_mcp1, "mcp2": run_mcp2, "fastmcp": run_fastmcp}


async def main():
    facts = await RUNS[LANGUAGE]()
    print(json.dumps({**facts, "visits": len(arrivals)}))


anyio.run(main)
