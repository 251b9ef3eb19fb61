/**
 * A service for keys (KMS) in memory, which can be made to fail.
 *
 * @module
 */
import type { Sealed, Sealing } from "../../src/mod.ts";

export class KeyManagement implements Sealing {
  /** The key that seals. */
  keyId = "first";
  /** The keys that open nothing any more. */
  readonly gone = new Set<string>();
  /** Answers in place of the service, if it is set. */
  // deno-lint-ignore no-explicit-any -- Also what no service should answer.
  answer?: () => any;
  /** The number of texts that were sealed, and opened. */
  readonly asked = { seal: 0, unseal: 0 };
  readonly #texts: string[] = [];

  async seal(text: string): Promise<Sealed> {
    this.asked.seal++;
    if (this.answer) return await this.answer();
    const { keyId } = this;
    return { sealed: `sealed ${this.#texts.push(text) - 1}`, keyId };
  }

  async unseal({ sealed, keyId }: Sealed): Promise<string | undefined> {
    this.asked.unseal++;
    if (this.answer) return await this.answer();
    const [, nth] = sealed.split(" ");
    return this.gone.has(keyId) ? undefined : this.#texts[Number(nth)];
  }
}

/** Ways in which such a service fails, by their names. */
export const FAILURES: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new TypeError("the KMS is down");
  },
  rejects: () => Promise.reject(new Error("the KMS is throttled")),
  "answers nonsense": () => 42,
  "does not answer": () => new Promise(() => {}),
};
