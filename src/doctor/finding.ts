/**
 * What the doctor says about one thing.
 *
 * @module
 */

/** The result of one check. */
export interface Finding {
  /** What was looked at, and whom it matters to: "CORS (Inspector)". */
  name: string;
  /**
   * `warning`: it works for some clients only. `skipped`: something that it
   * needs failed before, or this server has none of it.
   */
  result: "ok" | "warning" | "failed" | "skipped";
  /** What was found. */
  found: string;
  /** What to do about it. */
  fix?: string;
}

/** Something that is wrong, and how to fix it. */
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

/** Why a check has nothing to look at. */
export class Skipped extends Error {
  override name = "Skipped";
}

const MARKS: Readonly<Record<Finding["result"], string>> = {
  ok: "ok     ",
  warning: "warning",
  failed: "FAILED ",
  skipped: "skipped",
};

/** One line, and the fix in it. */
export function printFinding({ name, result, found, fix }: Finding): string {
  const line = `${MARKS[result]}  ${name}: ${found}`;
  return fix ? `${line}. Fix: ${fix}` : line;
}
