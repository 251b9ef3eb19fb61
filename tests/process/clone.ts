/**
 * A clean clone, as a stranger gets it.
 *
 * @module
 */
import assert from "node:assert/strict";
import { home } from "../kit/home.ts";
import {
  Process,
  type ProcessOptions,
  REPOSITORY,
  TemporaryDirectory,
} from "../kit/process.ts";

/** The committed files, in a directory of their own. */
export class Clone extends TemporaryDirectory {
  static async make(): Promise<Clone> {
    const clone = new Clone();
    await using git = new Process([
      ...["clone", "--quiet", REPOSITORY.pathname, clone.path],
    ], { command: "git" });
    assert.equal(await git.end(), 0, git.output);
    return clone;
  }

  run([command, ...args]: string[], options: ProcessOptions = {}): Process {
    const env = { HOME: home.path, DENO_DIR: "", ...options.env };
    return new Process(args, { ...options, command, cwd: this.path, env });
  }
}
