/**
 * The services of a server, and its telemetry: started once, in order, and
 * stopped in reverse.
 *
 * @module
 */
import type { Needing } from "../authoring/needs.ts";
import type { Service } from "../authoring/service.ts";
import type { Logger } from "../log.ts";
import { detached, isCollected, startTelemetry } from "../telemetry.ts";

/** A service did not start; `cause` is what it threw. */
export class ServiceError extends Error {
  /** The name of the class. */
  override name = "ServiceError";
  /** Tells which service, and what it threw. */
  constructor(service: string, cause: unknown) {
    super(`The service ${service} did not start: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The services of one server. */
export class Lifecycle {
  #values = new Map<Service<unknown>, unknown>();
  #starting?: Promise<void>;
  #hasStarted: boolean;

  /**
   * @param services each after those that it needs
   * @param settings parsed values by the name of their variable
   */
  constructor(
    private readonly services: readonly Service<unknown>[],
    private readonly settings: Readonly<Record<string, unknown>>,
    private readonly log: Logger,
  ) {
    this.#hasStarted = services.length === 0 && !isCollected();
  }

  /** Whether everything has started. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /**
   * Starts what has not started. After a failure the next call tries again.
   *
   * @throws {ServiceError}
   */
  start(): Promise<void> {
    this.#starting ??= this.#startAll().catch((error) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  /** What a definition's context holds of its own: settings and services. */
  provide({ settings = {}, services = {} }: Needing): Provided {
    return {
      settings: Object.fromEntries(
        Object.keys(settings).map((name) => [name, this.settings[name]]),
      ),
      services: Object.fromEntries(
        Object.entries(services).map((
          [name, service],
        ) => [name, this.#values.get(service)]),
      ),
    };
  }

  /** Stops what has started, the last first. */
  async stop(): Promise<void> {
    // A start that is under way ends first, or its services would stay.
    await this.#starting?.catch(() => {});
    for (const [service, value] of [...this.#values].reverse()) {
      this.#values.delete(service);
      try {
        await service.stop?.(value);
      } catch (error) {
        this.log.error("A service did not stop", {
          service: service.name,
          error,
        });
      }
    }
  }

  async #startAll(): Promise<void> {
    await startTelemetry();
    // They outlive the request that may have come first.
    await detached(() => this.#startServices());
    this.#hasStarted = true;
  }

  async #startServices(): Promise<void> {
    for (const service of this.services) {
      if (this.#values.has(service)) continue;
      try {
        const value = await service.start(this.provide(service));
        this.#values.set(service, value);
      } catch (cause) {
        throw new ServiceError(service.name, cause);
      }
    }
  }
}

/** The members of a context that its definition declared. */
export interface Provided {
  /** Parsed values by the name of their variable. */
  settings: Record<string, unknown>;
  /** What each service started as, by the name its user gave it. */
  services: Record<string, unknown>;
}
