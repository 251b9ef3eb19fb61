/**
 * Clients that refresh all the time, and try again while a process or its
 * database is away.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Client, TokenAnswer } from "./client.ts";
import type { Processes } from "./processes.ts";
import type { Answering } from "./server.ts";

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Sends each request to a process at random, as a proxy may. */
export function anyOf(processes: Processes): Answering {
  return {
    fetch: (path, init) => {
      const { all } = processes;
      const { url } = all[Math.floor(Math.random() * all.length)];
      return fetch(url + path, { ...init, redirect: "manual" });
    },
  };
}

/** Repeats a request to the token endpoint until its answer is not 503. */
export async function persistent(
  ask: () => Promise<TokenAnswer>,
): Promise<TokenAnswer> {
  for (;;) {
    // A process that was killed sends no answer.
    const answer = await ask().catch((error) => {
      if (error instanceof TypeError || error instanceof SyntaxError) return;
      throw error;
    });
    if (answer && answer.status !== 503) return answer;
    await pause(200);
  }
}

/** A client that refreshes until it is ended. */
export class Refreshing {
  refreshed = 0;
  /** Rejects as soon as a refresh is refused. */
  readonly over: Promise<void>;
  #isOver = false;

  constructor(client: Client, refreshToken: string) {
    this.over = (async () => {
      while (!this.#isOver) {
        const { status, body } = await persistent(() =>
          client.refresh(refreshToken)
        );
        assert.equal(status, 200, JSON.stringify(body));
        refreshToken = body.refresh_token;
        this.refreshed++;
        await pause(Math.random() * 1000);
      }
    })();
    // A rejection is handled at the end of the test.
    this.over.catch(() => {});
  }

  end(): Promise<void> {
    this.#isOver = true;
    return this.over;
  }
}
