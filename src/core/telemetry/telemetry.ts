/**
 * The traces and metrics of the server, for an operator who collects them. They
 * have only names and known values: no token, code, state, argument, result,
 * person or address of a person.
 * @module
 */
import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  trace,
} from "@opentelemetry/api";
import {
  errorClassOf,
  type Instruments,
  makeInstruments,
  observe,
  TRANSPORT_ATTRIBUTES,
} from "./instruments.ts";
import { type MessageFacts, Operation } from "./operation.ts";
import { knownMethodName, redactSpansLike } from "./redaction.ts";
import { Tally } from "./tally.ts";

export type { MessageFacts, Operation } from "./operation.ts";

/** A finished step of a sign-in, or a token request. */
interface SignInStep {
  /** The method and route. */
  step: string;
  grantType?: string;
  outcome: string;
  /** An error code of OAuth, or an HTTP status. */
  errorType?: string;
  startedMilliseconds: number;
}

export interface EndedSession {
  revision: string;
  outcome: string;
  milliseconds: number;
}

export class Telemetry {
  /** True if Deno reads `baggage`, which depends on its settings. */
  readonly readsBaggage: boolean;
  readonly #instruments: Instruments = makeInstruments();

  constructor() {
    const { tracer } = this.#instruments;
    // This span is never ended, so that it is never exported.
    const span = tracer.startSpan("class of spans", { root: true });
    const isTracing = span.isRecording();
    if (isTracing) redactSpansLike(span);
    this.readsBaggage = isTracing && propagation.fields().includes("baggage");
  }

  /** The ids of the active trace and span, for the log. */
  get ids(): { traceId: string; spanId: string } | undefined {
    const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
    return traceId && spanId ? { traceId, spanId } : undefined;
  }

  /**
   * Handles an HTTP request, without the `baggage` of its sender, and records
   * the duration. Deno's own metrics are not used: they contain any method that
   * was sent, so anyone could fill them with invented methods.
   */
  async serve(
    method: string,
    serve: () => Response | Promise<Response>,
  ): Promise<Response> {
    const isKnown = method === knownMethodName(method);
    if (!isKnown) trace.getActiveSpan()?.updateName(knownMethodName(method));
    const active = context.active();
    const received = propagation.getBaggage(active)
      ? propagation.deleteBaggage(active)
      : active;
    const tally = new Tally();
    const startedMilliseconds = performance.now();
    const response = await context.with(tally.in(received), serve);
    this.#instruments.requests.record(
      (performance.now() - startedMilliseconds) / 1000,
      {
        // `_OTHER` is from the semantic conventions for HTTP.
        "http.request.method": isKnown ? method : "_OTHER",
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
    span?.updateName(`${knownMethodName(method)} ${route}`);
    span?.setAttribute("http.route", route);
  }

  /** Reports a finished step of a sign-in. */
  reportStep(
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

  /** Starts the operation of an MCP client's message. */
  operation(facts: MessageFacts): Operation {
    return new Operation(this.#instruments, facts);
  }

  reportSession({ revision, outcome, milliseconds }: EndedSession): void {
    this.#instruments.sessions.record(
      // Clocks of two machines may differ.
      Math.max(0, milliseconds / 1000),
      {
        ...TRANSPORT_ATTRIBUTES,
        "mcp.protocol.version": revision,
        "tool_server.outcome": outcome,
      },
    );
  }

  /** Reports a step of an approval, as an event of the active span. */
  reportApproval(
    { step, tool, seconds, error }: {
      step: string;
      tool: string;
      /**
       * The time since the previous step; negative if another machine's clock
       * was ahead.
       */
      seconds: number;
      error?: string;
    },
  ): void {
    const attributes: Attributes = {
      "tool_server.approval.step": step,
      "gen_ai.tool.name": tool,
      ...(error !== undefined && { "error.type": error }),
    };
    trace.getActiveSpan()?.addEvent("approval", attributes);
    this.#instruments.approvals.record(Math.max(0, seconds), attributes);
  }

  /** Runs a task, which outlives its call, in a span of its own. */
  task<T extends object>(tool: string, run: () => Promise<T>): Promise<T> {
    const tally = new Tally();
    return observe(this.#instruments.tracer, () => tally.run(run), {
      span: { name: `task ${tool}`, kind: SpanKind.INTERNAL },
      attributes: { "gen_ai.tool.name": tool },
      histogram: this.#instruments.tasks,
      errorType: (error) =>
        errorClassOf(error) === "ToolError"
          ? "tool_error"
          : errorClassOf(error),
      errorIn: (result) =>
        "isError" in result && result.isError ? "tool_error" : undefined,
    });
  }

  question<T>(method: string, ask: () => Promise<T>): Promise<T> {
    return observe(this.#instruments.tracer, ask, {
      span: { name: method, kind: SpanKind.CLIENT },
      attributes: { "mcp.method.name": method },
      histogram: this.#instruments.questions,
    });
  }

  /** Observes a request to the sign-in provider. */
  providerCall<T>(
    { verb, provider }: {
      verb: string;
      /** The provider's name, if there are several. */
      provider?: string;
    },
    call: () => Promise<T>,
    errorType: (error: unknown) => string,
  ): Promise<T> {
    return observe(this.#instruments.tracer, call, {
      span: { name: `provider ${verb}`, kind: SpanKind.INTERNAL },
      attributes: {
        "tool_server.provider.call": verb,
        ...provider !== undefined && { "tool_server.provider.name": provider },
      },
      histogram: this.#instruments.providerCalls,
      errorType,
    });
  }

  /** Observes a request to a service with a person's own account. */
  accountCall(
    service: string,
    call: () => Promise<Response>,
  ): Promise<Response> {
    return observe(this.#instruments.tracer, call, {
      span: { name: `account ${service}`, kind: SpanKind.INTERNAL },
      attributes: { "tool_server.account.service": service },
      histogram: this.#instruments.accountCalls,
      errorIn: ({ status }) => status >= 400 ? String(status) : undefined,
    });
  }

  databaseOperation<T>(
    { verb, kind, keys }: {
      /** The method of Deno KV: `get`, `commit`. */
      verb: string;
      /** The first part of the keys, which clients cannot choose. */
      kind: string | undefined;
      keys: number;
    },
    operate: () => Promise<T>,
  ): Promise<T> {
    const hasSpan = Tally.current?.countDatabaseOperation() ?? false;
    const span = {
      name: kind === undefined ? verb : `${verb} ${kind}`,
      kind: SpanKind.CLIENT,
      attributes: keys > 1 ? { "db.operation.batch.size": keys } : {},
    };
    return observe(this.#instruments.tracer, operate, {
      span: hasSpan ? span : undefined,
      attributes: {
        "db.system.name": "deno.kv",
        "db.operation.name": verb,
        ...(kind !== undefined && { "db.collection.name": kind }),
      },
      histogram: this.#instruments.databaseOperations,
    });
  }

  outsideTrace<T>(begin: () => T): T {
    return context.with(ROOT_CONTEXT, begin);
  }
}
