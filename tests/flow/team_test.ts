/**
 * The case of docs/team.md, carried out: the documents of two APIs and
 * an MCP server with sign-in are imported, and two people whom an OpenID
 * provider signs in use the tools, each as themselves.
 *
 * @module
 */
import assert from "node:assert/strict";
import { importTools, parseFlags } from "../../packages/import/mod.ts";
import { mcpSource } from "../../packages/import/mcp.ts";
import { openSource } from "../../packages/import/open_source.ts";
import { CALLBACK_PATH } from "../../src/core/settings/providers.ts";
import { tool, z } from "../../src/mod.ts";
import { parsePage } from "../docs/pages.ts";
import { parseShell } from "../docs/shell.ts";
import { AccountVisitor, formOf } from "../kit/account_visitor.ts";
import { resultOf, textOf } from "../kit/answer.ts";
import { browserOf } from "../kit/browser.ts";
import { linkOf } from "../kit/connected.ts";
import { devServer, signInByName } from "../kit/dev_server.ts";
import { importedTools } from "../kit/imported_tools.ts";
import { keyOf, KeyService, SECRETS_KEY } from "../kit/key_service.ts";
import { type Json, statelessMeta } from "../kit/message.ts";
import { signInAt, startOpenIdProvider } from "../kit/open_id_provider.ts";
import { REPOSITORY, TemporaryDirectory } from "../kit/process.ts";
import { BASE_URL, startServer, type TestServer } from "../kit/server.ts";
import { TokenService } from "../kit/token_service.ts";
import { connect } from "../kit/walk.ts";

const PAGE = "docs/team.md";
const EXAMPLE = "examples/bookings";
const ADDRESS = "https://bookings.example.com";

const read = (path: string) => Deno.readTextFile(new URL(path, REPOSITORY));
const { blocks, prose } = parsePage(PAGE, await read(PAGE));

/** The addresses to which the services send people back. */
const BACK = [CALLBACK_PATH, "/connect/bookings/callback"];

/** Reads the blocks of the page in a language, by their files. */
function filesIn(language: string): [name: string, text: string][] {
  return blocks.filter((it) => it.language === language)
    .map(({ file, text }) => [file!, text]);
}

/** The settings that the page shows. */
const SETTINGS = Object.fromEntries(
  blocks.find(({ language }) => language === "env")!.text.trim().split("\n")
    .map((line) => line.split(/=(.*)/s).slice(0, 2)),
);

/** The bookings of people at an API, and every deletion that came. */
class Bookings extends TokenService {
  readonly deleted: string[] = [];
  readonly tokens = new Map<string, string>();
  readonly #bookings: Record<string, string[]> = {
    ada: ["lisbon-1", "porto-2"],
    bob: ["oslo-3"],
  };

  constructor() {
    super("bookings");
    this.answer = ({ method, headers }, path) => {
      const [, id] = /^\/api\/bookings(?:\/(.+))?$/.exec(path) ?? [];
      if (path !== "/api/bookings" && id === undefined) return;
      const token = headers.get("authorization")?.replace("Bearer ", "") ?? "";
      const grant = this.grants.find(({ access }) => access.has(token));
      if (!grant) return new Response("no such token", { status: 401 });
      this.tokens.set(token, grant.account);
      const own = this.#bookings[grant.account];
      if (id === undefined) return Response.json(own);
      if (method !== "DELETE" || !own.includes(id)) {
        return Response.json({ message: `No booking ${id}` }, { status: 404 });
      }
      own.splice(own.indexOf(id), 1);
      this.deleted.push(`${id} of ${grant.account}`);
      return new Response(null, { status: 204 });
    };
  }
}

/** The MCP server of the desk, one of ours. */
const DESK = [
  tool({
    name: "open_request",
    description: "Opens a request.",
    input: z.object({ words: z.string() }),
    run: ({ words }, { caller }) => `${caller.identity?.name} asks: ${words}`,
  }),
  tool({ name: "close_desk", run: () => "closed" }),
];

/** A person with a browser and a client of their own. */
class Person {
  private constructor(
    readonly visitor: AccountVisitor,
    readonly call: (name: string, input?: Json) => Promise<Response>,
  ) {}

