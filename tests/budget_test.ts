/**
 * The size of the code, in lines without comments, blanks and imports. Who
 * passes a limit joins or takes out something; who has done so lowers it.
 *
 * @module
 */
import assert from "node:assert/strict";
import { filesBelow } from "./kit/files.ts";

/** The most lines below each folder, and in all of them with the rest. */
const LIMITS: Record<string, number> = {
  "src/core/": 28_000,
  "src/features/": 20_000,
  "packages/": 16_000,
  "": 66_500,
};

const COUNTED = ["src", "packages", "main.ts", "server.ts", "health.ts"];

/** Counts the lines of a source that are neither comment, blank nor import. */
function countCode(source: string): number {
  return source
    .replaceAll(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, "")
    .replaceAll(/^(?:import|export)\b[^;]*?\bfrom\s+"[^"]+"[^;]*;$/gm, "")
    .replaceAll(/^import\s+"[^"]+";$/gm, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^\s*\/\//.test(line))
    .length;
}

Deno.test("comments, blanks and imports are no code", () => {
  const source = `/** Doc. */\nimport { a } from "./a.ts";\n\n// why\n` +
    `export {\n  b,\n} from "./b.ts";\nconst c = a; // counted\n  /* d\n e */\n`;
  assert.equal(countCode(source), 1);
});

Deno.test("the code stays within its budget", async () => {
  const counts = Object.fromEntries(Object.keys(LIMITS).map((key) => [key, 0]));
  for (const top of COUNTED) {
    for await (const path of filesBelow(top)) {
      if (!/\.tsx?$/.test(path) || /(?:^|\/)tests\/|_test\.tsx?$/.test(path)) {
        continue;
      }
      const lines = countCode(await Deno.readTextFile(path));
      for (const folder in LIMITS) {
        if (path.startsWith(folder)) counts[folder]! += lines;
      }
    }
  }
  for (const [folder, most] of Object.entries(LIMITS)) {
    const lines = counts[folder]!;
    const where = folder || "all";
    assert.ok(lines <= most, `${where}: ${lines} lines, at most ${most}`);
  }
});
