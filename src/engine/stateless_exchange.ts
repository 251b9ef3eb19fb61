/**
 * A request of the 2026 generation. Questions end it with `input_required`,
 * and closing its stream cancels it.
 *
 * @module
 * @see MCP 2026-07-28, Multi Round-Trip Requests and Cancellation
 */
import { randomId } from "../crypto.ts";
import { now } from "../clock.ts";
import { resultBody } from "./pending_response.ts";
import { Exchange } from "./exchange.ts";
import { Inquiry, Suspended } from "../protocol/inquiry.ts";
import { invalidParams } from "../protocol/messages.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { Call, Method } from "./call.ts";
import {
  openRequestState,
  REQUEST_STATE_SECONDS,
  type RequestState,
  sealRequestState,
  type StateBinding,
} from "../protocol/request_state.ts";
import { knowsTasks } from "./tasks/task_methods.ts";

/** The methods that may end with questions, and so take answers. */
const ASKING: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

/** A request on its way, on its own. */
export class StatelessExchange extends Exchange {
  readonly stateless = true;
  #inquiry?: Inquiry;
  #suspended: ((reason: Suspended) => void)[] = [];
  #gathering?: ReturnType<typeof setTimeout>;

  override run(method: Method): Response | Promise<Response> {
    const { requestState, inputResponses } = this.params;
    const isFirst = requestState === undefined && inputResponses === undefined;
    if (isFirst || !ASKING.has(this.message.method)) return super.run(method);
    return super.run(async (call) => {
      await this.#resume();
      return method(call);
    });
  }

  get startTask(): Call["startTask"] {
    if (!knowsTasks(this.client)) return undefined;
    const { engine, authenticated, client, meta, changes } = this;
    return (work) =>
      engine.taskRunner.start({
        ...authenticated,
        client,
        meta,
        changes,
        work,
      });
  }

  /** Cancels when the client goes away, before its stream opens or after. */
  watch(disconnected: AbortSignal): void {
    this.answer.onGone = () => this.cancel("the client closed the stream");
    const leave = () => {
      if (!this.answer.hasEnded) this.answer.onGone();
    };
    if (disconnected.aborted) leave();
    else disconnected.addEventListener("abort", leave, { once: true });
  }

  async request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject> {
    this.#inquiry ??= new Inquiry();
    const answer = this.#inquiry.ask(method, params, key);
    if (answer) return answer;
    const { promise, reject } = Promise.withResolvers<never>();
    // A tool need not look at it again.
    promise.catch(() => {});
    this.#suspended.push(reject);
    // Questions asked side by side go out together.
    clearTimeout(this.#gathering);
    this.#gathering = setTimeout(() => this.#suspend(), 0);
    return await promise;
  }

  /** Ends this round with the open questions, and the tool's run with it. */
  async #suspend(): Promise<void> {
    const { answer, message: { id }, introduction: { printer } } = this;
    try {
      const result = {
        resultType: "input_required",
        inputRequests: Object.fromEntries(this.#inquiry!.open),
        requestState: await this.#sealState(),
      };
      answer.end(resultBody(id, printer.result(result)));
    } catch (error) {
      this.refuse(error);
    }
    for (const reject of this.#suspended) reject(new Suspended());
  }

  async #sealState(): Promise<string> {
    const { requestStates } = this.engine;
    const state: RequestState = {
      ...this.#inquiry!.state,
      ...(this.#isSingleUse && { nonce: randomId(16) }),
      expiresAt: now(this.engine.clock) + REQUEST_STATE_SECONDS,
    };
    return await sealRequestState(
      await requestStates.key(),
      state,
      this.#binding,
    );
  }

  async #resume(): Promise<void> {
    const { requestState, inputResponses } = this.params;
    if (inputResponses !== undefined && !isObject(inputResponses)) {
      throw invalidParams("inputResponses must be an object");
    }
    const state = requestState === undefined
      ? undefined
      : await this.#openState(requestState);
    // Without a state nothing says which question an answer is for. The
    // client may know from an earlier call; a single-use tool may not care.
    if (!state && this.#isSingleUse) return;
    this.#inquiry = new Inquiry(state, inputResponses);
  }

  async #openState(text: unknown): Promise<RequestState> {
    const { requestStates } = this.engine;
    const state = await openRequestState(
      await requestStates.key(),
      text,
      this.#binding,
      now(this.engine.clock),
    );
    if (state.nonce && !await requestStates.spend(state.nonce, state)) {
      throw invalidParams("requestState was used before");
    }
    return state;
  }

  get #binding(): StateBinding {
    const { method, params } = this.message;
    return { caller: this.caller.binding, method, params };
  }

  get #isSingleUse(): boolean {
    const { method, params: { name } } = this.message;
    return method === "tools/call" &&
      this.catalogue.tools.get(name as string)?.singleUse === true;
  }
}
