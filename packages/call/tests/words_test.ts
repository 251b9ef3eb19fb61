import assert from "node:assert/strict";
import { parseCommandLine, serverAddress } from "../command_line.ts";
import { nearest } from "../failure.ts";
import { terminalSafe, terminalSafeLine } from "../terminal.ts";

Deno.test("nearest() finds slips and parts, and nothing far away", () => {
  const names = ["greet", "health", "search_mail"];
  assert.deepEqual(nearest("gret", names), ["greet"]);
  assert.deepEqual(nearest("mail", names), ["search_mail"]);
  assert.deepEqual(nearest("HEALHT", names), ["health"]);
  assert.deepEqual(nearest("zzzzz", names), []);
});

Deno.test("terminalSafe() shows what could control a terminal, and keeps lines", () => {
  assert.equal(
    terminalSafe("\x1b]0;title\x07 a\tb\nc\r\nd\re\x9b2J\u202e"),
    "\\u001b]0;title\\u0007 a\tb\nc\nd\\u000de\\u009b2J\\u202e",
  );
  assert.equal(terminalSafe("Grüße 👨‍👩‍👧 می‌خواهم"), "Grüße 👨‍👩‍👧 می‌خواهم");
  assert.equal(terminalSafeLine("a\nb\r\n\tc"), "a b c");
});

Deno.test("parseCommandLine() understands options before and after words", () => {
  const line = parseCommandLine(
    ["--url=https://a.example", "greet", "--json", "name=Ada", "--", "--x=1"],
  );
  const { verb, target, words, json, url } = line;
  assert.deepEqual({ verb, target, words, json, url }, {
    verb: "call",
    target: "greet",
    words: ["name=Ada", "--x=1"],
    json: true,
    url: "https://a.example",
  });
  const { headers } = parseCommandLine(["a", "--header", "X-Api-Key: k:1"]);
  assert.deepEqual(headers, { "x-api-key": "k:1" });
});

for (
  const [args, words] of [
    [[], /Name a tool/],
    [["--prompt"], /Name a prompt/],
    [["--list", "--logout"], /Choose one of --list, --logout/],
    [["--list", "greet"], /Got "greet", wants nothing more with --list/],
    [["a", "--jsn"], /There is no --jsn\. Did you mean --json\?/],
    [["a", "--json=1"], /There is no --json/],
    [["a", "--url"], /--url needs a value/],
    [["a", "--header", "x"], /--header wants NAME:TEXT/],
    [["a", "--revision", "2024"], /--revision: got "2024", wants one of 2025-/],
    [
      ["--task", "a", "--revision", "2025-11-25"],
      /^--revision 2025-11-25 has no tasks for --task$/,
    ],
    [["a", "--log", "all"], /--log: got "all", wants one of debug, info, noti/],
  ] as [string[], RegExp][]
) {
  Deno.test(`parseCommandLine() refuses ${args.join(" ") || "nothing"}`, () => {
    assert.throws(() => parseCommandLine(args), {
      message: words,
      exitCode: 2,
    });
  });
}

for (
  const [given, env, url] of [
    [undefined, {}, "http://127.0.0.1:3000/mcp"],
    [undefined, { HOST: "0.0.0.0", PORT: "4000" }, "http://127.0.0.1:4000/mcp"],
    [undefined, { HOST: "::1", PORT: "4000" }, "http://[::1]:4000/mcp"],
    [undefined, { BASE_URL: "https://a.example/b" }, "https://a.example/b/mcp"],
    ["https://a.example", {}, "https://a.example/mcp"],
    ["https://a.example/other", {}, "https://a.example/other"],
    ["localhost:4000", {}, "http://localhost:4000/mcp"],
    ["a.example", {}, "https://a.example/mcp"],
  ] as [string | undefined, Record<string, string>, string][]
) {
  Deno.test(`serverAddress() gives ${url}`, () => {
    assert.equal(serverAddress(given, (name) => env[name]).url, url);
  });
}

Deno.test("serverAddress() gives the environment's token to the environment's server alone", () => {
  const env = (name: string) => ({ TOOL_SERVER_TOKEN: "t" })[name];
  assert.equal(serverAddress(undefined, env).token, "t");
  assert.equal(serverAddress("https://a.example", env).token, undefined);
});

Deno.test("serverAddress() refuses what is no address", () => {
  const wrong = [
    "ftp://a.example",
    "https://u@a.example",
    "https://a.example#b",
    "https://",
    "greet",
  ];
  for (const text of wrong) {
    assert.throws(() => serverAddress(text, () => undefined), { exitCode: 2 });
  }
});

Deno.test("nearest() looks through as many names as a server lists", () => {
  const names = [...Array(400_000).fill("unlike"), "greet"];
  assert.deepEqual(nearest("gret", names), ["greet"]);
});
