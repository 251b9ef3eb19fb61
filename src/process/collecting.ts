/**
 * The settings of Deno itself that a process with telemetry needs. Deno reads
 * them before any code runs, so nothing here can set them.
 *
 * @module
 */
import { type Config, isLocal } from "../settings/config.ts";
import type { Environment } from "../settings/setting.ts";
import type { Logger } from "../log/log.ts";
import { isCollected, telemetry } from "../telemetry/current.ts";
import { StartError } from "./start_error.ts";

/**
 * Deno 2.9.6 never answers a request whose `baggage` header is malformed, and
 * keeps its connection: a thousand of them end a server.
 *
 * @throws {StartError} where others could send them
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
