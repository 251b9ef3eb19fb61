import assert from "node:assert/strict";
import { Process, REPOSITORY, TemporaryDirectory } from "../kit/process.ts";

const { tasks }: { tasks: Record<string, string> } = JSON.parse(
  await Deno.readTextFile(new URL("deno.json", REPOSITORY)),
);

/** The programs in bench, scripts and tests that tasks run. */
const PROGRAMS = Object.values(tasks).flatMap((command) =>
  /^deno run .*?((?:bench|scripts|tests)\/\S+\.ts)$/.exec(command)?.[1] ?? []
);

/** Asks for help, in a folder where nothing can be written over. */
async function help(program: string, directory: string): Promise<string> {
  const path = new URL(program, REPOSITORY).pathname;
  const config = new URL("tests/deno.json", REPOSITORY).pathname;
  await using process = new Process(
    ["run", "--quiet", "--allow-all", "--config", config, path, "--help"],
    { cwd: directory },
  );
  assert.equal(await process.end(), 0, `${program}: ${process.output}`);
  return process.output;
}

Deno.test("the program of each task, and of each measurement, says what it is for and does nothing else", async () => {
  await using directory = new TemporaryDirectory();
  assert.ok(PROGRAMS.length > 9);
  const measured = await help("bench/bench.ts", directory.path);
  const [, names] = /There are: all, (.*), micro/.exec(measured)!;
  const programs = [
    ...PROGRAMS,
    ...["run", ...names.split(", ")].map((it) => `bench/${it}.ts`),
  ];
  for (const program of programs) {
    const text = await Deno.readTextFile(new URL(program, REPOSITORY));
    const [, first] = /^\/\*\*\n \* (.*)$/m.exec(text)!;
    assert.equal((await help(program, directory.path)).split("\n")[0], first);
  }
  assert.deepEqual([...Deno.readDirSync(directory.path)], []);
});
