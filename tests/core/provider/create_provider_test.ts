import assert from "node:assert/strict";
import type {
  Provider,
  UpstreamRequest,
} from "../../../src/core/provider/provider.ts";
import {
  createProvider,
  type ProviderSettings,
} from "../../../src/core/provider/create_provider.ts";
import { isMicrosoftIssuer } from "../../../src/core/provider/microsoft.ts";
import { serveOpenId, SIGN_IN, type Words } from "./fake_openid.ts";
import type { ServedProvider } from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

const REQUEST: UpstreamRequest = {
  state: "s",
  nonce: "the-nonce",
  codeChallenge: "c",
  redirectUri: SIGN_IN.redirectUri,
};

function preset(
  provider: "google" | "microsoft" | "gitlab",
  fake: ServedProvider,
  settings: {
    name?: string;
    issuer?: string;
    groupsClaim?: string;
    extraAuthParams?: Record<string, string>;
  } = {},
): Provider {
  return createProvider({
    provider,
    clientId: "our-app",
    clientSecret: "hush-hush",
    extraAuthParams: {},
    ...settings,
  }, { fetch: fake.fetch });
}

async function parameters(provider: Provider): Promise<Record<string, string>> {
  const { searchParams } = await provider.authorizationUrl(REQUEST);
  return Object.fromEntries(searchParams);
}

const GOOGLE = "https://accounts.google.com";

Deno.test("google is asked in the way that brings a refresh token", async () => {
  await using fake = serveOpenId({ issuer: GOOGLE });
  const asked = await parameters(preset("google", fake));
  assert.equal(asked.access_type, "offline");
  assert.equal(asked.prompt, "consent");
  assert.equal(asked.scope, "openid email profile");
});

Deno.test("google's preset gives way to settings", async () => {
  await using fake = serveOpenId({ issuer: GOOGLE });
  const extraAuthParams = { prompt: "select_account", hd: "example.com" };
  const asked = await parameters(preset("google", fake, { extraAuthParams }));
  assert.equal(asked.prompt, "select_account");
  assert.equal(asked.hd, "example.com");
});

for (const iss of [GOOGLE, "accounts.google.com"]) {
  Deno.test(`google's id_token may come from ${iss}`, async () => {
    await using fake = serveOpenId({ issuer: GOOGLE, claims: { iss } });
    const { identity } = await preset("google", fake).redeem(SIGN_IN);
    assert.equal(identity.subject, "user-1");
  });
}

Deno.test("google's id_token may come from no one else", async () => {
  await using fake = serveOpenId({
    issuer: GOOGLE,
    claims: { iss: "https://accounts.google.com.evil.example" },
  });
  await assertRefused(
    preset("google", fake).redeem(SIGN_IN),
    "misbehaved",
    /iss/,
  );
});

for (
  const [email, hd, counts] of [
    ["jo@gmail.com", undefined, true],
    ["jo@GoogleMail.com", undefined, true],
    ["jo@example.com", "example.com", true],
    ["jo@Example.com", "EXAMPLE.com", true],
    ["jo@example.com", undefined, false],
    ["jo@example.com", "other.example", false],
    ["jo@sub.example.com", "example.com", false],
    ["jo@gmail.com@example.com", undefined, false],
    ["jo@example.com", ["example.com"], false],
  ] as const
) {
  Deno.test(`google's word on ${email} ${counts ? "counts" : "does not count"} with hd ${hd}`, async () => {
    // Whichever setting names it.
    for (const name of ["google", "oidc"] as const) {
      await using fake = serveOpenId({
        issuer: GOOGLE,
        claims: { email, hd },
        userinfo: { sub: "user-1", email, email_verified: true, hd },
      });
      const google = createProvider({
        provider: name,
        issuer: GOOGLE,
        clientId: "our-app",
        clientSecret: "hush-hush",
        extraAuthParams: {},
      }, { fetch: fake.fetch });
      const { identity } = await google.redeem(SIGN_IN);
      assert.equal(identity.emailVerified, counts);
      const today = await google.identify!({
        accessToken: "a",
        tokenType: "Bearer",
      });
      assert.equal(today?.emailVerified, counts);
      assert.equal(today?.email, email);
    }
  });
}

const TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47";
const OTHER_TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad";
const MICROSOFT = "https://login.microsoftonline.com";

