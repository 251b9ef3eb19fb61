"""What the clients that sign in have in common."""

import sys

import anyio


class Storage:
    """Tokens and the registration, in memory."""

    tokens = None
    client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


async def ask(question):
    """Prints a question to the test, and gives the line it answers."""
    print("AUTHORIZE", question, flush=True)
    line = await anyio.to_thread.run_sync(sys.stdin.readline)
    return line.strip()


async def facts_of(client):
    facts = {}
    for name in ["open", "guarded"]:
        result = await client.call_tool(name, {})
        facts[name] = result.content[0].text
    return facts