  /** Signs someone in at the provider, with a client and on the account page. */
  static async signIn(
    server: TestServer,
    name: string,
    issuer: string,
    issuers: readonly string[],
  ): Promise<Person> {
    const browser = browserOf(server, { issuers: [issuer, ...issuers] });
    const { tokens } = await connect(server, issuer, browser, name);
    const page = await browser.open(`${BASE_URL}/account`);
    const sent = await browser.press(formOf(page, "/account/sign-in"), "", "");
    const account = await signInAt(issuer, browser, sent, name);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    return new Person(
      new AccountVisitor(browser, account),
      (name, input = {}) =>
        server.call("tools/call", {
          name,
          arguments: input,
          _meta: statelessMeta(),
        }, { headers, capabilities: { elicitation: {} } }),
    );
  }

  /** Opens a link that a call was answered with. */
  async open(link: string): Promise<string> {
    this.visitor.page = await this.visitor.browser.open(link);
    return new URL(link).pathname;
  }

  /** Calls a tool, and opens the link to the account that it lacks. */
  async openLacking(name: string, input?: Json): Promise<string> {
    return await this.open(linkOf(await resultOf(this.call(name, input))));
  }

  async text(name: string, input?: Json): Promise<string> {
    return await textOf(this.call(name, input));
  }
}

/** Runs the imports of the page in a project, at the loopback addresses. */
async function importAll(
  root: string,
  local: (text: string) => string,
  desk: string,
): Promise<void> {
  await Deno.writeTextFile(`${root}/deno.json`, "{}\n");
  await Deno.writeTextFile(
    `${root}/server.ts`,
    await read(`${EXAMPLE}/server.ts`),
  );
  for (const [file, text] of filesIn("yaml")) {
    await Deno.writeTextFile(`${root}/${file}`, local(text));
  }
  const author = await signInByName(new URL(desk), "Author");
  const { access_token: token } = author.kept.tokens;
  const end = new AbortController().signal;
  const send = (request: Request) => {
    request.headers.set("authorization", `Bearer ${token}`);
    return fetch(request);
  };
  const [{ text }] = blocks.filter(({ language }) => language === "sh");
  for (const { args: [, , verb, ...args] } of parseShell(text)) {
    if (verb !== "import") continue;
    const code = await importTools(parseFlags(args.map(local)), {
      print: () => {},
    }, {
      root,
      open: (source) =>
        source === desk
          ? mcpSource(desk, end, send)
          : openSource(`${root}/${source}`),
    });
    assert.equal(code, 0, args.join(" "));
  }
}

/** Reads an imported file without the line that says what it was made of. */
async function importedText(path: string | URL): Promise<string> {
  const text = await Deno.readTextFile(path);
  assert.match(text, /^\/\/ Imported: /);
  return text.replace(/^.*\n/, "");
}

/** Imports nothing, and compares: gives the exit code and what was said. */
async function check(root: string, document: string) {
  const said: string[] = [];
  const code = await importTools(parseFlags([document, "--check"]), {
    print: (words) => said.push(words),
  }, { root });
  return { code, said: said.join("\n") };
}

