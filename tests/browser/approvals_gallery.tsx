/** @jsxImportSource @hono/hono/jsx */
/**
 * The pages of approvals in every state that looks different. What is stored
 * comes from the real stores.
 *
 * @module
 */
import type { JSX } from "@hono/hono/jsx/jsx-runtime";
import type {
  AccountPageServices,
  AccountPageVisit,
} from "../../src/features/account_page/account_pages.ts";
import { receiptIdOf } from "../../src/features/questions/wait_receipt.ts";
import {
  AccountPage,
  type AccountProps,
} from "../../src/features/account_page/account_page.tsx";
import {
  ApprovalAnsweredPage,
  ApprovalPage,
} from "../../src/features/approvals/approval_page.tsx";
import type { CallApproval } from "../../src/features/approvals/call_approval.ts";
import { ACCOUNT_SESSION_SECONDS } from "../../src/features/account_page/account_sessions.ts";
import { PASSKEY_SCRIPT } from "../../src/features/approvals/passkey_script.ts";
import { approvalTools } from "../../src/features/approvals/approval_tools.ts";
import { passkeyStore } from "../../src/features/approvals/passkey_store.ts";
import { passkeysPart } from "../../src/features/approvals/passkeys_part.tsx";
import { receiptStore } from "../../src/features/approvals/receipts.ts";
import { receiptsSection } from "../../src/features/approvals/receipts_section.tsx";
import { rememberedStore } from "../../src/features/approvals/remembered.ts";
import { rememberedSection } from "../../src/features/approvals/remembered_section.tsx";
import { Database } from "../../src/core/kv/database.ts";
import { memoryKv } from "../../src/core/kv/memory_kv.ts";
import type { OpenedServer } from "../../src/core/store/opened_server.ts";

const DAY = 86_400;
const SUBJECT = "github:42";
const BOX = { label: "up to €50 for Jo Meier", seconds: 3600 };

/** Texts that try to look like something else, or to be somewhere else. */
const HOSTILE = {
  markup: "<h1>Approved</h1><a href=https://example.com>Log in</a>",
  reordered: "Refund \u202e00.1€\u202c\u200b to\u2066 Ann",
  endless: "0123456789".repeat(20),
};

