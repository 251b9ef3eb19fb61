"""What a client of the official SDK, 1 or 2, or of FastMCP sees of a server.

Usage: facts.py mcp1|mcp2|fastmcp legacy|auto URL
Prints one line of JSON; tests/interop/languages_suite.ts compares it.
"""

import contextlib
import json
import secrets
import sys

import anyio

LANGUAGE, MODE, URL = sys.argv[1:]


@contextlib.asynccontextmanager
async def connect_mcp1(fill):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client
    from mcp.types import ElicitResult

    async def answer(_context, _params):
        return ElicitResult(action="accept", content=fill)

    async with streamablehttp_client(URL) as (read, write, _):
        async with ClientSession(
            read, write, elicitation_callback=answer
        ) as session:
            opened = await session.initialize()
            session.revision = opened.protocolVersion
            yield session


@contextlib.asynccontextmanager
async def connect_mcp2(fill):
    from mcp import Client
    from mcp.types import ElicitResult

    async def answer(_context, _params):
        return ElicitResult(action="accept", content=fill)

    async with Client(URL, mode=MODE, elicitation_callback=answer) as client:
        client.revision = client.protocol_version
        yield client


@contextlib.asynccontextmanager
async def connect_fastmcp(fill):
    from fastmcp import Client
    from fastmcp.client.elicitation import ElicitResult

    async def answer(_message, _type, _params, _context):
        return ElicitResult(action="accept", content=fill)

    async with Client(URL, elicitation_handler=answer) as client:
        client.revision = client.session.protocol_version
        yield client


CONNECT = {
    "mcp1": connect_mcp1,
    "mcp2": connect_mcp2,
    "fastmcp": connect_fastmcp,
}[LANGUAGE]


def items(listed, member):
    """FastMCP gives the list itself, the SDK a page of it."""
    return listed if isinstance(listed, list) else getattr(listed, member)


async def cancel_a_call(client, text_of):
    """Leaves a call that never ends, and waits until the server knows."""
    key = {"key": secrets.token_hex()}
    with anyio.move_on_after(0.5):
        await client.call_tool("wait", key)
    if LANGUAGE == "mcp1":
        # Version 1 tells no one that it has left.
        from mcp import types

        notification = types.CancelledNotification(
            params=types.CancelledNotificationParams(
                requestId=client._request_id - 1
            )
        )
        await client.send_notification(types.ClientNotification(notification))
    with anyio.fail_after(20):
        while await text_of("cancelled", key) != "true":
            await anyio.sleep(0.05)


async def main():
    # `age` is optional; FastMCP's own forms send null for it.
    async with CONNECT({"name": "Ada", "age": None}) as client:

        async def text_of(name, arguments=None, **more):
            result = await client.call_tool(name, arguments, **more)
            return result.content[0].text

        steps = []

        async def on_progress(progress, _total, _message):
            steps.append(progress)

        handler = (
            "progress_handler" if LANGUAGE == "fastmcp" else "progress_callback"
        )
        tools = items(await client.list_tools(), "tools")
        templates = await client.list_resource_templates()
        templates = items(
            templates,
            "resourceTemplates"
            if LANGUAGE == "mcp1"
            else "resource_templates",
        )
        prompts = items(await client.list_prompts(), "prompts")
        note = items(await client.read_resource("notes://7"), "contents")
        explained = await client.get_prompt("explain", {"topic": "tides"})
        facts = {
            "tools": [tool.name for tool in tools],
            "templates": [template.name for template in templates],
            "prompts": [prompt.name for prompt in prompts],
            "greet": await text_of("greet", {"name": "Ada"}),
            "bare": await text_of("bare"),
            "note": note[0].text,
            "explain": explained.messages[0].content.text,
            "fill": await text_of("fill"),
            "count": await text_of("count", {}, **{handler: on_progress}),
            "steps": steps,
            "large": len(await text_of("large")),
        }
        await cancel_a_call(client, text_of)
        facts["cancelled"] = True
        facts["revision"] = client.revision
        if client.revision != "2026-07-28":
            facts["late"] = len(await text_of("late"))
    print(json.dumps(facts))


anyio.run(main)
