/**
 * Checks settings of Deno itself that are dangerous if telemetry is collected.
 * Deno reads them before any code runs, so they cannot be set here.
 *
 * @module
 */
import type { Environment } from "../settings/setting.ts";
import { type Config, isLocal } from "../settings/config.ts";
import type { Logger } from "../log/log.ts";
import { telemetry } from "../telemetry/current.ts";
import { StartError } from "../settings/complaint.ts";

/**
 * Checks the settings of a process whose telemetry is collected, and warns of
 * those that an operator may not want.
 *
 * Deno 2.9.6 never responds to a request whose `baggage` header is malformed,
 * and keeps its connection: a thousand of them end a server. And `Deno.exit()`
 * hangs if the collector does not respond, and metrics are sent at shorter
 * intervals than the time-out of requests to the collector.
 *
 * @throws {StartError} for a setting with which a process may hang
 */
export function checkTelemetrySettings(
  config: Config,
  environment: Environment,
  log: Logger,
): void {
  const { deployed } = config;
  const { readsBaggage } = telemetry!;
  if (readsBaggage && !deployed && !isLocal(config)) {
    throw new StartError({
      variable: "OTEL_PROPAGATORS",
      got: "baggage among them, which is Deno's default",
      wants: "none by which a stranger could end this server: Deno never " +
        "answers a request with a malformed baggage header",
      fix: "Use OTEL_PROPAGATORS=tracecontext",
    });
  }
  if (readsBaggage) {
    log.warning(
      "A request with a malformed baggage header is never answered, which is " +
        "a bug of Deno: " +
        (deployed
          ? "let a proxy in front remove that header"
          : "set OTEL_PROPAGATORS=tracecontext"),
    );
  }
  if (deployed) return;
  const timeout = Number(environment.OTEL_EXPORTER_OTLP_TIMEOUT || 10_000);
  const interval = Number(environment.OTEL_METRIC_EXPORT_INTERVAL || 60_000);
  if (interval < 2 * timeout) {
    throw new StartError({
      variable: "OTEL_METRIC_EXPORT_INTERVAL",
      got: `${interval} ms`,
      wants: "twice OTEL_EXPORTER_OTLP_TIMEOUT or more, without which a " +
        "collector that does not answer keeps this process from ever ending",
      fix: `Use OTEL_METRIC_EXPORT_INTERVAL=${2 * timeout}`,
    });
  }
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