/** Serves Microsoft's answers under `common`. */
function serveMicrosoft(words: Words = {}): ServedProvider {
  return serveOpenId({
    issuer: `${MICROSOFT}/{tenantid}/v2.0`,
    ...words,
    claims: {
      iss: `${MICROSOFT}/${TENANT}/v2.0`,
      tid: TENANT,
      email_verified: undefined,
      preferred_username: "ada@contoso.example",
      ...words.claims,
    },
  });
}

Deno.test("microsoft lets in the people of any tenant, each from their own", async () => {
  await using fake = serveMicrosoft();
  const { identity } = await preset("microsoft", fake).redeem(SIGN_IN);
  assert.deepEqual(identity, {
    subject: "user-1",
    name: "Ada",
    email: "ada@example.com",
    emailVerified: false,
    login: "ada@contoso.example",
  });
});

const GROUP = "0f8fad5b-d9cb-469f-a165-70867728950e";

Deno.test("microsoft's roles, and groups by name, count in a tenant that the settings name alone", async () => {
  const claims = {
    roles: ["Tools.Editor"],
    groups: ["staff", GROUP],
    department: ["staff"],
  };
  const found = async (tenant?: string, groupsClaim?: string) => {
    const issuer = tenant && `${MICROSOFT}/${tenant}/v2.0`;
    const named = tenant === TENANT ? TENANT : "{tenantid}";
    const metadata = { issuer: `${MICROSOFT}/${named}/v2.0` };
    await using fake = serveMicrosoft({
      ...issuer && { issuer, metadata },
      claims,
    });
    const settings = { issuer, groupsClaim };
    const { identity } = await preset("microsoft", fake, settings)
      .redeem(SIGN_IN);
    return [identity.roles, identity.groups];
  };
  for (const all of [undefined, "common", "organizations", "Consumers"]) {
    assert.deepEqual(await found(all), [undefined, [GROUP]], all);
    assert.deepEqual(await found(all, "department"), [undefined, [GROUP]]);
  }
  for (const one of [TENANT, "contoso.example"]) {
    const { roles, groups, department } = claims;
    assert.deepEqual(await found(one), [roles, groups], one);
    assert.deepEqual(await found(one, "department"), [roles, department]);
  }
});

const WRONG_TENANTS: [string, Record<string, unknown>][] = [
  ["another tenant than its own", { tid: OTHER_TENANT }],
  ["no tenant", { tid: undefined }],
  ["a tenant that is no number", {
    iss: `${MICROSOFT}/evil/v2.0`,
    tid: "evil",
  }],
  ["the template itself", {
    iss: `${MICROSOFT}/{tenantid}/v2.0`,
    tid: "{tenantid}",
  }],
  ["another host", { iss: `https://evil.example/${TENANT}/v2.0` }],
  ["another host of the same length", {
    iss: `https://login.microsoftonline.net/${TENANT}/v2.0`,
  }],
  ["another version", { iss: `${MICROSOFT}/${TENANT}/v1.0` }],
];

for (const [what, claims] of WRONG_TENANTS) {
  Deno.test(`microsoft's id_token is refused from ${what}`, async () => {
    await using fake = serveMicrosoft({ claims });
    await assertRefused(
      preset("microsoft", fake).redeem(SIGN_IN),
      "misbehaved",
      /iss/,
    );
  });
}

Deno.test("microsoft's address is verified when the tenant owns its domain", async () => {
  for (const xms_edov of [true, 1, "1", "true"]) {
    await using fake = serveMicrosoft({ claims: { xms_edov } });
    const { identity } = await preset("microsoft", fake).redeem(SIGN_IN);
    assert.equal(identity.emailVerified, true, String(xms_edov));
  }
});

Deno.test("microsoft's address is not verified by a claim that tenants can set", async () => {
  await using fake = serveMicrosoft({ claims: { email_verified: true } });
  const { identity } = await preset("microsoft", fake).redeem(SIGN_IN);
  assert.equal(identity.emailVerified, false);
});

Deno.test("microsoft's userinfo is not asked: tokens need not be for it", async () => {
  await using fake = serveMicrosoft({ claims: { email: undefined } });
  const { identity } = await preset("microsoft", fake).redeem(SIGN_IN);
  assert.equal(identity.email, undefined);
  assert(fake.asked.every(({ url }) => !url.pathname.endsWith("/userinfo")));
});

Deno.test("microsoft never gets a resource parameter", async () => {
  await using fake = serveMicrosoft();
  const extraAuthParams = { resource: "https://tools.example/mcp", hint: "x" };
  const asked = await parameters(
    preset("microsoft", fake, { extraAuthParams }),
  );
  assert.equal(asked.resource, undefined);
  assert.equal(asked.hint, "x");
});

