/**
 * A release: the folder that a container's image and a systemd unit run.
 *
 * @module
 */
import { Process, REPOSITORY, TemporaryDirectory } from "../kit/process.ts";
import assert from "node:assert/strict";

/** Bundles this service into a folder, as `deno task ts bundle` does. */
export async function bundleInto(path: string): Promise<void> {
  await using bundling = new Process([
    ..."bundle --quiet --code-splitting --outdir".split(" "),
    path,
    "main.ts",
  ]);
  assert.equal(await bundling.end(), 0, bundling.output);
}

/** A folder with `deno.json` and `dist`, and nothing else. */
export class Release extends TemporaryDirectory {
  static async make(): Promise<Release> {
    const release = new Release();
    const configuration = new URL("deno.json", REPOSITORY);
    await Deno.copyFile(configuration, `${release.path}/deno.json`);
    await Deno.mkdir(`${release.path}/data`);
    await bundleInto(`${release.path}/dist`);
    return release;
  }

  /** Runs Deno with the arguments that a file gives for it. */
  run(args: readonly string[], env: Record<string, string> = {}): Process {
    return new Process(args, { cwd: this.path, env });
  }
}