Deno.test("docs/team.md: two people act at two APIs and an MCP server as themselves, and a deletion runs once, after a press", async () => {
  await using project = new TemporaryDirectory();
  const root = project.path;
  await using provider = await startOpenIdProvider(BASE_URL);
  await using bookings = new Bookings();
  await using expenses = new KeyService("ada", "bob");
  await using desk = await devServer(DESK);
  const local = (text: string) =>
    text.replaceAll(ADDRESS, bookings.origin)
      .replaceAll("https://expenses.example.com", expenses.url)
      .replaceAll("https://desk.example.com", desk.url);

  await importAll(root, local, `${desk.url}/mcp`);
  for (const [file, text] of filesIn("ts")) {
    const shown = local(text).replace(/^.*\n/, "");
    assert.equal(await importedText(`${root}/${file}`), shown, file);
  }

  const env = {
    ...SETTINGS,
    BASE_URL,
    SECRETS_KEYS: SECRETS_KEY,
    ...provider.environment,
    ...bookings.environment,
  };
  // The page names every setting that the server needs, and no other.
  assert.deepEqual(Object.keys(env), Object.keys(SETTINGS));
  for (const path of BACK) assert(prose.includes(SETTINGS.BASE_URL + path));
  const tools = (await importedTools(root)).map(({ tool }) => tool);
  await using server = await startServer({ tools, env });

  const issuers = [bookings.origin, desk.url];
  const people: Record<string, Person> = {};
  for (const name of ["ada", "bob"]) {
    const person = await Person.signIn(server, name, provider.issuer, issuers);
    people[name] = person;
    const { visitor } = person;

    bookings.account = name;
    const booked = await person.openLacking("list_bookings");
    await visitor.press(booked, { answer: "connect" });
    await visitor.press(booked, { answer: "connect" });

    const spent = await person.openLacking("list_expenses");
    await visitor.press(spent, { answer: "connect", key: keyOf(name) });

    const asked = await person.openLacking("open_request", { words: "tea" });
    const consent = await visitor.press(asked, { answer: "connect" });
    const { browser } = visitor;
    const named = await browser.press(consent, "decision", "approve");
    visitor.page = await browser.press(named, "name", name);
    await visitor.press(asked, { answer: "connect" });
  }
  const { ada, bob } = people;

  // Everyone has what is theirs.
  const both = async (name: string, input?: Json) => [
    await ada.text(name, input),
    await bob.text(name, input),
  ];
  assert.deepEqual(await both("list_bookings"), [
    '["lisbon-1","porto-2"]',
    '["oslo-3"]',
  ]);
  assert.deepEqual(await both("list_expenses"), ["ada", "bob"]);
  assert.deepEqual(await both("open_request", { words: "tea" }), [
    "ada asks: tea",
    "bob asks: tea",
  ]);

  // A deletion waits for its person.
  const id = { id: "lisbon-1" };
  const link = linkOf(await resultOf(ada.call("cancel_booking", id)));
  await bob.open(link);
  assert.doesNotMatch(bob.visitor.words, /lisbon|Cancel a booking/);
  assert.deepEqual(bookings.deleted, []);
  const waiting = await ada.open(link);
  assert.match(ada.visitor.words, /Cancel a booking.*lisbon-1/);
  await ada.visitor.press(waiting, { answer: "approve" });
  assert.deepEqual(bookings.deleted, []);
  assert.match(await ada.text("cancel_booking", id), /^Done: 204/);
  const again = linkOf(await resultOf(ada.call("cancel_booking", id)));
  assert.notEqual(again, link);
  assert.deepEqual(bookings.deleted, ["lisbon-1 of ada"]);
  assert.equal(await ada.text("list_bookings"), '["porto-2"]');

  // No credential of one is that of the other, and none went elsewhere.
  assert.deepEqual([...bookings.tokens.values()].sort(), ["ada", "bob"]);
  const keys = new Set(expenses.seen.map(([, authorization]) => authorization));
  assert.deepEqual([...keys].sort(), [
    `Bearer ${keyOf("ada")}`,
    `Bearer ${keyOf("bob")}`,
  ]);
});

Deno.test("examples/bookings is what import writes of the document on docs/team.md", async () => {
  await using copy = new TemporaryDirectory();
  const root = copy.path;
  await Deno.writeTextFile(`${root}/deno.json`, "{}\n");
  for (const folder of ["", "services/", "tools/"]) {
    await Deno.mkdir(`${root}/${folder}`, { recursive: true });
    const from = new URL(`${EXAMPLE}/${folder}`, REPOSITORY);
    for await (const { name, isFile } of Deno.readDir(from)) {
      if (isFile) {
        await Deno.copyFile(new URL(name, from), root + `/${folder}${name}`);
      }
    }
  }
  const document = `${root}/bookings.yaml`;
  const shown = new Map(filesIn("yaml")).get("bookings.yaml");
  assert.equal(await Deno.readTextFile(document), shown);
  assert.equal((await check(root, document)).code, 0);
  const tool = `${root}/tools/cancel_booking.ts`;
  const text = await Deno.readTextFile(tool);
  await Deno.writeTextFile(tool, text.replace("approval: {},", ""));
  const shorter = await check(root, document);
  assert.equal(shorter.code, 0);
  await Deno.writeTextFile(document, shown!.replace("/{id}", "/{code}"));
  assert.equal((await check(root, document)).code, 1);
});
