/**
 * Writes docs/options.md from the tables by which options are checked, in the
 * words of their types: `deno task options`.
 *
 * @module
 */
import type { OptionTable } from "../src/authoring/options.ts";
import { DURABLE, STEP, WAIT } from "../src/authoring/durable.ts";
import { QUESTION, SAMPLE } from "../src/authoring/context.ts";
import {
  OAUTH_ACCOUNT,
  UPSTREAM_ACCOUNT,
} from "../src/authoring/oauth_account.ts";
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
import { printTable, wrap } from "../packages/create/settings.ts";
import { CRASH_POINT } from "../packages/testing/test_cluster.ts";
import { TEST_CALLER } from "../packages/testing/test_gate.ts";
import { REQUEST_OPTIONS } from "../packages/testing/test_request.ts";
import { TEST_SERVER_OPTIONS } from "../packages/testing/test_server.ts";

/** The tables by their titles, and the types whose comments explain them. */
const TABLES: Readonly<Record<string, [OptionTable, ...types: string[]]>> = {
  "`tool()`": [TOOL, "ToolDefinition", "Described"],
  "`limit` of a tool": [TOOL_LIMIT, "ToolLimit"],
  "`annotations` of a tool": [TOOL_ANNOTATIONS],
  "`task` of a tool": [DURABLE, "DurableTask"],
  "`view` of a tool": [TOOL_VIEW, "ToolView"],
  "`samples` of a tool": [VIEW_SAMPLE, "ViewSample"],
  "`resource()`": [RESOURCE, "ResourceDefinition", "Described"],
  "`annotations` of a resource": [ANNOTATIONS],
  "`prompt()`": [PROMPT, "PromptDefinition", "Described"],
  "`skill()`": [SKILL, "SkillDefinition"],
  "`service()`": [SERVICE, "ServiceDefinition"],
  "`account()`": [OAUTH_ACCOUNT, "OAuthAccountOptions", "PersonalKeyOptions"],
  '`account()` with `from: "upstream"`': [
    UPSTREAM_ACCOUNT,
    "UpstreamAccountOptions",
    "PersonalKeyOptions",
  ],
  "`personalKey()`": [PERSONAL_KEY, "PersonalKeyOptions"],
  "`ask()` of a context": [QUESTION, "Question"],
  "`sample()` of a context": [SAMPLE],
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
  const own = Object.entries(table).filter(([name]) =>
    !Object.hasOwn(known, name)
  );
  return Object.fromEntries(own);
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
    .replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replace(/\.$/, "");
}

/** Prints the page. */
export async function optionsPage(): Promise<string> {
  const words = await readWords();
  const tables = Object.entries(TABLES).map(([title, [table, ...types]]) => {
    const rows = Object.entries(table).map(([name, { wants, isRequired }]) => {
      const comment = types.map((type) => words.get(`${type}.${name}`))
        .find((it) => it !== undefined) ?? "";
      const must = wants.replaceAll("|", "\\|");
      return [
        `\`${name}\``,
        isRequired ? `required: ${must}` : must,
        inline(comment),
      ];
    });
    const cells = [["Option", "Must be", "Meaning"], ...rows];
    return `## ${title}\n\n${printTable(cells)}`;
  });
  return ["# Options\n", wrap(INTRODUCTION), ...tables].join("\n");
}

const INTRODUCTION =
  "For authors: every option, as it is checked when the server starts, or " +
  "where a call takes it. An option of another name and a value of another kind " +
  "are faults, and all of them are told at once; one that is undefined is as " +
  "absent. [Authoring](authoring.md) explains what they are for. This page is " +
  "written by `deno task options`.";

if (import.meta.main) {
  const path = new URL("../docs/options.md", import.meta.url);
  const page = await optionsPage();
  if (await Deno.readTextFile(path).catch(() => "") !== page) {
    await Deno.writeTextFile(path, page);
    console.log("Wrote docs/options.md.");
  }
}
