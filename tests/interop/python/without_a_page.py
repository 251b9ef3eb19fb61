"""How a client of the official SDK 2 calls where no one opens a browser.

Usage: without_a_page.py machine|assertion|token MODE URL CREDENTIAL
The credential is the client's secret, or an access token. For each assertion
that is needed it prints "AUTHORIZE " and the audience, and reads the assertion
from standard input; then one line of JSON.
"""

import json
import sys
from urllib.parse import urlsplit

import anyio
import httpx2
from client import Storage, ask, facts_of
from mcp import Client
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
)
from mcp.client.auth.extensions.identity_assertion import (
    IdentityAssertionOAuthProvider,
)
from mcp.client.streamable_http import streamable_http_client

WAY, MODE, URL, CREDENTIAL = sys.argv[1:]
ISSUER = "{0.scheme}://{0.netloc}".format(urlsplit(URL))


async def assertion(audience, resource):
    return await ask(audience)


def http_client():
    if WAY == "token":
        headers = {"authorization": f"Bearer {CREDENTIAL}"}
        return httpx2.AsyncClient(headers=headers, timeout=60)
    known = {
        "server_url": URL,
        "storage": Storage(),
        "client_id": WAY,
        "client_secret": CREDENTIAL,
        "issuer": ISSUER,
    }
    provider = (
        ClientCredentialsOAuthProvider(**known)
        if WAY == "machine"
        else IdentityAssertionOAuthProvider(
            **known, assertion_provider=assertion
        )
    )
    return httpx2.AsyncClient(auth=provider, timeout=60)


async def main():
    async with http_client() as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=MODE) as client:
            print(json.dumps(await facts_of(client)))


anyio.run(main)
