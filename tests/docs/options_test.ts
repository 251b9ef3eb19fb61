/** The pages about options, against the tables by which options are checked. */
import assert from "node:assert/strict";
import { optionsPage } from "../../scripts/options.ts";
import type { OptionTable } from "../../src/authoring/options.ts";
import {
  OAUTH_ACCOUNT,
  UPSTREAM_ACCOUNT,
} from "../../src/authoring/oauth_account.ts";
import { PERSONAL_KEY } from "../../src/authoring/personal_key.ts";
import { PROMPT } from "../../src/authoring/prompt.ts";
import { RESOURCE } from "../../src/authoring/resource.ts";
import { SERVICE } from "../../src/authoring/service.ts";
import { TOOL, TOOL_LIMIT } from "../../src/authoring/tool.ts";
import {
  CREATE_SERVER_OPTIONS,
  SERVER_OPTIONS,
} from "../../src/core/server/server_options.ts";
import { REQUEST_OPTIONS } from "../../packages/testing/test_request.ts";
import { REPOSITORY } from "../kit/process.ts";

function read(page: string): Promise<string> {
  return Deno.readTextFile(new URL(`docs/${page}`, REPOSITORY));
}

Deno.test("docs/options.md is written from the tables: run deno task options", async () => {
  assert.equal(await optionsPage(), await read("options.md"));
});

Deno.test("the tables of docs/authoring.md have every option, and no other", async () => {
  const sections: Record<string, OptionTable[]> = {
    "A tool": [TOOL],
    "Limit a tool": [TOOL_LIMIT],
    "A person's own account": [PERSONAL_KEY, OAUTH_ACCOUNT, UPSTREAM_ACCOUNT],
    "A resource": [RESOURCE],
    "A prompt": [PROMPT],
    "A service": [SERVICE],
    "The server": [SERVER_OPTIONS],
    "For tests and your own app": [CREATE_SERVER_OPTIONS],
    "Options of a request": [REQUEST_OPTIONS],
  };
  const parts = (await read("authoring.md")).split(/^#+ /m);
  const rowsOf = (title: string) => {
    const part = parts.find((it) => it.startsWith(`${title}\n`)) ?? "";
    const tables = part.match(/^\| Option .*\n(\|.*\n)+/gm) ?? [];
    return [...tables.join("").matchAll(/^\| `(\w+)`/gm)].map(([, it]) => it);
  };
  // The first table of a section says what tools, resources and prompts share.
  const shared = ["A resource", "A prompt"].map((title) =>
    [title, rowsOf("A tool").slice(0, 8)] as const
  );
  const before = new Map<string, string[]>([
    ...shared.map(([title, names]) =>
      [title, [...names]] as [string, string[]]
    ),
    ["For tests and your own app", Object.keys(SERVER_OPTIONS)],
  ]);
  for (const [title, tables] of Object.entries(sections)) {
    const known = [...new Set(tables.flatMap((it) => Object.keys(it)))];
    const told = [...before.get(title) ?? [], ...rowsOf(title)];
    assert.deepEqual([...new Set(told)].sort(), known.sort(), title);
  }
});
