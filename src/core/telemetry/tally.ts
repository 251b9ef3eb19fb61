/**
 * The counts of one request or task. They are in the OpenTelemetry context, so
 * that code that uses the database need not know the request.
 * @module
 */
import {
  type Context,
  context,
  createContextKey,
  trace,
} from "@opentelemetry/api";

const KEY = createContextKey("tool-server tally");

/**
 * The maximum number of database spans of one request; further operations are
 * only counted.
 */
const MAX_DATABASE_SPANS = 64;

export class Tally {
  databaseOperations = 0;
  isOver = false;
  /** The route of the request; undefined if no route matched. */
  route?: string;

  /** The counts of the active context; undefined in the background. */
  static get current(): Tally | undefined {
    return context.active().getValue(KEY) as Tally | undefined;
  }

  /** Makes a context whose database operations are counted in this tally. */
  in(context: Context): Context {
    return new LinkedContext(context, KEY, this);
  }

  /**
   * Does the work, and sets the number of its database operations on the active
   * span.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await context.with(this.in(context.active()), work);
    } finally {
      this.isOver = true;
      trace.getActiveSpan()?.setAttribute(
        "tool_server.database.operations",
        this.databaseOperations,
      );
    }
  }

  /** Counts an operation on the database; returns true if it gets a span. */
  countDatabaseOperation(): boolean {
    return ++this.databaseOperations <= MAX_DATABASE_SPANS && !this.isOver;
  }
}

/**
 * A context that sets or hides one value of its parent. Deno's own context
 * copies all values for each that is set, which would slow down every call.
 */
export class LinkedContext implements Context {
  constructor(
    private readonly parent: Context,
    private readonly key: symbol,
    private readonly value: unknown,
  ) {}

  getValue(key: symbol): unknown {
    return key === this.key ? this.value : this.parent.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new LinkedContext(this, key, value);
  }

  deleteValue(key: symbol): Context {
    return new LinkedContext(this, key, undefined);
  }
}
