import assert from "node:assert/strict";
import type { Membership } from "../../../src/core/caller.ts";
import {
  createProvider,
  type ProviderSettings,
} from "../../../src/core/provider/create_provider.ts";
import {
  claimAt,
  membershipsInClaims,
  missingMemberships,
  namesInClaim,
} from "../../../src/core/provider/identity.ts";
import type { Provider } from "../../../src/core/provider/provider.ts";
import { serveOpenId, sign, SIGN_IN, type Words } from "./fake_openid.ts";
import {
  type Answers,
  type ServedProvider,
  serveProvider,
} from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

const REQUEST = {
  state: "s",
  nonce: SIGN_IN.nonce,
  codeChallenge: "c",
  redirectUri: SIGN_IN.redirectUri,
};

function provider(
  settings: Partial<ProviderSettings>,
  fake: ServedProvider,
  ...kinds: Membership[]
): Provider {
  const memberships = new Set(kinds);
  return createProvider({
    clientId: "our-app",
    clientSecret: "hush-hush",
    extraAuthParams: {},
    ...settings,
  } as ProviderSettings, {
    fetch: fake.fetch,
    needed: { memberships, named: memberships },
  });
}

Deno.test("claimAt() takes a literal name before a path", () => {
  const claims = {
    "https://example.com/groups": ["a"],
    "realm_access.roles": "literal",
    realm_access: { roles: ["b"] },
    resource_access: { tools: { roles: ["c"] } },
    list: [["d"]],
    nothing: null,
  };
  assert.deepEqual(claimAt(claims, "https://example.com/groups"), ["a"]);
  assert.equal(claimAt(claims, "realm_access.roles"), "literal");
  assert.deepEqual(claimAt(claims, "resource_access.tools.roles"), ["c"]);
  for (const path of ["x", "x.y", "realm_access.x", "list.0", "nothing.x"]) {
    assert.equal(claimAt(claims, path), undefined);
  }
  for (const path of ["toString", "realm_access.constructor", "__proto__"]) {
    assert.equal(claimAt(claims, path), undefined);
  }
});

Deno.test("namesInClaim() takes a string, or those of an array, each once and within bounds", () => {
  assert.deepEqual(namesInClaim("a"), ["a"]);
  assert.deepEqual(
    namesInClaim(["a", "", 1, null, "a", "b", "x".repeat(256)]),
    [
      "a",
      "b",
    ],
  );
  for (const value of [undefined, null, 1, {}, ""]) {
    assert.deepEqual(namesInClaim(value), []);
  }
  const many = Array.from({ length: 2000 }, (_, n) => `${n}`);
  assert.equal(namesInClaim(many).length, 1000);
});

Deno.test("membershipsInClaims() reads the first path that is there", () => {
  const paths = { roles: ["roles", "realm_access.roles"], groups: ["groups"] };
  const claims = { realm_access: { roles: ["r"] }, teams: ["t"] };
  assert.deepEqual(membershipsInClaims(claims, paths), { roles: ["r"] });
  const wants = (kind: Membership) =>
    missingMemberships(claims, paths, new Set([kind]));
  assert.deepEqual(wants("roles"), []);
  assert.deepEqual(wants("groups"), ["groups"]);
  // No claim holds these, so there is nothing to ask for.
  assert.deepEqual(wants("teams"), []);
  const none = missingMemberships({ groups: [] }, paths, new Set(["groups"]));
  assert.deepEqual(none, []);
});

const API = "GET https://api.github.com";

