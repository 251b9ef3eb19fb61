import assert from "node:assert/strict";
import { needsOf } from "../../../src/authoring/service.ts";
import server from "../../../server.ts";
import { definitionsWithNeeds } from "../../../src/core/server/plan.ts";
import { parseConfig } from "../../../src/core/settings/config.ts";
import { ConfigError } from "../../../src/core/settings/complaint.ts";
import {
  type Environment,
  FeatureValues,
} from "../../../src/core/settings/setting.ts";
import { SettingsTable } from "../../../src/core/settings/table.ts";
import { FEATURES } from "../../../src/features.ts";

const { variables: VARIABLES } = new SettingsTable(FEATURES);

function configError(environment: Environment): ConfigError {
  try {
    parseConfig(environment);
  } catch (error) {
    assert(error instanceof ConfigError);
    return error;
  }
  assert.fail("there was no complaint");
}

Deno.test("parseConfig() needs nothing", () => {
  assert.deepEqual(parseConfig({}), {
    host: "127.0.0.1",
    port: 3000,
    reusePort: false,
    baseUrl: undefined,
    trustedProxies: [],
    callsPerMinute: 0,
    kvPath: undefined,
    kvPassword: undefined,
    kvConnections: 10,
    allowedOrigins: [],
    log: { level: "info", audit: true },
    title: "Tool Server",
    instructions: undefined,
    auth: {},
    deployed: false,
    features: new FeatureValues(),
    own: {},
    unread: [],
    notes: [],
  });
});

Deno.test("parseConfig() limits calls where others than this machine call", () => {
  for (
    const [environment, limit] of [
      [{ BASE_URL: "http://localhost:3000" }, 0],
      [{ BASE_URL: "https://tools.example.com" }, 1000],
      [{ HOST: "0.0.0.0" }, 1000],
      [{ DENO_DEPLOYMENT_ID: "d" }, 1000],
      [{ HOST: "0.0.0.0", CALLS_PER_MINUTE: "0" }, 0],
      [{ CALLS_PER_MINUTE: "7" }, 7],
    ] as const
  ) {
    assert.equal(parseConfig(environment).callsPerMinute, limit);
  }
});

Deno.test("parseConfig() takes a blank variable for an unset one", () => {
  const blank = Object.fromEntries(
    VARIABLES.map((variable) => [variable, "  "]),
  );
  assert.deepEqual(parseConfig(blank), parseConfig({}));
});

const TAKEN: [Environment, Partial<ReturnType<typeof parseConfig>>][] = [
  [{ HOST: "0.0.0.0" }, { host: "0.0.0.0" }],
  [{ HOST: "::1" }, { host: "::1" }],
  [{ HOST: "::ffff:127.0.0.1" }, { host: "::ffff:127.0.0.1" }],
  [{ HOST: "localhost" }, { host: "localhost" }],
  [{ PORT: "0" }, { port: 0 }],
  [{ PORT: " 65535 " }, { port: 65535 }],
  [{ BASE_URL: "https://tools.example.com/" }, {
    baseUrl: "https://tools.example.com",
  }],
  [{ BASE_URL: "HTTPS://Tools.Example.com:443" }, {
    baseUrl: "https://tools.example.com",
  }],
  [{ BASE_URL: "https://example.com/tools/" }, {
    baseUrl: "https://example.com/tools",
  }],
  [{ BASE_URL: "http://localhost:3000" }, { baseUrl: "http://localhost:3000" }],
  [{ KV_PATH: ":memory:" }, { kvPath: ":memory:" }],
  [{ KV_PATH: "data/tools.db" }, { kvPath: "data/tools.db" }],
  [{ KV_PATH: "https://kv.example.com", DENO_KV_ACCESS_TOKEN: "t" }, {
    kvPath: "https://kv.example.com",
  }],
  [{ ALLOWED_ORIGINS: "https://a.example, http://b.example:8080" }, {
    allowedOrigins: ["https://a.example", "http://b.example:8080"],
  }],
  [{ ALLOWED_ORIGINS: "*" }, { allowedOrigins: ["*"] }],
  [{ LOG_LEVEL: "debug" }, { log: { level: "debug", audit: true } }],
  [{ AUDIT_LOG: "false" }, { log: { level: "info", audit: false } }],
  [{ TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8,::ffff:0:0/96" }, {
    trustedProxies: [
      { bits: 0x7f000001n, width: 32, length: 32 },
      { bits: 0x0a000000n, width: 32, length: 8 },
      { bits: 0n, width: 32, length: 0 },
    ],
  }],
  [{ MCP_TITLE: "Mail" }, { title: "Mail" }],
  [{ DENO_DEPLOYMENT_ID: "d1" }, { deployed: true }],
];

