/**
 * Ends a start that failed, with the complaints about `HOST` and `PORT` that
 * only the operating system can make.
 *
 * @module
 */
import { CatalogueError } from "../catalogue/compiled_definitions.ts";
import { Log } from "../log/log.ts";
import { standardOutput } from "../log/standard_output.ts";
import { ServiceError } from "../server/lifecycle.ts";
import {
  ConfigError,
  type SettingComplaint,
  StartError,
} from "../settings/complaint.ts";
import { SERVER } from "../settings/server.ts";
import { type Environment, Settings } from "../settings/setting.ts";

/** Makes the complaint about an address on which the process cannot listen. */
export function addressComplaint(
  error: unknown,
  { host, port, reusePort = false }: {
    host: string;
    port: number;
    reusePort?: boolean;
  },
): SettingComplaint {
  if (reusePort && !("listenDatagram" in Deno)) {
    return {
      variable: "REUSE_PORT",
      got: "true",
      wants: "Deno's --unstable-net",
      fix: "Use deno task ts cores, or add --unstable-net to deno run",
    };
  }
  if (error instanceof Deno.errors.AddrInUse) {
    return {
      variable: "PORT",
      got: `${port}`,
      wants: `a port that is free on ${host}`,
      fix: "Stop the other program, or use another port",
    };
  }
  const { message } = error as Error;
  return {
    variable: "HOST",
    got: host,
    wants: `an address of this machine: ${message}`,
    fix: "Use 127.0.0.1 for this machine only, or 0.0.0.0 for every network",
  };
}

/**
 * Adds the complaint about `HOST` and `PORT` to the error of a start that
 * failed before it listened, so that all complaints are seen at once.
 */
export function withAddressComplaint(
  error: Error,
  environment: Environment,
): Error {
  if (error instanceof CatalogueError) {
    const settings = error.settings ?? new ConfigError([]);
    const all = withAddressComplaint(settings, environment) as ConfigError;
    return new CatalogueError(
      error.complaints,
      all.complaints.length > 0 ? all : undefined,
    );
  }
  if (!(error instanceof ConfigError)) return error;
  const { complaints } = error;
  const isSound = (name: string) =>
    complaints.every(({ variable }) => variable !== name);
  if (!isSound("HOST")) return error;
  const settings = new Settings(environment);
  const host = settings.read(SERVER.HOST);
  const port = isSound("PORT") && !settings.read(SERVER.REUSE_PORT)
    ? settings.read(SERVER.PORT)
    : 0;
  try {
    Deno.listen({ hostname: host, port }).close();
    return error;
  } catch (refusal) {
    const own = addressComplaint(refusal, { host, port });
    return new ConfigError([own, ...complaints], error.notes);
  }
}

/**
 * Ends the process with the mistakes that its start has found. On Deno Deploy
 * the process continues, and responds to every request with 500.
 * @throws {unknown} any error other than a mistake in settings or definitions
 */
export function failStart(error: unknown, environment: Environment): void {
  const isMistake = error instanceof ConfigError ||
    error instanceof CatalogueError || error instanceof ServiceError;
  if (!isMistake && !(error instanceof StartError)) throw error;
  if (isMistake && environment.DENO_DEPLOYMENT_ID) {
    return serveMisconfigured(error);
  }
  console.error(withAddressComplaint(error, environment).message);
  Deno.exit(1);
}

function serveMisconfigured({ message }: Error): void {
  const body = { error: "server_misconfigured" };
  const headers = { "access-control-allow-origin": "*" };
  Deno.serve(
    { onListen() {} },
    () => Response.json(body, { status: 500, headers }),
  );
  new Log({ level: "info" }, standardOutput(true)).logger("main")
    .error("Misconfigured", { details: message });
}
