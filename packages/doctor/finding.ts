/**
 * The result of one check of the doctor.
 *
 * @module
 */
import { countText } from "./list_cost.ts";
import { escaped } from "../../src/core/log/log_line.ts";

export interface Finding {
  /**
   * The check's name, and the clients to which it matters: "CORS (Inspector)".
   */
  name: string;
  /**
   * `warning`: works only for some clients. `skipped`: an earlier check failed,
   * or the check does not apply to this server.
   */
  result: "ok" | "warning" | "failed" | "skipped";
  found: string;
  fix?: string;
  /** For `skipped`: the name of the finding that caused this one. */
  cause?: string;
}

/** A fault, and the way to fix it. */
export class Fault extends Error {
  override name = "Fault";
  constructor(
    readonly found: string,
    readonly fix: string,
    readonly result: "warning" | "failed" = "failed",
  ) {
    super(found);
  }
}

/** Thrown by a check that does not apply, with the reason. */
export class Skipped extends Error {
  override name = "Skipped";
}

const MARKS: Readonly<Record<Finding["result"], string>> = {
  ok: "ok     ",
  warning: "warning",
  failed: "FAILED ",
  skipped: "skipped",
};

/**
 * Formats a finding with its fix in one line. Text from the server cannot end
 * the line or control the terminal.
 */
export function printFinding({ name, result, found, fix }: Finding): string {
  const line = `${MARKS[result]}  ${name}: ${found}`;
  return escaped(fix ? `${line}. Fix: ${fix}` : line);
}

const INDENT = " ".repeat(9);

/**
 * Formats all findings as advice: the faults with their fixes, the warnings,
 * the skipped checks, and in one line what is well. Findings with the same fix
 * are joined.
 */
export function printReport(findings: readonly Finding[]): string {
  const parts: string[] = [];
  const things = { failed: 0, warning: 0 };
  const of = (result: Finding["result"]) =>
    findings.filter((finding) => finding.result === result);
  const skipped = of("skipped");
  for (const result of ["failed", "warning"] as const) {
    const byFix = Map.groupBy(of(result), ({ fix }) => fix);
    things[result] = byFix.size;
    for (const [fix, group] of byFix) {
      const names = new Set<string | undefined>(group.map(({ name }) => name));
      const lines = group.map((finding) =>
        printFinding({ ...finding, fix: undefined })
      );
      lines.push(`${INDENT}Fix: ${escaped(`${fix}`)}`);
      const folded = skipped.filter(({ cause }) => names.has(cause));
      if (folded.length > 0) {
        lines.push(`${INDENT}Not checked because of it: ${namesOf(folded)}`);
      }
      parts.push(lines.join("\n"));
    }
  }
  const others = skipped.filter(({ cause }) => cause === undefined);
  for (const [found, group] of Map.groupBy(others, ({ found }) => found)) {
    parts.push(`Not checked: ${namesOf(group)}: ${escaped(found)}`);
  }
  const well = of("ok");
  if (well.length > 0) parts.push(`Well: ${namesOf(well)}`);
  const list = well.find(({ name }) => name.startsWith("Tools"));
  if (list) parts.push(`Tools: ${escaped(list.found)}`);
  parts.push(summaryOf(things));
  return parts.join("\n\n");
}

function summaryOf(
  { failed, warning }: { failed: number; warning: number },
): string {
  const words = failed === 0
    ? "Nothing to fix"
    : `${countText(failed, "thing")} to fix`;
  return warning === 0
    ? `${words}.`
    : `${words}, ${countText(warning, "thing")} to know.`;
}

function namesOf(findings: readonly Finding[]): string {
  return findings.map(({ name }) => name).join(", ");
}
