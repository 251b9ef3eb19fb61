/**
 * Writes docs/options.md from the tables by which options are checked, in the
 * words of their types: `deno task options`.
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import { FLAG, FUNCTION, type OptionTable } from "../src/authoring/options.ts";
import { TOOL_APPROVAL } from "../src/authoring/approval.ts";
import { DURABLE, STEP, WAIT } from "../src/authoring/durable.ts";
import {
  OAUTH_ACCOUNT,
  UPSTREAM_ACCOUNT,
} from "../src/authoring/oauth_account.ts";
import { MCP_SERVER } from "../src/authoring/mcp_server.ts";
import { PERSONAL_KEY } from "../src/authoring/personal_key.ts";
import { PROMPT } from "../src/authoring/prompt.ts";
import { ANNOTATIONS, RESOURCE } from "../src/authoring/resource.ts";
import { RESULT_EXTRA } from "../src/authoring/result.ts";
import { SERVICE } from "../src/authoring/service.ts";
import {
  TOOL,
  TOOL_ANNOTATIONS,
  TOOL_LIMIT,
  TOOL_VIEW,
  VIEW_SAMPLE,
} from "../src/authoring/tool.ts";
import { SKILL } from "../src/core/catalogue/compiled_definitions.ts";
import {
  CREATE_SERVER_OPTIONS,
  LOG_OPTIONS,
  SEALING,
  SERVER_OPTIONS,
} from "../src/core/server/server_options.ts";
import { wrapText } from "../packages/create/settings.ts";
import { CRASH_POINT } from "../packages/testing/test_cluster.ts";
import { TEST_CALLER } from "../packages/testing/test_gate.ts";
import { REQUEST_OPTIONS } from "../packages/testing/test_request.ts";
import { TEST_SERVER_OPTIONS } from "../packages/testing/test_server.ts";

/** The options of every definition, and of every service with accounts. */
const DESCRIBED = shared(TOOL, RESOURCE, PROMPT);
const ACCOUNT = shared(OAUTH_ACCOUNT, PERSONAL_KEY);

/** The tables by their titles, and the types whose comments explain them. */
const TABLES: Readonly<Record<string, [OptionTable, ...types: string[]]>> = {
  "`tool()`, `resource()` and `prompt()`": [
    DESCRIBED,
    "Described",
    "ToolDefinition",
  ],
  "`tool()`": [without(TOOL, DESCRIBED), "ToolDefinition"],
  "`limit` of a tool": [TOOL_LIMIT, "ToolLimit"],
  "`approval` of a tool": [TOOL_APPROVAL, "ToolApproval"],
  "`annotations` of a tool": [TOOL_ANNOTATIONS],
  "`task` of a tool": [DURABLE, "DurableTask"],
  "`view` of a tool": [TOOL_VIEW, "ToolView"],
  "`samples` of a tool": [VIEW_SAMPLE, "ViewSample"],
  "`resource()`": [without(RESOURCE, DESCRIBED), "ResourceDefinition"],
  "`annotations` of a resource": [ANNOTATIONS],
  "`prompt()`": [without(PROMPT, DESCRIBED), "PromptDefinition"],
  "`skill()`": [SKILL, "SkillDefinition"],
  "`service()`": [SERVICE, "ServiceDefinition"],
  "`account()` and `personalKey()`": [ACCOUNT, "PersonalKeyOptions"],
  "`account()`": [without(OAUTH_ACCOUNT, ACCOUNT), "OAuthAccountOptions"],
  '`account()` with `from: "upstream"`, besides `api` and `title`': [
    without(UPSTREAM_ACCOUNT, ACCOUNT),
    "UpstreamAccountOptions",
  ],
  "`personalKey()`": [without(PERSONAL_KEY, ACCOUNT), "PersonalKeyOptions"],
  "`mcpServer()`": [MCP_SERVER, "McpServerOptions", "PersonalKeyOptions"],
  "`step()` of a context": [STEP, "StepOptions"],
  "`wait()` of a context": [WAIT, "WaitOptions"],
  "`result()`": [RESULT_EXTRA, "ResultExtra"],
  "`serve()`": [SERVER_OPTIONS, "ServerOptions", "About", "Definitions"],
  "`log` of a server": [LOG_OPTIONS, "LogOptions"],
  "`sealing` of a server": [SEALING, "Sealing"],
  "`createServer()`, besides those of `serve()`": [
    without(CREATE_SERVER_OPTIONS, SERVER_OPTIONS),
    "CreateServerOptions",
  ],
  "`testServer()` and `serveTest()`, besides those of `createServer()`": [
    without(TEST_SERVER_OPTIONS, CREATE_SERVER_OPTIONS),
    "TestServerOptions",
  ],
  "`as()` of a test server": [TEST_CALLER, "TestCaller"],
  "A request of a test": [REQUEST_OPTIONS, "RequestOptions"],
  "`crash()` of a test's task": [CRASH_POINT, "CrashPoint"],
};

