import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { statusOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { startOAuthServer } from "../kit/sign_in.ts";

const token = tool({
  name: "token",
  run: async (_, { upstream }) => await upstream.token(),
});

/** Lists the forms in which a text could be in a file and still be read. */
function readableForms(text: string): [string, Uint8Array][] {
  const encode = (form: string) => new TextEncoder().encode(form);
  const utf16 = new Uint8Array(
    new Uint16Array(
      [...text].map((character) => character.charCodeAt(0)),
    ).buffer,
  );
  return [
    ["as it is", encode(text)],
    ["as UTF-16", utf16],
    // The end depends on the following text, so it is left out.
    ["as base64", encode(btoa(text).slice(0, -4))],
    ["as hex", encode(encodeHex(text))],
    ["backwards", encode([...text].reverse().join(""))],
  ];
}

function encodeHex(text: string): string {
  return [...new TextEncoder().encode(text)]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function includes(bytes: Uint8Array, part: Uint8Array): boolean {
  const latin1 = new TextDecoder("latin1");
  return latin1.decode(bytes).includes(latin1.decode(part));
}

Deno.test("a stolen database holds no token, code or secret in any readable form", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/oauth.db`;
  const kv = await Deno.openKv(path);
  try {
    await using server = await startOAuthServer({ kv, tools: [token] });
    const { provider } = server;
    const secrets: Record<string, string> = { "our secret": "our-secret" };
    provider.onIssue = (issued) => {
      const refresh = issued.replace("access", "refresh");
      secrets[`provider access token ${issued}`] = issued;
      secrets[`provider refresh token ${refresh}`] = refresh;
    };
    provider.ttlSeconds = 30;
    const client = await Client.register(server, {
      token_endpoint_auth_method: "client_secret_post",
    });
    const browser = server.browser();
    const page = await browser.open(client.authorizationUrl());
    const [, handle] = /name="request" value="([^"]*)"/.exec(page.text)!;
    const code = client.codeFrom(
      await browser.press(page, "decision", "approve"),
    );
    const { body: first } = await client.redeem(code);
    const { body: second } = await client.refresh(first.refresh_token);
    assert.equal(
      await statusOf(client.call(second.access_token, "token")),
      200,
    );
    Object.assign(secrets, {
      handle,
      code,
      cookie: [...browser.cookies.values()][0],
      verifier: client.verifier,
      "client secret": client.clientSecret,
      "first access token": first.access_token,
      "first refresh token": first.refresh_token,
      "second access token": second.access_token,
      "second refresh token": second.refresh_token,
    });

    let size = 0;
    let knowsClient = false;
    for await (const { name } of Deno.readDir(directory)) {
      const bytes = await Deno.readFile(`${directory}/${name}`);
      size += bytes.length;
      knowsClient ||= includes(bytes, new TextEncoder().encode("github:42"));
      for (const [what, secret] of Object.entries(secrets)) {
        assert(secret.length >= 10, what);
        for (const [how, form] of readableForms(secret)) {
          assert(!includes(bytes, form), `${what} ${how} in ${name}`);
        }
        // The random part alone would be enough, too.
        const random = secret.slice(-43);
        assert(!includes(bytes, new TextEncoder().encode(random)), what);
      }
    }
    // Proof that the search works: these things are found.
    assert(size > 10_000 && knowsClient);
  } finally {
    kv.close();
    await Deno.remove(directory, { recursive: true });
  }
});
