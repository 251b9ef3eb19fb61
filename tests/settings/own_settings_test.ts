import assert from "node:assert/strict";
import * as z from "zod";
import { secret } from "../../src/authoring/setting.ts";
import { type ConfigOptions, parseConfig } from "../../src/settings/config.ts";
import { ConfigError } from "../../src/settings/complaint.ts";
import type { Environment } from "../../src/settings/setting.ts";

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
    /KEY: got nothing.*--allow-env=KEY/,
  );
});

Deno.test("parseConfig() names optional settings that may not be read, but not the platform's", () => {
  const DENO_REGION = z.string().optional();
  const config = parse({ LIMIT, DENO_REGION }, {}, { isDenied: () => true });
  assert.deepEqual(config.unread, ["LIMIT"]);
  assert.equal(config.own.LIMIT, 3);
  assert.deepEqual(parse({ LIMIT }, {}).unread, []);
});