function serveGitHub(changes: Answers = {}): ServedProvider {
  return serveProvider(() => ({
    "POST https://github.com/login/oauth/access_token": () =>
      Response.json({ access_token: "upstream-access", token_type: "bearer" }),
    [`${API}/user`]: () => Response.json({ id: 583231, login: "octocat" }),
    [`${API}/user/emails`]: () => Response.json([]),
    [`${API}/user/orgs`]: ({ url }) =>
      url.searchParams.get("page") === "2"
        ? Response.json([{ id: 2, login: "Umbrella" }])
        : Response.json([{ id: 9919, login: "Acme" }], {
          headers: {
            link:
              `<${url.origin}/user/orgs?per_page=100&page=2>; rel="next", ` +
              `<${url.origin}/user/orgs?per_page=100&page=2>; rel="last"`,
          },
        }),
    [`${API}/user/teams`]: () =>
      Response.json([{
        id: 7,
        slug: "on-call",
        organization: { login: "Acme" },
      }]),
    ...changes,
  }));
}

Deno.test("github tells organizations and teams, page by page, to who wants them", async () => {
  await using fake = serveGitHub();
  const github = provider(
    { provider: "github" },
    fake,
    "organizations",
    "teams",
  );
  const { searchParams } = await github.authorizationUrl(REQUEST);
  assert.equal(searchParams.get("scope"), "read:user user:email read:org");
  const { identity, tokens } = await github.redeem(SIGN_IN);
  assert.deepEqual(identity.organizations, [
    "acme",
    "id:9919",
    "umbrella",
    "id:2",
  ]);
  assert.deepEqual(identity.teams, ["acme/on-call", "id:7"]);
  assert.deepEqual(await github.identify!(tokens), identity);
});

Deno.test("github is not asked for organizations that no one wants", async () => {
  await using fake = serveGitHub();
  const github = provider({ provider: "github" }, fake);
  const { searchParams } = await github.authorizationUrl(REQUEST);
  assert.equal(searchParams.get("scope"), "read:user user:email");
  await github.redeem(SIGN_IN);
  const asked = fake.asked.map(({ url }) => url.pathname);
  assert(!asked.includes("/user/orgs") && !asked.includes("/user/teams"));
});

Deno.test("github's scopes in the settings are kept, and read:org is added where it is missing", async () => {
  await using fake = serveGitHub();
  const scopeOf = async (...scopes: string[]) => {
    const github = provider({ provider: "github", scopes }, fake, "teams");
    return (await github.authorizationUrl(REQUEST)).searchParams.get("scope");
  };
  assert.equal(await scopeOf("repo"), "repo read:org");
  assert.equal(await scopeOf("admin:org"), "admin:org");
});

for (
  const [status, kind] of [[401, "dead"], [403, "misbehaved"], [
    500,
    "unavailable",
  ]] as const
) {
  Deno.test(`github's ${status} is not the same as belonging to nothing`, async () => {
    await using fake = serveGitHub({
      [`${API}/user/orgs`]: () => Response.json({}, { status }),
    });
    const github = provider({ provider: "github" }, fake, "organizations");
    await assertRefused(
      github.identify!({ accessToken: "a", tokenType: "bearer" }),
      kind,
      new RegExp(`${status}`),
    );
  });
}

Deno.test("github's token goes to no other host for the next page", async () => {
  await using fake = serveGitHub({
    [`${API}/user/orgs`]: () =>
      Response.json([{ id: 1, login: "a" }], {
        headers: { link: '<https://evil.example/orgs>; rel="next"' },
      }),
  });
  const github = provider({ provider: "github" }, fake, "organizations");
  const { identity, tokens } = await github.redeem(SIGN_IN);
  assert.deepEqual(identity.organizations, ["a", "id:1"]);
  const { unknown } = (await github.identify!(tokens))!;
  assert.deepEqual(unknown, ["organizations"]);
  assert(fake.asked.every(({ url }) => url.host !== "evil.example"));
});

