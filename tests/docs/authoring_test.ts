/**
 * The page for authors against the types that they use: an option without words
 * fails, and so do words about an option that is gone.
 *
 * @module
 */
import assert from "node:assert/strict";
import { REPOSITORY } from "../kit/process.ts";
import { parsePage, readPages } from "./pages.ts";

/** The headings of the page, each with the exported types whose members it has. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  "A tool": ["Described", "ToolDefinition"],
  "Limit a tool": ["ToolLimit"],
  "The context of a call": ["Context"],
  "The caller": ["Caller"],
  "The provider's API": ["Upstream"],
  "A person's own account": [
    "PersonalKeyOptions",
    "OAuthAccountOptions",
    "UpstreamAccountOptions",
    "Account",
  ],
  "The result": ["ResultExtra"],
  "A view for a tool": ["ToolView", "ViewSample"],
  "A resource": ["ResourceDefinition", "ResourceContents"],
  "A prompt": ["PromptDefinition"],
  "A skill": ["SkillDefinition"],
  "A service": ["ServiceDefinition"],
  "The server": ["ServerOptions", "Definitions", "About"],
  "Wait for a word from outside": ["WaitOptions"],
  "Routes of your own": ["RoutesContext"],
  "Around every call": ["ToolCall"],
  "The log": ["LogOptions"],
  "For tests and your own app": ["CreateServerOptions"],
  "Inside your own app": ["Server"],
  "A test server": ["TestServerOptions"],
  "What a client can do": ["TestClient", "TestServer", "TestCaller"],
  "Options of a request": ["RequestOptions"],
  "What a call gives": ["TestResult", "TestTask"],
  "A test server on a port": ["Served"],
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

/** Lists the options that the tables below a heading have a row for. */
function rowsBelow(prose: string, heading: string): string[] {
  const [, rest] = prose.split(new RegExp(`^#+ ${heading}$`, "m"));
  assert(rest !== undefined, `there is no heading ${heading}`);
  const section = rest.split(/^#+ /m)[0];
  return [...section.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name);
}

Deno.test("rowsBelow() reads the tables below one heading", () => {
  const { prose } = parsePage(
    "a.md",
    "## A\n| Option |\n| --- |\n| `one`   | a |\n| two | b |\n## B\n| `c` |\n",
  );
  assert.deepEqual(rowsBelow(prose, "A"), ["one"]);
});

Deno.test("docs/authoring.md has every option of the exported types, and no other", async () => {
  const members = await exportedMembers();
  const pages = await readPages();
  const { prose } = pages.find(({ path }) => path === "docs/authoring.md")!;
  for (const [heading, types] of Object.entries(SECTIONS)) {
    const wanted = types.flatMap((type) => {
      const found = members.get(type);
      assert(found?.length, `no ${type} with members is exported`);
      return found;
    });
    assert.deepEqual(
      [...new Set(rowsBelow(prose, heading))].sort(),
      [...new Set(wanted)].sort(),
      heading,
    );
  }
  assert.deepEqual(rowsBelow(prose, "Ask the person"), QUESTION);
});