for (const [environment, expected] of TAKEN) {
  Deno.test(`parseConfig() takes ${JSON.stringify(environment)}`, () => {
    // Settings that follow from the callers have a test of their own.
    const CALLS_PER_MINUTE = "1";
    assert.deepEqual(parseConfig({ CALLS_PER_MINUTE, ...environment }), {
      ...parseConfig({ CALLS_PER_MINUTE }),
      ...expected,
    });
  });
}

const REFUSED: Environment[] = [
  { HOST: "http://localhost" },
  { HOST: "localhost:3000" },
  { HOST: "127.0.0.1:3000" },
  { PORT: "http" },
  { PORT: "65536" },
  { PORT: "-1" },
  { PORT: "30.5" },
  { TRUSTED_PROXIES: "proxy.internal" },
  { TRUSTED_PROXIES: "10.0.0.0/33" },
  { TRUSTED_PROXIES: "," },
  { TRUSTED_PROXIES: "10.0.0.0/8/8" },
  { TRUSTED_PROXIES: "10.0.0.0/-1" },
  { TRUSTED_PROXIES: "::/129" },
  { BASE_URL: "tools.example.com" },
  { BASE_URL: "http://tools.example.com" },
  { BASE_URL: "https://example.com/a//b" },
  { BASE_URL: "https://example.com/%61" },
  { BASE_URL: "https://tools.example.com/?a" },
  { BASE_URL: "https://tools.example.com/#a" },
  { BASE_URL: "ftp://localhost" },
  { BASE_URL: "https://tools.example.com/a/mcp/" },
  { ALLOWED_ORIGINS: "app.example.com" },
  { ALLOWED_ORIGINS: "https://a.example/" },
  { ALLOWED_ORIGINS: "https://a.example,x" },
  { LOG_LEVEL: "loud" },
  { CALLS_PER_MINUTE: "-1" },
  { CALLS_PER_MINUTE: "many" },
  { AUTH_STRATEGY: "password" },
  { AUTH_ANONYMOUS: "1" },
  { KV_PATH: "data/tools.db", DENO_DEPLOYMENT_ID: "d" },
  { KV_PATH: ":memory:", DENO_DEPLOYMENT_ID: "d" },
  { KV_PATH: "file:/var/lib/tools.db" },
];

for (const environment of REFUSED) {
  Deno.test(`parseConfig() refuses ${JSON.stringify(environment)}`, () => {
    const [variable, got] = Object.entries(environment)[0];
    const { complaints } = configError(environment);
    assert.deepEqual(
      complaints.map((complaint) => [complaint.variable, complaint.got]),
      [[variable, got]],
    );
  });
}

Deno.test("parseConfig() names the word that is meant by a misspelt one", () => {
  for (
    const [setting, misspelt, meant] of [
      ["OAUTH_PROVIDER", "githb", "github"],
      ["OAUTH_PROVIDER", "GitHub", "github"],
      ["AUTH_STRATEGY", "bearer,apikey", "api_key"],
      ["LOG_LEVEL", "inof", "info"],
    ]
  ) {
    const { message } = configError({
      AUTH_STRATEGY: "oauth",
      [setting]: misspelt,
    });
    assert.match(
      message,
      new RegExp(`${setting}: .*\\(is ${meant} meant\\?\\)`),
    );
  }
  const { message } = configError({ LOG_LEVEL: "loud" });
  assert.doesNotMatch(message, /meant/);
});

