/**
 * `.env.example` and `deno.json` of a project, brought up to date with the
 * settings that its definitions declare.
 *
 * @module
 */
import { needsOf } from "../authoring/needs.ts";
import { needing } from "../plan.ts";
import type { ServerOptions } from "../server_options.ts";
import { CreateError } from "./files.ts";
import { envExample, grantedVariables, namesIn } from "./settings.ts";

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
  const before = await Deno.readTextFile(".env.example").catch(() => "");
  const configuration: Configuration = JSON.parse(
    await Deno.readTextFile("deno.json"),
  );
  const env = configuration.permissions?.default?.env;
  if (typeof env !== "object" || env.allow === undefined) {
    throw new CreateError(
      "deno.json has no list permissions.default.env.allow to write to.",
    );
  }
  const gone = namesIn(before).filter((name) => !settings.has(name));
  const example = envExample(settings);
  const allow = grantedVariables(env.allow, settings, gone);
  const outdated = [
    ...(example === before ? [] : [".env.example"]),
    ...(allow.join() === env.allow.join() ? [] : ["deno.json"]),
  ];
  if (isCheck) {
    if (outdated.length === 0) return;
    throw new CreateError(
      `${outdated.join(" and ")} must say what settings there are: run ` +
        "deno task settings.",
    );
  }
  env.allow = allow;
  if (outdated.includes(".env.example")) {
    await Deno.writeTextFile(".env.example", example);
  }
  if (outdated.includes("deno.json")) {
    const text = JSON.stringify(configuration, null, 2);
    await Deno.writeTextFile("deno.json", `${text}\n`);
  }
  console.log(
    outdated.length === 0
      ? "Everything is up to date."
      : `Wrote ${outdated.join(" and ")}.`,
  );
}

/** Reads the server that `server.ts` declares. @throws {CreateError} */
async function readServer(): Promise<ServerOptions> {
  const url = new URL("server.ts", `file://${Deno.cwd()}/`).href;
  const { default: server } = await import(url).catch((error) => {
    throw new CreateError(`server.ts cannot be read: ${error.message}`);
  });
  if (typeof server?.name === "string") return server;
  throw new CreateError(
    "server.ts must export what the server is by default, as main.ts serves it.",
  );
}
