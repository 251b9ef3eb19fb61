/**
 * Starts a server's services and telemetry once, in order, and stops them in
 * reverse. Adds the services to the contexts of definitions.
 *
 * @module
 */
import type { HasNeeds, Service } from "../../authoring/service.ts";
import type { Logger } from "../log/log.ts";
import { messageOf } from "../thrown.ts";
import {
  isCollected,
  outsideTrace,
  startTelemetry,
} from "../telemetry/current.ts";
import type { Prompt } from "../../authoring/prompt.ts";
import type {
  Complete,
  CompleteContext,
  Resource,
} from "../../authoring/resource.ts";
import type { ServerDefinitions } from "../catalogue/compiled_definitions.ts";
import type { ProvidedTool } from "../catalogue/compiled_tool.ts";
import type { SecretSettings } from "../mcp/exchange/secret_settings.ts";

/** A service that did not start; `cause` is its exception. */
export class ServiceError extends Error {
  /** The name of the class. */
  override name = "ServiceError";
  /** Makes the error from the name of the service and its exception. */
  constructor(service: string, cause: unknown) {
    super(`The service ${service} did not start: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** The services that a server's author declared. */
export class Lifecycle {
  #values = new Map<Service<unknown>, unknown>();
  #starting?: Promise<void>;
  hasStarted: boolean;
  /** Hides secret settings in errors; set before services start. */
  secrets?: SecretSettings;

  /**
   * @param services the services, each after the ones that it needs
   * @param settings parsed values, keyed by variable
   */
  constructor(
    private readonly services: readonly Service<unknown>[],
    private readonly settings: Readonly<Record<string, unknown>>,
    private readonly log: Logger,
  ) {
    this.hasStarted = !isCollected() &&
      services.length + Object.keys(settings).length === 0;
  }

  /**
   * Starts everything that has not started. After a failure the next call tries
   * again.
   *
   * @throws {ServiceError}
   */
  start(): Promise<void> {
    return this.#starting ??= this.#startAll().catch((error) => {
      this.#starting = undefined;
      throw error;
    });
  }

  /** Returns the settings and services of a definition, keyed by name. */
  provide({ settings = {}, services = {} }: HasNeeds) {
    const own = Object.keys(settings).map((it) => [it, this.settings[it]]);
    const started = Object.entries(services)
      .map(([name, service]) => [name, this.#values.get(service)]);
    return {
      settings: Object.fromEntries(own),
      services: Object.fromEntries(started),
    };
  }

  /** Stops the started services, the last first. */
  async stop(): Promise<void> {
    // A start that is in progress is awaited, or its services would keep
    // running.
    await this.#starting?.catch(() => {});
    for (const [service, value] of [...this.#values].reverse()) {
      this.#values.delete(service);
      try {
        await service.stop?.(value);
      } catch (error) {
        this.log.error("A service did not stop", {
          service: service.name,
          error: this.secrets!.clean(service, error),
        });
      }
    }
  }

  async #startAll(): Promise<void> {
    await startTelemetry();
    const it = await import("../mcp/exchange/secret_settings.ts");
    this.secrets = new it.SecretSettings(this.settings);
    // Outside the trace: services outlive the request that may have caused the
    // start.
    await outsideTrace(() => this.#startServices());
    this.hasStarted = true;
  }

  async #startServices(): Promise<void> {
    for (const service of this.services) {
      if (this.#values.has(service)) continue;
      try {
        this.#values.set(service, await service.start(this.provide(service)));
      } catch (cause) {
        throw new ServiceError(
          service.name,
          this.secrets!.clean(service, cause),
        );
      }
    }
  }
}

/**
 * Wraps the definitions that declare settings or services, so that their
 * contexts get these.
 */
export function provideNeeds(
  { tools = [], resources = [], prompts = [], skills }: ServerDefinitions,
  lifecycle: Lifecycle,
): ServerDefinitions {
  const provided = new Map<HasNeeds, ReturnType<Lifecycle["provide"]>>();
  /**
   * Adds the settings and services of a definition to a context. They are
   * looked up once, because they never change after the start, which precedes
   * all calls.
   */
  function fill<C extends CompleteContext>(item: HasNeeds, context: C): C {
    let own = provided.get(item);
    if (!own) provided.set(item, own = lifecycle.provide(item));
    lifecycle.secrets?.hide(item, context);
    return Object.assign(context, own);
  }
  function wrap<D extends HasNeeds>(definition: D, own: () => Partial<D>): D {
    const { settings, services } = definition;
    return settings || services ? { ...definition, ...own() } : definition;
  }
  function completeOf(definition: Resource | Prompt): Resource["complete"] {
    const wrapped: Record<string, Complete> = {};
    for (const [name, propose] of Object.entries(definition.complete ?? {})) {
      if (!propose) continue;
      wrapped[name] = (value, known, context) =>
        propose(value, known, fill(definition, context));
    }
    return wrapped;
  }
  return {
    tools: tools.map((it) =>
      wrap<ProvidedTool>(it, () => ({
        author: it,
        provide: (context) => fill(it, context),
        prepare: it.prepare &&
          ((input, context) => it.prepare!(input, fill(it, context))),
        run: (input, context, prepared) =>
          it.run(input, fill(it, context), prepared),
      }))
    ),
    resources: resources.map((it) =>
      wrap(it, () => ({
        complete: completeOf(it),
        read: (variables, context) => it.read(variables, fill(it, context)),
      }))
    ),
    prompts: prompts.map((it) =>
      wrap(it, () => ({
        complete: completeOf(it),
        get: (args, context) => it.get(args, fill(it, context)),
      }))
    ),
    skills,
  };
}
