/**
 * The result of one check of the doctor.
 *
 * @module
 */

/** The result of one check. */
export interface Finding {
  /**
   * The name of the check and the clients it matters to: "CORS (Inspector)".
   */
  name: string;
  /**
   * `warning`: it works for some clients only. `skipped`: a check before it
   * failed, or this server does not have it.
   */
  result: "ok" | "warning" | "failed" | "skipped";
  /** A description of the result. */
  found: string;
  /** The way to fix it. */
  fix?: string;
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

/** The reason why a check has nothing to look at. */
export class Skipped extends Error {
  override name = "Skipped";
}

const MARKS: Readonly<Record<Finding["result"], string>> = {
  ok: "ok     ",
  warning: "warning",
  failed: "FAILED ",
  skipped: "skipped",
};

/** Prints a finding in one line, with its fix. */
export function printFinding({ name, result, found, fix }: Finding): string {
  const line = `${MARKS[result]}  ${name}: ${found}`;
  return fix ? `${line}. Fix: ${fix}` : line;
}
