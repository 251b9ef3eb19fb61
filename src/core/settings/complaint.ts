/**
 * Complaints about settings, in one form.
 *
 * @module
 */

/** A variable that is wrong, and how to fix it. */
export interface SettingComplaint {
  /** The name of the variable. */
  variable: string;
  /** The value found; undefined if nothing was set. Never a secret. */
  got?: string;
  /** The values that are accepted. */
  wants: string;
  /** The way to fix it. */
  fix: string;
}

/** All complaints about an environment. */
export class ConfigError extends Error {
  /** The name of the class. */
  override name = "ConfigError";
  /** Prints every complaint and note, one to a line. */
  constructor(
    readonly complaints: readonly SettingComplaint[],
    /** Misspelt names besides, a sentence each. */
    readonly notes: readonly string[] = [],
  ) {
    const lines = [...complaints.map(printComplaint), ...notes];
    super(["These settings need fixing:", ...lines].join("\n  "));
  }
}

/** Prints a complaint in one line: `PORT: got "x", wants a port. Fix: …`. */
function printComplaint(
  { variable, got, wants, fix }: SettingComplaint,
): string {
  const seen = got === undefined ? "nothing" : JSON.stringify(got);
  return `${variable}: got ${seen}, wants ${oneLine(wants)} Fix: ` +
    oneLine(fix);
}

/** Puts words in one line that ends with a full stop. */
export function oneLine(words: string): string {
  return words.replaceAll(/\s+/g, " ").replace(/[\s.]*$/, ".");
}

/** A start that failed because of a setting, which the operator can fix. */
export class StartError extends Error {
  override name = "StartError";
  constructor(complaint: SettingComplaint) {
    super(printComplaint(complaint));
  }
}
