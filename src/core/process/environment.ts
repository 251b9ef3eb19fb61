/**
 * The environment and the files of the process, as far as they may be read, and
 * the settings of Deno itself. Deno reads those before any code runs, so nothing
 * here can set them.
 *
 * @module
 */
import type { Environment, SettingsOptions } from "../settings/setting.ts";
import { type Config, isLocal } from "../settings/config.ts";
import type { Logger } from "../log/log.ts";
import { isCollected, telemetry } from "../telemetry/current.ts";
import { StartError } from "../settings/complaint.ts";

/** Gives access to variables and files, without a prompt for permission. */
export function processSettings(): SettingsOptions & {
  environment: Environment;
} {
  const stateOf = (descriptor: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(descriptor).state;
  const isDenied = (variable: string) =>
    stateOf({ name: "env", variable }) !== "granted";
  return {
    environment: readAll(stateOf({ name: "env" })) ?? new Proxy({}, {
      get: (_, variable: string) =>
        isDenied(variable) ? undefined : Deno.env.get(variable),
    }),
    isDenied,
    readFile(path) {
      if (stateOf({ name: "read", path }) === "granted") {
        return Deno.readTextFileSync(path);
      }
      throw new Error(
        "the process may not read it; the tasks may read what is in data/",
      );
    },
  };
}

/** Reads all variables, misspelt ones too; undefined if not all may be read. */
function readAll(state: Deno.PermissionState): Environment | undefined {
  try {
    // Otherwise Deno would ask on the terminal.
    if (state !== "prompt") return Deno.env.toObject();
  } catch {
    return undefined;
  }
}

/**
 * Deno 2.9.6 never answers a request whose `baggage` header is malformed, and
 * keeps its connection: a thousand of them end a server.
 *
 * @throws {StartError} if other machines could send them
 */
export function checkPropagators(config: Config): void {
  if (!telemetry?.readsBaggage || config.deployed || isLocal(config)) return;
  throw new StartError({
    variable: "OTEL_PROPAGATORS",
    got: "baggage among them, which is Deno's default",
    wants: "none by which a stranger could end this server: Deno never " +
      "answers a request with a malformed baggage header",
    fix: "Use OTEL_PROPAGATORS=tracecontext",
  });
}

/**
 * Deno 2.9.6 does not end within `Deno.exit()` while its metrics are due again
 * before a collector that does not answer has timed out.
 *
 * @throws {StartError} where that could happen
 */
export function checkExport({ deployed }: Config, env: Environment): void {
  if (deployed || !isCollected()) return;
  const timeout = Number(env.OTEL_EXPORTER_OTLP_TIMEOUT || 10_000);
  const interval = Number(env.OTEL_METRIC_EXPORT_INTERVAL || 60_000);
  if (interval >= 2 * timeout) return;
  throw new StartError({
    variable: "OTEL_METRIC_EXPORT_INTERVAL",
    got: `${interval} ms`,
    wants: "twice OTEL_EXPORTER_OTLP_TIMEOUT or more, without which a " +
      "collector that does not answer keeps this process from ever ending",
    fix: `Use OTEL_METRIC_EXPORT_INTERVAL=${2 * timeout}`,
  });
}

/** Warns of settings that an operator with telemetry may not want. */
export function warnOfCollecting(
  { deployed }: Config,
  environment: Environment,
  log: Logger,
): void {
  if (telemetry?.readsBaggage) {
    log.warning(
      "A request with a malformed baggage header is never answered, which is " +
        "a bug of Deno: " +
        (deployed
          ? "let a proxy in front remove that header"
          : "set OTEL_PROPAGATORS=tracecontext"),
    );
  }
  if (deployed || !isCollected()) return;
  if (!environment.OTEL_EXPORTER_OTLP_TIMEOUT) {
    log.warning(
      "A collector that does not answer would hold up the end of this " +
        "process: set OTEL_EXPORTER_OTLP_TIMEOUT=1000",
    );
  }
  const { OTEL_DENO_CONSOLE: mode = "capture" } = environment;
  if (mode === "capture" && !Deno.stdout.isTerminal()) {
    log.warning(
      "A reader of standard output that stalls would stop this process: set " +
        "OTEL_DENO_CONSOLE=ignore to write the log without sending it, or " +
        "replace to send it without writing it",
    );
  }
}
