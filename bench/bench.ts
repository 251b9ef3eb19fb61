/**
 * `deno task bench [NAME] [ARGUMENTS]`: runs a measurement; without a name this
 * server, its peers and the limit side by side.
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";

const NAMES: Readonly<Record<string, string>> = {
  all: "run --allow-all bench/run.ts",
  latency: "run --allow-all bench/latency.ts",
  cores: "run --allow-all bench/cores.ts",
  sweep: "run --allow-all bench/sweep.ts",
  crossing: "run --allow-all bench/crossing.ts",
  turns: "run --allow-all bench/turns.ts",
  work: "run --allow-all --unstable-kv bench/work.ts",
  micro: "bench --allow-all bench/micro/",
};

answerHelp(`\n\nThere are: ${Object.keys(NAMES).join(", ")}`);
const isNamed = Deno.args[0] !== undefined && !Deno.args[0].startsWith("-");
const name = isNamed ? Deno.args[0] : "all";
if (!Object.hasOwn(NAMES, name)) {
  const names = Object.keys(NAMES).join(", ");
  console.error(`There is no measurement ${name}. There are: ${names}`);
  Deno.exit(2);
}
const { code } = await new Deno.Command(Deno.execPath(), {
  args: [...NAMES[name].split(" "), ...Deno.args.slice(isNamed ? 1 : 0)],
}).spawn().status;
Deno.exit(code);
