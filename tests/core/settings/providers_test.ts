import assert from "node:assert/strict";
import { ConfigError } from "../../../src/core/settings/complaint.ts";
import { parseConfig } from "../../../src/core/settings/config.ts";
import type { Environment } from "../../../src/core/settings/setting.ts";

const BOTH = {
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "google,github",
  OAUTH_GOOGLE_CLIENT_ID: "g",
  OAUTH_GOOGLE_CLIENT_SECRET: "hush",
  OAUTH_GITHUB_CLIENT_ID: "h",
  OAUTH_GITHUB_CLIENT_SECRET: "hush",
};

const NAMED = {
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "work,partner",
  OAUTH_WORK_PROVIDER: "microsoft",
  OAUTH_WORK_ISSUER: "https://login.microsoftonline.com/one/v2.0",
  OAUTH_WORK_CLIENT_ID: "w",
  OAUTH_WORK_CLIENT_SECRET: "hush",
  OAUTH_PARTNER_ISSUER: "https://id.partner.example",
  OAUTH_PARTNER_CLIENT_ID: "p",
  OAUTH_PARTNER_CLIENT_SECRET: "hush",
};

/** Prints what a start complains of: "VARIABLE wants fix". */
function complaintsOf(environment: Environment): string[] {
  try {
    parseConfig(environment);
    return [];
  } catch (error) {
    assert(error instanceof ConfigError);
    return error.complaints.map(({ variable, wants, fix }) =>
      `${variable} ${wants} ${fix}`
    );
  }
}

/** Expects one complaint. */
function assertComplains(environment: Environment, pattern: RegExp): void {
  const complaints = complaintsOf(environment);
  assert.equal(complaints.length, 1, complaints.join("\n"));
  assert.match(complaints[0], pattern);
}

function listed(environment: Environment) {
  return parseConfig(environment).auth.oauth!.providers;
}

Deno.test("parseProviders() gives each of several a group of its own", () => {
  const [google, github] = listed({
    ...BOTH,
    OAUTH_GITHUB_PROVIDER_SCOPES: "repo",
    OAUTH_GOOGLE_PROVIDER_DOMAINS: "Example.com",
  });
  assert.deepEqual([google.id, google.key], ["google", "google"]);
  assert.deepEqual(google.domains, ["example.com"]);
  assert("clientId" in google.config && "clientId" in github.config);
  assert.deepEqual([google.config.clientId, github.config.clientId], [
    "g",
    "h",
  ]);
  assert.deepEqual(google.config.scopes, undefined);
  assert.deepEqual(github.config.scopes, ["repo"]);
});

Deno.test("parseProviders() takes names of one's own for OpenID providers, unless they say what they are", () => {
  assert.deepEqual(
    listed(NAMED).map(({ id, key, config: { provider } }) => [
      id,
      key,
      provider,
    ]),
    [
      ["https://login.microsoftonline.com/one/v2.0", "work", "microsoft"],
      ["https://id.partner.example", "partner", "oidc"],
    ],
  );
});

Deno.test("the subjects of a provider are the same alone and among several", () => {
  const { OAUTH_PARTNER_ISSUER: OAUTH_ISSUER } = NAMED;
  const [alone] = listed({
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "oidc",
    OAUTH_ISSUER,
    OAUTH_CLIENT_ID: "p",
    OAUTH_CLIENT_SECRET: "hush",
  });
  assert.equal(alone.id, listed(NAMED)[1].id);
  assert.equal(alone.key, undefined);
});

Deno.test("parseProviders() refuses half of a group by the name of what is missing", () => {
  for (const name of Object.keys(NAMED).slice(3)) {
    // An issuer of its own is optional at Microsoft.
    if (name === "OAUTH_WORK_ISSUER") continue;
    assertComplains({ ...NAMED, [name]: "" }, new RegExp(`^${name} `));
  }
  assertComplains(
    { ...BOTH, OAUTH_GITHUB_CLIENT_SECRET: undefined },
    /^OAUTH_GITHUB_CLIENT_SECRET .*BASE_URL\/oauth\/provider-callback\/github$/,
  );
});

Deno.test("parseProviders() refuses the settings of an only one beside several", () => {
  for (
    const name of ["OAUTH_CLIENT_ID", "OAUTH_PROVIDER_SCOPES", "OAUTH_ISSUER"]
  ) {
    assertComplains(
      { ...BOTH, [name]: "https://id.example.com" },
      new RegExp(
        `^${name} nothing, .*${
          name.replace("OAUTH_", "OAUTH_GOOGLE_")
        } or OAUTH_GITHUB_`,
      ),
    );
  }
});

