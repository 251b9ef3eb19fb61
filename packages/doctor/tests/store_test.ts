import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/authoring/tool.ts";
import { STORES } from "../check.ts";
import { examine, type ExamineOptions } from "../examine.ts";
import { type Finding, printFinding, printReport } from "../finding.ts";
import { createServer } from "../../../src/server.ts";
import type { ServerOptions } from "../../../src/core/server/server_options.ts";
import { skill } from "../../../src/skill.ts";
import health from "../../../health.ts";
import { Browser } from "../../../tests/kit/browser.ts";
import { SILENT } from "../../../tests/kit/log.ts";

const ORIGIN = "https://tools.example.com";

const HINTS = {
  readOnlyHint: true,
  destructiveHint: false,
  openWorldHint: false,
};

const GOOD = {
  name: "search",
  title: "Search",
  description: "Finds messages.",
  annotations: HINTS,
  run: () => "found",
};

const ABOUT = {
  privacyUrl: "https://example.com/privacy",
  termsUrl: "https://example.com/terms",
  supportUrl: "mailto:help@example.com",
};

/** Returns the doctor's findings in a server of ours. */
async function findings(
  options: Partial<ServerOptions>,
  env: Record<string, string> = {},
  examining: ExamineOptions = {},
  origin = ORIGIN,
): Promise<Finding[]> {
  using kv = await Deno.openKv(":memory:");
  await using server = createServer({
    log: SILENT,
    name: "mail",
    version: "1.0.0",
    ...ABOUT,
    ...options,
    kv,
    env: { BASE_URL: origin, OPENAI_APPS_CHALLENGE: "t0ken", ...env },
  });
  const fetcher = async (input: URL | string, init?: RequestInit) => {
    const response = await server.fetch(new Request(input, init));
    // A proxy is in front of it.
    response.headers.set("strict-transport-security", "max-age=31536000");
    return response;
  };
  return await Array.fromAsync(examine(origin, {
    fetch: fetcher as typeof fetch,
    stores: STORES,
    ...examining,
  }));
}

/**
 * Prints the bad findings, without the one that no one can sign in to approve
 * calls: these servers have no sign-in.
 */
function bad(all: readonly Finding[]): string[] {
  return all.filter(({ result }) => result === "failed" || result === "warning")
    .map(printFinding)
    .filter((line) => !line.includes("no one can sign in here"));
}

Deno.test("examine() finds nothing for reviewers to refuse in what the service always has", async () => {
  const all = await findings({ tools: [health] });
  assert.deepEqual(bad(all), []);
  const named = (part: string) => all.some(({ name }) => name.startsWith(part));
  for (const name of ["Tools", "Titles", "Server card", "Support"]) {
    assert.ok(named(name), name);
  }
});