function without(table: OptionTable, known: OptionTable): OptionTable {
  return pick(table, (name) => !Object.hasOwn(known, name));
}

/** Returns the options that all tables have. */
function shared(table: OptionTable, ...others: OptionTable[]): OptionTable {
  return pick(table, (name) => others.every((it) => Object.hasOwn(it, name)));
}

function pick(
  table: OptionTable,
  isPicked: (name: string) => boolean,
): OptionTable {
  const entries = Object.entries(table).filter(([name]) => isPicked(name));
  return Object.fromEntries(entries);
}

interface Commented {
  name: string;
  jsDoc?: { doc?: string };
}

/** The part of `deno doc --json` that is read here. */
interface Documented extends Commented {
  declarations: {
    def?: { properties?: Commented[]; methods?: Commented[] };
  }[];
}

/** Reads the comments of members, by the names of type and member. */
async function readWords(): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "doc",
      "--json",
      "src/mod.ts",
      "src/skill.ts",
      "packages/testing/mod.ts",
    ],
    stderr: "null",
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as {
    nodes: Record<string, { symbols: Documented[] }>;
  };
  const words = new Map<string, string>();
  for (const { symbols } of Object.values(nodes)) {
    for (const { name: type, declarations } of symbols) {
      for (const { def } of declarations) {
        const members = [...def?.properties ?? [], ...def?.methods ?? []];
        for (const { name, jsDoc } of members) {
          words.set(`${type}.${name}`, jsDoc?.doc ?? "");
        }
      }
    }
  }
  return words;
}

/** Prints a comment in one line, as Markdown. */
function inline(comment: string): string {
  return comment.replaceAll(/\s*\n\s*(?=[-@])[\s\S]*/g, "")
    .replaceAll(/\{@linkcode (?:import\([^)]*\)\.)?([\w.]+)\}/g, "`$1`")
    .replaceAll(/\s+/g, " ").replace(/\.$/, "")
    // A line does not end within code.
    .replaceAll(/`[^`]*`/g, (code) => code.replaceAll(" ", "\u00a0"));
}

/** Prints the page. */
export async function optionsPage(): Promise<string> {
  const words = await readWords();
  const tables = Object.entries(TABLES).map(([title, [table, ...types]]) => {
    const rows = Object.entries(table).map(([name, { wants, isRequired }]) => {
      const comment = types.map((type) => words.get(`${type}.${name}`))
        .find((it) => it !== undefined) ?? "";
      // Examples and the members of objects are told once.
      const isFunction = wants === FUNCTION.wants;
      const must = isFunction
        ? "required"
        : wants.replace(/, such as z\.object.*/, "")
          .replace(/an object of \w+(, \w+)+/, "an object");
      const meaning = inline(comment);
      // A function has its parentheses, and a flag says what true means.
      const isTold = isFunction ||
        must === FLAG.wants && /^True /.test(meaning);
      const value = isRequired ? `**${must}**` : isTold ? "" : must;
      return { name: `\`${name}${isFunction ? "()" : ""}\``, value, meaning };
    });
    const isPlain = rows.every(({ meaning }) => meaning === "");
    const printed = isPlain
      ? wrapText(rows.map(({ name, value }) => `${name}: ${value}`).join("; "))
      : rows.map(({ name, value, meaning }) =>
        wrapText(
          `${name}: ${[value, meaning].filter(Boolean).join(". ")}`,
          "  ",
        )
          .replace(" ", "-")
      ).join("");
    return `## ${title}\n\n${printed}`;
  });
  return ["# Options\n", wrapText(INTRODUCTION), ...tables].join("\n");
}

const INTRODUCTION =
  "For authors: every option, the value that it must have (bold if required) " +
  "and its meaning; `name()` is a function. An unknown option or a wrong value " +
  "is a fault at the start, or at the call that takes it; undefined counts as " +
  "absent. Examples: [authoring.md](authoring.md). " +
  "`deno\u00a0task\u00a0options` writes this page.";

if (import.meta.main) {
  answerHelp();
  const path = new URL("../docs/options.md", import.meta.url);
  const page = await optionsPage();
  if (await Deno.readTextFile(path).catch(() => "") !== page) {
    await Deno.writeTextFile(path, page);
    console.log("Wrote docs/options.md.");
  }
}
