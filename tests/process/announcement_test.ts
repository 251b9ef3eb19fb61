/** The messages of a server that has started. */
import assert from "node:assert/strict";
import {
  announce,
  warnOfSettings,
} from "../../src/core/process/announcement.ts";
import { parseConfig } from "../../src/core/settings/config.ts";
import { recordLog } from "../kit/log.ts";

const baseUrl = "https://tools.example.com";

/** Gives the callback addresses in the line of a start with some providers. */
function callbacksWith(environment: Record<string, string>): unknown {
  const { logger, events } = recordLog();
  const config = parseConfig({
    BASE_URL: baseUrl,
    AUTH_STRATEGY: "oauth",
    ...environment,
  });
  announce(config, {
    log: logger,
    baseUrl,
    isDevelopment: false,
  });
  return events[0].properties.callbacks;
}

Deno.test("announce() lists what exactly is to be registered at each of several providers", () => {
  const google = { CLIENT_ID: "a", CLIENT_SECRET: "b" };
  const named = (prefix: string) =>
    Object.fromEntries(
      Object.entries(google).map(([name, text]) => [
        `OAUTH_${prefix}${name}`,
        text,
      ]),
    );
  assert.deepEqual(
    callbacksWith({
      OAUTH_PROVIDER: "google,github",
      ...named("GOOGLE_"),
      ...named("GITHUB_"),
    }),
    ["google", "github"].map((key) =>
      `${baseUrl}/oauth/provider-callback/${key}`
    ),
  );
  const only = callbacksWith({ OAUTH_PROVIDER: "github", ...named("") });
  assert.equal(only, undefined);
});

Deno.test("announce() logs the pages of features", () => {
  const { logger, events } = recordLog();
  announce(parseConfig({ BASE_URL: baseUrl }), {
    log: logger,
    baseUrl,
    guides: [
      { client: "One", how: "Run this", line: "one add tools" },
      { client: "Other", how: "No command", line: baseUrl },
    ],
    pages: { views: `${baseUrl}/views` },
    isDevelopment: false,
  });
  const { views } = events[0].properties;
  assert.equal(views, `${baseUrl}/views`);
});

Deno.test("announce() says in development once how to connect, and at each start the address", () => {
  const { logger, events } = recordLog();
  const url = "http://127.0.0.1:3999";
  for (let start = 0; start < 2; start++) {
    announce(parseConfig({ BASE_URL: url }), {
      log: logger,
      baseUrl: url,
      guides: [{ client: "One", how: "Run this", line: "one add tools" }],
      isDevelopment: true,
    });
  }
  const [first, again] = events.map(({ properties }) => properties);
  assert(first.database);
  assert.deepEqual(again, { url: `${url}/mcp` });
});

Deno.test("warnOfSettings() names the settings that may not be read, one or several", () => {
  for (const unread of [["A"], ["A", "B"]]) {
    const { logger, events } = recordLog();
    warnOfSettings({ ...parseConfig({}), unread }, logger);
    const [{ message }] = events;
    assert.match(
      message,
      new RegExp(`defaults count: ${unread.join(", ")}\\. `),
    );
  }
});
