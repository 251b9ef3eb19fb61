/**
 * Two people at once whose tool calls three other MCP servers as them: the
 * reference server, one of FastMCP with its own sign-in, and one of ours behind
 * a provider. No token of one reaches the other, nor the wrong host.
 */
import assert from "node:assert/strict";
import { mcpServer, tool } from "../../src/mod.ts";
import { sha256Hex } from "../../src/core/crypto/crypto.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { resultOf } from "../kit/answer.ts";
import {
  type Call,
  clientOf,
  connect,
  startConnected,
} from "../kit/connected.ts";
import { devServer } from "../kit/dev_server.ts";
import type { Json } from "../kit/message.ts";
import { freePort } from "../kit/port.ts";
import { Process } from "../kit/process.ts";
import { BASE_URL } from "../kit/server.ts";
import type { OAuthServer } from "../kit/sign_in.ts";
import { until } from "../kit/wait.ts";
import { has, pythonScript, pythonWith } from "./languages.ts";

const FASTMCP = "fastmcp==4.2.3";
const EVERYTHING = "npm:@modelcontextprotocol/server-everything@2026.8.31";

/** Hears every request of this process with a credential, by its origin. */
class Hearing implements Disposable {
  readonly tokens = new Map<string, Set<string>>();
  readonly #fetch = globalThis.fetch;

  constructor() {
    globalThis.fetch = (input, init) => {
      const request = new Request(input, init);
      const { origin } = new URL(request.url);
      const heard = this.tokens.get(origin) ?? new Set();
      this.tokens.set(origin, heard);
      const token = /^Bearer (.*)$/.exec(
        request.headers.get("authorization") ?? "",
      )?.[1];
      if (token) heard.add(token);
      return this.#fetch(request);
    };
  }

  [Symbol.dispose](): void {
    globalThis.fetch = this.#fetch;
  }
}

/** Waits until a server answers. */
async function answering(origin: string): Promise<void> {
  await until(async () => {
    const response = await fetch(`${origin}/mcp`).catch(() => undefined);
    await response?.body?.cancel();
    return response !== undefined;
  });
}

/** Connects a person's accounts at all three. */
async function connectAll(
  server: OAuthServer,
  as: string,
  issuers: readonly string[],
): Promise<void> {
  const visitor = await AccountVisitor.signIn(server, { as, issuers });
  const open = async (name: string) => {
    visitor.page = await visitor.browser.open(`${BASE_URL}/connect/${name}`);
  };
  await open("everything");
  await connect(visitor, `key-of-${as}`);
  await open("python");
  await visitor.press("/connect/python", { answer: "connect" });
  await visitor.press("/connect/python", { answer: "connect" });
  assert.match(visitor.words, /is connected/);
  await open("ours");
  await visitor.press("/connect/ours", { answer: "connect" });
  const { browser } = visitor;
  const consent = visitor.page;
  const named = await browser.press(consent, "decision", "approve");
  visitor.page = await browser.press(named, "name", `Person ${as}`);
  await visitor.press("/connect/ours", { answer: "connect" });
  assert.match(visitor.words, /is connected/);
}

Deno.test({
  name: "two people at once call three other MCP servers, each as themselves",
  ignore: !await has("python3", "--version"),
  async fn() {
    const [reference, python] = [freePort(), freePort()];
    await using _everything = new Process(
      ["run", "--allow-all", "--no-config", EVERYTHING, "streamableHttp"],
      { env: { PORT: `${reference}` } },
    );
    await using _python = new Process(
      [pythonScript("mcp_server.py"), `${python}`],
      { command: await pythonWith(FASTMCP) },
    );
    await using ours = await devServer([
      tool({
        name: "whose",
        run: (_input, { caller }) => caller.identity?.name ?? "no one",
      }),
    ]);
    const at = {
      everything: `http://localhost:${reference}`,
      python: `http://127.0.0.1:${python}`,
      ours: ours.url,
    };
    await answering(at.everything);
    await answering(at.python);
    const needs = {
      everything: mcpServer("everything", {
        url: `${at.everything}/mcp`,
        key: {},
      }),
      python: mcpServer("python", { url: `${at.python}/mcp` }),
      ours: mcpServer("ours", { url: `${at.ours}/mcp` }),
    };
    const all = tool({
      name: "all",
      needs,
      async run(_input, { needs, caller }) {
        const results = await Promise.all([
          needs.everything.call("echo", { message: caller.subject }),
          needs.python.call("whose"),
          needs.ours.call("whose"),
        ]);
        return results.map(({ content: [it] }) => it.type === "text" && it.text)
          .join("\n");
      },
    });
    using hearing = new Hearing();
    await using server = await startConnected(needs.everything, {
      tools: [all],
    });
    const people = ["42", "43"];
    const calls: Call[] = [];
    for (const as of people) {
      calls.push(await clientOf(server, "2026", { as }));
      await connectAll(server, as, [at.python, at.ours]);
    }
    const seen = new Map<string, Set<string>>();
    await Promise.all(
      Array.from({ length: 10 }, async (_, nth) => {
        const as = people[nth % 2];
        const { content }: Json = await resultOf(calls[nth % 2]("all"));
        const [echoed, token, name] = content[0].text.split("\n");
        assert.match(echoed, new RegExp(`:${as}$`));
        assert.equal(name, `Person ${as}`);
        seen.set(as, (seen.get(as) ?? new Set()).add(token));
      }),
    );
    // FastMCP tells the token of each call: one a person, and not the other's.
    const [ada, bob] = people.map((as) => [...seen.get(as)!]);
    assert.deepEqual([ada.length, bob.length], [1, 1]);
    assert.notEqual(ada[0], bob[0]);
    const heard = (origin: string) => [...hearing.tokens.get(origin)!];
    const sums = heard(at.python).map((token) =>
      sha256Hex(new TextEncoder().encode(token))
    );
    assert.deepEqual(sums.sort(), [ada[0], bob[0]].sort());
    assert.deepEqual(heard(at.everything).sort(), ["key-of-42", "key-of-43"]);
    assert.equal(heard(at.ours).length, 2);
    // Nothing with a credential went anywhere else.
    const everyone = Object.values(at);
    for (const [origin, tokens] of hearing.tokens) {
      if (!everyone.includes(origin)) assert.equal(tokens.size, 0, origin);
    }
    const tokens = everyone.flatMap(heard);
    assert.equal(new Set(tokens).size, tokens.length);
  },
});
