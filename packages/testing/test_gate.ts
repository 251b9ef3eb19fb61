/**
 * A gate for tests, which authenticates any caller that a test names.
 *
 * @module
 */
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  type Identity,
} from "../../src/core/caller.ts";
import type { Context } from "../../src/authoring/context.ts";
import * as kinds from "../../src/authoring/options.ts";
import { SCOPE_LIST } from "../../src/authoring/scope.ts";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { ChallengeError } from "../../src/core/errors.ts";
import {
  type Gate,
  parseBearer,
  printChallenge,
} from "../../src/core/auth/doors/gate.ts";
import type { TestAccounts } from "./test_accounts.ts";
import type { Progress } from "./test_request.ts";

/** The caller of a request; by default anonymous with every scope. */
export interface TestCaller {
  /** A stable name for the person. */
  subject?: string;
  /** The granted scopes; `all` by default. */
  scopes?: readonly string[] | "all";
  /** The OAuth client that is calling. */
  clientId?: string;
  /** The person as the provider knows them; `subject` by default. */
  identity?: Partial<Identity>;
}

/** The options of {@linkcode TestCaller}. */
export const TEST_CALLER = {
  subject: kinds.TEXT,
  scopes: kinds.either(kinds.choice("all"), SCOPE_LIST),
  clientId: kinds.TEXT,
  identity: kinds.OBJECT as kinds.Kind<Partial<Identity>>,
} satisfies kinds.Members<TestCaller>;

/** The callbacks of the test that runs a task. */
export interface TaskListener {
  /** Receives the progress of the task. */
  report(progress: Progress): void;
  /** The last progress that was reported. */
  last: number;
  /** Notes that the tool runs. Resolves when the test has received its task. */
  begun(): Promise<void>;
  /**
   * The keys of questions, by message: clients before MCP 2026-07-28 do not
   * receive them.
   */
  keys: Map<string, string>;
}

/** A gate that authenticates only callers that a test has named. */
export class TestGate implements Gate {
  #callers = new Map<string, Authenticated>();
  #accounts = new WeakMap<Caller, TestAccounts>();
  #listeners = new WeakMap<Caller, TaskListener>();
  /** The listeners by the ID of their task, for later runs of its work. */
  #ofTasks = new Map<string, TaskListener>();

  /**
   * Registers a caller, and returns the headers that make a request the
   * caller's.
   */
  admit(
    given: TestCaller,
    upstream?: Authenticated["upstream"],
    listener?: TaskListener,
    accounts?: TestAccounts,
  ): Record<string, string> {
    kinds.checkOptions("as", TEST_CALLER, given);
    const { subject = "anonymous", scopes = "all", clientId, identity } = given;
    const token = randomId(16);
    const caller: Caller = {
      subject,
      scopes,
      clientId,
      identity: identity && { subject, ...identity },
      binding: JSON.stringify([subject, clientId]),
    };
    this.#callers.set(token, { caller, upstream });
    if (listener) this.#listeners.set(caller, listener);
    if (accounts) this.#accounts.set(caller, accounts);
    return { authorization: `Bearer ${token}` };
  }

  /** Finds the accounts that a test gave a caller. */
  accountsOf(caller: Caller): TestAccounts | undefined {
    return this.#accounts.get(caller);
  }

  /** Finds the listener of a task, in every run of its work. */
  listenerOf({ caller, requestId }: Context): TaskListener | undefined {
    const listener = this.#ofTasks.get(requestId) ??
      this.#listeners.get(caller);
    if (listener) this.#ofTasks.set(requestId, listener);
    return listener;
  }

  authenticate(headers: Headers): Authenticated {
    const authorization = headers.get("authorization");
    if (authorization === null) return { caller: ANONYMOUS };
    const known = this.#callers.get(parseBearer(authorization) ?? "");
    if (known) return known;
    throw new ChallengeError("The test knows no such caller", "invalid_token");
  }

  restore({ binding }: Caller): Authenticated | undefined {
    if (binding === ANONYMOUS.binding) return { caller: ANONYMOUS };
    const all = [...this.#callers.values()]
      .filter(({ caller }) => caller.binding === binding);
    // Prefers a caller to whom some request gave accounts.
    const known = all.findLast(({ caller }) => this.#accounts.has(caller)) ??
      all[0];
    return known && { caller: known.caller };
  }

  isConfigured(): boolean {
    return true;
  }

  challenge(refusal: ChallengeError): string {
    return printChallenge(refusal);
  }
}
