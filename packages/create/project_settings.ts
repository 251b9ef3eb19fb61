/**
 * `.env.example`, `deno.json` and `docs/settings.md` of a project, brought up to date with the
 * settings that its definitions declare.
 *
 * @module
 */
import { pathToFileURL } from "node:url";
import { needsOf } from "../../src/authoring/needs.ts";
import { needing } from "../../src/server/plan.ts";
import type { ServerOptions } from "../../src/server/server_options.ts";
import { CreateError } from "./files.ts";
import {
  envExample,
  grantedVariables,
  namesIn,
  settingsPage,
} from "./settings.ts";

/** The members of a `deno.json` that list the variables a project may read. */
interface Configuration {
  permissions?: { default?: { env?: { allow?: string[] } | boolean } };
}

/**
 * Writes the files from the project's declarations; with `isCheck` it only
 * reports differences.
 *
 * @throws {CreateError} when something is out of date, or is not a project
 */
export async function updateSettings({ isCheck }: { isCheck: boolean }) {
  const { settings, complaints } = needsOf(needing(await readServer()));
  if (complaints.length > 0) throw new CreateError(complaints.join("\n"));
  const read = (path: string) => Deno.readTextFile(path).catch(() => "");
  const before = {
    ".env.example": await read(".env.example"),
    "docs/settings.md": await read("docs/settings.md"),
    "deno.json": await read("deno.json"),
  };
  const configuration: Configuration = JSON.parse(before["deno.json"]);
  const env = configuration.permissions?.default?.env;
  if (typeof env !== "object" || env.allow === undefined) {
    throw new CreateError(
      "deno.json has no list permissions.default.env.allow to write to.",
    );
  }
  const gone = namesIn(before[".env.example"])
    .filter((name) => !settings.has(name));
  const allow = grantedVariables(env.allow, settings, gone);
  const isGranted = allow.join() === env.allow.join();
  env.allow = allow;
  const after = {
    ".env.example": envExample(settings),
    // The page is kept where there is one.
    "docs/settings.md": before["docs/settings.md"] && settingsPage(settings),
    "deno.json": isGranted
      ? before["deno.json"]
      : `${JSON.stringify(configuration, null, 2)}\n`,
  };
  const paths = Object.keys(after) as (keyof typeof after)[];
  const outdated = paths.filter((path) => after[path] !== before[path]);
  const named = outdated.join(" and ");
  if (isCheck && named) {
    throw new CreateError(
      `${named} must say what settings there are: run deno task settings.`,
    );
  }
  for (const path of outdated) await Deno.writeTextFile(path, after[path]);
  if (!isCheck) {
    console.log(named ? `Wrote ${named}.` : "Everything is up to date.");
  }
}

/** Reads the server that `server.ts` declares. @throws {CreateError} */
async function readServer(): Promise<ServerOptions> {
  const url = pathToFileURL(`${Deno.cwd()}/server.ts`).href;
  const { default: server } = await import(url).catch((error) => {
    throw new CreateError(`server.ts cannot be read: ${error.message}`);
  });
  if (typeof server?.name === "string") return server;
  throw new CreateError(
    "server.ts must export what the server is by default, as main.ts serves it.",
  );
}
