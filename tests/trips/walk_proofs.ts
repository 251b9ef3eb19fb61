/**
 * Token requests that prove something first: a client's key, an identity
 * provider's assertion, a person's memberships.
 *
 * @module
 */
import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { clientAssertion } from "../kit/client_assertion.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../src/core/oauth/client.ts";
import { startAssertionProvider } from "../kit/assertion_provider.ts";
import { BASE_URL, postForm } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import type { Json } from "../kit/message.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { refresh, signIn } from "./walk.ts";

const SECRET = "a-secret-of-many-letters";

/**
 * Walks a machine that signs, and one that has a person's identity assertion.
 */
export async function walkAssertions(
  surroundings: Surroundings,
): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair("EdDSA");
  await using issuer = await startAssertionProvider();
  const clients = [
    {
      client_id: "signs",
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [await exportJWK(publicKey)] },
    },
    {
      client_id: "desk",
      grant_types: [JWT_BEARER_GRANT_TYPE],
      client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
    },
  ];
  await using processes = new Processes("oauth", surroundings, {
    environment: {
      OAUTH_CLIENTS: JSON.stringify(clients),
      OAUTH_CLIENT_SECRET_DESK: SECRET,
      OAUTH_ASSERTION_ISSUERS: issuer.issuer,
    },
  });
  await ask(processes, "private_key_jwt", {
    grant_type: "client_credentials",
    ...await clientAssertion("signs", privateKey),
  });
  await ask(processes, "identity assertion", {
    grant_type: JWT_BEARER_GRANT_TYPE,
    assertion: await issuer.assertion(BASE_URL),
    client_id: "desk",
    client_secret: SECRET,
  });
}

/** Walks a person who may call because of a group. */
export async function walkMemberships(
  surroundings: Surroundings,
): Promise<void> {
  await using processes = new Processes("oauth", surroundings, {
    environment: { OAUTH_PERMISSIONS: "group:staff=mail:read" },
  });
  processes.provider.memberships = { groups: ["staff"] };
  const client = await Client.register(processes.as("register"));
  const tokens = await signIn(processes, client);
  await refresh(processes.as("refresh"), client, tokens);
  client.server = processes.as("call");
  const answer = await client.call(tokens.access_token, "mail");
  assert.match(await answer.text(), /You have mail/);
}

async function ask(
  processes: Processes,
  step: string,
  parameters: Record<string, string>,
): Promise<Json> {
  const response = await postForm(processes.as(step), "/token", parameters);
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return body;
}
