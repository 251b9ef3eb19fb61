/**
 * Calls of another MCP server's tool with a person's account there, with a
 * fault at every operation on the database: the server gets each call at most
 * once, and the model is told if it may have been done.
 *
 * @module
 */
import assert from "node:assert/strict";
import { REFRESH_LEASE_SECONDS } from "../../src/core/oauth/lifetimes.ts";
import { MAY_HAVE_SUCCEEDED } from "../../src/core/provider/account_fetch.ts";
import { type Browser, browserOf } from "../kit/browser.ts";
import { type Line, testFaults } from "../kit/faults.ts";
import { SECRETS_KEY } from "../kit/key_service.ts";
import { McpService } from "../kit/mcp_service.ts";
import { through } from "../kit/mcp_through.ts";
import { BASE_URL } from "../kit/server.ts";
import { until } from "../kit/wait.ts";
import { OPTIONS, persistent, read, register, signIn } from "./walks.ts";

/** Connects an account, however often that has to begin anew. */
async function connect(browser: Browser, name: string): Promise<void> {
  const address = `${BASE_URL}/connect/${name}`;
  let page = await persistent(() => browser.open(address));
  for (let tries = 0; !page.text.includes("Connected. "); tries++) {
    assert(tries < 20, page.text);
    const isForm = page.text.includes("<form") && page.status === 200;
    page = isForm
      ? await browser.press(page, "answer", "connect")
      : await browser.open(address);
  }
}

/** Calls until an answer comes, with a new ID each time. */
async function callOnce(line: Line, token: string, service: McpService) {
  const id = crypto.randomUUID();
  const { status, text } = await read(line.call("tools/call", {
    name: "through",
    arguments: { tool: "who", input: { id } },
  }, { headers: { authorization: `Bearer ${token}` } }));
  const sent = service.messages.filter(({ method, params }) =>
    method === "tools/call" && params.arguments.id === id
  );
  assert(sent.length <= 1, `sent ${sent.length} times`);
  assert.doesNotMatch(text, /(access|refresh)-\d/);
  const isDone = status === 200 && text.includes("ada@acme");
  // The answer of a process that has died says nothing.
  if (!isDone && status !== 503 && sent.length > 0) {
    assert(text.includes(MAY_HAVE_SUCCEEDED), text);
  }
  if (sent.length === 0) assert(!text.includes(MAY_HAVE_SUCCEEDED), text);
  return { status, text, isDone, isSent: sent.length > 0 };
}

for (const generation of ["2025", "2026"] as const) {
  const service = new McpService(generation);
  // Shorter than the margin: every use refreshes, with a token that rotates.
  service.lifetime = 1;
  testFaults(
    `a call of an MCP server of ${generation}`,
    {
      ...OPTIONS,
      tools: [through(service.server())],
      env: {
        ...OPTIONS.env,
        SECRETS_KEYS: SECRETS_KEY,
        OAUTH_ACCESS_TOKEN_MINUTES: "1440",
      },
    },
    async (line) => {
      const browser = browserOf(line, { issuers: [service.origin] });
      await connect(browser, service.name);
      const client = await register(line);
      const { access_token } = await signIn(line, client);
      let asked = 0;
      let isForgotten = false;
      const works = async () => {
        const { status, text, isDone, isSent } = await callOnce(
          line,
          access_token,
          service,
        );
        if (isDone) return true;
        if (status === 503) assert(!isSent || line.hasDied, text);
        if (text.includes(`${BASE_URL}/connect/`)) {
          // Only new tokens that died with their process are lost.
          assert(line.hasDied && asked++ < 2, text);
          await connect(browser, service.name);
        } else if (!isForgotten && status !== 503) {
          // The lease of a process that has died is forgotten.
          line.tick(REFRESH_LEASE_SECONDS + 3600);
          isForgotten = true;
        }
        return false;
      };
      await until(works);
      await until(works);
    },
    generation === "2026"
      ? ["refuses", "forgets", "hangs later", "stalls", "dies", "dies later"]
      : ["stalls", "dies later"],
  );
}
