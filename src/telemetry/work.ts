/**
 * What has been done for one request so far. It goes with the request's
 * context, so that whatever touches the database need not know for whom.
 *
 * @module
 */
import {
  type Context,
  context,
  createContextKey,
  trace,
} from "@opentelemetry/api";

const KEY = createContextKey("tool-server work");

/** More spans of one request tell no one anything; all are still counted. */
const MOST_DATABASE_SPANS = 64;

/** Work for one request. */
export class Work {
  /** Operations on the database. */
  databaseOperations = 0;
  isOver = false;

  /** The work that is being done here, unless it is in the background. */
  static get current(): Work | undefined {
    return context.active().getValue(KEY) as Work | undefined;
  }

  /** A context in which this is being done. */
  in(context: Context): Context {
    return context.setValue(KEY, this);
  }

  /** Does it, and tells the active span how often it needed the database. */
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

  /** Counts an operation on the database, and says whether it gets a span. */
  countDatabaseOperation(): boolean {
    return ++this.databaseOperations <= MOST_DATABASE_SPANS && !this.isOver;
  }
}
