import assert from "node:assert/strict";
import {
  type ConfigOptions,
  parseConfig,
} from "../../../src/core/settings/config.ts";
import { ConfigError } from "../../../src/core/settings/complaint.ts";
import {
  defaultText,
  type Environment,
} from "../../../src/core/settings/setting.ts";
import {
  envExample,
  SETTINGS_TABLE,
} from "../../../packages/create/settings.ts";
import { FEATURES } from "../../../src/features.ts";
import * as z from "zod";
import { secret } from "../../../src/authoring/setting.ts";

const { settings: SETTINGS, variables: VARIABLES } = SETTINGS_TABLE;

/** The lines of `.env.example` that set something when uncommented. */
const LINES = [...envExample(new Map()).matchAll(/^# ([A-Z_]+)=(.+)$/gm)]
  .map(([, name, text]) => [name, text.replace(/^'(.*)'$/, "$1")] as const);

const OAUTH = {
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "github",
  OAUTH_CLIENT_ID: "app",
  OAUTH_CLIENT_SECRET: "hush",
};

const CUSTOM = {
  ...OAUTH,
  OAUTH_PROVIDER: "custom",
  OAUTH_AUTHORIZATION_URL: "https://id.example.com/authorize",
  OAUTH_TOKEN_URL: "https://id.example.com/token",
  OAUTH_USERINFO_URL: "https://id.example.com/me",
};

const JWT = {
  AUTH_STRATEGY: "jwt",
  JWT_ISSUER: "https://login.example.com",
  JWT_AUDIENCE: "tools",
  JWT_JWKS_URL: "https://login.example.com/keys",
};

/** The surroundings in which each group is read. */
const NEEDED: Environment[] = [
  {},
  OAUTH,
  { ...OAUTH, OAUTH_PROVIDER: "oidc", OAUTH_ISSUER: "https://id.example.com" },
  CUSTOM,
  JWT,
  { AUTH_STRATEGY: "api_key", API_KEY: "the-only-api-key" },
];

Deno.test("every line of .env.example is accepted when it is uncommented, alone and with what its group needs", () => {
  const names = new Set(LINES.map(([name]) => name));
  for (const name of ["PORT", "OAUTH_PERMISSIONS", "JWT_TYPE", "KV_PATH"]) {
    assert(names.has(name), name);
  }
  for (const [name, text] of LINES) {
    for (const environment of NEEDED) {
      const isChoice = name === "AUTH_STRATEGY" && environment !== NEEDED[0];
      if (!isChoice) {
        parseConfig({ ...environment, [name]: text }, { features: FEATURES });
      }
    }
  }
});

Deno.test("every default in the table is what its text is parsed as", () => {
  const told = SETTINGS.flatMap((setting) => {
    const text = defaultText(setting);
    if (text === undefined) return [];
    assert.deepEqual(setting.shape.parse(text), setting.default, setting.name);
    return [`${setting.name}=${text}`];
  });
  for (const line of ["HOST=127.0.0.1", "JWT_SCOPE_CLAIM=scope,scp"]) {
    assert(told.includes(line), line);
  }
});

Deno.test("the table marks secrets", () => {
  const secrets = SETTINGS.filter(({ secret }) => secret);
  assert.deepEqual(secrets.map(({ name }) => name), [
    "DATABASE_URL",
    "PGPASSWORD",
    "DENO_KV_ACCESS_TOKEN",
    "OAUTH_CLIENT_SECRET",
    "SECRETS_KEYS",
    "BEARER_TOKEN",
    "API_KEY",
  ]);
});

Deno.test("VARIABLES has every name once", () => {
  assert.equal(new Set(VARIABLES).size, VARIABLES.length);
  for (const name of ["HOST", "DENO_DEPLOYMENT_ID"]) {
    assert(VARIABLES.includes(name), name);
  }
});

Deno.test("a misspelt name is told with the one that is meant, and never with its value", () => {
  for (
    const [misspelt, meant] of [
      ["OAUTH_ALLOWED_USER", "OAUTH_ALLOWED_USERS"],
      ["OAUTH_ALOWED_USERS", "OAUTH_ALLOWED_USERS"],
      ["BASEURL", "BASE_URL"],
      ["TRUSTED_PROXY", "TRUSTED_PROXIES"],
      ["base_url", "BASE_URL"],
      ["BASE_ULR", "BASE_URL"],
      ["LOG_LEVAL", "LOG_LEVEL"],
    ]
  ) {
    assert.deepEqual(parseConfig({ [misspelt]: "hunter2" }).notes, [
      `${misspelt} is not read: is ${meant} meant?`,
    ]);
  }
  const strangers = {
    PATH: "/bin",
    HOME: "/root",
    HOSTNAME: "a",
    BASE_URI: "",
  };
  assert.deepEqual(parseConfig(strangers).notes, []);
  const set = { LOG_LEVEL: "info", LOG_LEVELS: "debug" };
  assert.deepEqual(parseConfig(set).notes, []);
});

Deno.test("a misspelt name of a setting without which a server is more open ends the start", () => {
  const oauth = {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "google",
    OAUTH_CLIENT_ID: "a",
    OAUTH_CLIENT_SECRET: "b",
  };
  const jwt = {
    AUTH_STRATEGY: "jwt",
    JWT_ISSUER: "https://a.test",
    JWT_AUDIENCE: "https://b.test/mcp",
  };
  const guards = SETTINGS.filter(({ guards }) => guards);
  assert(guards.length > 5);
  for (const { name } of guards) {
    const rest = name.startsWith("JWT_") ? jwt : oauth;
    const { AUTH_STRATEGY: _, ...open } = rest;
    // A server whose strategy is not set is open without these.
    const environment = name === "AUTH_STRATEGY"
      ? open
      : /^(BEARER_TOKEN|API_KEY|JWT_ISSUER|OAUTH_PROVIDER|OAUTH_CLIENT_ID)$/
          .test(name)
      ? {}
      : rest;
    const misspelt = name.replace(/.(?=.$)/, "Q");
    const ways: [Record<string, string>, { namesInFile?: string[] }][] = [
      [{ [misspelt]: "hunter2" }, {}],
      [{}, { namesInFile: [misspelt] }],
    ];
    for (const [set, reading] of ways) {
      assert.throws(
        () => parseConfig({ ...environment, ...set }, reading),
        ({ message }: Error) => {
          const fix = `\n  ${name}: got nothing, wants `;
          assert(message.includes(fix), message);
          assert(message.includes(`Fix: ${misspelt} is not read: rename it.`));
          assert.equal(message.split(`${name}: got`).length, 2, message);
          return !message.includes("hunter2");
        },
      );
    }
  }
  assert.throws(() => parseConfig({ AUTH_STRATAGY: "oauth" }), /rename it/);
  // Not open, or by the operator's own word.
  for (const strategy of ["none", "bearer"]) {
    const chosen = { AUTH_STRATEGY: strategy, BEARER_TOKEN: "x".repeat(16) };
    assert.deepEqual(parseConfig({ ...chosen, API_KEYS: "hunter2" }).notes, [
      "API_KEYS is not read: is API_KEY meant?",
    ]);
  }
  assert.throws(
    () => parseConfig({ AUTH_STRATEGY: "api_key", API_KEYS: "hunter2" }),
    ({ message }: Error) => message.split("API_KEY: got").length === 2,
  );
});

Deno.test("a name that begins like a setting and is none is reported, with the setting whose end it is near to", () => {
  const unknown = {
    OAUTH_SCOPEZ: "hunter2",
    OAUTH_SCOPES: "hunter2",
    CIMD_ADMINS: "hunter2",
    OAUTH_NOTHING: "hunter2",
    ACCOUNT_CRM_CLIENT_ID: "hunter2",
    // Of an app of another name, unset, and misspelt in a letter.
    JWT_SECRET: "hunter2",
    OAUTH_BLANK: " ",
    OAUTH_ADMIN: "hunter2",
  };
  assert.deepEqual(parseConfig(unknown).notes, [
    "OAUTH_ADMIN is not read: is OAUTH_ADMINS meant?",
    "OAUTH_SCOPEZ is not read: is OAUTH_PROVIDER_SCOPES meant?",
    "OAUTH_SCOPES is not read: is OAUTH_PROVIDER_SCOPES meant?",
    "CIMD_ADMINS is not read: is OAUTH_ADMINS meant?",
    "OAUTH_NOTHING is not read: there is no such setting",
    "ACCOUNT_CRM_CLIENT_ID is not read: there is no such setting",
  ]);
});

Deno.test("a nickname in a list of people is reported with the subject as which it is read", () => {
  const environment = {
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "oidc",
    OAUTH_ISSUER: "https://id.example.com",
    OAUTH_CLIENT_ID: "id",
    OAUTH_CLIENT_SECRET: "secret",
    OAUTH_ALLOWED_USERS: "jo,00u1,ada@example.com",
  };
  assert.deepEqual(parseConfig(environment).notes, [
    "OAUTH_ALLOWED_USERS: jo is read as the subject " +
    "https://id.example.com#jo; an e-mail address has an @",
  ]);
  const { OAUTH_ISSUER: _issuer, ...rest } = environment;
  assert.deepEqual(parseConfig({ ...rest, OAUTH_PROVIDER: "dev" }).notes, []);
});

Deno.test("AUTH_STRATEGY=none,oauth is refused with what lets strangers try", () => {
  assert.throws(
    () => parseConfig({ ...OAUTH, AUTH_STRATEGY: "none,oauth" }),
    /wants none, or one or several of oauth, .*AUTH_ANONYMOUS=true lets strangers/,
  );
});

Deno.test("a variable that client_secret_env names is read, however it is called", () => {
  const OAUTH_CLIENT_SECRET_A = "a secret of a client";
  const OAUTH_CLIENTS = JSON.stringify([{
    client_id: "a",
    client_secret_env: "OAUTH_CLIENT_SECRET_A",
    grant_types: ["client_credentials"],
  }]);
  const { OAUTH_CLIENT_SECRET: _, ...unset } = OAUTH;
  const environment = { ...unset, OAUTH_CLIENT_SECRET_A };
  const dev = { ...environment, OAUTH_PROVIDER: "dev" };
  const { notes } = parseConfig(dev);
  assert.match(notes.join(), /^OAUTH_CLIENT_SECRET_A is not read/);
  assert.deepEqual(parseConfig({ ...dev, OAUTH_CLIENTS }).notes, []);
  assert.throws(
    () => parseConfig({ ...environment, OAUTH_CLIENTS }),
    /OAUTH_CLIENT_SECRET: (?!.*OAUTH_CLIENT_SECRET_A is not read)/,
  );
});

Deno.test("a complaint of a missing setting names the misspelt one", () => {
  const { OAUTH_CLIENT_ID: OAUTH_CLIENTID, ...environment } = OAUTH;
  assert.throws(
    () => parseConfig({ ...environment, OAUTH_CLIENTID }),
    (error) => {
      assert(error instanceof ConfigError);
      assert.deepEqual(error.complaints, [{
        variable: "OAUTH_CLIENT_ID",
        got: undefined,
        wants: "your application's client ID at the provider",
        fix: "OAUTH_CLIENTID is not read: rename it",
      }]);
      return true;
    },
  );
});

Deno.test("OAUTH_CLIENTS names a file, and complains of one that cannot be read with all others", () => {
  const client = JSON.stringify([{
    client_id: "a",
    client_secret_env: "A_SECRET",
    grant_types: ["client_credentials"],
  }]);
  const A_SECRET = "a-secret-of-a-client";
  const readFile = (path: string) => {
    if (path === "data/clients.json") return ` ${client}\n`;
    throw new Error("No such file");
  };
  const parse = (OAUTH_CLIENTS: string, more: Environment = {}) =>
    parseConfig({ ...OAUTH, OAUTH_CLIENTS, A_SECRET, ...more }, { readFile });
  const { auth } = parse("data/clients.json");
  assert.deepEqual(auth.oauth?.clients.map((it) => it.clientId), ["a"]);
  assert.throws(() => parse("data/x.json", { PORT: "x" }), (error) => {
    assert(error instanceof ConfigError);
    assert.match(error.message, /^ {2}PORT: got "x"/m);
    assert.match(
      error.message,
      /OAUTH_CLIENTS: got "data\/x\.json", wants .*: No such file\. Fix: /,
    );
    return true;
  });
  const pasted = '{"client_id":"a","client_secret":"hunter2"}';
  assert.throws(() => parse(pasted), (error) => {
    assert.match(String(error), /OAUTH_CLIENTS: got "\(hidden\)"/);
    assert.doesNotMatch(String(error), /hunter2/);
    return true;
  });
});

function parse(
  settings: Record<string, z.ZodType>,
  environment: Environment,
  options: ConfigOptions = {},
) {
  return parseConfig(environment, {
    ...options,
    settings: new Map(Object.entries(settings)),
  });
}

function messageOf(...args: Parameters<typeof parse>): string {
  try {
    parse(...args);
  } catch (error) {
    assert(error instanceof ConfigError);
    return error.message;
  }
  assert.fail("there was no complaint");
}

const LIMIT = z.coerce.number().int().default(3);

Deno.test("parseConfig() parses own settings by their schemas", () => {
  const settings = { LIMIT, FLAG: z.stringbool(), CITY: z.string().optional() };
  const { own } = parse(settings, { FLAG: "yes" });
  assert.deepEqual(own, { LIMIT: 3, FLAG: true, CITY: undefined });
  assert.equal(parse(settings, { FLAG: "no", LIMIT: "7" }).own.LIMIT, 7);
});

Deno.test("parseConfig() takes a blank own setting for an unset one", () => {
  assert.equal(parse({ LIMIT }, { LIMIT: "  " }).own.LIMIT, 3);
});

Deno.test("parseConfig() complains of own settings with all others together, in one form", () => {
  const KEY = z.string().describe("Key of the weather API.");
  const URL = z.url().optional();
  assert.equal(
    messageOf({ KEY, LIMIT, URL }, { PORT: "http", LIMIT: "many", URL: "x" }),
    `These settings need fixing:
  PORT: got "http", wants a port from 0 to 65535. Fix: Use PORT=3000, or leave it unset.
  KEY: got nothing, wants a value for "Key of the weather API". Fix: Set it in .env or in the environment.
  LIMIT: got "many", wants a value that its schema accepts (expected number, received NaN). Fix: Use LIMIT=3, or leave it unset.
  URL: got "x", wants a value that its schema accepts (Invalid URL). Fix: Set it in .env or in the environment.`,
  );
});

Deno.test("parseConfig() takes no variable of a letter or two for a misspelt setting", () => {
  const message = messageOf({ N: z.string() }, { _: "/usr/bin/deno" });
  assert.match(message, /N: got nothing, .* Fix: Set it in \.env/);
});

const SECRET = secret(z.string().startsWith("sk_").describe("a key"));

for (
  const [what, schema] of [
    ["a secret", SECRET],
    ["one that may be left out", SECRET.optional()],
    ["one with a default", SECRET.default("sk_1")],
    ["one that is changed", z.preprocess((it) => it, SECRET.transform(Number))],
    ["one of two", z.union([z.literal("none"), SECRET])],
    [
      "one whose schema repeats it",
      secret(
        z.string().refine(() => false, {
          error: ({ input }) => `${String(input).slice(1)} is no key`,
        }),
      ),
    ],
    [
      "one whose schema throws it",
      secret(z.string().transform((it) => JSON.parse(it))),
    ],
  ] as [string, z.ZodType][]
) {
  Deno.test(`parseConfig() keeps ${what} out of its complaint`, () => {
    const message = messageOf({ KEY: schema }, { KEY: "hunter2" });
    assert.match(message, /KEY: got "\(hidden\)", wants /);
    assert.doesNotMatch(message, /unter/);
  });
}

Deno.test("parseConfig() keeps the password of an address out of a complaint", () => {
  const DATABASE = z.string().refine(() => false, {
    error: ({ input }) => `${input} is not reached`,
  });
  const message = messageOf({ DATABASE }, { DATABASE: "pg://jo:hu/sh@db/x" });
  assert.match(
    message,
    /got "pg:\/\/\(hidden\)@db\/x", wants .*\(pg:\/\/\(hidden\)@db\/x is not/,
  );
});

Deno.test("parseConfig() keeps a secret of the server's own out of an author's complaint", () => {
  const BEARER_TOKEN = z.string().length(40);
  const message = messageOf({ BEARER_TOKEN }, {
    AUTH_STRATEGY: "bearer",
    BEARER_TOKEN: "sixteen-letters-hush",
  });
  assert.match(message, /BEARER_TOKEN: got "\(hidden\)"/);
  assert.doesNotMatch(message, /hush/);
});

Deno.test("parseConfig() tells what of a secret is wrong where that repeats nothing of it", () => {
  assert.match(
    messageOf({ KEY: SECRET }, { KEY: "hunter2" }),
    /KEY: got "\(hidden\)", wants a value for "a key" \(.*must start with "sk_"\)\. Fix: /,
  );
});

Deno.test("parseConfig() says which permission a required setting lacks", () => {
  assert.match(
    messageOf({ KEY: z.string() }, {}, { isDenied: (name) => name === "KEY" }),
    /KEY: got nothing.*deno task ts settings.*--allow-env=KEY/,
  );
});

Deno.test("parseConfig() names optional settings that may not be read, but not the platform's", () => {
  const DENO_REGION = z.string().optional();
  const config = parse({ LIMIT, DENO_REGION }, {}, { isDenied: () => true });
  assert.deepEqual(config.unread, ["LIMIT"]);
  assert.equal(config.own.LIMIT, 3);
  assert.deepEqual(parse({ LIMIT }, {}).unread, []);
});
