import assert from "node:assert/strict";
import { VERBS } from "../mod.ts";
// The import of send_once.ts makes an HTTP client. If a test imported it first,
// the client would be reported as a leak of that test.
import "../../../src/core/net/send_once.ts";

/** Runs a verb, and returns its exit code and its complaints. */
async function run(verb: string, args: readonly string[]) {
  const said: string[] = [];
  const { error, log } = console;
  const { addSignalListener } = Deno;
  console.error = (text: string) => void said.push(text);
  console.log = console.error;
  Object.assign(Deno, { addSignalListener() {} });
  Object.assign(Deno.stderr, {
    writeSync(bytes: Uint8Array) {
      said.push(new TextDecoder().decode(bytes));
      return bytes.length;
    },
  });
  try {
    const main = await VERBS[verb][1]();
    return { code: await main(args), words: said.join("\n") };
  } finally {
    Object.assign(console, { error, log });
    Object.assign(Deno, { addSignalListener });
    Reflect.deleteProperty(Deno.stderr, "writeSync");
  }
}

/** The nearest known word to each misspelt one, by verb. */
const MISSPELT: Record<string, readonly (readonly [string, string?])[]> = {
  call: [["--jsn", "--json"], ["--nothing-like-it"]],
  list: [["--al", "--all"], ["--nothing-like-it"]],
  doctor: [["--stroe", "--store"], ["--nothing-like-it"]],
  people: [["blok", "block"], ["list --jsno", "--json"], ["zzz"]],
  clients: [["blok", "block"], ["lsit", "list"], [
    "block x --reson y",
    "--reason",
  ]],
  backup: [["--chek a"], ["a --to"]],
  restore: [["--dry a"], ["a -f"]],
  move: [["a b --dry-rn", "--dry-run"], ["a b -f"]],
  bundle: [["--postgre", "--postgres"], ["--check"], [
    "postgres",
    "--postgres",
  ]],
  create: [["--nothing-like-it"], ["a b"], ["my?app"]],
  tool: [["--chekc", "--check"], ["my?tool", "my_tool"], ["a b"]],
  resource: [["--nothing-like-it"], ["My?List", "my_list"]],
  prompt: [["--nothing-like-it"], ["9lives", "lives"]],
  import: [["--pik x", "--pick"], ["a --chek", "--check"], ["a b"]],
  settings: [["--chek", "--check"], ["--postgres"], ["al", "--all"]],
  skills: [["--chek", "--check"], ["--all"]],
  add: [["dokcer", "docker"], ["--docker"], ["ship"]],
  guide: [["--all"], ["x"]],
  update: [["--clone"], ["a b"]],
};

Deno.test({
  name:
    "each verb refuses a word that it does not know with exit code 2 and the nearest that it knows, and does nothing",
  // A verb that writes, runs a program or connects fails with another error.
  permissions: { read: true, env: true, sys: true },
  async fn(t) {
    for (const verb of Object.keys(VERBS)) {
      // `cores` takes any word as the command that it runs.
      if (verb === "cores") continue;
      for (const [line, near] of MISSPELT[verb]) {
        await t.step(`${verb} ${line}`, async () => {
          // A question mark is a space within a word.
          const args = line.split(" ").map((it) => it.replace("?", " "));
          const { code, words } = await run(verb, args);
          assert.equal(code, 2, words);
          if (near) assert(words.split("\n")[0].includes(near), words);
          else assert(!words.includes("Did you mean"), words);
        });
      }
    }
  },
});
