/**
 * A service of the simulation whose keys people paste. It knows when a key may
 * come no more, and every other server knows its keys when they see one.
 *
 * @module
 */
import { personalKey } from "../../src/mod.ts";
import type { PersonalKey } from "../../src/mod.ts";
import type { ServerProcess } from "./server_process.ts";
import type { World } from "./world.ts";

const KEY = /key_\w+/;

interface Key {
  account: string;
  /** The time at which its person was told that no tool uses it any more. */
  endedAt?: number;
}

export class StrictKeys {
  readonly origin = "https://bank.example";
  readonly #keys = new Map<string, Key>();

  constructor(private readonly world: World) {}

  /** Declares it; its API names the account, and leads to others. */
  declare(): PersonalKey {
    return personalKey("bank", {
      api: `${this.origin}/api`,
      title: "Example Bank",
      shape: /^key_/,
      // A header that fetch itself would take along to another host.
      header: "x-api-key",
      async check(fetch) {
        const response = await fetch("/me");
        return response.ok ? await response.text() : response;
      },
    });
  }

  /** Gives a person a key. */
  make(account: string): string {
    const key = `key_${account}_${this.#keys.size + 1}`;
    this.#keys.set(key, { account });
    return key;
  }

  /** Notes that a person was told that no key but one is used any more. */
  expectEnd(account: string, but?: string): void {
    const { seconds } = this.world;
    for (const [text, key] of this.#keys) {
      if (key.account === account && text !== but) key.endedAt ??= seconds;
    }
  }

  /** Checks that a request to another server has no key. */
  async checkOther(request: Request): Promise<void> {
    const { url, headers } = request;
    const text = request.body ? await request.clone().text() : "";
    const all = `${url} ${JSON.stringify([...headers])} ${text}`;
    const [key] = KEY.exec(all) ?? [];
    if (key) this.world.breaks(`${key} of the bank went to ${url}`);
  }

  serve(request: Request, process: ServerProcess): Response {
    const { world } = this;
    const text = request.headers.get("x-api-key") ?? "";
    const key = this.#keys.get(text);
    if (!key) return new Response("no such key", { status: 401 });
    const { account, endedAt } = key;
    world.obeys(process, `used ${text}`, "its end", endedAt);
    world.begins(`github:${account}`, text);
    const { pathname } = new URL(request.url);
    if (pathname === "/api/me") return new Response(account);
    return new Response(null, {
      status: 307,
      headers: { location: `${world.services.crm.origin}/api/me` },
    });
  }
}
