/**
 * The ways in which a command ends without success.
 *
 * @module
 */

/** The exit codes. */
export const Exit = {
  /** The tool says that it failed. */
  tool: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The server cannot be reached, refuses, or answers nonsense. */
  server: 3,
  /** The caller is not signed in, or may not do this. */
  access: 4,
  /** Ctrl+C. */
  cancelled: 130,
} as const;

/** An end without success, in words for the person. */
export class Failure extends Error {
  /** `Failure` */
  override name = "Failure";

  /** Made with the exit code of the command. */
  constructor(
    message: string,
    readonly exitCode: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Makes the failure of a command line that is wrong. */
export function usageFailure(message: string): Failure {
  return new Failure(message, Exit.usage);
}
