/**
 * Approves and refuses calls in a test, in place of a browser.
 *
 * @module
 */
import type { Tool } from "../../src/authoring/tool.ts";
import type { Identity } from "../../src/core/caller.ts";
import * as kinds from "../../src/authoring/options.ts";
import { pause } from "../../src/core/clock.ts";
import type { Kv } from "../../src/core/kv/kv.ts";
import { fingerprint } from "../../src/core/crypto/crypto.ts";
import type { OpenedServer } from "../../src/core/store/opened_server.ts";
import { SoftwarePasskey } from "./software_passkey.ts";
import { Database } from "../../src/core/kv/database.ts";
import type {
  CallApproval,
  Pressed,
} from "../../src/features/approvals/call_approval.ts";
import type { Approver } from "../../src/features/approvals/approver.ts";

/** An approval as its page shows it. */
export interface TestApproval {
  /** The name of the tool. */
  tool: string;
  /** The title of the page: the action in words. */
  title: string;
  /** The facts that `show` named. */
  facts: Readonly<Record<string, string>>;
  /** The arguments of the call. */
  input: Readonly<Record<string, unknown>>;
}

/**
 * The decision about a call: `approve`; `remember`, which also accepts the
 * author's offer; `passkey`, which approves with a software passkey; or a
 * refusal.
 */
export type TestPress = "approve" | "remember" | "passkey" | {
  /** The reason, which the model reads. */
  refuse: string;
};

/** Checks a {@linkcode TestPress}. */
export const TEST_PRESS: kinds.Kind<TestPress> = kinds.either(
  kinds.choice("approve", "remember", "passkey"),
  kinds.object({ refuse: kinds.required(kinds.TEXT) }, '{ refuse: "why" }'),
);

/** The path of the pages of approvals. */
const PAGE = /\/approve\/([\w-]{43})$/;

/** The origin and RP ID of the passkeys of tests. */
const SITE = { origin: "https://tools.example.com", rpId: "tools.example.com" };

const PATIENCE_MILLISECONDS = 2000;
const CHECK_MILLISECONDS = 5;

export class TestApprovals {
  readonly #database: Database;
  /** The passkeys of people, by their subjects. */
  readonly #passkeys = new Map<string, SoftwarePasskey>();

  constructor(kv: Kv, clock: () => number) {
    this.#database = new Database(kv, { clock });
  }

  /**
   * Finds the ID in the URL of an approval's page. Undefined for another URL.
   */
  static idOf(address: unknown): string | undefined {
    return PAGE.exec(`${address}`)?.[1];
  }

  /**
   * Makes the approver for a caller. With `scopes: "all"`, the approver has the
   * scopes that the approvals of the tools name.
   */
  static approverOf(
    { subject = "anonymous", scopes = "all", identity }: {
      subject?: string;
      scopes?: readonly string[] | "all";
      identity?: Partial<Identity>;
    },
    tools: Iterable<Pick<Tool, "approval">>,
  ): Approver {
    const named = [...tools].flatMap(({ approval }) =>
      typeof approval?.by === "object" ? approval.by.scope : []
    );
    return {
      subject,
      identity: identity && { subject, ...identity },
      scopes: scopes === "all" ? [...new Set(named)] : scopes,
    };
  }

  /** Approves or refuses a call on its page, as a person. */
  async press(
    id: string,
    person: Approver,
    press: TestPress,
  ): Promise<TestApproval> {
    const { subject } = person;
    const at = this.#database.now();
    const store = await this.#store();
    const found = await store.findPage(id, person);
    const isAccepted = typeof press === "string";
    const { mayDecide } = await import(
      "../../src/features/approvals/approver.ts"
    );
    if (found && isAccepted && !mayDecide(found, person)) {
      throw new Error(
        `${found.tool} waits for someone else with the scope ${found.approval.scope}: leave the option approval out, and call approve() or refuse() of that person while it waits`,
      );
    }
    const { untilStored } = await import(
      "../../src/features/approvals/call_approval.ts"
    );
    const remembers = press === "remember";
    if (remembers && found && !found.payload.offer) {
      throw new Error(`${found.tool} offers nothing to remember for this call`);
    }
    const approval = await untilStored(async () => {
      const used = isAccepted
        ? await this.#use(found, person, press)
        : undefined;
      const by = { by: subject, at };
      const pressed: Pressed = isAccepted
        ? { action: "accept", ...by, passkey: used?.name, remembers }
        : { action: "decline", ...by, reason: press.refuse };
      return await store.press(id, pressed, person, used?.write);
    });
    if (approval) return shownOf(approval);
    throw new Error(`No approval waits for ${subject} on this page`);
  }

