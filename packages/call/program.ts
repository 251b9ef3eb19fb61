/**
 * A command-line program: its options, its error messages, its exit code.
 *
 * @module
 */
import { parseArgs, type ParseArgsConfig } from "node:util";
import {
  didYouMean,
  Exit,
  Failure,
  UsageFailure,
  usageFailure,
} from "./failure.ts";
import { print } from "./standard_output.ts";

/**
 * Splits a command line into its options and its other words.
 *
 * @throws {Failure}
 */
export function parseOptions<O extends NonNullable<ParseArgsConfig["options"]>>(
  args: readonly string[],
  options: O,
) {
  const parsed = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    // Errors are reported below, in our own words.
    strict: false,
    tokens: true,
  });
  for (const token of parsed.tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const type = Object.hasOwn(options, name) ? options[name].type : undefined;
    if (type === undefined || type === "boolean" && value !== undefined) {
      const known = Object.keys(options).map((name) => `--${name}`);
      throw usageFailure(`There is no ${rawName}${didYouMean(rawName, known)}`);
    }
    if (type === "string" && !value) {
      throw usageFailure(`${rawName} needs a value`);
    }
  }
  return parsed as ReturnType<
    typeof parseArgs<{ options: O; allowPositionals: true }>
  >;
}

/**
 * Runs a program and returns its exit code. Prints the usage if the person asks
 * for it. If the program fails, prints why, with the usage if the command line
 * is wrong.
 */
export async function runProgram(
  args: readonly string[],
  usage: string,
  run: () => Promise<number | void>,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    print(usage);
    return 0;
  }
  try {
    return await run() ?? 0;
  } catch (error) {
    // A full disk, or a folder that cannot be written, is no fault of the
    // program.
    if (!(error instanceof Failure) && !isSystemError(error)) throw error;
    const { message } = error;
    const isUsage = error instanceof UsageFailure;
    console.error(isUsage ? `${message}\n\n${usage}` : message);
    return error instanceof Failure ? error.exitCode : Exit.failed;
  }
}

/** True for an error of the operating system, or of SQLite. */
export function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "code" in error &&
    /^(E[A-Z]+|ERR_SQLITE_ERROR)$/.test(`${error.code}`);
}
