/**
 * The traces and metrics of the server, for an operator who collects them. They
 * hold names and known values only: no token, code, state, argument, result or
 * person, and no address of a person.
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { methodName } from "../net/method.ts";
import { errorNameOf } from "../thrown.ts";
import { type Instruments, makeInstruments, TRANSPORT } from "./instruments.ts";
import { type MessageFacts, Operation } from "./operation.ts";
import { redactSpansLike } from "./redaction.ts";
import { Tally } from "./tally.ts";

export type { MessageFacts, Operation } from "./operation.ts";

/** An operation on the database. */
interface DatabaseFacts {
  /** The method of Deno KV: `get`, `commit`. */
  verb: string;
  /** The first part of its keys, which no stranger can choose. */
  kind: string | undefined;
  /** The number of keys. */
  keys: number;
}

/** An answered step of a sign-in, or an answered token request. */
interface SignInStep {
  /** Method and route. */
  step: string;
  grantType?: string;
  outcome: string;
  /** An error code of OAuth, or an HTTP status. */
  errorType?: string;
  startedMilliseconds: number;
}

/** A session that has ended. */
export interface EndedSession {
  revision: string;
  outcome: string;
  milliseconds: number;
}

/** The settings of one observation. */
interface Observation<T> {
  span?: { name: string; kind: SpanKind; attributes?: Attributes };
  /** Attributes of both the span and the metric. */
  attributes: Attributes;
  histogram: Histogram;
  errorType?(error: unknown): string;
  /** Finds the error type of a result, if nothing was thrown. */
  errorIn?(result: T): string | undefined;
}

/** The telemetry of a process. */
export class Telemetry {
  /**
   * True if Deno reads `baggage` with each request, which depends on its
   * settings.
   */
  readonly readsBaggage: boolean;
  readonly #instruments: Instruments = makeInstruments();

  constructor() {
    const { tracer } = this.#instruments;
    // Never ended, so never exported.
    const span = tracer.startSpan("class of spans", { root: true });
    const isTracing = span.isRecording();
    if (isTracing) redactSpansLike(span);
    this.readsBaggage = isTracing && propagation.fields().includes("baggage");
  }

  /** The trace and the span that are active, for the log. */
  get ids(): { traceId: string; spanId: string } | undefined {
    const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
    return traceId && spanId ? { traceId, spanId } : undefined;
  }