/** Makes the pages. `now`: epoch seconds. */
export async function approvalsGallery(
  { account, longName, otherName, now }: {
    account: AccountProps;
    longName: string;
    /** A name that is read from the right. */
    otherName: string;
    now: number;
  },
): Promise<Record<string, JSX.Element>> {
  const { serverTitle, about, csrf, person } = account;
  let at = now;
  const database = new Database(memoryKv(), { clock: () => at * 1000 });
  const config = { auth: { oauth: { ledgerDays: 30 } } };
  const server = { database, config } as unknown as OpenedServer;
  const offering = { name: "refund", approval: { remember: () => undefined } };
  approvalTools.set(server, {
    tools: new Map([["refund", offering as never]]),
    serverInfo: { name: "test", version: "1" },
    addresses: () => [],
  });
  const services = {
    server,
    database,
    baseUrl: "https://tools.example.com",
    frame: { serverTitle, about },
    titleOf: () => "Refund a charge",
  } as unknown as AccountPageServices;

  const props = {
    serverTitle,
    about,
    person,
    subject: "github:42",
    csrf,
    now,
    client: { name: "Claude", domain: "claude.ai" },
    tool: "refund",
    toolTitle: "Refund a charge",
    mayDecide: true,
  };
  const approval = {
    id: "a".repeat(43),
    state: "open",
    kind: "approval",
    tool: "refund",
    subject: SUBJECT,
    createdAt: now - 40,
    expiresAt: now + 860,
    approval: { seconds: 900, closesAt: now + 860 },
    payload: {
      title: "Refund €49.00",
      facts: { Charge: "ch_4711", Buyer: "Jo Meier" },
      input: { charge: "ch_4711", cents: 4900 },
      accounts: [],
      caller: { name: person, account: "ann@example.com", addresses: [] },
    },
  } as unknown as CallApproval;
  const of = (changes: object, payload: object = {}): CallApproval => ({
    ...approval,
    ...changes,
    payload: { ...approval.payload, ...payload },
  });
  const refused = {
    state: "answered",
    answer: { action: "decline", by: SUBJECT, at: now, reason: "Too much" },
  };
  const begun = {
    state: "used",
    answer: { action: "accept", by: SUBJECT, at: now - 30 },
  };
  const passkey = {
    hasAny: true,
    stays: () => {},
    use: () => Promise.reject(),
  };
  const asks = (passkey: string) => ({
    approval: { seconds: 900, closesAt: now + 860, passkey },
  });
  const scope = {
    approval: { ...approval.approval, scope: "pay:approve", passkey: "wanted" },
  };
  const hostile = of({ clientName: HOSTILE.reordered }, {
    title: HOSTILE.reordered + HOSTILE.endless,
    facts: {
      [HOSTILE.markup]: HOSTILE.endless,
      [otherName]: HOSTILE.reordered,
    },
    accounts: [["Linear", HOSTILE.endless]],
    input: {
      [HOSTILE.endless]: HOSTILE.markup,
      lines: Array.from({ length: 40 }, (_, index) => `${index}\u200b`),
    },
    offer: { ...BOX, name: "n", label: HOSTILE.reordered + HOSTILE.endless },
  });

  const passkeys = passkeyStore(database);
  const add = (name: string) =>
    passkeys.add(
      SUBJECT,
      { id: `id-${name.length}`, publicKey: "", counter: 0, name },
      () => {},
    );
  at = now - 3 * DAY;
  await add("My phone");
  at = now - 600;
  await add(longName);
  at = now;

  const remembered = rememberedStore(database);
  for (
    const [index, label] of [BOX.label, `${otherName} ${HOSTILE.endless}`]
      .entries()
  ) {
    const offer = { ...BOX, label, name: `${index}`.repeat(43) };
    const write = await remembered.writing(SUBJECT, { offer }, {
      tool: "refund",
      clientName: index === 0 ? "Claude" : longName,
    });
    await database.commit(write!);
  }

  const receipts = receiptStore(database, 30 * DAY);
  const press = {
    subject: SUBJECT,
    by: SUBJECT,
    tool: "refund",
    clientName: "Claude",
  };
  const words = { ...approval.payload, caller: person, approver: person };
  for (
    const [index, progress, more] of [
      [1, { begunAt: at, endedAt: at, outcome: "ok" }, { passkey: longName }],
      [2, { isRefused: true }, { reason: HOSTILE.endless }],
      [3, { by: undefined }, { title: HOSTILE.reordered }],
      [4, { begunAt: at, outcome: "failed" }, { remembered: BOX.label }],
      [5, { begunAt: at }, { facts: { [HOSTILE.markup]: HOSTILE.endless } }],
    ] as const
  ) {
    const id = receiptIdOf(at - index, `${index}`);
    const record = { ...press, at: at - index, ...progress };
    await database.commit(
      await receipts.writing(id, record as typeof press & { at: number }, {
        ...words,
        ...more,
      }),
    );
  }

  const visit = (expiresAt: number): AccountPageVisit =>
    ({
      session: {
        subject: SUBJECT,
        identity: { id: "42" },
        isFresh: true,
        expiresAt,
      },
      now,
      isOperator: false,
      form: { base: "", csrf, back: "passkeys" },
      query: {},
    }) as unknown as AccountPageVisit;
  const part = {
    ...account,
    part: "passkeys",
    title: "Your passkeys",
    parts: [...account.parts, { name: "passkeys", label: "Passkeys" }],
    scripts: [PASSKEY_SCRIPT],
  };
  const { show } = passkeysPart(services);
  const all = visit(now + ACCOUNT_SESSION_SECONDS);

  return {
    "approval": (
      <ApprovalPage
        {...props}
        approval={of({}, { offer: { ...BOX, name: "n" } })}
        mayRemember
      />
    ),
    "approval-passkey": (
      <ApprovalPage
        {...props}
        approval={of(asks("required"), {
          before: { begunAt: now - 3000, outcome: "ok" },
        })}
        passkey={{ ...passkey, get: {} }}
      />
    ),
    "approval-no-passkey": (
      <ApprovalPage
        {...props}
        approval={of(asks("required"))}
        passkey={passkey}
      />
    ),
    "approval-passkey-later": (
      <ApprovalPage
        {...props}
        approval={of(asks("required"))}
        passkey={{ ...passkey, from: now + 3600 }}
      />
    ),
    "approval-scope": <ApprovalPage {...props} approval={of(scope)} />,
    "approval-scope-caller": (
      <ApprovalPage {...props} approval={of(scope)} mayDecide={false} />
    ),
    "approval-hostile": (
      <ApprovalPage
        {...props}
        approval={hostile}
        client={{ name: HOSTILE.reordered + HOSTILE.endless }}
        toolTitle={undefined}
        tool={HOSTILE.endless.slice(0, 128)}
        mayRemember
      />
    ),
    "approval-refused": (
      <ApprovalPage
        {...props}
        approval={of(refused, { offer: { ...BOX, name: "n" } })}
        mayRemember
      />
    ),
    "approval-refused-task": (
      <ApprovalAnsweredPage {...props} approval={of(refused)} />
    ),
    "approval-unknown": (
      <ApprovalAnsweredPage
        {...props}
        approval={of({
          ...begun,
          approval: { seconds: 900, begunAt: now - 25 },
        })}
      />
    ),
    "account-passkeys": (
      <AccountPage {...part}>
        {await show(all)}
      </AccountPage>
    ),
    "account-passkeys-later": (
      <AccountPage {...part}>
        {await show(visit(now + 60))}
      </AccountPage>
    ),
    "account-approvals": (
      <AccountPage {...account}>
        {await rememberedSection(all, services)}
        {await receiptsSection(all, {}, services)}
      </AccountPage>
    ),
  };
}
