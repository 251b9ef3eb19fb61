import assert from "node:assert/strict";
import {
  CLIENT_ID_MAX_CHARACTERS,
  isSealedClientId,
  registerClient,
  shortClientId,
} from "../../../src/core/oauth/client.ts";
import {
  sealClient,
  unsealClient,
} from "../../../src/core/oauth/sealed_client.ts";

const KEY = new Uint8Array(32).fill(1);
const NOW = 1_700_000_000;
const METADATA = {
  redirect_uris: ["https://app.example.com/cb", "http://127.0.0.1/"],
  client_name: "App",
  token_endpoint_auth_method: "client_secret_basic",
  grant_types: ["authorization_code"],
  contacts: ["jo@example.com"],
};

function seal(changes: Record<string, unknown> = {}, key = KEY) {
  return sealClient(
    key,
    registerClient({ ...METADATA, ...changes }, NOW).client,
  );
}

Deno.test("unsealClient() gives all that a registration needs back", async () => {
  const client = await seal();
  const { contacts: _, ...metadata } = client.metadata;
  assert.deepEqual(await unsealClient(KEY, client.clientId), {
    ...client,
    metadata,
  });
});

Deno.test("unsealClient() gives keys and choices of authentication back", async () => {
  const { clientId } = await seal({
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_methods_supported: ["none"],
    jwks: { keys: [{ kty: "EC", crv: "P-256", x: "x", y: "y" }] },
  });
  const { metadata } = (await unsealClient(KEY, clientId))!;
  assert.equal(metadata.token_endpoint_auth_method, "private_key_jwt");
  assert.deepEqual(metadata.token_endpoint_auth_methods_supported, ["none"]);
  assert.equal(metadata.jwks?.keys[0].x, "x");
});

Deno.test("unsealClient() takes nothing that was not sealed here", async () => {
  const { clientId } = await seal();
  const [name, ...sealed] = clientId.split(".");
  const other = await seal();
  const flipped = clientId.slice(0, -5) +
    (clientId.at(-5) === "A" ? "B" : "A") + clientId.slice(-4);
  for (
    const forged of [
      "",
      name,
      `${name}.`,
      `${name}.x`,
      flipped,
      [shortClientId(other.clientId), ...sealed].join("."),
      clientId + "x".repeat(CLIENT_ID_MAX_CHARACTERS),
      (await seal({}, new Uint8Array(32).fill(2))).clientId,
    ]
  ) {
    assert.equal(await unsealClient(KEY, forged), undefined, forged);
  }
});

Deno.test("sealClient() makes another ID each time, and hides what it carries", async () => {
  const [one, two] = [await seal(), await seal()];
  assert.notEqual(one.clientId, two.clientId);
  for (const part of one.clientId.split(".")) {
    const text = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    assert(!text.includes("app.example.com"));
  }
  assert.match(one.clientId, /^[\w.-]+$/);
});

Deno.test("sealClient() makes short IDs of usual registrations", async () => {
  const { clientId } = await seal({
    client_name: "Cursor",
    redirect_uris: [
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "http://localhost:8787/callback",
      "https://www.cursor.com/agents/mcp/oauth/callback",
    ],
  });
  assert(clientId.length < 800, String(clientId.length));
  assert.equal(shortClientId(clientId).length, 22);
});

Deno.test("sealClient() refuses what would not fit into an address", async () => {
  const redirectUris = (count: number) => ({
    redirect_uris: Array.from(
      { length: count },
      (_, n) => `https://app.example.com/${n}`.padEnd(100, "x"),
    ),
  });
  assert(isSealedClientId((await seal(redirectUris(15))).clientId));
  await assert.rejects(seal(redirectUris(20)), {
    code: "invalid_client_metadata",
  });
});

Deno.test("sealClient() makes an ID of as many characters as one may have", async () => {
  const ofLength = async (length: number) => {
    const redirect_uris = [1200, length - 1200].map((each) =>
      "https://app.example.com/".padEnd(each, "x")
    );
    return (await seal({ redirect_uris })).clientId.length;
  };
  const usual = await ofLength(1800);
  // Three bytes are four characters.
  let length = 1800 + Math.floor((CLIENT_ID_MAX_CHARACTERS - usual) * 3 / 4) -
    4;
  let found;
  do found = await ofLength(length++); while (found < CLIENT_ID_MAX_CHARACTERS);
  assert.equal(found, CLIENT_ID_MAX_CHARACTERS);
});

Deno.test("shortClientId() leaves other IDs as they are", () => {
  for (const id of ["https://app.example.com/client.json", "a", "a.b"]) {
    assert.equal(shortClientId(id), id);
    assert.equal(isSealedClientId(id), false);
  }
});

Deno.test("isSealedClientId() knows a name of 22 characters, a dot and no more", () => {
  const sealed = `${"a".repeat(22)}.b.c`;
  assert(isSealedClientId(sealed));
  const longest = sealed.padEnd(CLIENT_ID_MAX_CHARACTERS, "b");
  assert(isSealedClientId(longest));
  assert(!isSealedClientId(`${longest}b`));
  for (const other of [`a${sealed}`, `${sealed}!`, `${sealed}\n`, "a.b"]) {
    assert(!isSealedClientId(other), other);
  }
});
