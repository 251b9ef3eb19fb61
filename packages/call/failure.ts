/**
 * The exit codes and failures of a command, and suggestions for misspelt names.
 *
 * @module
 */

export const Exit = {
  /** The tool says that it failed, or the command could not be carried out. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /**
   * The server cannot be reached, refuses, or sends an invalid answer; or a
   * task failed or was cancelled; or the result cannot be printed.
   */
  server: 3,
  /** The caller is not signed in, or may not do this. */
  access: 4,
  /** The server asks a question, and standard input has no more lines. */
  unanswered: 5,
  /** Ctrl+C. */
  cancelled: 130,
} as const;

/** A failure with a message for the person. */
export class Failure extends Error {
  override name = "Failure";

  constructor(
    message: string,
    readonly exitCode: number = Exit.failed,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export class UsageFailure extends Failure {}

/** Makes the failure for a command line that is wrong. */
export function usageFailure(message: string): UsageFailure {
  return new UsageFailure(message, Exit.usage);
}

/** Adds the `/mcp` URL to an error, because people give a server's BASE_URL. */
export function withMcpUrl(error: unknown, url: string): unknown {
  const { status, message } = error as { status?: number; message?: string };
  const isElsewhere = status === 404 || status === 405;
  if (!isElsewhere || url.endsWith("/mcp")) return error;
  return new Failure(
    `${message}. A server answers at its BASE_URL and /mcp: --url ${url}/mcp`,
    Exit.server,
    { cause: error },
  );
}

/**
 * Counts the characters to change, add or remove to turn one word into the
 * other.
 */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      next[j] = Math.min(
        row[j] + 1,
        next[j - 1] + 1,
        row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1),
      );
    }
    row = next;
  }
  return row[other.length];
}

const PROPOSED = 3;

/**
 * Returns the names that are most like a name; none if all are too different.
 */
export function nearest(name: string, names: readonly string[]): string[] {
  const bare = (it: string) =>
    it.slice(0, 100).toLowerCase().replace(/^-+/, "");
  const wanted = bare(name);
  const found = names.map((it) => {
    const known = bare(it);
    const isPart = wanted !== "" && known.includes(wanted);
    return { it, far: isPart ? 0 : distance(wanted, known) };
  });
  const least = found.reduce(
    (least, { far }) => Math.min(least, far),
    Infinity,
  );
  const most = Math.max(2, Math.floor(wanted.length / 3));
  if (least > most || least >= wanted.length) return [];
  return found.filter(({ far }) => far === least).slice(0, PROPOSED)
    .map(({ it }) => it);
}

/** Makes the failure for an unknown word, with similar known words. */
export function unknownWordFailure(
  word: string,
  known: readonly string[] = [],
): UsageFailure {
  return usageFailure(`Not understood: ${word}${didYouMean(word, known)}`);
}

/**
 * Returns a suggestion to append to an error message, such as `. Did you mean
 * greet?`; empty if no name is similar.
 */
export function didYouMean(name: string, names: readonly string[]): string {
  const found = nearest(name, names);
  return found.length === 0 ? "" : `. Did you mean ${found.join(" or ")}?`;
}