const CASES: [what: string, options: Partial<ServerOptions>, found: RegExp][] =
  [
    ["no tools", { tools: [] }, /^FAILED +Tools .*there are none/],
    [
      "a tool without a title",
      { tools: [tool({ ...GOOD, title: undefined })] },
      /^FAILED +Titles .*1 of 1 without a title: search\. Fix: Set title/,
    ],
    [
      "a name that OpenAI refuses",
      { tools: [tool({ ...GOOD, name: "mail.search" })] },
      /^FAILED +Names .*: mail\.search/,
    ],
    [
      "a tool without a description",
      { tools: [tool({ ...GOOD, description: " " })] },
      /^FAILED +Descriptions .*without a description/,
    ],
    [
      "a hint that is left out",
      {
        tools: [tool({
          ...GOOD,
          annotations: { readOnlyHint: true, openWorldHint: false },
        })],
      },
      /^FAILED +Hints \(ChatGPT's directory\): 1 of 1 without all of/,
    ],
    [
      "a destructive tool without an approval",
      {
        tools: [
          tool({
            ...GOOD,
            annotations: {
              readOnlyHint: false,
              destructiveHint: true,
              openWorldHint: false,
            },
          }),
          tool({
            ...GOOD,
            name: "wipe",
            approval: {},
            annotations: {
              readOnlyHint: false,
              destructiveHint: true,
              openWorldHint: false,
            },
          }),
        ],
      },
      /^warning +Approvals .*1 of 2 with destructiveHint: true .*: search\. Fix/,
    ],
    [
      "a tool that says neither that it reads nor that it writes",
      {
        tools: [tool({
          ...GOOD,
          annotations: { ...HINTS, readOnlyHint: false },
        })],
      },
      /^FAILED +Hints \(Claude's directory\): .*with neither/,
    ],
    [
      "a description that is cut",
      { tools: [tool({ ...GOOD, description: "x".repeat(2049) })] },
      /^warning +Length of descriptions .*cuts the rest/,
    ],
    [
      "a pattern of the author's that backtracks without end",
      {
        tools: [tool({
          ...GOOD,
          input: z.object({ id: z.string().regex(/^(\w+\s?)*$/) }),
        })],
      },
      /^warning +Patterns .*may take seconds/,
    ],
    [
      "instructions that are cut",
      { tools: [tool(GOOD)], instructions: "x".repeat(513) },
      /^warning +Instructions .*513 characters/,
    ],
    [
      "no privacy page",
      { tools: [tool(GOOD)], privacyUrl: undefined },
      /^FAILED +Privacy page .*Set privacyUrl/,
    ],
    [
      "no terms",
      { tools: [tool(GOOD)], termsUrl: undefined },
      /^FAILED +Terms \(ChatGPT's directory\).*Set termsUrl/,
    ],
    [
      "no support",
      { tools: [tool(GOOD)], supportUrl: undefined },
      /^FAILED +Support .*Set supportUrl/,
    ],
  ];

for (const [what, options, found] of CASES) {
  Deno.test(`examine() finds for reviewers ${what}`, async () => {
    const complaints = bad(await findings(options));
    assert.equal(complaints.length, 1, complaints.join("\n"));
    assert.match(complaints[0], found);
  });
}

const KIBIBYTE = 1024;

/** Makes a skill whose `SKILL.md` has this many bytes. */
function skillOf(name: string, bytes: number, files = {}) {
  const head = `---\nname: ${name}\ndescription: Does it.\n---\n`;
  const rest = bytes - head.length;
  const manual = head + "x".repeat(rest % 2) + "\u00e9".repeat(rest / 2);
  return skill({ files: { "SKILL.md": manual, ...files } });
}

for (
  const [what, skills, found] of [
    [
      "six skills",
      [..."abcdef"].map((name) => skillOf(name, KIBIBYTE)),
      /6 are listed, of which ChatGPT takes 5/,
    ],
    [
      "a manual of more than 256 KiB",
      [skillOf("ab", 256 * KIBIBYTE + 2)],
      /skill:\/\/ab\/SKILL\.md has 262146 bytes, of which ChatGPT takes 262144/,
    ],
    [
      "a skill of more than 5 MiB",
      [skillOf("ab", KIBIBYTE, {
        "a.bin": new Uint8Array(5 * KIBIBYTE * KIBIBYTE - KIBIBYTE + 1),
      })],
      /the skill of skill:\/\/ab\/SKILL\.md has 5242881 bytes/,
    ],
  ] as const
) {
  Deno.test(`examine() finds for ChatGPT's reviewers ${what}`, async () => {
    const complaints = bad(await findings({ tools: [tool(GOOD)], skills }));
    assert.equal(complaints.length, 1, complaints.join("\n"));
    assert.match(complaints[0], /^FAILED +Skills \(ChatGPT's directory\)/);
    assert.match(complaints[0], found);
  });
}

Deno.test("examine() is content with as many and as large skills as ChatGPT takes", async () => {
  const largest = new Uint8Array((5 * KIBIBYTE - 256) * KIBIBYTE);
  const skills = ["ab", "cd", "ef", "gh", "ij"].map((name) =>
    skillOf(name, 256 * KIBIBYTE, { "a.bin": largest })
  );
  const all = await findings({ tools: [tool(GOOD)], skills });
  assert.deepEqual(bad(all), []);
  const { found } = all.find(({ name }) => name.startsWith("Skills"))!;
  assert.equal(found, "5 within what ChatGPT takes");
  const none = await findings({ tools: [tool(GOOD)] });
  const { result } = none.find(({ name }) => name.startsWith("Skills"))!;
  assert.equal(result, "skipped");
});

Deno.test("examine() finds a card and a challenge that are not there", async () => {
  const complaints = bad(
    await findings({ tools: [tool(GOOD)] }, {
      SERVER_CARD: "false",
      OPENAI_APPS_CHALLENGE: "",
    }),
  );
  assert.equal(complaints.length, 2, complaints.join("\n"));
  assert.match(complaints[0], /^warning +Server card .*answers 404/);
  assert.match(complaints[1], /^warning +Domain challenge .*Set OPENAI_APPS/);
});

Deno.test("examine() asks only what the named store's reviewers ask", async () => {
  const all = await findings({ tools: [tool(GOOD)] }, {}, {
    stores: ["claude"],
  });
  assert.ok(all.some(({ name }) => name === "Titles (Claude's directory)"));
  assert.ok(!all.some(({ name }) => name.includes("ChatGPT's directory")));
});

Deno.test("examine() uses a token, and says when it needs one", async () => {
  const env = { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "0123456789abcdef" };
  const tools = [tool({ ...GOOD, input: z.object({ query: z.string() }) })];
  const of = (all: readonly Finding[]) =>
    all.find(({ name }) => name.startsWith("Titles"))!;
  const without = of(await findings({ tools }, env));
  assert.equal(without.result, "skipped");
  assert.match(without.found, /--token/);
  const right = of(
    await findings({ tools }, env, { token: "0123456789abcdef" }),
  );
  assert.equal(right.result, "ok", right.found);
  const wrong = (await findings({ tools }, env, { token: "wrong" }))
    .find(({ name }) => name.startsWith("Tools"))!;
  assert.equal(wrong.result, "failed");
  assert.match(wrong.fix!, /--token/);
});

Deno.test("examine() signs in, at the address it shows a person", async () => {
  const origin = "http://127.0.0.1:3000";
  using kv = await Deno.openKv(":memory:");
  await using server = createServer({
    log: SILENT,
    name: "mail",
    version: "1.0.0",
    ...ABOUT,
    tools: [tool({ ...GOOD, scopes: ["mail:read"] })],
    kv,
    env: { BASE_URL: origin, AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev" },
  });
  const send = (request: Request) => Promise.resolve(server.fetch(request));
  const browser = new Browser((url) =>
    url.origin === origin ? send : undefined
  );
  const { promise, resolve, reject } = Promise.withResolvers<
    URLSearchParams
  >();
  /** A person who approves, and signs in at the development provider. */
  async function person(address: string): Promise<URLSearchParams> {
    const consent = await browser.open(address);
    const page = await browser.press(consent, "decision", "approve");
    const { url } = await browser.press(page, "name", "someone");
    return new URL(url).searchParams;
  }
  const all = await Array.fromAsync(examine(origin, {
    fetch: ((input: URL, init?: RequestInit) =>
      send(new Request(input, init))) as typeof fetch,
    stores: ["claude"],
    browser: {
      redirectUri: "http://127.0.0.1:4567/callback",
      show: (address) =>
        void person(address).then(resolve, reject),
      response: () => promise,
    },
  }));
  assert.deepEqual(bad(all).filter((line) => line.startsWith("FAILED")), []);
  const tools = all.find(({ name }) => name.startsWith("Tools"))!;
  const cost = /^1 is listed: your list costs about \d+ tokens/;
  assert.match(tools.found!, cost);
  assert.match(printReport(all).split("Tools: ")[1], cost);
});
