/**
 * A service with API keys, on loopback: it notes what it was sent, and can be
 * made to answer badly.
 *
 * @module
 */
import { personalKey } from "../../src/mod.ts";
import type { PersonalKey, PersonalKeyOptions } from "../../src/mod.ts";

/** Two keys of 32 bytes, for `SECRETS_KEYS`. */
export const SECRETS_KEY = "1".repeat(43);
export const OTHER_SECRETS_KEY = "2".repeat(43);

/** Spells a key, for a tool that shows its own: a key itself would be hidden. */
export const spelled = (key: string) => key.split("").join("·");

/** The key of a person at the service, by the name of their account there. */
export const keyOf = (account: string) => `lin_${account.replace(/\W/g, "")}`;

export class KeyService implements AsyncDisposable {
  /** The accounts by their keys. */
  readonly accounts = new Map<string, string>();
  /** The `authorization` of every request, and its path. */
  readonly seen: [path: string, authorization: string | null][] = [];
  /** Answers in place of the service, if it is set. */
  answer?: (request: Request) => Response | Promise<Response> | undefined;
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => this.#serve(request),
  );

  constructor(...accounts: string[]) {
    for (const name of accounts) this.accounts.set(keyOf(name), name);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Declares it, with a check that gives the account's name. */
  key(
    name = "linear",
    options: Partial<PersonalKeyOptions> = {},
  ): PersonalKey {
    return personalKey(name, {
      api: `${this.url}/api`,
      title: "Linear",
      help: "Settings, API",
      shape: /^lin_/,
      check: async (fetch) => {
        const response = await fetch("/me");
        return response.ok ? await response.text() : response;
      },
      ...options,
    });
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const authorization = request.headers.get("authorization");
    this.seen.push([pathname, authorization]);
    const own = await this.answer?.(request);
    if (own) return own;
    const key = authorization?.replace(/^Bearer /, "") ?? "";
    const account = this.accounts.get(key);
    return account
      ? new Response(account)
      : new Response("no such key", { status: 401 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
