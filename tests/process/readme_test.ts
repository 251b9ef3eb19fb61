/**
 * The first screen of the README, typed as it is printed into an empty folder:
 * on a machine that has only Deno, and on one that has only Node.
 *
 * @module
 */
import assert from "node:assert/strict";
import { parsePage } from "../docs/pages.ts";
import { freePort } from "../kit/port.ts";
import { Process, REPOSITORY, TemporaryDirectory } from "../kit/process.ts";

const README = parsePage(
  "README.md",
  await Deno.readTextFile(new URL("README.md", REPOSITORY)),
);

/** The line at which the first screen ends. */
const END = README.text.slice(0, README.text.indexOf("\n## Connect a client"))
  .split("\n").length;

const BLOCKS = README.blocks.filter(({ line }) => line < END);
const [CALL, PRINTED] = BLOCKS.find(({ language }) => language === "text")!
  .text.trim().split("\n");

/** Everything else that the commands and Deno's own programs start. */
const TOOLS = ["git", "sh", "env", "uname"];

const WAY = "npx -y deno";

/** The programs of a machine besides those, and the blocks as it types them. */
const MACHINES: Record<
  string,
  { programs: string[]; way: string; blocks: string[] }
> = {
  Deno: {
    programs: ["deno"],
    way: "deno",
    blocks: scripts().filter((text) => !text.includes(WAY)),
  },
  Node: {
    programs: ["node", "npm", "npx"],
    way: WAY,
    // The README says to write this way in place of `deno`; its first block
    // with it takes the place of the one before.
    blocks: scripts().filter((_, index, all) => !all[index + 1]?.includes(WAY))
      .map((text) =>
        text.includes(WAY) ? text : text.replaceAll(/^deno /gm, `${WAY} `)
      ),
  },
};

/** Lists the commands of the first screen. */
function scripts(): string[] {
  return BLOCKS.filter(({ language }) => language === "sh")
    .map(({ text }) => text);
}

/** Finds a program as a shell does. */
function find(program: string): string {
  if (program === "deno") return Deno.execPath();
  for (const folder of Deno.env.get("PATH")!.split(":")) {
    const path = `${folder}/${program}`;
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch {
      // It is in another folder.
    }
  }
  throw new Error(`${program} is not here`);
}

/** Clones the repository into a folder. */
async function cloneInto(folder: string): Promise<string> {
  const path = `${folder}/tool-server`;
  const args = ["clone", "--quiet", REPOSITORY.pathname, path];
  await using git = new Process(args, { command: "git" });
  assert.equal(await git.end(), 0, git.output);
  return path;
}

for (const [machine, { programs, blocks, way }] of Object.entries(MACHINES)) {
  Deno.test(`the first screen of the README works as printed where there is only ${machine}`, async () => {
    await using home = new TemporaryDirectory();
    await using folder = new TemporaryDirectory();
    await using path = new TemporaryDirectory();
    for (const program of [...programs, ...TOOLS]) {
      await Deno.symlink(find(program), `${path.path}/${program}`);
    }
    const clone = await cloneInto(folder.path);
    const port = freePort();
    const env = {
      PATH: path.path,
      HOME: home.path,
      DENO_DIR: "",
      PORT: `${port}`,
    };
    /** Types commands into a new terminal. */
    const type = (text: string, cwd = clone) =>
      new Process(["-e", "-c", text], { command: "sh", cwd, env });
    /** Types commands that end, and gives what they print. */
    const print = async (text: string, cwd?: string) => {
      await using process = type(text, cwd);
      assert.equal(await process.end(), 0, process.output);
      return process.output;
    };
    const greets = new RegExp(`^${PRINTED}$`, "m");
    const serves = new RegExp(`http:\\S+:${port}/mcp`);
    const passes = /^ok \| [1-9]\d* passed/m;

    const [dev, others, project] = blocks;
    {
      const own = dev.replace("ADDRESS-OR-FOLDER", clone);
      await using server = type(own, home.path);
      await server.prints(serves);
      const output = await print(others);
      assert.match(output, greets);
      assert.match(output, passes);
    }
    await using server = type(project);
    await server.prints(serves);
    assert.match(server.output, passes);
    const call = CALL.replace("$ deno", way);
    assert.match(await print(call, `${folder.path}/my-tools`), greets);
  });
}
