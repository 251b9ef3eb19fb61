/**
 * The result of each mutant, one line of JSON each.
 *
 * @module
 */
import type { Mutant } from "./mutants.ts";
import type { Verdict } from "./workplace.ts";

/** A result; `unreached`, by any test, is a survivor too. */
export interface Result {
  name: string;
  line: number;
  verdict: Verdict | "unreached";
  replacement: string;
}

/** A file of results, to which new ones are appended. */
export class Results {
  private constructor(
    private readonly path: string,
    private readonly known: Map<string, Result>,
  ) {}

  static async open(path: string): Promise<Results> {
    const text = await Deno.readTextFile(path).catch(() => "");
    const results = text.split("\n").filter(Boolean)
      .map((line): Result => JSON.parse(line));
    const folder = path.replace(/[^/]*$/, "") || ".";
    await Deno.mkdir(folder, { recursive: true });
    return new Results(path, new Map(results.map((one) => [one.name, one])));
  }

  get({ name }: Mutant): Result | undefined {
    return this.known.get(name);
  }

  async add(
    { name, line, replacement }: Mutant,
    verdict: Result["verdict"],
  ): Promise<void> {
    const result = { name, line, verdict, replacement };
    this.known.set(name, result);
    const text = `${JSON.stringify(result)}\n`;
    await Deno.writeTextFile(this.path, text, { append: true });
    if (verdict !== "failed") console.log(print(result));
  }
}

export function isSurvivor({ verdict }: Result): boolean {
  return verdict === "passed" || verdict === "unreached";
}

const WORDS = {
  passed: "SURVIVED",
  unreached: "REACHED BY NO TEST",
  hung: "HUNG",
  failed: "",
};

function print({ name, line, replacement, verdict }: Result): string {
  const [path, ...rest] = name.split(": ");
  const shown = replacement.replaceAll(/\s+/g, " ");
  return `${WORDS[verdict]} ${path}:${line} ${rest.join(": ")} -> ${shown}`;
}

/** Prints `src/store: 9 mutants, 2 survived, 1 hung: 77.8 % were noticed`. */
export function summary(name: string, done: readonly Result[]): string {
  const survivors = done.filter(isSurvivor).length;
  const hung = done.filter(({ verdict }) => verdict === "hung").length;
  const share = 100 * (1 - survivors / Math.max(1, done.length));
  return `${name}: ${done.length} mutants, ${survivors} survived, ${hung} ` +
    `hung: ${share.toFixed(1)} % were noticed`;
}
