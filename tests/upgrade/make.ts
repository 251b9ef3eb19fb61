/**
 * Lets a release write its database: the things that people had open when it
 * was replaced. The next version has to read it.
 *
 *     git worktree add /tmp/release v0.2.0
 *     deno run -A --no-check --config /tmp/release/tests/deno.json \
 *       tests/upgrade/make.ts /tmp/release tests/upgrade/0.2.0.json
 *
 * It runs on the release's own server and test kit. Only their names and the
 * place of `tool()` have to be today's.
 *
 * @module
 */
import type * as Answer from "../kit/answer.ts";
import type * as Browser from "../kit/browser.ts";
import type * as Client from "../kit/client.ts";
import type * as Message from "../kit/message.ts";
import type { HeadersOf, Json } from "../kit/message.ts";
import type * as Server from "../kit/server.ts";
import type * as SignIn from "../kit/sign_in.ts";
import type * as Wait from "../kit/wait.ts";
import { type Leftover, printEntry } from "./leftover.ts";
import { toolsOf } from "./tools.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const ELICITATION = { elicitation: {} };

type Kit =
  & typeof Answer
  & typeof Browser
  & typeof Client
  & typeof Message
  & typeof Server
  & typeof SignIn
  & typeof Wait;

/** The files of {@linkcode Kit}. */
const KIT = [
  "answer",
  "browser",
  "client",
  "message",
  "server",
  "sign_in",
  "wait",
];

/** Imports a module of the release. */
async function load(tree: string, path: string): Promise<Json> {
  return await import(new URL(path, `file://${tree}/`).href);
}

async function make(tree: string): Promise<Leftover> {
  const { tool } = await load(tree, "src/authoring/tool.ts");
  const files = KIT.map((name) => load(tree, `tests/kit/${name}.ts`));
  const kit: Kit = Object.assign({}, ...await Promise.all(files));
  const { version } = JSON.parse(await Deno.readTextFile(`${tree}/deno.json`));
  const tools = toolsOf(tool);
  using kv = await Deno.openKv(":memory:");
  await using server = await kit.startOAuthServer({ kv, tools });
  const { Client, browserOf } = kit;

  const client = await Client.register(server);
  const tokens = await client.connect();
  const exchanged = await client.connect();
  const successor = (await client.refresh(exchanged.refresh_token)).body;
  const code = await client.signIn();
  const headers = { authorization: `Bearer ${tokens.access_token}` };

  /** Opens a session, with a question that is not answered yet. */
  async function open(at: Server.TestServer, headers: HeadersOf) {
    const initialized = await at.post(
      kit.initialize("2025-11-25", ELICITATION),
      headers,
    );
    await initialized.body?.cancel();
    const id = initialized.headers.get("mcp-session-id")!;
    const asking = await at.post(
      kit.rpc("tools/call", { name: "confirm", arguments: {} }),
      { ...headers, "mcp-session-id": id },
    );
    const events = new kit.Events(asking);
    const question: string = (await events.read()).id;
    return { session: { id, question }, close: () => events.close() };
  }

  /** Makes a 2026 call. */
  async function call(name: string, capabilities: Json): Promise<Json> {
    return await kit.resultOf(
      server.call("tools/call", { name, arguments: {} }, {
        capabilities,
        headers,
      }),
    );
  }

  const signedIn = await open(server, headers);
  await using anonymousServer = await kit.startServer({ kv, tools });
  const anonymous = await open(anonymousServer, {});
  const { requestState, inputRequests } = await call("confirm", ELICITATION);
  const { taskId } = await call("work", TASKS);
  await kit.until(async () => {
    const { status } = await kit.resultOf(
      server.call("tasks/get", { taskId }, { capabilities: TASKS, headers }),
    );
    return status === "completed";
  });
  const browser = browserOf(server);
  const { url, text } = await browser.open(client.authorizationUrl());

  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  await signedIn.close();
  await anonymous.close();
  return {
    version,
    madeAt: Math.floor(Date.now() / 1000),
    clientId: client.clientId,
    verifier: client.verifier,
    state: client.state,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    exchanged: {
      refreshToken: exchanged.refresh_token,
      successor: successor.refresh_token,
    },
    code,
    session: signedIn.session,
    anonymousSession: anonymous.session,
    waiting: { requestState, key: Object.keys(inputRequests)[0] },
    taskId,
    consent: { url, text, cookies: [...browser.cookies] },
    entries: entries.map(printEntry),
  };
}

if (import.meta.main) {
  const [tree, path] = Deno.args;
  const leftover = await make(tree);
  await Deno.writeTextFile(path, JSON.stringify(leftover, null, 2) + "\n");
}
