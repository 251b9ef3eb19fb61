import assert from "node:assert/strict";
import * as z from "zod";
import { secret } from "../../src/authoring/setting.ts";
import { type ConfigOptions, parseConfig } from "../../src/config/config.ts";
import { ConfigError, type Environment } from "../../src/config/environment.ts";

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

Deno.test("parseConfig() complains of own settings with all others together", () => {
  const KEY = z.string().describe("the key of the weather API");
  const message = messageOf({ KEY, LIMIT }, { PORT: "http", LIMIT: "many" });
  assert.match(message, /^ {2}PORT: got "http"/m);
  assert.match(
    message,
    /^ {2}KEY: got nothing, wants the key of the weather API\./m,
  );
  assert.match(message, /^ {2}LIMIT: got "many", wants .*number/m);
});

Deno.test("parseConfig() keeps a secret out of its complaint", () => {
  const KEY = secret(z.string().startsWith("sk_").describe("a key"));
  const message = messageOf({ KEY }, { KEY: "hunter2" });
  assert.match(message, /KEY: got "\(hidden\)", wants a key/);
  assert.doesNotMatch(message, /hunter2/);
});

Deno.test("parseConfig() says which permission a required setting lacks", () => {
  const denied = new Set(["KEY"]);
  assert.match(
    messageOf({ KEY: z.string() }, {}, { denied }),
    /KEY: got nothing.*--allow-env=KEY/,
  );
});

Deno.test("parseConfig() names optional settings that may not be read, but not the platform's", () => {
  const DENO_REGION = z.string().optional();
  const denied = new Set(["LIMIT", "DENO_REGION"]);
  const config = parse({ LIMIT, DENO_REGION }, {}, { denied });
  assert.deepEqual(config.unread, ["LIMIT"]);
  assert.equal(config.own.LIMIT, 3);
  assert.deepEqual(parse({ LIMIT }, {}).unread, []);
});
