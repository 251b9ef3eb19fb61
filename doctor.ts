/**
 * `deno task doctor [URL]`: examines a running server from outside, as its
 * clients would meet it. Exits 1 when something has to be fixed.
 *
 * @module
 */
import { examine } from "./src/doctor/examine.ts";
import { printFinding } from "./src/doctor/finding.ts";

const DEFAULT_URL = "http://127.0.0.1:3000";

if (import.meta.main) {
  const url = Deno.args[0] ?? Deno.env.get("BASE_URL") ?? DEFAULT_URL;
  if (!/^https?:/.test(url) || !URL.canParse(url)) {
    console.error(
      `Not an address: ${url}. Try: deno task doctor ${DEFAULT_URL}`,
    );
    Deno.exit(2);
  }
  console.log(`Examining ${url}\n`);
  let faults = 0;
  for await (const finding of examine(url)) {
    if (finding.result === "failed") faults++;
    console.log(printFinding(finding));
  }
  console.log(
    faults === 0
      ? "\nNothing to fix."
      : `\n${faults} thing${faults === 1 ? "" : "s"} to fix.`,
  );
  Deno.exit(faults === 0 ? 0 : 1);
}
