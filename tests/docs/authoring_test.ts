/**
 * The pages for authors against the types that they use: an option without words
 * fails, and so do words about an option that is gone.
 *
 * @module
 */
import assert from "node:assert/strict";
import { REPOSITORY } from "../kit/process.ts";
import { parsePage, readPages } from "./pages.ts";

/** The pages; each heading, or several joined by " + ", with the exported types whose members it has. */
const PAGES: Readonly<
  Record<string, Readonly<Record<string, readonly string[]>>>
> = {
  "docs/options.md": {
    "`tool()`, `resource()` and `prompt()` + `tool()`": [
      "CommonDefinition",
      "ToolDefinition",
    ],
    "`limit` of a tool": ["ToolLimit"],
    "`approval` of a tool": ["ToolApproval"],
    "`view` of a tool": ["ToolView"],
    "`samples` of a tool": ["ViewSample"],
    "`tool()`, `resource()` and `prompt()` + `resource()`": [
      "CommonDefinition",
      "ResourceDefinition",
    ],
    "`tool()`, `resource()` and `prompt()` + `prompt()`": [
      "CommonDefinition",
      "PromptDefinition",
    ],
    "`skill()`": ["SkillDefinition"],
    "`service()`": ["ServiceDefinition"],
    '`account()` and `personalKey()` + `account()` + `account()` with `from: "upstream"`, besides `api` and `title` + `personalKey()`':
      [
        "OAuthAccountOptions",
        "UpstreamAccountOptions",
        "PersonalKeyOptions",
      ],
    "`wait()` of a context": ["WaitOptions"],
    "`result()`": ["ResultExtra"],
    "`serve()`": ["ServerOptions", "ServerDefinitions", "OperatorInfo"],
    "`log` of a server": ["LogOptions"],
    "`createServer()`, besides those of `serve()`": ["CreateServerOptions"],
    "`testServer()` and `serveTest()`, besides those of `createServer()`": [
      "TestServerOptions",
    ],
    "`as()` of a test server": ["TestCaller"],
    "A request of a test": ["RequestOptions"],
  },
  "docs/reference.md": {
    "The context of a call": ["Context"],
    "The caller": ["Caller"],
    "The provider's API": ["Upstream"],
    "A person's account": ["Account", "McpAccount"],
    "Contents of a resource": ["ResourceContents"],
    "Routes of your own": ["RoutesContext"],
    "Around every call": ["ToolCall"],
    "What a client can do": ["TestClient", "TestServer"],
    "What a call gives": ["TestResult", "TestTask"],
    "A test server on a port": ["Served"],
  },
  "docs/own_app.md": { "Inside your own app": ["Server"] },
};

/** The members of a question, which is a union of types and no interface. */
const QUESTION = [
  "message",
  "key",
  "schema",
  "requestedSchema",
  "url",
  "until",
];

interface Documented {
  name: string;
  declarations: {
    def: {
      properties?: { name: string; accessibility?: string }[];
      methods?: { name: string; accessibility?: string; isStatic?: boolean }[];
    };
  }[];
}

/** Lists the members of every exported type, by its name. */
async function exportedMembers(): Promise<Map<string, string[]>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "doc",
      "--json",
      "src/mod.ts",
      "src/skill.ts",
      "packages/testing/mod.ts",
    ],
    cwd: REPOSITORY,
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const types = Object.values<{ symbols: Documented[] }>(nodes)
    .flatMap(({ symbols }) => symbols);
  return new Map(types.map(({ name, declarations }) => [
    name,
    declarations.flatMap(({ def: { properties = [], methods = [] } }) =>
      [...properties, ...methods.filter(({ isStatic }) => !isStatic)]
        .filter(({ accessibility }) => accessibility !== "private")
        .map(({ name }) => name)
        .filter((name) => !name.startsWith("["))
    ),
  ]));
}

/** Lists the options that a table or a list below a heading has. */
function rowsBelow(prose: string, heading: string): string[] {
  const [, rest] = prose.split(
    new RegExp(`^#+ ${RegExp.escape(heading)}$`, "m"),
  );
  assert(rest !== undefined, `there is no heading ${heading}`);
  const section = rest.split(/^#+ /m)[0];
  return [...section.matchAll(/^(?:\| `(\w+)` +\||- `(\w+)(?:\(\))?`:)/gm)].map(
    (
      [, row, item],
    ) => row ?? item,
  );
}

Deno.test("rowsBelow() reads the tables below one heading", () => {
  const { prose } = parsePage(
    "a.md",
    "## A\n| Option |\n| --- |\n| `one`   | a |\n| two | b |\n## B\n| `c` |\n",
  );
  assert.deepEqual(rowsBelow(prose, "A"), ["one"]);
});

Deno.test("the pages for authors have every option and member of the exported types, and no other", async () => {
  const members = await exportedMembers();
  const pages = await readPages();
  const rows = (path: string, headings: string) => {
    const { prose } = pages.find((page) => page.path === path)!;
    return headings.split(" + ").flatMap((it) => rowsBelow(prose, it));
  };
  for (const [path, sections] of Object.entries(PAGES)) {
    for (const [heading, types] of Object.entries(sections)) {
      const wanted = types.flatMap((type) => {
        const found = members.get(type);
        assert(found?.length, `no ${type} with members is exported`);
        return found;
      });
      assert.deepEqual(
        [...new Set(rows(path, heading))].sort(),
        [...new Set(wanted)].sort(),
        `${path}: ${heading}`,
      );
    }
  }
  assert.deepEqual(rows("docs/reference.md", "Options of ask"), QUESTION);
});