Deno.test("github says which part of its answer is unknown, at a sign-in it is none", async () => {
  await using fake = serveGitHub({
    [`${API}/user/emails`]: () => Response.json({}, { status: 403 }),
    [`${API}/user/teams`]: () =>
      Response.json([], {
        headers: { "x-github-sso": "partial-results; organizations=9919" },
      }),
  });
  const github = provider(
    { provider: "github" },
    fake,
    "organizations",
    "teams",
  );
  const { identity, tokens } = await github.redeem(SIGN_IN);
  assert.deepEqual(
    await github.identify!(tokens),
    { ...identity, unknown: ["email", "teams"] },
  );
});

const GOOGLE = "https://accounts.google.com";
const TENANT = "11111111-2222-3333-4444-555555555555";
const MICROSOFT = `https://login.microsoftonline.com/${TENANT}/v2.0`;

Deno.test("google tells the Workspace domain as the organization", async () => {
  await using fake = serveOpenId({
    issuer: GOOGLE,
    claims: { hd: "example.com" },
  });
  const google = provider({ provider: "google" }, fake, "organizations");
  const { identity } = await google.redeem(SIGN_IN);
  assert.deepEqual(identity.organizations, ["example.com"]);
});

function microsoft(fake: ServedProvider): Provider {
  return provider(
    { provider: "microsoft", issuer: MICROSOFT },
    fake,
    "roles",
    "groups",
  );
}

const GRAPH = "https://graph.microsoft.com/v1.0/me/transitiveMemberOf";

function serveEntra(
  claims: Record<string, unknown>,
  graph: Answers[string] = () => new Response("", { status: 404 }),
): ServedProvider {
  const fake = serveOpenId({
    issuer: MICROSOFT,
    claims: { tid: TENANT, ...claims },
  });
  const graphs = serveProvider(() => ({ [`GET ${GRAPH}`]: graph }));
  return {
    ...fake,
    fetch: (input, init) =>
      String(input).startsWith("https://graph.")
        ? graphs.fetch(input, init)
        : fake.fetch(input, init),
    async [Symbol.asyncDispose]() {
      await fake[Symbol.asyncDispose]();
      await graphs[Symbol.asyncDispose]();
    },
  };
}

Deno.test("microsoft tells app roles and groups in the id_token", async () => {
  await using fake = serveEntra({ roles: ["Tools.Editor"], groups: ["g1"] });
  const { identity } = await microsoft(fake).redeem(SIGN_IN);
  assert.deepEqual(identity.roles, ["Tools.Editor"]);
  assert.deepEqual(identity.groups, ["g1"]);
});

for (
  const overage of [
    { hasgroups: true },
    {
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint: "https://evil.example/groups" } },
    },
  ]
) {
  Deno.test(`microsoft's groups beyond 200 are read from Graph (${Object.keys(overage)[0]})`, async () => {
    await using fake = serveEntra(overage, ({ url, headers }) => {
      assert.equal(headers.get("authorization"), "Bearer upstream-access");
      return url.searchParams.has("$skiptoken")
        ? Response.json({ value: [{ id: "g2" }] })
        : Response.json({
          value: [{ id: "g1" }],
          "@odata.nextLink": `${GRAPH}?$skiptoken=x`,
        });
    });
    const { identity } = await microsoft(fake).redeem(SIGN_IN);
    assert.deepEqual(identity.groups, ["g1", "g2"]);
  });
}

Deno.test("microsoft's groups beyond 200 stay unknown where the token of the sign-in is not for Graph", async () => {
  await using fake = serveEntra({ hasgroups: true });
  const scopes = ["openid", "api://tools/.default"];
  const settings = {
    provider: "microsoft",
    issuer: MICROSOFT,
    scopes,
  } as const;
  const itself = provider(settings, fake, "groups");
  assert.deepEqual((await itself.redeem(SIGN_IN)).identity.groups, []);
});

Deno.test("microsoft's refusal to list groups is an error", async () => {
  await using fake = serveEntra(
    { hasgroups: true },
    () => Response.json({ error: {} }, { status: 403 }),
  );
  await assertRefused(microsoft(fake).redeem(SIGN_IN), "misbehaved", /403/);
});

