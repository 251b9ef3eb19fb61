/**
 * A request of a 2025 session. A question goes out on the request's own
 * stream; its answer may be posted to any process.
 *
 * @module
 * @see MCP 2025-11-25, Transports
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import { randomId } from "../crypto.ts";
import type { Cancellable } from "../store/cancellations.ts";
import { ToolError } from "../authoring/tool.ts";
import { Exchange, type ExchangeSettings } from "./exchange.ts";
import type { JsonObject } from "../json.ts";

/** A request on its way within a session. */
export class SessionExchange extends Exchange {
  readonly stateless = false;
  readonly #sessionId: string;

  constructor(settings: ExchangeSettings & { sessionId: string }) {
    super(settings);
    this.#sessionId = settings.sessionId;
  }

  get cancellable(): Cancellable {
    return {
      sessionId: this.#sessionId,
      requestId: this.message.id,
      startedMilliseconds: this.startedMilliseconds,
    };
  }

  setLogLevel = (level: LoggingLevel): Promise<void> =>
    this.engine.sessions.setLogLevel(this.#sessionId, level);

  async request(method: string, params: JsonObject): Promise<JsonObject> {
    const { replies } = this.engine;
    // A stream that has closed cannot be resumed: nobody would ever be asked.
    if (this.answer.hasEnded) {
      throw new ToolError(`The client left before ${method}`);
    }
    const id = randomId(16);
    // Known before it is on the wire, or a quick answer would find nobody.
    await replies.expect(this.#sessionId, id);
    await this.answer.send(
      JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    );
    const reply = await replies.take(this.#sessionId, id, this.signal());
    if (!reply) throw new ToolError(`The client did not answer ${method}`);
    const { result, error } = reply;
    if (result) return result;
    throw new ToolError(`The client refused ${method}: ${error?.message}`);
  }
}