Deno.test("parseConfig() says that BASE_URL is without /mcp", () => {
  const { message } = configError({ BASE_URL: "https://a.example/mcp" });
  assert.match(message, /got "https:\/\/a.example\/mcp", wants .* \(without /);
  const { baseUrl } = parseConfig({ BASE_URL: "https://a.example/mcp/a" });
  assert.equal(baseUrl, "https://a.example/mcp/a");
});

for (
  const [variable, address, shown] of [
    ["BASE_URL", "https://jo:hush@a.example", "https://(hidden)@a.example"],
    ["BASE_URL", "https://jo@a.example", "https://(hidden)@a.example"],
    ["BASE_URL", "https://:hush@a.example", "https://(hidden)@a.example"],
    ["KV_PATH", "https://jo:hush@kv.example", "https://(hidden)@kv.example/"],
    ["KV_PATH", "http://:hush@kv.example/", "http://(hidden)@kv.example/"],
    [
      "ALLOWED_ORIGINS",
      "https://:hush@a.example",
      "https://(hidden)@a.example",
    ],
  ]
) {
  Deno.test(`parseConfig() refuses the password in ${variable}=${address}, and does not repeat it`, () => {
    const error = configError({
      [variable]: address,
      DENO_KV_ACCESS_TOKEN: "token",
    });
    assert.deepEqual(
      error.complaints.map(({ variable, got }) => [variable, got]),
      [[variable, shown]],
    );
    assert.doesNotMatch(error.message, /hush|jo@/);
  });
}

Deno.test("parseConfig() refuses a remote database without its token", () => {
  const { complaints } = configError({ KV_PATH: "https://kv.example.com" });
  assert.deepEqual(complaints.map(({ variable }) => variable), [
    "DENO_KV_ACCESS_TOKEN",
  ]);
});

Deno.test("parseConfig() tells the whole callback address to register at the provider", () => {
  assert.throws(
    () =>
      parseConfig({
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "github",
        BASE_URL: "https://tools.example.com",
      }),
    /OAUTH_CLIENT_ID: .*https:\/\/tools\.example\.com\/oauth\/provider-callback/,
  );
});

Deno.test("ConfigError tells every complaint with its fix, one to a line", () => {
  const { message } = configError({
    PORT: "http",
    LOG_LEVEL: "loud",
    AUTH_STRATEGY: "bearer",
    BEARER_TOKEN: "hunter2",
  });
  assert.equal(
    message,
    `These settings need fixing:
  PORT: got "http", wants a port from 0 to 65535. Fix: Use PORT=3000, or leave it unset.
  LOG_LEVEL: got "loud", wants one of debug, info, warning, error, off. Fix: Use LOG_LEVEL=info, or leave it unset.
  BEARER_TOKEN: got "(hidden)", wants credentials of at least 16 ASCII characters, separated by commas. Fix: Make one with: openssl rand -base64 32.`,
  );
});

const ROOT = new URL("../../../", import.meta.url);

Deno.test("the tasks grant what main.ts needs, by name and nothing else", async () => {
  const { tasks, permissions } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
  );
  for (const name of ["dev", "dev:oauth", "start"]) {
    assert.match(tasks[name], / -P --no-prompt /, name);
    assert.doesNotMatch(tasks[name], /--allow-/, name);
  }
  const { env, ...others } = permissions.default;
  // Modules of Postgres are loaded by name, where they are needed. The start looks
  // for broken lines in .env, and gives the permission for it away.
  const read = [
    ".env",
    "data",
    "packages/postgres",
    "dist/postgres_package.js",
  ];
  assert.deepEqual(others, { net: true, read, write: ["data"] });
  const isMatch = (pattern: string, name: string) =>
    pattern === name ||
    pattern.endsWith("*") && name.startsWith(pattern.slice(0, -1));
  const { settings } = needsOf(definitionsWithNeeds(server));
  const needed = [...VARIABLES, ...settings.keys()];
  const granted: string[] = env.allow;
  assert.deepEqual(
    needed.filter((name) => !granted.some((it) => isMatch(it, name))),
    [],
  );
  assert.deepEqual(
    granted.filter((it) => !needed.some((name) => isMatch(it, name))),
    [],
  );
});

Deno.test("whatever starts a service for others sets what telemetry and the log need", async () => {
  for (
    const path of [
      "Dockerfile",
      "deploy/tool-server.service",
      "deploy/compose.yaml",
      "src/core/process/core_processes.ts",
    ]
  ) {
    const text = await Deno.readTextFile(new URL(path, ROOT));
    assert.match(text, /OTEL_PROPAGATORS\b.*\btracecontext/, path);
    assert.match(text, /OTEL_EXPORTER_OTLP_TIMEOUT\b[^]*\b1000/, path);
    // The processes of the cores have the environment of the first.
    if (path.startsWith("src/")) continue;
    assert.match(text, /DENO_LOG\b.*\bdenokv_remote=off/, path);
  }
});