Deno.test("microsoft's answers may name a tenant, but no stranger", async () => {
  await using fake = serveMicrosoft();
  const provider = preset("microsoft", fake);
  await provider.redeem({ ...SIGN_IN, issuer: `${MICROSOFT}/${TENANT}/v2.0` });
  await assertRefused(
    provider.redeem({ ...SIGN_IN, issuer: `https://evil.example/v2.0` }),
    "misbehaved",
    /iss/,
  );
});

Deno.test("microsoft's API is Graph", async () => {
  await using fake = serveMicrosoft();
  const { apiUrl, name } = preset("microsoft", fake);
  assert.equal(apiUrl, "https://graph.microsoft.com/v1.0");
  assert.equal(name, "Microsoft");
});

Deno.test("gitlab's own instances have their API on them", async () => {
  await using fake = serveOpenId({ issuer: "https://git.acme.example" });
  const issuer = "https://git.acme.example";
  const provider = preset("gitlab", fake, { issuer });
  assert.equal(provider.apiUrl, "https://git.acme.example/api/v4");
  assert.equal(preset("gitlab", fake).apiUrl, "https://gitlab.com/api/v4");
  const { identity } = await provider.redeem(SIGN_IN);
  assert.equal(identity.subject, "user-1");
});

Deno.test("gitlab calls an account's short name a nickname", async () => {
  await using fake = serveOpenId({
    issuer: "https://gitlab.com",
    claims: { nickname: "ada" },
  });
  const { identity } = await preset("gitlab", fake).redeem(SIGN_IN);
  assert.equal(identity.login, "ada");
});

Deno.test("createProvider() calls every provider what OAUTH_PROVIDER_NAME says", () => {
  const application = {
    clientId: "our-app",
    clientSecret: "hush-hush",
    extraAuthParams: {},
  };
  const at = "https://id.example.com";
  const settings: ProviderSettings[] = [
    { ...application, provider: "github" },
    { ...application, provider: "gitlab" },
    { ...application, provider: "oidc", issuer: at },
    {
      ...application,
      provider: "custom",
      authorizationUrl: `${at}/authorize`,
      tokenUrl: `${at}/token`,
      userinfoUrl: `${at}/userinfo`,
    },
  ];
  assert.deepEqual(settings.map((it) => createProvider(it).name), [
    "GitHub",
    "GitLab",
    "id.example.com",
    "id.example.com",
  ]);
  for (const it of settings) {
    assert.equal(createProvider({ ...it, name: "Our ID" }).name, "Our ID");
  }
});

const NAMED: [configured: string, named: string, boolean][] = [
  [`${MICROSOFT}/common/v2.0`, `${MICROSOFT}/{tenantid}/v2.0`, true],
  [`${MICROSOFT}/organizations/v2.0`, `${MICROSOFT}/{tenantid}/v2.0`, true],
  [`${MICROSOFT}/consumers/v2.0`, `${MICROSOFT}/${OTHER_TENANT}/v2.0`, true],
  [`${MICROSOFT}/contoso.example/v2.0`, `${MICROSOFT}/${TENANT}/v2.0`, true],
  [`${MICROSOFT}/${TENANT}/v2.0`, `${MICROSOFT}/${TENANT}/v2.0`, true],
  [`${MICROSOFT}/${TENANT}/v2.0`, `${MICROSOFT}/${OTHER_TENANT}/v2.0`, false],
  [`${MICROSOFT}/${TENANT}/v2.0`, `${MICROSOFT}/{tenantid}/v2.0`, false],
  [`${MICROSOFT}/common/v2.0`, `https://evil.example/{tenantid}/v2.0`, false],
  [
    `${MICROSOFT}/common/v2.0`,
    "https://login.microsoftonline.net/{tenantid}/v2.0",
    false,
  ],
  [`${MICROSOFT}/common/v2.0`, `${MICROSOFT}/evil/v2.0`, false],
  [`${MICROSOFT}/common/v2.0`, `${MICROSOFT}/{tenantid}/v1.0`, false],
  [`${MICROSOFT}/common/v2.0`, `${MICROSOFT}/v2.0`, false],
];

for (const [configured, named, expected] of NAMED) {
  Deno.test(`isMicrosoftIssuer() ${expected ? "takes" : "refuses"} ${named} for ${configured}`, () => {
    assert.equal(isMicrosoftIssuer(configured, named), expected);
  });
}
