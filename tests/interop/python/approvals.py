"""How a client of the official SDK 2 gets a call approved.

Usage: approvals.py text|url MODE URL TOKEN
For the page of the approval it prints "AUTHORIZE " and the link, and reads a
line once the person has pressed; then one line of JSON.
"""

import json
import re
import sys

import anyio
import httpx2
from client import ask
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

WAY, MODE, URL, TOKEN = sys.argv[1:]
MODES = []


async def on_ask(_context, params):
    MODES.append(params.mode)
    if len(MODES) == 1:
        await ask(params.url)
    return ElicitResult(action="accept")


async def main():
    headers = {"authorization": f"Bearer {TOKEN}"}
    asking = {"elicitation_callback": on_ask} if WAY == "url" else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=MODE, **asking) as client:
            result = await client.call_tool("wipe", {})
            if WAY == "text":
                text = result.content[0].text
                await ask(re.search(r"http\S*/approve/\S*", text)[0])
                result = await client.call_tool("wipe", {})
            text = result.content[0].text
            print(json.dumps({"text": text, "modes": MODES}))


anyio.run(main)
