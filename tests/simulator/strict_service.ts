/**
 * A service of the simulation at which people have accounts: access tokens live
 * a minute, refresh tokens count once.
 *
 * @module
 */
import { type ServiceGrant, TokenRules } from "../kit/token_service.ts";
import type { ServerProcess } from "./server_process.ts";
import type { Issued, World } from "./world.ts";

const LIFETIME_SECONDS = 60;
/** A token that was given so lately needs no other. */
const FRESH_SECONDS = 20;
/** Clocks that differ by more are not kept by NTP. */
const MAX_AHEAD_MILLISECONDS = 5000;
/** A token that is refused is renewed within this time. */
const RENEWED_SECONDS = 5;
/** The time in which a service learns of an end, also if a process dies. */
const TOLD_SECONDS = 75;

export class StrictService extends TokenRules {
  readonly origin: string;
  /** The end of each access token. */
  readonly #ends = new Map<string, number>();
  /** The first use of each code and refresh token. */
  readonly #used = new Map<string, Issued>();
  /** The people whose tokens ended because one came a second time. */
  readonly #lost = new Set<string>();

  /** The time of the latest tokens of each grant, and the process they went to. */
  readonly #issued = new Map<ServiceGrant, Issued>();
  /** The grants one of whose access tokens ended early, and when. */
  readonly #forgotten = new Map<ServiceGrant, number>();
  /** Grants that must be revoked, and since when. */
  readonly #ending = new Map<ServiceGrant, number>();

  constructor(protected readonly world: World, name = "crm") {
    super(name);
    this.origin = `https://${name}.example`;
    this.lifetime = LIFETIME_SECONDS;
  }

  /** True if an access token has not come to its end. */
  protected isFresh(token: string): boolean {
    return this.world.seconds <= (this.#ends.get(token) ?? 0);
  }

  /** True if tokens of a person ended because one came a second time. */
  isLost(account: string): boolean {
    return this.#lost.has(account);
  }

  /** Returns the newest grant of an account. */
  grantOf(account: string): ServiceGrant | undefined {
    return this.grants.findLast((grant) => grant.account === account);
  }

  /** Expects that a grant is revoked, of which a person was told that it ends. */
  expectEnd(grant: ServiceGrant): void {
    this.#ending.set(grant, this.world.seconds);
  }

  /**
   * Ends the expectation that old grants of an account are revoked, because the
   * account is connected again: many services end all its tokens with one.
   */
  #expectNoEnd({ account }: ServiceGrant): void {
    for (const grant of this.#ending.keys()) {
      if (grant.account === account) this.#ending.delete(grant);
    }
  }

  /**
   * Checks that what should have been revoked was, also if a process has died
   * in it. A try that fails is followed by a pause of up to an hour.
   */
  checkEnds(): void {
    const { world } = this;
    for (const [grant, since] of this.#ending) {
      const passed = world.seconds - since;
      if (grant.isEnded) this.#ending.delete(grant);
      else if (
        passed > TOLD_SECONDS && world.isQuiet(TOLD_SECONDS) &&
        !(world.lostAt.get(this.origin)! >= since)
      ) {
        world.breaks(
          `${this.name} was not told within ${Math.round(passed)} s that the ` +
            `account of ${grant.account} has ended`,
        );
      }
    }
  }

  /** @param process the process that asks; undefined for a browser */
  override async serve(
    request: Request,
    process?: ServerProcess,
  ): Promise<Response> {
    const { pathname } = new URL(request.url);
    const form = pathname === "/token"
      ? new URLSearchParams(await request.clone().text())
      : undefined;
    const used = form?.get("code") ?? form?.get("refresh_token") ?? "";
    if (pathname.startsWith("/api/")) {
      const token = request.headers.get("authorization") ?? "";
      this.#forgetSome(token.replace(/^Bearer /, ""));
      if (!this.isFresh(token.replace(/^Bearer /, ""))) {
        return new Response("no such token", { status: 401 });
      }
    }
    const before = this.reused;
    const response = await super.serve(request);
    if (this.reused > before) {
      const grant = this.grants.find(({ code, before, refresh }) =>
        [code, before, refresh].includes(used)
      );
      for (const { account } of grant ? [grant] : this.grants) {
        this.#lost.add(account);
      }
      this.world.excuse(`a token of ${this.name}`, this.#used.get(used)!);
    }
    if (pathname === "/token" && response.ok) {
      const grant = this.grants.find(({ code, before }) =>
        code === used || before === used
      )!;
      const issued = { process: process!, at: this.world.seconds };
      // An earlier disconnection does not end an account that is connected anew.
      if (form!.has("code")) this.#expectNoEnd(grant);
      const last = this.#issued.get(grant);
      this.#issued.set(grant, issued);
      this.#used.set(used, issued);
      const forgottenAt = this.#forgotten.get(grant) ?? -Infinity;
      if (last && forgottenAt < last.at) this.#checkNeed(last);
      const { access_token } = await response.clone().json();
      this.#ends.set(access_token, this.world.seconds + LIFETIME_SECONDS);
    }
    return response;
  }

  /** Lets an access token end before its time, once in a while. */
  #forgetSome(token: string): void {
    const { world } = this;
    const grant = this.grants.find(({ access }) => access.has(token));
    if (!grant) return;
    const { seconds } = world;
    const last = this.#forgotten.get(grant) ?? -Infinity;
    // A process renews a refused token at most once a minute.
    const isForgotten = seconds - last > 120 &&
      (world.springs("amnesia") || world.faults.strikes("amnesia", 50));
    if (!isForgotten) return;
    // Then the renewal may fail, too.
    if (world.faults.isOver || world.random.chance(0.5)) {
      world.trap("silence", /^\/token$/);
    }
    this.#forgotten.set(grant, seconds);
    this.#ends.set(token, 0);
  }

  /** Checks that a refused token is not the end of what its person can do. */
  checkRefusal(account: string, process: ServerProcess, since: number): void {
    const { world } = this;
    const from = since - RENEWED_SECONDS;
    const grant = this.grantOf(account);
    const age = world.seconds - (this.#issued.get(grant!)?.at ?? -Infinity);
    const isSound = world.isSound(process, world.seconds - from);
    if (!isSound || grant?.isEnded) return;
    if (world.processes.some(isAhead) || this.isLost(account)) return;
    // Another may have refreshed them at the same time, or have died.
    if (world.database.wasLeased(`github:${account}`, from)) return;
    if (world.lostBy.get(process)! > from) return;
    world.breaks(
      `${this.name} refused a token of ${account}, and it was not renewed in ${
        age.toFixed(1)
      } s`,
    );
  }

  /** Checks that tokens are not fetched anew while the last ones are fresh. */
  #checkNeed({ process, at }: Issued): void {
    const { world } = this;
    const age = world.seconds - at;
    if (age > FRESH_SECONDS || !world.isSound(process, age + 1)) return;
    // To a process whose clock is ahead, tokens are older than they are.
    if (world.processes.some(isAhead)) return;
    world.breaks(
      `tokens of ${this.name} were refreshed ${
        age.toFixed(1)
      } s after the last, which are good for ${LIFETIME_SECONDS}`,
    );
  }
}

function isAhead({ aheadMilliseconds }: ServerProcess): boolean {
  return Math.abs(aheadMilliseconds) > MAX_AHEAD_MILLISECONDS;
}
