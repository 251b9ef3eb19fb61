// Makes an HTTP client, which would be a leak of the test that imports it.
import "../../src/mod.ts";
import assert from "node:assert/strict";
import { VERSION } from "../../src/core/version.ts";

const ROOT = new URL("../../", import.meta.url);

async function readJson(path: string) {
  return JSON.parse(await Deno.readTextFile(new URL(path, ROOT)));
}

/** Runs `deno` in the repository, and gives what it printed. */
async function deno(...args: string[]): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) + decoder.decode(stderr);
}

/** The exports that others may build on: removing one needs a major version. */
const VALUES = [
  "CatalogueError",
  "ConfigError",
  "KvClosedError",
  "KvLockedError",
  "KvUsageError",
  "ServiceError",
  "ToolError",
  "UpstreamError",
  "account",
  "createServer",
  "defineServer",
  "mcpServer",
  "personalKey",
  "prompt",
  "resource",
  "result",
  "secret",
  "serve",
  "service",
  "tool",
  "wake",
  "z",
];

const TYPES = [
  "Account",
  "AccountCheckResult",
  "AccountFetch",
  "AccountIdentity",
  "AccountNeeds",
  "AccountPreset",
  "Annotations",
  "ApprovalOffer",
  "ApprovalScope",
  "ApprovalShown",
  "Approved",
  "Around",
  "Authenticated",
  "BodyBounds",
  "BoundedRequest",
  "CallToolResult",
  "Caller",
  "ChangingList",
  "CommonDefinition",
  "Complete",
  "CompleteContext",
  "ConnectionInfo",
  "ContentBlock",
  "Context",
  "CreateMessageRequestParams",
  "CreateMessageResult",
  "CreateServerOptions",
  "DecidePermissions",
  "DurableTask",
  "ElicitationAnswer",
  "Environment",
  "FeatureMembers",
  "FetchDocument",
  "Hono",
  "Icon",
  "Identity",
  "Implementation",
  "Kv",
  "KvAtomic",
  "KvCheck",
  "KvCommit",
  "KvEntry",
  "KvEntryMaybe",
  "KvKey",
  "KvListOptions",
  "KvMissing",
  "KvSelector",
  "LogEvent",
  "LogOptions",
  "LoggingLevel",
  "MaybePromise",
  "McpAccount",
  "McpCallOptions",
  "McpClient",
  "McpServer",
  "McpServerOptions",
  "NeededAccounts",
  "OAuthAccount",
  "OAuthAccountOptions",
  "OpenMcpServer",
  "OperatorInfo",
  "OutputReturn",
  "Person",
  "PersonalKey",
  "PersonalKeyOptions",
  "Prompt",
  "PromptAnswer",
  "PromptDefinition",
  "PromptMessage",
  "Provider",
  "ProviderIdentity",
  "ProviderSignIn",
  "Question",
  "QuestionAnswer",
  "Resource",
  "ResourceAnswer",
  "ResourceContents",
  "ResourceDefinition",
  "ResultExtra",
  "ResultWith",
  "Root",
  "RoutesContext",
  "RunReturn",
  "SchemaOf",
  "ScopeDefinitions",
  "Sealed",
  "Sealing",
  "ServeOptions",
  "Server",
  "ServerDefinitions",
  "ServerOptions",
  "Service",
  "ServiceDefinition",
  "ServiceTokens",
  "ServiceValues",
  "Services",
  "SettingComplaint",
  "SettingSchemas",
  "SettingValues",
  "Shape",
  "StartContext",
  "StepContext",
  "StepOptions",
  "TokenTarget",
  "Tool",
  "ToolAnnotations",
  "ToolApproval",
  "ToolCall",
  "ToolContent",
  "ToolDefinition",
  "ToolLimit",
  "ToolView",
  "Upstream",
  "UpstreamAccount",
  "UpstreamAccountOptions",
  "UpstreamRequest",
  "UpstreamResponse",
  "UpstreamTokens",
  "Variables",
  "ViewSample",
  "WaitOptions",
];

Deno.test("src/mod.ts exports these values and nothing else", async () => {
  const values = Object.keys(await import("../../src/mod.ts"));
  assert.deepEqual(values.toSorted(), VALUES);
});

Deno.test("src/mod.ts exports these types and nothing else", async () => {
  const source = await Deno.readTextFile(new URL("src/mod.ts", ROOT));
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const types: string[] = [];
  for (const [, type, names] of code.matchAll(/export (type )?\{([^}]*)\}/g)) {
    for (const item of names.split(",").map((name) => name.trim())) {
      const name = /^(type )?(?:\w+ as )?(\w+)$/.exec(item);
      if (name && (type ?? name[1])) types.push(name[2]);
    }
  }
  assert.deepEqual(types.toSorted(), TYPES);
});

Deno.test("every export is documented, with types that are exports too", async () => {
  const { exports } = await readJson("deno.json");
  const entries = Object.values<string>(exports);
  const output = await deno("doc", "--lint", ...entries);
  assert.match(output, /documentation lint errors/);
  // Missing docs of npm packages are not ours, and Zod's types are members of
  // `z`, which the linter does not look into.
  const ours = output.split("\n\n\n").filter((complaint) =>
    /-->\s+\S*\/src\//.test(complaint) && !complaint.includes("/npm/") &&
    !/private type '(ZodType|ZodObject|input|output)'/.test(complaint)
  );
  assert.deepEqual(ours, []);
});

Deno.test("the examples in the documentation compile", async () => {
  const output = await deno(
    ...["check", "--doc", "src/mod.ts", "src/serve.ts", "src/server.ts"],
    "packages/testing/mod.ts",
    "packages/testing/kv/mod.ts",
    "src/api.ts",
    "src/skill.ts",
    "src/view.ts",
    ...[
      "around",
      "oauth_account",
      "prompt",
      "resource",
      "result",
      "service",
      "setting",
      "tool",
    ]
      .map((name) => `src/authoring/${name}.ts`),
  );
  // Lines about checked files are ignored.
  assert.equal(output.replaceAll(/^Check .*\n/gm, ""), "");
});

Deno.test("deno publish takes the package, its samples and tests left out", async () => {
  const output = await deno("publish", "--dry-run", "--allow-dirty");
  assert.match(output, /Success/);
  // The settings command reads the project it runs in, and a start with
  // Postgres loads its package by name.
  const warnings = output.match(/(warning|error)\[[\w-]+\][\s\S]*?-->.*/g);
  const places = warnings?.map((warning) =>
    /dynamic-import[\s\S]*?(\w+\/\w+)\.ts/.exec(warning)?.[1]
  );
  assert.deepEqual(
    new Set(places),
    new Set(["create/settings", "process/postgres"]),
  );
  assert.match(output, /src\/mod\.ts/);
  // A clone may be in a folder of any name.
  assert.doesNotMatch(
    output.replaceAll(ROOT.pathname, "/"),
    /_test\.ts|\/(tests|bench|docs|examples|src\/tools)\//,
  );
});

Deno.test("the version is the same in deno.json, the source and CHANGELOG.md", async () => {
  const { version } = await readJson("deno.json");
  assert.equal(VERSION, version);
  const changes = await Deno.readTextFile(new URL("CHANGELOG.md", ROOT));
  assert.equal(/^## (\d\S*)/m.exec(changes)?.[1], version);
});