Deno.test("parseProviders() refuses two that are one, and names that tell no one apart", () => {
  const tenant = "https://login.microsoftonline.com/two/v2.0";
  const second = { OAUTH_PARTNER_PROVIDER: "microsoft" };
  assertComplains(
    { ...NAMED, ...second, OAUTH_PARTNER_ISSUER: NAMED.OAUTH_WORK_ISSUER },
    /^OAUTH_PARTNER_ISSUER another place than that of work/,
  );
  assertComplains(
    {
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "dev,partner",
      OAUTH_PARTNER_PROVIDER: "dev",
    },
    /^OAUTH_PARTNER_PROVIDER another provider than dev: .*dev can be there once/,
  );
  assertComplains(
    { ...NAMED, ...second, OAUTH_PARTNER_ISSUER: tenant },
    /^OAUTH_PARTNER_PROVIDER_NAME a name by which people tell it from work/,
  );
  assert.deepEqual(
    complaintsOf({
      ...NAMED,
      ...second,
      OAUTH_PARTNER_ISSUER: tenant,
      OAUTH_PARTNER_PROVIDER_NAME: "Partner",
    }),
    [],
  );
  const domains = {
    OAUTH_WORK_PROVIDER_DOMAINS: "example.com,example.org",
    OAUTH_PARTNER_PROVIDER_DOMAINS: "partner.example,Example.org",
  };
  assertComplains(
    { ...NAMED, ...domains },
    /^OAUTH_PARTNER_PROVIDER_DOMAINS domains that no other provider has/,
  );
});

for (
  const names of ["google,google", "google,", "Google,github", "a-b,c", "1a,b"]
) {
  Deno.test(`OAUTH_PROVIDER=${names} is no list of providers`, () => {
    // One that is followed by nothing is the only one.
    const environment = { ...BOTH, OAUTH_PROVIDER: names };
    const [first] = complaintsOf(environment);
    assert.match(first, /^OAUTH_(PROVIDER|CLIENT_ID) /);
  });
}

Deno.test("the dev provider may be one of several on loopback only, which its setting says", () => {
  const environment = {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "try,github",
    OAUTH_TRY_PROVIDER: "dev",
    OAUTH_GITHUB_CLIENT_ID: "h",
    OAUTH_GITHUB_CLIENT_SECRET: "hush",
  };
  assert.deepEqual(listed(environment).map(({ id }) => id), ["dev", "github"]);
  assertComplains(
    { ...environment, BASE_URL: "https://tools.example.com" },
    /^OAUTH_TRY_PROVIDER a real provider/,
  );
});

Deno.test("a group that no one reads is told, and a misspelt name in one that is read", () => {
  const notes = (environment: Environment) => parseConfig(environment).notes;
  assert.deepEqual(notes({ ...BOTH, OAUTH_GITLAB_CLIENT_ID: "x" }), [
    "OAUTH_GITLAB_CLIENT_ID is not read: OAUTH_PROVIDER does not list gitlab",
  ]);
  const alone = {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "github",
    OAUTH_CLIENT_ID: "h",
    OAUTH_CLIENT_SECRET: "hush",
  };
  assert.match(
    notes({ ...alone, OAUTH_GITHUB_CLIENT_ID: "h" }).join(),
    /OAUTH_GITHUB_CLIENT_ID is not read: OAUTH_PROVIDER names one provider/,
  );
  assert.match(
    notes({ ...alone, OAUTH_PROVIDER_DOMAINS: "example.com" }).join(),
    /OAUTH_PROVIDER_DOMAINS changes nothing/,
  );
  assertComplains(
    { ...BOTH, OAUTH_GITHUB_CLIENT_ID: undefined, OAUTH_GITHUB_CLIENTID: "h" },
    /OAUTH_GITHUB_CLIENTID is not read: rename it$/,
  );
  assert.deepEqual(notes(BOTH), []);
});

Deno.test("a rule about members that their provider does not tell of is told", () => {
  const { notes } = parseConfig({
    ...BOTH,
    OAUTH_PERMISSIONS: "github/group:staff=*; google/org:example.com=*",
  }, { scopes: ["mail"] });
  assert.deepEqual(notes.length, 1);
  assert.match(notes[0], /group:staff matches no one/);
});
