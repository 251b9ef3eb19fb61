/** Lists of odd definitions, as the official clients read them. */
import assert from "node:assert/strict";
import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { faultsIn } from "../../../src/authoring/options.ts";
import { PROMPT } from "../../../src/authoring/prompt.ts";
import { RESOURCE } from "../../../src/authoring/resource.ts";
import { TOOL } from "../../../src/authoring/tool.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";
import {
  CatalogueError,
  DEFINITIONS,
} from "../../../src/core/catalogue/compiled_definitions.ts";
import { prompt, resource, tool, z } from "../../../src/mod.ts";

// deno-lint-ignore no-explicit-any -- Types would refuse what is tested.
type Anything = any;

const READERS = {
  tools: ListToolsResultSchema,
  resources: ListResourcesResultSchema,
  resourceTemplates: ListResourceTemplatesResultSchema,
  prompts: ListPromptsResultSchema,
};

/** Serves definitions; true if they were accepted. */
function serve(definitions: Anything): boolean {
  if (faultsIn(DEFINITIONS, definitions).length > 0) return false;
  const serverInfo = { name: "s", version: "1" };
  let catalogue;
  try {
    catalogue = compileCatalogue(definitions, { serverInfo });
  } catch (error) {
    assert(error instanceof CatalogueError, `${error}`);
    return false;
  }
  for (const generation of ["session", "stateless"] as const) {
    for (const [list, schema] of Object.entries(READERS)) {
      const pages = catalogue[generation][list as keyof typeof READERS];
      const { success, error } = schema.safeParse(
        JSON.parse(pages.page(undefined), (name, value) => {
          // Clients of 2026 take any output.
          const isNew = generation === "stateless" && name === "outputSchema";
          return isNew && value.type !== "object" ? undefined : value;
        }),
      );
      assert(success, `${list}: ${error}`);
    }
  }
  return true;
}

const text = z.string();

const VALUES: unknown[] = [
  null,
  true,
  0,
  0.5,
  -1,
  1e300,
  NaN,
  1n,
  "",
  "text",
  "2026-01-31T12:00:00Z",
  "\ud800",
  Symbol("s"),
  () => "",
  new Date(0),
  /a/,
  [],
  [null],
  ["text"],
  ["user"],
  [{ src: "a" }],
  [{ src: 5 }],
  [{ src: "a", sizes: "48x48" }],
  {},
  { title: 5 },
  { title: "a" },
  { readOnlyHint: null },
  { audience: ["user"], priority: 1 },
  { lastModified: "2026-01-31" },
  { lastModified: "2026-13-41T25:61:61Z" },
  { lastModified: "2026-01-31T12:00:00+01:00" },
  { deep: { big: 1n } },
  { toJSON: () => "text" },
  text,
  z.object({}),
  z.looseObject({ a: text }),
  z.strictObject({ a: text.optional() }),
  z.record(z.string(), text),
  z.union([z.object({ a: text }), z.object({ b: text })]),
  z.object({ a: text }).refine(() => true),
  z.object({ a: text }).meta({ type: "string" }),
  z.object({ a: text }).meta({ properties: [] }),
  z.object({ a: text }).meta({ required: "a" }),
  z.object({ a: text.meta({ title: 5 as Anything }) }),
  z.object({ a: text.describe(5 as Anything) }),
  z.object({ a: z.lazy(() => text) }),
  z.array(text),
  z.unknown(),
];

const DEFINE = {
  tool: [TOOL, (it: Anything) => ({ tools: [tool(it)] })],
  resource: [RESOURCE, (it: Anything) => ({ resources: [resource(it)] })],
  prompt: [PROMPT, (it: Anything) => ({ prompts: [prompt(it)] })],
} as const;

for (const [kind, [table, define]] of Object.entries(DEFINE)) {
  Deno.test(`no member of a ${kind} can make official clients lose the list`, () => {
    const run = () => "";
    const good = kind === "tool"
      ? { name: "a", run }
      : kind === "prompt"
      ? { name: "a", get: run }
      : { name: "a", uri: "a://b/{c}", read: run };
    assert(serve(define(good)));
    let accepted = 0;
    for (const name of Object.keys(table)) {
      for (const value of VALUES) {
        try {
          if (serve(define({ ...good, [name]: value }))) accepted++;
        } catch (cause) {
          const index = VALUES.indexOf(value);
          throw new Error(`${name}, value ${index}: ${cause}`, { cause });
        }
      }
    }
    assert(accepted > 10);
  });
}
