import assert from "node:assert/strict";
import {
  type Config,
  type ConfigOptions,
  parseConfig as parse,
} from "../../../src/core/settings/config.ts";
import { ConfigError } from "../../../src/core/settings/complaint.ts";
import {
  type Environment,
  settingsOf,
} from "../../../src/core/settings/setting.ts";
import { listOf } from "../../../src/core/settings/shapes.ts";
import { PROVIDERS } from "../../../src/core/settings/application.ts";
import { issuerId, parseIssuer } from "../../../src/core/oauth/subject.ts";
import { PEOPLE_SETTINGS } from "../../../src/core/settings/people.ts";

/** A feature whose issuers let people in. */
const ROWS = settingsOf({
  OAUTH_ASSERTION_ISSUERS: {
    words: "Issuers.",
    shape: listOf("issuers", parseIssuer),
    default: [],
  },
});
const ASSERTING = {
  settings: {
    title: "clients",
    rows: ROWS,
    assertionIssuers: ROWS.OAUTH_ASSERTION_ISSUERS,
  },
};

function parseConfig(
  environment: Environment,
  options?: ConfigOptions,
): Config {
  return parse(environment, { ...options, features: [ASSERTING] });
}

function complaints(environment: Environment): string[] {
  try {
    parseConfig(environment);
  } catch (error) {
    assert(error instanceof ConfigError);
    for (const { fix, wants } of error.complaints) assert(fix && wants);
    return error.complaints.map(({ variable }) => variable);
  }
  return [];
}

const APPLICATION = { OAUTH_CLIENT_ID: "app", OAUTH_CLIENT_SECRET: "hush" };

const GITHUB = {
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "github",
  ...APPLICATION,
};

const CUSTOM = {
  ...GITHUB,
  OAUTH_PROVIDER: "custom",
  OAUTH_AUTHORIZATION_URL: "https://id.example.com/authorize",
  OAUTH_TOKEN_URL: "https://id.example.com/token",
  OAUTH_USERINFO_URL: "https://id.example.com/me",
};

const JWT = {
  AUTH_STRATEGY: "jwt",
  JWT_ISSUER: "https://id.example.com",
  JWT_AUDIENCE: "tools",
  JWT_JWKS_URL: "https://id.example.com/jwks",
};

Deno.test("parseAuth() lets everyone in when nothing is set", () => {
  assert.deepEqual(parseConfig({}).auth, {});
});

Deno.test("parseAuth() takes a custom provider's host for another's only where it is", () => {
  for (
    const environment of [
      { OAUTH_ASSERTION_ISSUERS: "https://id.example.com/t1" },
      { OAUTH_ASSERTION_ISSUERS: "https://id.example.com:8443" },
      {
        ...JWT,
        AUTH_STRATEGY: "oauth,jwt",
        JWT_ISSUER: "https://id.example.com/t1",
      },
    ]
  ) {
    assert.deepEqual(complaints({ ...CUSTOM, ...environment }), []);
  }
});

