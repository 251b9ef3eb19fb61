/**
 * The memory of calls that wait: a minor collection frees it, as it should,
 * because V8 else learns to make the objects of calls where only a slow
 * collection frees them.
 */
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import type { Context } from "../../../../src/authoring/context.ts";
import { personalKey } from "../../../../src/authoring/personal_key.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { keyRing } from "../../../../src/core/crypto/crypto.ts";
import { Database } from "../../../../src/core/kv/database.ts";
import { accountVault } from "../../../../src/features/accounts/account_vault.ts";
import { textOf } from "../../../kit/answer.ts";
import { SECRETS_KEY } from "../../../kit/key_service.ts";
import { RemoteServer } from "../../../kit/server.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";

const API = "https://service.example";
const CALLS = 100;

setFlagsFromString("--handle-weak-ref-weakly-in-minor-gc");

/** Fills the young generation until it is collected. */
async function collectMinor(): Promise<void> {
  const witness = new WeakRef({});
  do {
    // Each look is a task of its own, because a task keeps what it looked at.
    await new Promise((resolve) => setTimeout(resolve));
    for (let nth = 0; nth < 1000; nth++) new Array(1000).fill(nth);
  } while (witness.deref() !== undefined);
}

Deno.test("a minor collection frees calls that waited, with accounts and without", async () => {
  let contexts: WeakRef<Context>[] = [];
  const note = (context: Context) => contexts.push(new WeakRef(context));
  const needs = { one: personalKey("one", { api: API }) };
  await using server = await startOAuthServer({
    tools: [
      tool({
        name: "wait",
        async run(_input, context) {
          note(context);
          return await Promise.resolve("waited");
        },
      }),
      tool({
        name: "reveal",
        needs,
        async run(_input, context) {
          note(context);
          await context.needs.one.reveal();
          return "revealed";
        },
      }),
    ],
    environment: { SECRETS_KEYS: SECRETS_KEY },
  });
  const vault = accountVault(new Database(server.kv), {
    sealing: keyRing([SECRETS_KEY]),
    idleSeconds: 86_400,
  });
  server.provider.subject = "42";
  const { headers } = await server.person();
  const account = { subject: "github:42", service: "one", api: API };
  await vault.save(account, "secret", () => {});

  // Over a socket: requests that are made here live longer.
  await using listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => server.app.fetch(request, info),
  );
  const url = `http://127.0.0.1:${listener.addr.port}`;
  const remote = new RemoteServer(url, headers);
  for (const [name, text] of [["wait", "waited"], ["reveal", "revealed"]]) {
    // The first calls make what the server keeps.
    for (const _ of ["first", "next"]) {
      contexts = [];
      for (let nth = 0; nth < CALLS; nth++) {
        assert.equal(await textOf(remote.call("tools/call", { name })), text);
      }
    }
    assert.equal(contexts.length, CALLS);
    await collectMinor();
    const kept = contexts.filter((it) => it.deref() !== undefined).length;
    assert(kept < CALLS / 2, `${kept} of ${CALLS} were kept by ${name}`);
  }
});
