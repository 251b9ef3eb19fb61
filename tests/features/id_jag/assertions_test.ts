/**
 * Identity assertions beside several sign-in providers: each speaks for its own
 * people, groups and addresses, whether or not people sign in there too.
 */
import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../../src/core/oauth/client.ts";
import {
  type AssertionProvider,
  type Claims,
  startAssertionProvider,
} from "../../kit/assertion_provider.ts";
import { callWith } from "../../kit/client.ts";
import { BASE_URL, postForm, startServer } from "../../kit/server.ts";

const SECRET = "a-secret-of-many-letters";
const CLIENT = {
  client_id: "desk",
  grant_types: [JWT_BEARER_GRANT_TYPE],
  client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
};

const whoami = tool({
  name: "whoami",
  scopes: ["read"],
  run: (_input, { caller }) => caller.binding,
});

/** The issuers: two that people sign in at, and one that they do not. */
type Name = "work" | "partner" | "other";

/** The issuers of assertions, and a server that trusts all of them. */
class Issuers implements AsyncDisposable {
  private constructor(readonly all: Record<Name, AssertionProvider>) {}

  static async start(): Promise<Issuers> {
    const [work, partner, other] = await Promise.all(
      [1, 2, 3].map(() => startAssertionProvider()),
    );
    return new Issuers({ work, partner, other });
  }

  /** The subject of a person. */
  subject(name: Name, sub = "ada"): string {
    return `${this.all[name].issuer}#${sub}`;
  }

  serve(environment: Record<string, string> = {}, kv?: Deno.Kv) {
    const { work, partner, other } = this.all;
    return startServer({
      tools: [whoami],
      kv,
      env: {
        BASE_URL,
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "work,partner",
        ...settingsOf("WORK", work),
        ...settingsOf("PARTNER", partner),
        OAUTH_ASSERTION_ISSUERS: [work, partner, other]
          .map(({ issuer }) => issuer).join(),
        OAUTH_CLIENTS: JSON.stringify([CLIENT]),
        OAUTH_CLIENT_SECRET_DESK: SECRET,
        ...environment,
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const issuer of Object.values(this.all)) {
      await issuer[Symbol.asyncDispose]();
    }
  }
}

function settingsOf(key: string, { issuer }: AssertionProvider) {
  return {
    [`OAUTH_${key}_ISSUER`]: issuer,
    [`OAUTH_${key}_CLIENT_ID`]: "tool-server",
    [`OAUTH_${key}_CLIENT_SECRET`]: "our-secret",
  };
}

type Server = Awaited<ReturnType<Issuers["serve"]>>;

/** Redeems an assertion; gives the token, or the error. */
async function redeem(
  server: Server,
  issuer: AssertionProvider,
  claims: Claims = {},
): Promise<{ token?: string; error?: string }> {
  const response = await postForm(server, "/token", {
    grant_type: JWT_BEARER_GRANT_TYPE,
    assertion: await issuer.assertion(BASE_URL, claims),
    client_id: "desk",
    client_secret: SECRET,
    scope: "read",
  });
  const { access_token: token, error } = await response.json();
  return { token, error };
}

/** Rules, and the issuers whose person with these claims they let in. */
const RULES: Record<string, {
  environment: (issuers: Issuers) => Record<string, string>;
  claims?: Claims;
  lets: readonly Name[];
}> = {
  "a group of one provider": {
    environment: () => ({ OAUTH_PERMISSIONS: "work/group:staff=*" }),
    claims: { groups: ["staff"] },
    lets: ["work"],
  },
  "a group in a claim that one provider has": {
    environment: () => ({
      OAUTH_PERMISSIONS: "work/group:staff=*; partner/group:staff=*",
      OAUTH_WORK_GROUPS_CLAIM: "roles",
    }),
    claims: { roles: ["staff"] },
    lets: ["work"],
  },
  "a domain of one provider": {
    environment: () => ({
      OAUTH_ALLOWED_USERS: "@example.com",
      OAUTH_WORK_PROVIDER_DOMAINS: "example.com",
    }),
    claims: { email: "ada@example.com", email_verified: true },
    lets: ["work"],
  },
  "a domain of no provider": {
    environment: () => ({ OAUTH_ALLOWED_USERS: "@example.com" }),
    claims: { email: "ada@example.com", email_verified: true },
    lets: ["work", "partner", "other"],
  },
  "a person of one provider": {
    environment: (issuers) => ({
      OAUTH_ALLOWED_USERS: issuers.subject("work"),
    }),
    lets: ["work"],
  },
  "a person of an issuer where no one signs in": {
    environment: (issuers) => ({
      OAUTH_ALLOWED_USERS: issuers.subject("other"),
    }),
    lets: ["other"],
  },
  "everyone but one person": {
    environment: (issuers) => ({ OAUTH_BLOCKED: issuers.subject("work") }),
    lets: ["partner", "other"],
  },
  "a provider that was taken out, whose issuer is trusted": {
    environment: () => ({
      OAUTH_PROVIDER: "work,github",
      OAUTH_GITHUB_CLIENT_ID: "tool-server",
      OAUTH_GITHUB_CLIENT_SECRET: "our-secret",
      OAUTH_PARTNER_ISSUER: "",
      OAUTH_PARTNER_CLIENT_ID: "",
      OAUTH_PARTNER_CLIENT_SECRET: "",
    }),
    lets: ["work", "partner", "other"],
  },
};

for (const [rule, { environment, claims, lets }] of Object.entries(RULES)) {
  Deno.test(`an assertion beside several providers is held to ${rule}`, async () => {
    await using issuers = await Issuers.start();
    await using server = await issuers.serve(environment(issuers));
    for (const [name, issuer] of Object.entries(issuers.all)) {
      const { token, error } = await redeem(server, issuer, claims);
      const isLet = lets.includes(name as Name);
      assert.equal(token !== undefined, isLet, `${name}: ${error}`);
      if (!isLet) assert.match(error!, /^invalid_(grant|scope)$/);
    }
  });
}

Deno.test("assertions of several issuers with one sub and one jti are of several people", async () => {
  await using issuers = await Issuers.start();
  await using server = await issuers.serve();
  const claims = { sub: "ada", jti: "one" };
  const bindings = new Set<string>();
  for (const issuer of Object.values(issuers.all)) {
    const { token } = await redeem(server, issuer, claims);
    bindings.add((await callWith(server, token!)).text);
    assert.equal((await redeem(server, issuer, claims)).error, "invalid_grant");
  }
  assert.equal(bindings.size, 3);
});

Deno.test("an address of OAUTH_BLOCKED that a connection tells holds for assertions without it", async () => {
  await using issuers = await Issuers.start();
  const { work, other } = issuers.all;
  const kv = await Deno.openKv(":memory:");
  using _ = kv;
  await using before = await issuers.serve({}, kv);
  const told = { email: "ada@example.com", email_verified: true };
  assert((await redeem(before, work, told)).token);
  const environment = { OAUTH_BLOCKED: "ada@example.com" };
  await using server = await issuers.serve(environment, kv);
  assert.equal((await redeem(server, work)).error, "invalid_grant");
  assert((await redeem(server, other)).token);
});
