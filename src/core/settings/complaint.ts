/**
 * Complaints about wrong settings, all of one form.
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
  /** The fix to suggest. */
  fix: string;
}

/** All complaints about the settings of a start. */
export class ConfigError extends Error {
  /** The name of the class. */
  override name = "ConfigError";
  /**
   * Makes the error, whose message has every complaint and note on a line of
   * its own.
   */
  constructor(
    readonly complaints: readonly SettingComplaint[],
    /** Sentences about misspelt names. */
    readonly notes: readonly string[] = [],
  ) {
    const lines = [...complaints.map(printComplaint), ...notes];
    super(["These settings need fixing:", ...lines].join("\n  "));
  }
}

/** Formats a complaint in one line: `PORT: got "x", wants a port. Fix: …`. */
function printComplaint(
  { variable, got, wants, fix }: SettingComplaint,
): string {
  const seen = got === undefined ? "nothing" : JSON.stringify(got);
  return `${variable}: got ${seen}, wants ${oneLine(wants)} Fix: ` +
    oneLine(fix);
}

/** Returns words on one line, with a full stop at the end. */
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
