/**
 * The questions of a task, put to the client of a call in the way of its
 * generation. An answer goes to the task, wherever that is worked on.
 *
 * @module
 */
import { randomId } from "../../crypto/crypto.ts";
import { isObject } from "../../json.ts";
import type { Task } from "../../store/tasks.ts";
import type { McpClient } from "../../authoring/context.ts";
import type { InputRequest } from "../wire/inquiry.ts";
import type { Call } from "../exchange/call.ts";

/** The relay of one call. */
export class TaskRelay {
  /** The time until which the call waits for what an answer leads to. */
  untilMilliseconds = 0;
  /** Questions that were put, by key; aborted once no one wants an answer. */
  #asked = new Map<string, AbortController>();
  /** Questions that the client did not answer. */
  #unanswered = new Set<string>();

  /** @param patienceMilliseconds the time to wait after an answer */
  constructor(
    private readonly call: Call,
    private readonly patienceMilliseconds: number,
  ) {}

  /** Puts the open questions of a task; true if the client is asked one. */
  ask({ taskId, inputRequests = {} }: Task): boolean {
    for (const [key, asked] of this.#asked) {
      if (Object.hasOwn(inputRequests, key)) continue;
      asked.abort(new Error("Someone else has answered"));
      this.#asked.delete(key);
    }
    let isAsked = false;
    for (const [key, question] of Object.entries(inputRequests)) {
      if (this.#unanswered.has(key) || !this.#canAsk(question)) continue;
      isAsked = true;
      if (!this.#asked.has(key)) this.#put(taskId, key, question);
    }
    return isAsked;
  }

  /** Takes back what no one has answered. */
  end(): void {
    for (const asked of this.#asked.values()) {
      asked.abort(new Error("The call has ended"));
    }
  }

  #canAsk(question: InputRequest): boolean {
    return canAsk(this.call.client, question);
  }

  #put(taskId: string, key: string, question: InputRequest): void {
    const { call } = this;
    const { engine: { tasks, clock, log } } = call;
    const asked = new AbortController();
    this.#asked.set(key, asked);
    const { method, params } = forGeneration(question, call);
    call.request(method, params, key, asked.signal)
      .then((answer) => tasks.answer(taskId, { [key]: answer }))
      .then(
        () => {
          this.untilMilliseconds = clock() + this.patienceMilliseconds;
        },
        (error) => {
          this.#unanswered.add(key);
          if (asked.signal.aborted || call.signal.aborted) return;
          log.info("A client did not answer the question of a task", {
            reference: taskId,
            error,
          });
        },
      );
  }
}

/** True if a client declared that it can be asked this. */
export function canAsk(
  { capabilities }: McpClient,
  { method, params }: InputRequest,
): boolean {
  const capability = capabilities[method.split("/")[0]];
  if (!isObject(capability)) return false;
  if (method === "sampling/createMessage") {
    return params.tools === undefined || "tools" in capability;
  }
  if (method !== "elicitation/create") return true;
  return params.mode === "url"
    ? "url" in capability
    : !("url" in capability) || "form" in capability;
}

/** Adds the name that a 2025 client wants for a page to open. */
function forGeneration(
  { method, params }: InputRequest,
  { stateless }: Call,
): InputRequest {
  return stateless || params.mode !== "url"
    ? { method, params }
    : { method, params: { elicitationId: randomId(16), ...params } };
}