  /**
   * Serves an HTTP request, without the baggage that its sender gave it, and
   * counts it. Deno's own metrics have methods as they were sent: a stranger
   * who makes some up fills them.
   */
  async serve(
    method: string,
    serve: () => Response | Promise<Response>,
  ): Promise<Response> {
    const received = withoutBaggage(context.active());
    const tally = new Tally();
    const startedMilliseconds = performance.now();
    const response = await context.with(tally.in(received), serve);
    this.#instruments.requests.record(
      (performance.now() - startedMilliseconds) / 1000,
      {
        // As the conventions for HTTP have it.
        "http.request.method": method === methodName(method)
          ? method
          : "_OTHER",
        "http.response.status_code": response.status,
        ...(tally.route !== undefined && { "http.route": tally.route }),
      },
    );
    return response;
  }

  /** Names the span of an HTTP request by its route. */
  nameRoute(method: string, route: string): void {
    if (Tally.current) Tally.current.route = route;
    const span = trace.getActiveSpan();
    span?.updateName(`${methodName(method)} ${route}`);
    span?.setAttribute("http.route", route);
  }

  /** Reports a request outside `/mcp` that has been answered. */
  tellStep(
    { step, grantType, outcome, errorType, startedMilliseconds }: SignInStep,
  ): void {
    const attributes: Attributes = {
      "tool_server.outcome": outcome,
      ...(grantType !== undefined && { "oauth.grant_type": grantType }),
    };
    const { databaseOperations = 0 } = Tally.current ?? {};
    trace.getActiveSpan()?.setAttributes({
      ...attributes,
      ...(errorType !== undefined && { "tool_server.error": errorType }),
      "tool_server.database.operations": databaseOperations,
    });
    this.#instruments.signInSteps.record(
      (performance.now() - startedMilliseconds) / 1000,
      {
        ...attributes,
        "tool_server.sign_in.step": step,
        ...(errorType !== undefined && { "error.type": errorType }),
      },
    );
  }

  /** Begins to serve a message of an MCP client. */
  operation(facts: MessageFacts): Operation {
    return new Operation(this.#instruments, facts);
  }

  /** Reports a session that has ended. */
  tellSession({ revision, outcome, milliseconds }: EndedSession): void {
    this.#instruments.sessions.record(
      // The clocks of two machines may differ.
      Math.max(0, milliseconds / 1000),
      {
        ...TRANSPORT,
        "mcp.protocol.version": revision,
        "tool_server.outcome": outcome,
      },
    );
  }

  /** Does the work of a task, which outlives its call. */
  task<T extends object>(tool: string, run: () => Promise<T>): Promise<T> {
    const tally = new Tally();
    return this.#observe(() => tally.run(run), {
      span: { name: `task ${tool}`, kind: SpanKind.INTERNAL },
      attributes: { "gen_ai.tool.name": tool },
      histogram: this.#instruments.tasks,
      errorType: (error) =>
        typeOf(error) === "ToolError" ? "tool_error" : typeOf(error),
      errorIn: (result) =>
        "isError" in result && result.isError ? "tool_error" : undefined,
    });
  }

  /** Asks an MCP client. */
  question<T>(method: string, ask: () => Promise<T>): Promise<T> {
    return this.#observe(ask, {
      span: { name: method, kind: SpanKind.CLIENT },
      attributes: { "mcp.method.name": method },
      histogram: this.#instruments.questions,
    });
  }

  /** Talks to the sign-in provider. */
  providerCall<T>(
    { verb, provider }: {
      verb: string;
      /** Its name, if it is one of several. */
      provider?: string;
    },
    call: () => Promise<T>,
    errorType: (error: unknown) => string,
  ): Promise<T> {
    return this.#observe(call, {
      span: { name: `provider ${verb}`, kind: SpanKind.INTERNAL },
      attributes: {
        "tool_server.provider.call": verb,
        ...provider !== undefined && { "tool_server.provider.name": provider },
      },
      histogram: this.#instruments.providerCalls,
      errorType,
    });
  }

  /** Carries out an operation on the database. */
  databaseOperation<T>(
    { verb, kind, keys }: DatabaseFacts,
    operate: () => Promise<T>,
  ): Promise<T> {
    const hasSpan = Tally.current?.countDatabaseOperation() ?? false;
    const span = {
      name: kind === undefined ? verb : `${verb} ${kind}`,
      kind: SpanKind.CLIENT,
      attributes: keys > 1 ? { "db.operation.batch.size": keys } : {},
    };
    return this.#observe(operate, {
      span: hasSpan ? span : undefined,
      attributes: {
        "db.system.name": "deno.kv",
        "db.operation.name": verb,
        ...(kind !== undefined && { "db.collection.name": kind }),
      },
      histogram: this.#instruments.databaseOperations,
    });
  }

  /** Begins work that outlives a request. */
  detached<T>(begin: () => T): T {
    return context.with(ROOT_CONTEXT, begin);
  }

  async #observe<T>(
    work: () => Promise<T>,
    observation: Observation<T>,
  ): Promise<T> {
    const { span: named, attributes, histogram } = observation;
    const { errorType = typeOf, errorIn } = observation;
    const startedMilliseconds = performance.now();
    const span = named &&
      this.#instruments.tracer.startSpan(named.name, {
        kind: named.kind,
        attributes: { ...attributes, ...named.attributes },
      });
    let error: string | undefined;
    try {
      const result = await (span
        ? context.with(trace.setSpan(context.active(), span), work)
        : work());
      error = errorIn?.(result);
      return result;
    } catch (thrown) {
      error = errorType(thrown);
      throw thrown;
    } finally {
      const failure: Attributes = error === undefined
        ? {}
        : { "error.type": error };
      if (error !== undefined) {
        span?.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
      }
      span?.end();
      histogram.record(
        (performance.now() - startedMilliseconds) / 1000,
        { ...attributes, ...failure },
      );
    }
  }
}

/** Leaves out the baggage, if there is any. */
function withoutBaggage(received: Context): Context {
  return propagation.getBaggage(received)
    ? propagation.deleteBaggage(received)
    : received;
}

/** Gives the class of an exception; its message may hold anyone's text. */
function typeOf(error: unknown): string {
  const name = errorNameOf(error) ?? "";
  return /^\w{1,64}$/.test(name) ? name : "_OTHER";
}