Deno.test("parseAuth() doubts that people have two subjects, at a provider that is known by name and with its JWTs", () => {
  const notes = (provider: string, issuer: string) =>
    parseConfig({
      ...GITHUB,
      ...JWT,
      BASE_URL: "https://tools.example.com",
      AUTH_STRATEGY: "oauth,jwt",
      OAUTH_PROVIDER: provider,
      JWT_ISSUER: issuer,
    }).notes;
  const [note, ...others] = notes("google", "https://accounts.google.com");
  assert.match(note, /google:… .*https:\/\/accounts\.google\.com#…/);
  assert.deepEqual(others, []);
  assert.deepEqual(notes("google", "https://id.example.com"), []);
  assert.deepEqual(notes("github", "https://accounts.google.com"), []);
});

Deno.test("parseAuth() doubts blocks by address where a token may tell none", () => {
  const notes = (environment: Record<string, string>) =>
    parseConfig({
      ...GITHUB,
      BASE_URL: "https://tools.example.com",
      OAUTH_BLOCKED: "jo@example.com",
      ...environment,
    }).notes;
  const jwt = { ...JWT, AUTH_STRATEGY: "oauth,jwt" };
  const asserted = { OAUTH_ASSERTION_ISSUERS: "https://id.example.com" };
  assert.deepEqual(notes({}), []);
  assert.match(notes(jwt)[0], /a token of JWT_ISSUER only if/);
  assert.match(notes(asserted)[0], /of OAUTH_ASSERTION_ISSUERS only if/);
  const bySubject = { OAUTH_BLOCKED: "github:42" };
  assert.deepEqual(notes({ ...jwt, ...asserted, ...bySubject }), []);
});

Deno.test("parseAuth() reads a provider with our application there", () => {
  const { auth } = parseConfig({
    ...GITHUB,
    OAUTH_PROVIDER_NAME: "Our GitHub",
    OAUTH_PROVIDER_SCOPES: "read:user repo",
    OAUTH_EXTRA_AUTH_PARAMS: "prompt=consent&hd=example.com",
    OAUTH_ALLOWED_USERS: "jo@example.com, @example.org",
    OAUTH_PERMISSIONS: "*=*",
    OAUTH_GROUPS_CLAIM: "roles",
    CIMD_ALLOWED_DOMAINS: "Claude.ai,vscode.dev",
  });
  assert.deepEqual(auth.oauth, {
    secretsKeys: [],
    providers: [{
      id: "github",
      config: {
        provider: "github",
        name: "Our GitHub",
        clientId: "app",
        clientSecret: "hush",
        scopes: ["read:user", "repo"],
        extraAuthParams: { prompt: "consent", hd: "example.com" },
        groupsClaim: "roles",
        issuer: undefined,
      },
      domains: [],
    }],
    allowedUsers: [
      { kind: "address", address: "jo@example.com" },
      { kind: "domain", domain: "@example.org" },
    ],
    admins: [],
    blocked: [],
    ledgerDays: 30,
    assertionIssuers: [],
    clients: [],
    lifetimes: {
      accessTokenSeconds: 3600,
      idleSeconds: 30 * 86_400,
      grantSeconds: 90 * 86_400,
      personalTokenSeconds: 365 * 86_400,
    },
    policy: { registration: true, redirectHosts: [], trusted: [] },
    permissions: [{ who: { kind: "everyone" }, scopes: "all" }],
    metadataDocuments: {
      enabled: true,
      allowedDomains: ["claude.ai", "vscode.dev"],
    },
  });
});

Deno.test("OAUTH_LEDGER_DAYS is a number of days up to a year", () => {
  for (const [text, days] of [["0", 0], ["7", 7], ["365", 365]] as const) {
    const { auth } = parseConfig({ ...GITHUB, OAUTH_LEDGER_DAYS: text });
    assert.equal(auth.oauth?.ledgerDays, days);
  }
  for (const text of ["366", "-1", "off", "1.5", "1e2"]) {
    assert.throws(
      () => parseConfig({ ...GITHUB, OAUTH_LEDGER_DAYS: text }),
      /OAUTH_LEDGER_DAYS: got .*, wants days from 0 to 365/,
    );
  }
});

Deno.test("SECRETS_KEYS are different random keys, and a complaint says which one is none", () => {
  const { parse } = PEOPLE_SETTINGS.SECRETS_KEYS.shape;
  const [one, other] = ["1", "2"].map((digit) => digit.repeat(43));
  assert.deepEqual(parse(`${one},${other}=`), [one, `${other}=`]);
  for (
    const [text, nth] of [
      [one.slice(1), 1],
      [`${one},short`, 2],
      [`${"A".repeat(43)}=,${one}`, 1],
      [`${one},${other},${one}`, 3],
    ] as const
  ) {
    assert.throws(() => parse(text), { message: `number ${nth} is none` });
  }
});

Deno.test("OAUTH_PERMISSIONS is complained of entry by entry", () => {
  assert.throws(
    () =>
      parseConfig({ ...GITHUB, OAUTH_PERMISSIONS: "1=mail; b; 2=mial" }, {
        scopes: ["mail"],
      }),
    ({ message }) => {
      const wants = "wants entries who=scope scope, separated by semicolons";
      assert(message.includes(
        `OAUTH_PERMISSIONS: got "b", ${wants}; this is not who=scopes. Fix: `,
      ));
      assert(message.includes(
        `got "2=mial", ${wants}; nothing needs the scope mial. Fix: `,
      ));
      assert.match(message, /There are these scopes: mail, and \* for all/);
      return true;
    },
  );
});

Deno.test("parseAuth() complains of every entry of a list that matches no one", () => {
  for (
    const [setting, entry] of [
      ["OAUTH_ALLOWED_USERS", "octocat"],
      ["OAUTH_ALLOWED_USERS", "*"],
      ["OAUTH_ADMINS", "example.com"],
      ["OAUTH_BLOCKED", "group:admins"],
      ["OAUTH_PERMISSIONS", "octocat"],
    ]
  ) {
    const text = setting === "OAUTH_PERMISSIONS" ? `${entry}=*` : entry;
    assert.throws(
      () => parseConfig({ ...GITHUB, [setting]: text }),
      ({ message }) => {
        assert(message.includes(`${setting}: got "${entry}`), message);
        assert.match(message, /matches no one, because .*Fix: /);
        return true;
      },
    );
  }
});

Deno.test("parseAuth() says why a list takes no groups, and what to do", () => {
  for (
    const [setting, advice] of [
      ["OAUTH_ALLOWED_USERS", /Say it in OAUTH_PERMISSIONS/],
      ["OAUTH_ADMINS", /Name each operator: anyone who may change a group/],
      ["OAUTH_BLOCKED", /Name each person: who leaves a group/],
    ] as const
  ) {
    assert.throws(
      () => parseConfig({ ...GITHUB, [setting]: "team:acme/dev" }),
      ({ message }) => {
        assert.match(message, /this list is of people, not of groups/);
        assert.match(message, advice);
        return true;
      },
    );
  }
});

Deno.test("parseConfig() notes rules about memberships that no one tells of", () => {
  const notes = (environment: Environment) =>
    parseConfig({ ...GITHUB, ...environment }).notes;
  const none = [
    { OAUTH_PERMISSIONS: "org:acme=*; team:acme/dev=*" },
    {
      OAUTH_PROVIDER: "microsoft",
      OAUTH_ISSUER: "https://login.microsoftonline.com/contoso.example/v2.0",
      OAUTH_PERMISSIONS: "role:a=*; group:a=*",
    },
    {
      OAUTH_PROVIDER: "microsoft",
      OAUTH_PERMISSIONS: "group:0f8fad5b-d9cb-469f-a165-70867728950e=*",
    },
    // Here it is about those who come with an assertion.
    {
      OAUTH_PROVIDER: "microsoft",
      OAUTH_PERMISSIONS: "role:a=*",
      OAUTH_ASSERTION_ISSUERS: "https://id.example.com",
    },
    {
      OAUTH_PERMISSIONS: "group:a=*; role:a=*",
      OAUTH_ASSERTION_ISSUERS: "https://id.example.com",
    },
    {
      OAUTH_PROVIDER: "google",
      OAUTH_GROUPS_CLAIM: "groups",
      OAUTH_PERMISSIONS: "group:a=*",
    },
  ];
  for (const environment of none) assert.deepEqual(notes(environment), []);
  const [note] = notes({ OAUTH_PERMISSIONS: "group:admins=*" });
  assert.match(note, /group:admins matches no one, .* no groups: use org:/);
});

Deno.test("parseConfig() refuses rules about what any tenant at microsoft gives to its people", () => {
  const several = {
    OAUTH_PROVIDER: "work,home",
    OAUTH_WORK_PROVIDER: "microsoft",
    OAUTH_WORK_CLIENT_ID: "id",
    OAUTH_WORK_CLIENT_SECRET: "hush",
    OAUTH_HOME_PROVIDER: "google",
    OAUTH_HOME_CLIENT_ID: "id",
    OAUTH_HOME_CLIENT_SECRET: "hush",
    OAUTH_CLIENT_ID: undefined,
    OAUTH_CLIENT_SECRET: undefined,
    OAUTH_PERMISSIONS: "work/role:a=*; home/org:a=*",
  };
  const only = { OAUTH_PROVIDER: "microsoft" };
  const common = "https://login.microsoftonline.com/common/v2.0";
  for (
    const [environment, fix] of [
      [{ ...only, OAUTH_PERMISSIONS: "role:a=*" }, /tenant in OAUTH_ISSUER/],
      [{ ...only, OAUTH_PERMISSIONS: "group:a=*" }, /tenant in OAUTH_ISSUER/],
      [{
        ...only,
        OAUTH_ISSUER: common,
        OAUTH_GROUPS_CLAIM: "department",
        OAUTH_PERMISSIONS: "group:a=*",
      }, /tenant in OAUTH_ISSUER/],
      [several, /tenant in OAUTH_WORK_ISSUER/],
    ] as const
  ) {
    assert.throws(
      () => parseConfig({ ...GITHUB, ...environment }),
      ({ message }) => {
        assert.match(message, /a tenant of a stranger cannot give/);
        assert.match(message, fix);
        assert.doesNotMatch(message, /org:a/);
        return true;
      },
    );
  }
});

Deno.test("parseAuth() needs nothing but its name for the dev provider", () => {
  const { auth } = parseConfig({
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
    BASE_URL: "http://127.0.0.1:3000",
  });
  assert.deepEqual(auth.oauth?.providers[0].config, { provider: "dev" });
});

const REFUSALS: [string, Environment, string[]][] = [
  ["an unknown strategy", { AUTH_STRATEGY: "magic" }, ["AUTH_STRATEGY"]],
  ["oauth without a provider", { AUTH_STRATEGY: "oauth" }, ["OAUTH_PROVIDER"]],
  ["a provider that it does not know", {
    ...GITHUB,
    OAUTH_PROVIDER: "myspace",
  }, ["OAUTH_PROVIDER"]],
  ["a provider without our application", {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "google",
  }, ["OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET"]],
  ["oidc without an issuer", { ...GITHUB, OAUTH_PROVIDER: "oidc" }, [
    "OAUTH_ISSUER",
  ]],
  ["an issuer without TLS", {
    ...GITHUB,
    OAUTH_PROVIDER: "oidc",
    OAUTH_ISSUER: "http://id.example.com",
  }, ["OAUTH_ISSUER"]],
  ["custom without its endpoints", { ...GITHUB, OAUTH_PROVIDER: "custom" }, [
    "OAUTH_AUTHORIZATION_URL",
    "OAUTH_TOKEN_URL",
    "OAUTH_USERINFO_URL",
  ]],
  ["the dev provider on a public address", {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
    BASE_URL: "https://tools.example.com",
  }, ["OAUTH_PROVIDER"]],
  ["the dev provider on every network", {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
    HOST: "0.0.0.0",
  }, ["BASE_URL", "OAUTH_PROVIDER"]],
  ["the dev provider when deployed, and no BASE_URL there", {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
    DENO_DEPLOYMENT_ID: "d",
  }, ["BASE_URL", "OAUTH_PROVIDER"]],
  ["bearer without a token", { AUTH_STRATEGY: "bearer" }, ["BEARER_TOKEN"]],
  ["bearer with only commas", { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "," }, [
    "BEARER_TOKEN",
  ]],
  ["a token that does not fit into a header", {
    AUTH_STRATEGY: "bearer",
    BEARER_TOKEN: "schlüssel-schlüssel",
  }, ["BEARER_TOKEN"]],
  ["a token that is quickly guessed", {
    AUTH_STRATEGY: "bearer",
    BEARER_TOKEN: "a-long-enough-token,fifteen-letters",
  }, ["BEARER_TOKEN"]],
  ["a key that is quickly guessed", {
    AUTH_STRATEGY: "api_key",
    API_KEY: "abc",
  }, ["API_KEY"]],
  ["sign-in without BASE_URL on every network", {
    ...GITHUB,
    HOST: "0.0.0.0",
  }, ["BASE_URL"]],
  ["others' tokens without BASE_URL on every network", {
    AUTH_STRATEGY: "jwt",
    HOST: "::",
    JWT_ISSUER: "https://id.example.com",
    JWT_AUDIENCE: "tools",
    JWT_JWKS_URL: "https://id.example.com/jwks",
  }, ["BASE_URL"]],
  ["a password in the issuer", {
    ...GITHUB,
    OAUTH_PROVIDER: "oidc",
    OAUTH_ISSUER: "https://:hush@id.example.com",
  }, ["OAUTH_ISSUER"]],
  ["a user in the issuer", {
    ...GITHUB,
    OAUTH_PROVIDER: "oidc",
    OAUTH_ISSUER: "https://jo@id.example.com",
  }, ["OAUTH_ISSUER"]],
  ["a domain that is an address", {
    ...GITHUB,
    CIMD_ALLOWED_DOMAINS: "https://claude.ai",
  }, ["CIMD_ALLOWED_DOMAINS"]],
  ["api_key without a key", { AUTH_STRATEGY: "api_key" }, ["API_KEY"]],
  ["a header name that is none", {
    AUTH_STRATEGY: "api_key",
    API_KEY: "the-only-api-key",
    API_KEY_HEADER: "x key",
  }, ["API_KEY_HEADER"]],
  ["jwt without its server", { AUTH_STRATEGY: "jwt" }, [
    "JWT_ISSUER",
    "JWT_AUDIENCE",
    "JWT_JWKS_URL",
  ]],
  ["a redirect host that is an address", {
    ...GITHUB,
    OAUTH_REDIRECT_HOSTS: "https://claude.ai",
  }, ["OAUTH_REDIRECT_HOSTS"]],
  ["registration that is neither on nor off", {
    ...GITHUB,
    OAUTH_REGISTRATION: "closed",
  }, ["OAUTH_REGISTRATION"]],
  ["clients that are no JSON", { ...GITHUB, OAUTH_CLIENTS: "data/x.json" }, [
    "OAUTH_CLIENTS",
  ]],
  ["strangers where everyone may call anyway", { AUTH_ANONYMOUS: "true" }, [
    "AUTH_ANONYMOUS",
  ]],
  ["an issuer of assertions at a custom provider's host", {
    ...CUSTOM,
    OAUTH_ASSERTION_ISSUERS: "https://other.example.com,https://id.example.com",
  }, ["OAUTH_ASSERTION_ISSUERS"]],
  ["the first issuer of JWTs at a custom provider's host", {
    ...CUSTOM,
    AUTH_STRATEGY: "oauth,jwt",
    BASE_URL: "https://tools.example.com",
    JWT_ISSUER: "https://id.example.com",
    JWT_AUDIENCE: "tools",
    JWT_JWKS_URL: "https://id.example.com/jwks",
  }, ["JWT_ISSUER"]],
  ["a second issuer of JWTs at a custom provider's host", {
    ...CUSTOM,
    AUTH_STRATEGY: "oauth,jwt",
    BASE_URL: "https://tools.example.com",
    JWT_ISSUER: "https://other.example.com,https://id.example.com",
    JWT_AUDIENCE: "tools",
    JWT_JWKS_URL: "https://other.example.com/jwks,https://id.example.com/jwks",
  }, ["JWT_ISSUER"]],
  ["users, domains and claims that are only commas", {
    ...GITHUB,
    OAUTH_ALLOWED_USERS: ",",
    OAUTH_ADMINS: ",",
    OAUTH_TRUSTED_CLIENTS: ",",
    CIMD_ALLOWED_DOMAINS: ", ,",
  }, [
    "OAUTH_ALLOWED_USERS",
    "OAUTH_ADMINS",
    "OAUTH_TRUSTED_CLIENTS",
    "CIMD_ALLOWED_DOMAINS",
  ]],
  ["a provider's name that no page has room for", {
    ...GITHUB,
    OAUTH_PROVIDER_NAME: "a".repeat(41),
  }, ["OAUTH_PROVIDER_NAME"]],
  ["none besides another strategy", { AUTH_STRATEGY: "none,bearer" }, [
    "AUTH_STRATEGY",
  ]],
  ["a strategy that is named twice", { AUTH_STRATEGY: "bearer,bearer" }, [
    "AUTH_STRATEGY",
  ]],
  ["a list of no strategy", { AUTH_STRATEGY: "," }, ["AUTH_STRATEGY"]],
  ["what one of several strategies lacks", {
    ...GITHUB,
    AUTH_STRATEGY: "oauth,bearer,api_key",
    BEARER_TOKEN: "a-long-enough-token",
  }, ["API_KEY"]],
  ["a static token that looks like one of ours", {
    ...GITHUB,
    AUTH_STRATEGY: "oauth,bearer",
    BEARER_TOKEN: "a-long-enough-token,tsa_long-enough",
  }, ["BEARER_TOKEN"]],
  ["a static token that looks like an issuer's", {
    ...JWT,
    AUTH_STRATEGY: "jwt,bearer",
    BEARER_TOKEN: "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl",
  }, ["BEARER_TOKEN"]],
  ["an issuer whose keys are nowhere", {
    ...JWT,
    JWT_ISSUER: "https://id.example.com,https://id.example.org",
  }, ["JWT_JWKS_URL"]],
  ["one issuer of several without TLS", {
    ...JWT,
    JWT_ISSUER: "https://id.example.com,http://id.example.org",
  }, ["JWT_ISSUER"]],
  ["a leeway that lets yesterday's tokens in", {
    ...JWT,
    JWT_LEEWAY: "301",
  }, ["JWT_LEEWAY"]],
  ["a leeway in other words", { ...JWT, JWT_LEEWAY: "1m" }, ["JWT_LEEWAY"]],
  ["types that are none", { ...JWT, JWT_TYPE: "," }, ["JWT_TYPE"]],
  ["claims that are none", { ...JWT, JWT_SCOPE_CLAIM: "," }, [
    "JWT_SCOPE_CLAIM",
  ]],
  [
    "a switch that is neither on nor off",
    { ...GITHUB, CIMD_ENABLED: "maybe" },
    ["CIMD_ENABLED"],
  ],
  ["credentials without a strategy, which would be an open server", {
    BEARER_TOKEN: "t",
  }, ["AUTH_STRATEGY"]],
];

for (const [what, environment, variables] of REFUSALS) {
  Deno.test(`parseAuth() complains of ${what}`, () => {
    assert.deepEqual(complaints(environment), variables);
  });
}

Deno.test("parseAuth() splits static credentials for rotation", () => {
  const bearer = parseConfig({
    AUTH_STRATEGY: "bearer",
    BEARER_TOKEN: "the-new-secret-token, the-old-secret-token",
  });
  assert.deepEqual(bearer.auth, {
    bearer: { tokens: ["the-new-secret-token", "the-old-secret-token"] },
  });
  const key = parseConfig({
    AUTH_STRATEGY: "api_key",
    API_KEY: "the-first-api-key,the-second-api-key",
  });
  assert.deepEqual(key.auth, {
    apiKey: {
      keys: ["the-first-api-key", "the-second-api-key"],
      header: "x-api-key",
    },
  });
});

Deno.test("parseAuth() opens every door that is listed, and no other", () => {
  const environment = {
    ...GITHUB,
    ...JWT,
    BEARER_TOKEN: "a-long-enough-token",
    API_KEY: "a-long-enough-key",
  };
  const doorsOf = (AUTH_STRATEGY: string) =>
    Object.keys(parseConfig({ ...environment, AUTH_STRATEGY }).auth);
  assert.deepEqual(doorsOf("oauth,jwt,bearer,api_key"), [
    "oauth",
    "jwt",
    "bearer",
    "apiKey",
  ]);
  assert.deepEqual(doorsOf("bearer oauth"), ["oauth", "bearer"]);
  assert.deepEqual(doorsOf("none"), []);
});

Deno.test("parseAuth() leaves a static token its looks where no other door takes them", () => {
  const BEARER_TOKEN = "tsa_long-enough-token";
  const { auth } = parseConfig({ AUTH_STRATEGY: "bearer", BEARER_TOKEN });
  assert.deepEqual(auth.bearer?.tokens, [BEARER_TOKEN]);
});

Deno.test("parseAuth() reads several issuers with their keys, and how their tokens are", () => {
  assert.deepEqual(
    parseConfig({
      ...JWT,
      JWT_ISSUER: "https://id.example.com,https://id.example.org",
      JWT_JWKS_URL: "https://id.example.com/jwks, https://id.example.org/keys",
      JWT_AUDIENCE: "tools,https://tools.example.com/mcp",
      JWT_LEEWAY: "0",
      JWT_TYPE: "application/AT+jwt",
      JWT_SCOPE_CLAIM: "permissions",
      JWT_CLIENT_CLAIM: "cid",
    }).auth.jwt,
    {
      issuers: [
        {
          issuer: "https://id.example.com",
          jwksUrl: "https://id.example.com/jwks",
        },
        {
          issuer: "https://id.example.org",
          jwksUrl: "https://id.example.org/keys",
        },
      ],
      audiences: ["tools", "https://tools.example.com/mcp"],
      leewaySeconds: 0,
      types: ["at+jwt"],
      scopeClaims: ["permissions"],
      clientClaims: ["cid"],
    },
  );
  const { leewaySeconds, types, scopeClaims, clientClaims } = parseConfig(JWT)
    .auth.jwt!;
  assert.equal(leewaySeconds, 60);
  assert.deepEqual(types, ["", "jwt", "at+jwt"]);
  assert.deepEqual(scopeClaims, ["scope", "scp"]);
  assert.deepEqual(clientClaims, ["client_id", "azp"]);
});

Deno.test("parseAuth() keeps a secret out of its complaint", () => {
  try {
    parseConfig({ AUTH_STRATEGY: "bearer", BEARER_TOKEN: ",,," });
    assert.fail("no complaint");
  } catch (error) {
    assert(error instanceof ConfigError);
    assert(error.message.includes("(hidden)"));
    assert(!error.message.includes(",,,"));
  }
});

Deno.test("parseAuth() fetches no documents with the dev provider, unless it is told to", () => {
  const isEnabled = (environment: Environment) => {
    const { auth } = parseConfig({ AUTH_STRATEGY: "oauth", ...environment });
    return auth.oauth?.metadataDocuments.enabled;
  };
  assert.equal(isEnabled(GITHUB), true);
  assert.equal(isEnabled({ ...GITHUB, CIMD_ENABLED: "false" }), false);
  assert.equal(isEnabled({ OAUTH_PROVIDER: "dev" }), false);
  assert.equal(
    isEnabled({ OAUTH_PROVIDER: "dev", CIMD_ENABLED: "true" }),
    true,
  );
});

Deno.test("providerId() keeps the subjects of different providers apart", () => {
  const idOf = (environment: Environment) => {
    const { auth } = parseConfig({ ...GITHUB, ...environment });
    return auth.oauth?.providers[0].id;
  };
  assert.equal(idOf({}), "github");
  assert.equal(idOf({ OAUTH_PROVIDER: "dev" }), "dev");
  assert.equal(
    idOf({
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: "https://id.example.com/t1/",
    }),
    "https://id.example.com/t1",
  );
  assert.equal(
    idOf({ OAUTH_PROVIDER: "gitlab", OAUTH_ISSUER: "https://git.example.com" }),
    "https://git.example.com",
  );
  assert.equal(
    idOf({ ...CUSTOM, OAUTH_USERINFO_URL: "https://api.example.com/me" }),
    "https://api.example.com",
  );
});

Deno.test("providerId() does not change with how the settings spell a provider", () => {
  const idOf = (environment: Environment) => {
    const { auth } = parseConfig({ ...GITHUB, ...environment });
    return auth.oauth?.providers[0].id;
  };
  const tenant = "https://login.microsoftonline.com/72f988bf-86f1-41af";
  for (
    const [OAUTH_PROVIDER, id, ...issuers] of [
      ["oidc", "https://id.example.com/T1", [
        "https://id.example.com/T1",
        "https://id.example.com/T1/",
        "https://ID.example.com:443/T1",
      ]],
      ["github", "https://git.example.com", [
        "https://git.example.com",
        "https://GIT.example.com/login",
      ]],
      [
        "microsoft",
        "https://login.microsoftonline.com/72f988bf-86f1-41af/v2.0",
        [
          `${tenant}/v2.0`,
          `${tenant.toUpperCase().replace("HTTPS", "https")}/v2.0/`,
        ],
      ],
    ] as const
  ) {
    for (const OAUTH_ISSUER of issuers.flat()) {
      for (const OAUTH_PROVIDER_SCOPES of ["a b", "b a"]) {
        const settings = {
          OAUTH_PROVIDER,
          OAUTH_ISSUER,
          OAUTH_PROVIDER_SCOPES,
        };
        assert.equal(idOf(settings), id, OAUTH_ISSUER);
      }
    }
  }
  const custom = (OAUTH_USERINFO_URL: string) =>
    idOf({ ...CUSTOM, OAUTH_USERINFO_URL });
  assert.equal(
    custom("https://API.example.com:443/me"),
    custom("https://api.example.com/me/"),
  );
  // A tenant is not everyone.
  assert.notEqual(
    idOf({ OAUTH_PROVIDER: "microsoft" }),
    idOf({ OAUTH_PROVIDER: "microsoft", OAUTH_ISSUER: `${tenant}/v2.0` }),
  );
});

Deno.test("no host has the subjects of a provider that is known by name", () => {
  const names: string[] = PROVIDERS
    // These are known by their address.
    .filter((name) => !["oidc", "custom"].includes(name));
  assert(names.includes("github"));
  for (const name of names) {
    assert.notEqual(issuerId({ issuer: `https://${name}` }), name);
  }
});
