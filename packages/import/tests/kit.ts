/**
 * Imports in tests: a small project, a document, and what the command says.
 *
 * @module
 */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../../tests/kit/process.ts";
import { parseOpenApi } from "../document.ts";
import { importTools, parseFlags } from "../mod.ts";
import { openApiSource } from "../openapi.ts";
import type { ToolFiles } from "../source.ts";

const SERVER = `import { defineServer } from "@tool-server/tool-server";
import { tools } from "./tools/mod.ts";

export default defineServer({ name: "a", version: "0.1.0", tools });
`;

/** A project in a folder of its own. `await using` removes it. */
export class Trial implements AsyncDisposable {
  private constructor(readonly root: string) {}

  /** Makes a project that has no tools. */
  static async start(): Promise<Trial> {
    const root = await Deno.makeTempDir({ prefix: "import-test-" });
    await Deno.writeTextFile(`${root}/server.ts`, SERVER);
    await Deno.writeTextFile(`${root}/deno.json`, "{}\n");
    return new Trial(root);
  }

  /** Writes a document, and runs the command on it. */
  async import(
    document: unknown,
    args: readonly string[] = ["--all"],
    answers?: (string | (() => string))[],
  ): Promise<{ code: number; said: string }> {
    const path = `${this.root}/openapi.json`;
    const text = typeof document === "string"
      ? document
      : JSON.stringify(document);
    await Deno.writeTextFile(path, text);
    const said: string[] = [];
    const code = await importTools(parseFlags([path, ...args]), {
      print: (words) => said.push(words),
      ...answers && {
        ask(question: string) {
          said.push(question);
          const answer = answers.shift() ?? null;
          return typeof answer === "function" ? answer() : answer;
        },
      },
    }, { root: this.root });
    return { code, said: said.join("\n") };
  }

  read(path: string): Promise<string> {
    return Deno.readTextFile(`${this.root}/${path}`);
  }

  /** Changes a file, as its author does. */
  async edit(path: string, from: string, to: string): Promise<void> {
    const text = await this.read(path);
    if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
    await Deno.writeTextFile(`${this.root}/${path}`, text.replace(from, to));
  }

  remove(path: string): Promise<void> {
    return Deno.remove(`${this.root}/${path}`);
  }

  /** Lists the files of a folder. */
  async files(folder: string): Promise<string[]> {
    const entries = await Array.fromAsync(
      Deno.readDir(`${this.root}/${folder}`),
    );
    return entries.map(({ name }) => name).sort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Deno.remove(this.root, { recursive: true });
  }
}

/** Makes a document of some paths. */
export function documentOf<P extends Record<string, unknown>>(
  paths: P,
  more: Record<string, unknown> = {},
) {
  return {
    openapi: "3.1.0",
    info: { title: "Tea Shop API", version: "2" },
    servers: [{ url: "https://api.example.com/v1" }],
    paths,
    ...more,
  };
}

/** Sign-in by a key in a header. */
export const KEYED = {
  components: {
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "x-api-key" },
    },
  },
  security: [{ key: [] }],
};

/** The body of an operation that wants JSON with a schema. */
export const jsonBody = (schema: unknown) => ({
  required: true,
  content: { "application/json": { schema } },
});

/** Makes a tool and its test of one operation with a schema, unformatted. */
export async function toolOf(
  schema: unknown,
  schemas: Record<string, unknown> = {},
): Promise<ToolFiles> {
  const document = documentOf({
    "/a": { post: { operationId: "a", requestBody: jsonBody(schema) } },
  }, { components: { schemas } });
  const parsed = await parseOpenApi(JSON.stringify(document), "a.json");
  const source = openApiSource(parsed);
  const written = source.write({ name: "b", variable: "b" }, source.items);
  return written.tool(source.items[0], "a");
}

/** Runs the tests of a module, with the package of this repository. */
export async function runTests(path: string): Promise<void> {
  const tests: (() => Promise<void>)[] = [];
  const { test } = Deno;
  Object.assign(Deno, {
    test: (_name: string, run: () => Promise<void>) => tests.push(run),
  });
  try {
    await import(`file://${path}`);
  } finally {
    Object.assign(Deno, { test });
  }
  assert.equal(tests.length, 1, path);
  await tests[0]();
}

/** Makes the files of a project import the package of this repository. */
export async function linked(trial: Trial): Promise<void> {
  const { exports } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", REPOSITORY)),
  );
  for (const folder of ["services", "tools"]) {
    for (const name of await trial.files(folder)) {
      const whole = (await trial.read(`${folder}/${name}`)).replaceAll(
        /"@tool-server\/tool-server(\/\w+)?"/g,
        (_, entry = "") =>
          `"${new URL(exports[`.${entry}`], REPOSITORY).href}"`,
      );
      await Deno.writeTextFile(`${trial.root}/${folder}/${name}`, whole);
    }
  }
}