Deno.test("microsoft's refreshed id_token says who it is today", async () => {
  await using fake = serveEntra({ roles: ["Tools.Reader"], nonce: undefined });
  const entra = microsoft(fake);
  const tokens = await entra.refresh("upstream-refresh");
  const { roles, subject } = (await entra.identify!(tokens))!;
  assert.deepEqual(roles, ["Tools.Reader"]);
  assert.equal(subject, "user-1");
  // Without it the provider cannot be asked: its userinfo does not hold
  // memberships.
  assert.equal(
    await entra.identify!({ ...tokens, idToken: undefined }),
    undefined,
  );
  await assertRefused(
    entra.identify!({ ...tokens, idToken: "x.y.z" }),
    "misbehaved",
    /id_token/,
  );
});

Deno.test("an id_token of a refresh is verified like any other", async () => {
  const words: Words = {
    signed: (claims) => sign({ ...claims, aud: "another-app" }),
  };
  await using fake = serveOpenId(words);
  const oidc = provider(
    { provider: "oidc", issuer: fake.origin },
    fake,
    "groups",
  );
  const tokens = await oidc.refresh("upstream-refresh");
  await assertRefused(oidc.identify!(tokens), "misbehaved", /id_token/);
});

Deno.test("gitlab's groups are asked of userinfo, when they are wanted", async () => {
  const words: Words = {
    issuer: "https://gitlab.com",
    userinfo: { sub: "user-1", groups: ["acme", "acme/tools"] },
  };
  await using fake = serveOpenId(words);
  const wanting = provider({ provider: "gitlab" }, fake, "groups");
  const { identity } = await wanting.redeem(SIGN_IN);
  assert.deepEqual(identity.groups, ["acme", "acme/tools"]);
  const other = await provider({ provider: "gitlab" }, fake).redeem(SIGN_IN);
  assert.equal(other.identity.groups, undefined);
});

Deno.test("oidc's roles are found where Keycloak has them, its groups where the settings say", async () => {
  await using fake = serveOpenId({
    claims: {
      realm_access: { roles: ["editor"] },
      "cognito:groups": ["staff"],
      groups: ["other"],
    },
  });
  const { identity } = await provider(
    { provider: "oidc", issuer: fake.origin, groupsClaim: "cognito:groups" },
    fake,
    "groups",
    "roles",
  ).redeem(SIGN_IN);
  assert.deepEqual(identity.roles, ["editor"]);
  assert.deepEqual(identity.groups, ["staff"]);
});

Deno.test("oidc is asked by userinfo where a refresh brought no id_token", async () => {
  await using fake = serveOpenId({
    userinfo: { sub: "user-1", groups: ["staff"] },
    answer: { id_token: undefined },
  });
  const oidc = provider(
    { provider: "oidc", issuer: fake.origin },
    fake,
    "groups",
  );
  const identity = await oidc.identify!(await oidc.refresh("upstream-refresh"));
  // The id_token of the sign-in may have told the address.
  assert.deepEqual(identity, {
    subject: "user-1",
    groups: ["staff"],
    unknown: ["email"],
  });
});

Deno.test("custom's user object is read again, by the configured path", async () => {
  await using fake = serveProvider((origin) => ({
    [`GET ${origin}/user`]: () =>
      Response.json({ id: 42, realm: { groups: ["staff"] }, roles: "admin" }),
  }));
  const custom = provider(
    {
      provider: "custom",
      authorizationUrl: `${fake.origin}/authorize`,
      tokenUrl: `${fake.origin}/token`,
      userinfoUrl: `${fake.origin}/user`,
      groupsClaim: "realm.groups",
    },
    fake,
    "groups",
  );
  const identity = await custom.identify!({
    accessToken: "a",
    tokenType: "Bearer",
  });
  assert.deepEqual(identity, {
    subject: "42",
    groups: ["staff"],
    roles: ["admin"],
  });
});
