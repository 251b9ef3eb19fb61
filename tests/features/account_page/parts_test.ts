/** The parts of the account page, their addresses, and the ways to them. */
import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { returnPathsOf } from "../../../src/features/account_page/account_pages.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { Client } from "../../kit/client.ts";
import { BASE_URL } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";

const tools = [tool({ name: "read", scopes: ["read"], run: () => "read" })];
const OPERATOR = { as: "root", email: "root@example.com" };

function start(): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    environment: { OAUTH_ADMINS: "root@example.com" },
  });
}

const PARTS = ["", "/tokens", "/calls", "/work", "/data"];
const OPERATORS_PARTS = ["/people", "/clients", "/attempts", "/durable"];

/** Lists the addresses of the navigation, the one of this page first. */
function navigationOf({ page }: AccountVisitor): string[] {
  const [, nav] = /<nav[^>]*>(.*)<\/nav>/.exec(page.text)!;
  const [, current] = /href="([^"]*)" aria-current="page"/.exec(nav)!;
  return [current, ...nav.matchAll(/href="([^"]*)"/g).map(([, it]) => it)];
}

Deno.test("each part has an address, and its navigation says which one it is", async () => {
  await using server = await start();
  const visitor = await AccountVisitor.signIn(server);
  const all = PARTS.map((part) => `/account${part}`);
  for (const part of PARTS) {
    await visitor.look(part);
    assert.deepEqual(navigationOf(visitor), [`/account${part}`, ...all]);
  }
  const operator = await AccountVisitor.signIn(server, OPERATOR);
  for (const part of [...PARTS, ...OPERATORS_PARTS]) {
    await operator.look(part);
    assert.equal(operator.page.status, 200, part);
    const [current, ...others] = navigationOf(operator);
    assert.equal(current, `/account${part}`);
    assert.equal(others.length, 9);
  }
});

Deno.test("a part of operators is nothing for anyone else", async () => {
  await using server = await start();
  const visitor = await AccountVisitor.signIn(server);
  for (const part of OPERATORS_PARTS) {
    await visitor.look(part);
    assert.equal(visitor.page.status, 404, part);
    assert.match(visitor.words, /There is nothing at this address/);
    const stranger = await server.browser().open(`${BASE_URL}/account${part}`);
    assert.match(stranger.text, /Sign in with/);
  }
});

Deno.test("a sign-in leads to the part that one came for, with what was asked there", async () => {
  await using server = await start();
  const asked = "/people?person=jo+e&after=nothing";
  const operator = await AccountVisitor.signIn(server, {
    ...OPERATOR,
    at: `${asked}&made=x&notice=3`,
  });
  assert.equal(operator.page.url, `${BASE_URL}/account${asked}`);
  const visitor = await AccountVisitor.signIn(server, { at: "/data" });
  assert.equal(visitor.page.url, `${BASE_URL}/account/data`);
});

Deno.test("a sign-in leads nowhere but to a part, whatever its form says", async () => {
  await using server = await start();
  for (
    const back of [
      "https://evil.example/",
      "//evil.example",
      "../../core/mcp",
      "sign-out",
      "people#x",
      "tokens?".padEnd(5000, "x"),
      `wait/${"x".repeat(43)}/../../mcp`,
      `../wait/${"x".repeat(43)}`,
    ]
  ) {
    const browser = server.browser();
    const page = await browser.open(`${BASE_URL}/account`);
    const form = formOf(page, "/account/sign-in");
    const after = await browser.press(form, "", "", { back });
    assert.equal(after.url, `${BASE_URL}/account`);
    assert.match(after.text, /Signed in as/);
  }
});

Deno.test("a sign-in whose place someone changed ends at the first part", async () => {
  await using server = await start();
  server.provider.subject = "42";
  const browser = server.browser();
  const page = await browser.open(`${BASE_URL}/account/data`);
  const redirect = server.provider.authorizationUrl;
  server.provider.authorizationUrl = async (request) => {
    const at = request.state.length - 5;
    const other = request.state[at] === "A" ? "B" : "A";
    const state = request.state.slice(0, at) + other +
      request.state.slice(at + 1);
    return await redirect.call(server.provider, { ...request, state });
  };
  const form = formOf(page, "/account/sign-in");
  const after = await browser.press(form, "", "");
  assert.equal(after.url, `${BASE_URL}/account`);
  assert.match(after.text, /Signed in as/);
});

Deno.test("a form leads back to its part, and an operator's to their search and page", async () => {
  await using server = await start();
  await (await Client.register(server)).connect();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.makeToken();
  for (
    const [action, words] of [
      ["pause", "Paused"],
      ["resume", "Resumed"],
      ["narrow", "Permissions taken away"],
      ["end", "Ended"],
    ]
  ) {
    await visitor.press(`/account/${action}`);
    assert.match(visitor.page.url, /\/account\/tokens\?notice=[\w.-]+$/);
    assert.ok(
      visitor.words.includes(`${words}: “ Backup (access token) ”.`),
      visitor.words,
    );
  }
  await visitor.look();
  await visitor.press("/account/pause");
  assert.match(visitor.page.url, /\/account\?notice=[\w.-]+$/);

  const operator = await AccountVisitor.signIn(server, OPERATOR);
  await operator.look("/people?person=jo@example.com");
  await operator.press("/account/end");
  assert.match(
    operator.page.url,
    /\/account\/people\?person=jo%40example\.com&notice=[\w.-]+$/,
  );
  assert.match(
    operator.words,
    /Ended everything of Jo github:42 \(1 sign-in or token\)\. .* No one with a connection/,
  );
});

Deno.test("addressOf() keeps what a part knows, and only that", () => {
  const returnPaths = returnPathsOf("https://tools.example/base", [
    { name: "" },
    { name: "people", query: ["person"] },
  ]);
  const start = "https://tools.example/base/account";
  for (
    const [returnPath, address] of [
      ["", start],
      ["people", `${start}/people`],
      ["people?person=jo&made=x", `${start}/people?person=jo`],
      ["nothing?person=jo", start],
      ["constructor", start],
      ["?person=jo", start],
    ]
  ) assert.equal(returnPaths.addressOf(returnPath), address);
  assert.equal(
    returnPaths.addressOf("people?person=a%26b", { notice: "1" }),
    `${start}/people?person=a%26b&notice=1`,
  );
  assert.equal(
    returnPaths.print("people", { person: "x".repeat(500) }),
    "people",
  );
});
