/**
 * Projects of strangers: unrelated directories, and a home with nothing in it.
 *
 * @module
 */
import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { home } from "../kit/home.ts";
import {
  Process,
  type ProcessOptions,
  REPOSITORY,
  TemporaryDirectory,
} from "../kit/process.ts";

/** The repository's path, as another project's `links` name it. */
export const PACKAGE_PATH = REPOSITORY.pathname.replace(/\/$/, "");

/** The package, as others import it. */
export const NAME = "@tool-server/tool-server";

/** A directory of its own. */
export class Project implements AsyncDisposable {
  readonly #directory = new TemporaryDirectory();
  /** A home that no other project has, and in which nothing is kept. */
  readonly #home?: TemporaryDirectory;
  path = this.#directory.path;

  constructor({ hasOwnHome = false } = {}) {
    if (hasOwnHome) this.#home = new TemporaryDirectory();
  }

  async write(path: string, text: string): Promise<void> {
    const full = `${this.path}/${path}`;
    await Deno.mkdir(full.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(full, text);
  }

  read(path: string): Promise<string> {
    return Deno.readTextFile(`${this.path}/${path}`);
  }

  /** Starts a program in it. */
  start(command: string, args: string[], options: ProcessOptions = {}) {
    const { path } = this.#home ?? home;
    const env = { HOME: path, DENO_DIR: "", ...options.env };
    return new Process(args, { ...options, command, cwd: this.path, env });
  }

  /** Runs `deno` to its end, and gives its code and output. */
  async deno(...args: string[]): Promise<{ code: number; output: string }> {
    await using process = this.start(Deno.execPath(), args);
    return { code: await process.end(), output: process.output };
  }

  /** Runs {@linkcode deno}, which must succeed. */
  async succeed(...args: string[]): Promise<string> {
    const { code, output } = await this.deno(...args);
    assert.equal(code, 0, output);
    return output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#directory[Symbol.asyncDispose]();
    await this.#home?.[Symbol.asyncDispose]();
  }
}

/** The generator. */
export const CREATE = `${PACKAGE_PATH}/packages/create/mod.ts`;

/** Creates a new project, in a directory of its own. */
export async function createProject(): Promise<Project> {
  const project = new Project();
  await project.succeed("run", "-A", CREATE, "my-tools");
  project.path += "/my-tools";
  return project;
}

/** Calls a tool as a real client, in either generation of the protocol. */
export async function callBoth(
  url: string,
  name: string,
  input: Record<string, unknown>,
): Promise<string[]> {
  const texts: string[] = [];
  for (const mode of ["legacy", "auto"] as const) {
    const client = new Client({ name: "stranger", version: "1.0.0" }, {
      versionNegotiation: { mode },
    });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`)),
    );
    const { content } = await client.callTool({ name, arguments: input });
    const [block] = content as { text: string }[];
    texts.push(block.text);
    await client.close();
  }
  return texts;
}

/** Installs the npm package that `deno task pack` makes. */
export async function installPacked(project: Project): Promise<void> {
  const file = `${project.path}/package.tgz`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "scripts/pack.ts", file],
    cwd: PACKAGE_PATH,
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  await project.write("package.json", '{ "type": "module" }');
  await using npm = project.start("npm", [
    ..."install --silent --no-audit --no-fund ./package.tgz".split(" "),
    ...["@deno/kv", "@hono/node-server@2"],
  ]);
  assert.equal(await npm.end(), 0, npm.output);
}