  /** Finds an approval of a person's call that no one has answered. */
  async findOpen(
    id: string,
    caller: Approver,
  ): Promise<CallApproval | undefined> {
    const found = await (await this.#store()).findPage(id, caller);
    return found?.state === "open" ? found : undefined;
  }

  /**
   * Approves or refuses the newest call that waits for a person.
   *
   * @throws {Error} if none waits within 2 seconds
   */
  async pressNext(
    person: Approver,
    tool: string | undefined,
    press: TestPress,
  ): Promise<TestApproval> {
    const store = await this.#store();
    const started = performance.now();
    for (;;) {
      const found = await this.#newest(
        (await store.listOpen(person)).filter((it) =>
          it.state === "open" && (tool === undefined || it.tool === tool)
        ),
      );
      if (found) return await this.press(found.id!, person, press);
      if (performance.now() - started > PATIENCE_MILLISECONDS) {
        const what = tool ?? "a tool";
        throw new Error(
          `No call of ${what} waits for the approval of ${person.subject}`,
        );
      }
      await pause(CHECK_MILLISECONDS);
    }
  }

  /** Finds the approval that was asked for last, also within one second. */
  async #newest(open: CallApproval[]): Promise<CallApproval | undefined> {
    const records = await this.#database.getMany<unknown[]>(
      open.map(({ key }) => key),
    );
    const stamps = records.map(({ versionstamp }) => versionstamp ?? "");
    const last = stamps.toSorted().at(-1);
    return open[stamps.findIndex((it) => it === last)];
  }

  /** Signs an approval with the person's passkey, if the page asks for it. */
  async #use(
    approval: CallApproval | undefined,
    { subject }: Approver,
    press: Exclude<TestPress, object>,
  ) {
    const mode = approval?.approval.passkey;
    if (!approval || mode === undefined) return undefined;
    const { challengeOf, passkeysOf } = await import(
      "../../src/features/approvals/passkeys.ts"
    );
    const passkeys = passkeysOf({
      baseUrl: SITE.origin,
      frame: { base: "", serverTitle: "Test", about: undefined },
      server: { database: this.#database } as OpenedServer,
    });
    let passkey = this.#passkeys.get(subject);
    if (press !== "passkey") {
      if (mode === "wanted" && !passkey) return undefined;
      throw new Error(
        `${approval.tool} needs a passkey of ${subject}: approve it with approval: "passkey", or with approve(tool, { passkey: true })`,
      );
    }
    if (!passkey) {
      passkey = SoftwarePasskey.make();
      const challenge = fingerprint(subject);
      const response = passkey.register({ ...SITE, challenge });
      const made = { name: "Test", response, challenge };
      await passkeys.make(subject, made, () => {});
      this.#passkeys.set(subject, passkey);
    }
    const challenge = challengeOf(approval, subject);
    const signed = passkey.sign({ ...SITE, challenge });
    const asked = await passkeys.ask(subject, challenge);
    return await asked.use(signed);
  }

  async #store() {
    const { callApprovals } = await import(
      "../../src/features/approvals/approval_store.ts"
    );
    return callApprovals(this.#database);
  }
}

function shownOf({ tool, payload }: CallApproval): TestApproval {
  const { title, facts, input } = payload;
  return { tool, title, facts, input };
}
