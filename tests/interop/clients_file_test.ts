/** `OAUTH_CLIENTS` as a file, read by the process that people run. */
import assert from "node:assert/strict";
import { startServerProcess } from "../kit/server_process.ts";

const SECRET = "a-secret-of-many-letters";

Deno.test("a machine whose client is in a file signs in by the secret that a variable holds", async () => {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(
      path,
      JSON.stringify([{
        client_id: "nightly",
        grant_types: ["client_credentials"],
        client_secret_env: "OAUTH_CLIENT_SECRET_NIGHTLY",
      }]),
    );
    await using server = await startServerProcess({
      env: {
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "dev",
        OAUTH_CLIENTS: path,
        OAUTH_CLIENT_SECRET_NIGHTLY: SECRET,
      },
    });
    const ask = async (secret: string) => {
      const response = await fetch(`${server.url}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`nightly:${secret}`)}` },
        body: new URLSearchParams({ grant_type: "client_credentials" }),
      });
      const { error, token_type } = await response.json();
      return error ?? token_type;
    };
    assert.equal(await ask(SECRET), "Bearer");
    assert.equal(await ask("another-secret-of-letters"), "invalid_client");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("a start says which file of clients cannot be read", async () => {
  const OAUTH_CLIENTS = "data/no-such-clients.json";
  await assert.rejects(
    startServerProcess({
      env: { AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev", OAUTH_CLIENTS },
    }).then((server) => server[Symbol.asyncDispose]()),
    /OAUTH_CLIENTS: got "data\/no-such-clients\.json", wants .*: No such file/,
  );
});
