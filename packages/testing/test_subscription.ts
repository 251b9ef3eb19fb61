/**
 * Changes that a test listens to.
 *
 * @module
 */
import type { ChangingList } from "../../src/authoring/context.ts";
import type { Message } from "../client/mod.ts";
import type { Conversation } from "./conversation.ts";

/** The resource, or the list, that has changed. */
export type TestChange = { uri: string } | { list: ChangingList };

/** A subscription (MCP 2026-07-28). `await using` ends it. */
export class TestSubscription implements AsyncDisposable {
  private constructor(
    private readonly messages: AsyncGenerator<Message>,
    private readonly abort: AbortController,
  ) {}

  /** Listens to every list, and to some resources. */
  static async open(
    request: Conversation,
    uris: readonly string[],
  ): Promise<TestSubscription> {
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: uris,
    };
    const abort = new AbortController();
    const { client } = request;
    const response = await client.post(
      "subscriptions/listen",
      { notifications },
      abort.signal,
    );
    const messages = client.messages(response);
    // Changes are received from the acknowledgement on.
    const { value } = await messages.next();
    if (value?.error) {
      throw request.refused(client.failure(value.error, response));
    }
    return new TestSubscription(messages, abort);
  }

  /** Returns the next change; waits until there is one. */
  async next(): Promise<TestChange> {
    const { value } = await this.messages.next();
    if (!value) throw new Error("The subscription has ended");
    const list = /^notifications\/(\w+)\/list_changed$/.exec(value.method)?.[1];
    return list === undefined
      ? { uri: value.params.uri }
      : { list: list as ChangingList };
  }

  /** Ends the subscription; a pending `next()` rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.abort.abort();
    await this.messages.return(undefined);
  }
}
