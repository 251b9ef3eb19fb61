/** @jsxImportSource @hono/hono/jsx */
/**
 * Every page in every state that looks different, with sample contents.
 *
 * @module
 */
import { approvalsGallery } from "./approvals_gallery.tsx";
import { PASSKEY_SCRIPT } from "../../src/features/approvals/passkey_script.ts";
import { keptAbout } from "../../src/features/account_page/kept_data.ts";
import { KEPT_DATA, keptUnder } from "../kit/kept.ts";
import { clientCalled } from "../kit/records.ts";
import { ChooserPage } from "../../src/core/pages/provider_buttons.tsx";
import { Hono } from "@hono/hono";
import { DEFAULT_LIFETIMES } from "../../src/core/oauth/lifetimes.ts";
import type { Client } from "../../src/core/oauth/client.ts";
import type { OperatorInfo } from "../../src/authoring/about.ts";
import type { JSX } from "@hono/hono/jsx/jsx-runtime";
import {
  AccountPage,
  type AccountProps,
  type PartLink,
  SignInPage,
} from "../../src/features/account_page/account_page.tsx";
import {
  type CallInWords,
  CallsSection,
} from "../../src/features/ledger/calls_section.tsx";
import {
  type ConnectionsProps,
  ConnectionsSection,
  type GrantInWords,
} from "../../src/features/account_page/connections_section.tsx";
import { DataSection } from "../../src/features/account_page/data_section.tsx";
import { CallbackPage } from "../../src/core/pages/callback_page.tsx";
import {
  ConsentPage,
  type ConsentProps,
} from "../../src/core/pages/consent_page.tsx";
import type { ScopeInWords } from "../../src/core/pages/scopes.ts";
import { AccountsSection } from "../../src/features/accounts/accounts_section.tsx";
import {
  ConfirmPage,
  ConnectedPage,
} from "../../src/features/accounts/confirm_page.tsx";
import { ConnectPage } from "../../src/features/accounts/connect_page.tsx";
import { TokenSection } from "../../src/features/account_page/token_section.tsx";
import { failuresFirst } from "../../src/features/ledger/ledger.ts";
import { DevSignInPage } from "../../src/core/provider/dev/dev_sign_in_page.tsx";
import { ErrorPage, errorWords } from "../../src/core/pages/error_page.tsx";
import { LandingPage } from "../../src/features/landing/landing_page.tsx";
import {
  OperatorAttempts,
  OperatorClients,
  OperatorWork,
} from "../../src/features/operators/operator_sections.tsx";
import {
  OperatorPeople,
  type OperatorPeopleProps,
} from "../../src/features/operators/operator_people.tsx";
import type { RefusedRequest } from "../../src/core/pages/situation_words.ts";
import { HttpError, OAuthError, StorageError } from "../../src/core/errors.ts";
import { page } from "../../src/core/pages/respond.ts";
import { parseFormFields } from "../../src/core/protocol/form_fields.ts";
import {
  NoWaitPage,
  WaitAnsweredPage,
  WaitPage,
} from "../../src/features/questions/wait_page.tsx";
import { WaitingSection } from "../../src/features/account_page/waiting_section.tsx";
import {
  WorkPage,
  type WorkPageProps,
} from "../../src/features/work/work_page.tsx";
import {
  type WorkInWords,
  WorkSection,
} from "../../src/features/work/work_section.tsx";

const serverTitle = "Tool Server";

const ABOUT: OperatorInfo = {
  operator: "Example Company",
  privacyUrl: "https://example.com/privacy",
  supportUrl: "mailto:help@example.com",
};

/** Names that break pages that were designed for "Claude". */
const LONG_NAME = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch" +
  "Llanfairpwllgwyngyll";
const RTL_NAME = "مساعد البريد 👩‍👩‍👧‍👦 لشركة المثال";

const CONSENT: ConsentProps = {
  lifetimes: DEFAULT_LIFETIMES,
  serverTitle,
  about: ABOUT,
  host: "tools.example.com",
  client: clientCalled("Claude", "claude.ai"),
  redirectUri: "https://claude.ai/api/mcp/auth_callback",
  providerName: "GitHub",
  tools: [
    { tool: "send_mail", toolTitle: "Send mail", needsScope: true },
    { tool: "find_mail", toolTitle: "Find messages", needsScope: true },
    { tool: "read_mail", toolTitle: "Read a message", needsScope: true },
    { tool: "find_slot", toolTitle: "Find a free slot", needsScope: false },
  ],
  scopes: [
    {
      scope: "mail:read",
      words: "Finds messages in your mailbox. Reads one of them.",
      opens: ["Find messages", "Read a message"],
    },
    { scope: "mail:send", words: "Sends a message.", opens: ["Send mail"] },
    {
      scope: "offline_access",
      words: "Stay connected while you are away.",
      isFixed: true,
    },
  ],
  fields: { request: "r", csrf: "c" },
  action: "/authorize",
};

const NOW = 1_790_000_000;

/** Scopes in their words. */
const inWords = (...scopes: string[]): ScopeInWords[] =>
  CONSENT.scopes.filter(({ scope }) => scopes.includes(scope));

const GRANT: GrantInWords = {
  id: "g1",
  createdAt: NOW - 30 * 86_400,
  usedAt: NOW - 120,
  scopes: inWords("mail:read", "mail:send"),
  redirectUri: "https://claude.ai/api/mcp/auth_callback",
  sessions: 2,
};

const CALLS: readonly Omit<CallInWords, "person" | "client">[] = [
  { at: NOW - 120, tool: "search_mail", outcome: "ok", count: 57 },
  { at: NOW - 300, tool: "send_mail", outcome: "refused", count: 2 },
  { at: NOW - 4000, tool: "read_message", outcome: "tool_error", count: 1 },
  {
    at: NOW - 4100,
    tool: "find_free_slot",
    outcome: "input_required",
    count: 1,
  },
  { at: NOW - 8000, tool: "import_calendar", outcome: "cancelled", count: 1 },
  { at: NOW - 90_000, tool: "export_calendar", outcome: "stopped", count: 1 },
  { at: NOW - 90_500, tool: "health", outcome: "internal_error", count: 3 },
];

const PARTS: readonly PartLink[] = [
  { name: "", label: "Connections" },
  { name: "tokens", label: "Tokens" },
  { name: "calls", label: "Calls" },
  { name: "work", label: "Work" },
  { name: "data", label: "Your data" },
];

const OPERATOR_PARTS: readonly PartLink[] = [
  ...PARTS,
  { name: "people", label: "People", isForOperators: true },
  { name: "clients", label: "Clients", isForOperators: true },
  { name: "attempts", label: "Attempts", isForOperators: true },
  { name: "durable", label: "Durable work", isForOperators: true },
];

const SIGNED_OUT = {
  serverTitle,
  title: "Your account",
  lead:
    "Sign in to see which apps are connected in your name, and to end any of them.",
};

const ACCOUNT: AccountProps = {
  serverTitle,
  about: ABOUT,
  title: "Your connections",
  part: "",
  parts: PARTS,
  person: "octocat",
  providerName: "GitHub",
  csrf: "c",
};

/** The account of an operator, at one of its parts. */
const operator = (part: string, title: string): AccountProps => ({
  ...ACCOUNT,
  part,
  title,
  parts: OPERATOR_PARTS,
});

const CONNECTIONS: ConnectionsProps = {
  lifetimes: DEFAULT_LIFETIMES,
  providerName: "GitHub",
  csrf: "c",
  now: NOW,
  clients: [
    {
      name: "Claude",
      domain: "claude.ai",
      signIns: [GRANT],
      tools: CONSENT.tools,
      callsHref: "/account/calls?client=Claude",
    },
    {
      name: "Claude",
      signIns: [{
        ...GRANT,
        sessions: 0,
        scopes: [],
        usedAt: NOW - 4000,
        redirectUri: "http://localhost:3118/callback",
      }],
    },
    {
      name: "Cursor",
      tools: Array.from({ length: 12 }, (_, index) => ({
        tool: `tool_${index}`,
        toolTitle: `Tool number ${index}`,
      })),
      signIns: [
        {
          ...GRANT,
          sessions: 0,
          scopes: [],
          usedAt: NOW - 4000,
          redirectUri: "cursor://anysphere.cursor-mcp/oauth/callback",
        },
        {
          ...GRANT,
          sessions: 1,
          usedAt: NOW - 90_000,
          redirectUri: "https://www.cursor.com/agents/mcp/oauth/callback",
        },
      ],
    },
  ],
};

/** The connections with every form open. */
const CHANGES: ConnectionsProps = {
  ...CONNECTIONS,
  clients: [
    { ...CONNECTIONS.clients[0], signIns: [GRANT] },
    {
      name: "Cursor",
      callsHref: "/account/calls?client=Cursor",
      signIns: [
        {
          ...GRANT,
          id: "g2",
          sessions: 0,
          pausedAt: NOW - 30,
          redirectUri: "cursor://anysphere.cursor-mcp/oauth/callback",
        },
        { ...GRANT, id: "g3", scopes: [] },
      ],
    },
  ],
};

const TOKENS = (
  <TokenSection
    isBare={false}
    mayMake
    isFresh
    hasAccounts
    tokens={[{
      id: "g4",
      clientName: "Backup",
      scopes: inWords("mail:read"),
      tools: CONSENT.tools.slice(1),
      createdAt: NOW - 90_000,
      usedAt: NOW - 60,
      endsAt: NOW + 30 * 86_400,
      callsHref: "/account/calls?client=Backup",
    }, {
      id: "g5",
      clientName: LONG_NAME,
      scopes: [],
      createdAt: NOW - 90_000,
      usedAt: NOW - 90_000,
      endsAt: NOW + 86_400,
      pausedAt: NOW - 4000,
    }]}
    scopes={inWords("mail:read", "mail:send")}
    days={[7, 30, 90, 365]}
    made={{ name: "Backup", token: `tsp_${"0123456789".repeat(6)}` }}
    csrf="c"
    now={NOW}
  />
);

const WAIT = {
  serverTitle,
  about: ABOUT,
  id: "w1",
  person: "octocat",
  client: { name: "Claude", domain: "claude.ai" },
  tool: "pay_order",
  message: "Pay 5 € for the order of today.",
  url: "https://pay.example.com/checkout/1",
  csrf: "c",
};

const LINEAR_ACCOUNT = {
  id: "a1",
  subject: "github:42",
  service: "linear",
  label: "ada@work.example",
  createdAt: NOW - 90_000,
  expiresAt: NOW + 90_000,
  usedAt: NOW - 60,
  usedBy: { client: "Claude", tool: "find_issues" },
};

const CONNECT = {
  serverTitle,
  about: ABOUT,
  name: "linear",
  title: "Linear",
  host: "api.linear.app",
  help: "Settings, Security & access, Personal API keys",
  asksLabel: false,
  person: "octocat",
  connected: [],
  asked: { id: "w1", client: WAIT.client, tool: "find_issues" },
  csrf: "c",
  now: NOW,
};

const BEGUN = {
  ...CONNECT,
  asked: {
    ...CONNECT.asked,
    begun: { label: RTL_NAME, others: [LINEAR_ACCOUNT.id] },
  },
};

const TASK_ID = "hYx0q2cE8v1mZrJ5hYx0q2cE8v1mZrJ5";

const WORK: readonly WorkInWords[] = [
  {
    tool: "publish_article",
    client: "Claude",
    createdAt: NOW - 4000,
    state: "waiting" as const,
  },
  {
    tool: "a_tool_with_a_name_that_is_longer_than_anybody_would_wish",
    client: LONG_NAME,
    createdAt: NOW - 90_000,
    state: "sleeping" as const,
    until: NOW + 4 * 86_400,
  },
  {
    tool: "import_calendar",
    client: "Backup (access token)",
    createdAt: NOW - 30,
    state: "running" as const,
  },
  {
    tool: "search_mail",
    client: RTL_NAME,
    createdAt: NOW - 8000,
    state: "done" as const,
  },
  { tool: "health", createdAt: NOW - 9000, state: "failed" as const },
  { tool: "tidy", createdAt: NOW - 9000, state: "asking" as const },
  { createdAt: NOW - 80_000, state: "cancelled" as const },
].map((work) => ({ ...work, taskId: TASK_ID }));

const FIELDS = parseFormFields({
  type: "object",
  required: ["title", "day"],
  properties: {
    title: { type: "string", title: "Title", maxLength: 80 },
    day: { type: "string", format: "date", title: "Day" },
    pages: { type: "integer", minimum: 1, description: "Without the cover." },
    channel: { type: "string", enum: ["web", "print"], default: "web" },
    tags: {
      type: "array",
      title: LONG_NAME,
      items: { anyOf: [{ const: "a", title: "News" }, { const: "b" }] },
    },
    notify: { type: "boolean", title: RTL_NAME, default: true },
    note: { type: "string", title: "Note", maxLength: 2000 },
  },
});

const ONE_WORK: WorkPageProps = {
  ...WORK[0],
  csrf: "c",
  back: "work",
  updatedAt: NOW - 60,
  expiresAt: NOW + 89 * 86_400,
  isOpen: true,
  statusMessage: "Three of four chapters are there.\nhttps://example.com/",
  questions: [
    {
      message: "Publish it now?",
      way: "form",
      key: "q1",
      fields: FIELDS,
    },
    { message: "Anything else?", way: "form", key: "q2" },
    {
      message: "Sign the contract.",
      way: "address",
      key: "q3",
      url: `https://${"sign.".repeat(30)}example.com/contract`,
    },
    { message: "", way: "client" },
    {
      message: `Pay 5 € for the pictures. ${LONG_NAME}`,
      way: "page",
      path: "/wait/w1",
    },
  ],
  steps: [
    { name: "draft", state: "kept", at: NOW - 3900, tries: 1 },
    { name: "pictures", state: "kept", at: NOW - 3800, tries: 3, most: 5 },
    { name: "until morning", state: "slept", at: NOW - 3000 },
    { name: "sure", state: "answered", at: NOW - 2900 },
    {
      name: "upload",
      state: "tried",
      at: NOW + 60,
      tries: 2,
      most: 5,
      said: "The printer is on fire.",
    },
    { name: LONG_NAME, state: "running", at: NOW - 40 },
    { name: "the payment", state: "awaiting", at: NOW + 7 * 86_400 },
  ],
  now: NOW,
};

const DURABLE = [
  { createdAt: NOW - 90_000, dueSeconds: NOW - 300, isParked: true, deaths: 0 },
  { createdAt: NOW - 40, dueSeconds: NOW + 18, isParked: false, deaths: 2 },
  {
    createdAt: NOW - 80_000,
    dueSeconds: NOW + 20,
    isParked: true,
    deaths: 0,
    missingSince: NOW - 3000,
  },
  {
    createdAt: NOW - 900_000,
    dueSeconds: NOW + 900,
    isParked: true,
    deaths: 0,
  },
].map((work, n) => ({
  ...work,
  taskId: `${TASK_ID.slice(0, -1)}${n}`,
  tool: n === 0 ? WORK[1].tool! : "publish_article",
}));

const TOOLS = [
  {
    name: "health",
    title: "Health",
    description: "Tell whether the server is well, and what it runs on.",
  },
  {
    name: "search_mail",
    title: "Search mail",
    description: "Find messages in the caller's mailbox.",
    scopes: ["mail:read"],
  },
];

const MANY_TOOLS = Array.from({ length: 12 }, (_, index) => ({
  name: `tool_${index}`,
  description: "Finds messages. Takes the search syntax of the mailbox.",
}));

/** A registered client. */
function client(
  clientId: string,
  client_name: string,
  metadata: Partial<Client["metadata"]>,
): Client {
  return {
    clientId,
    issuedAt: NOW - 4000,
    metadata: { client_name, ...metadata } as Client["metadata"],
  };
}

const PEOPLE: Omit<OperatorPeopleProps, "csrf" | "now"> = {
  people: [{
    subject: "github:583231",
    name: "octocat",
    email: "octocat@example.com",
    grants: [{ ...GRANT, clientName: "Claude" }],
    count: 24,
    isMore: false,
  }, {
    subject: "id.example.com/realms/example:" + "0123456789".repeat(4),
    name: LONG_NAME,
    grants: [{
      ...GRANT,
      clientName: RTL_NAME,
      redirectUri: "http://127.0.0.1:33418/",
    }, { ...GRANT, clientName: "Claude" }],
    count: 2,
    isMore: false,
  }],
  registrations: [{
    client: client("hYx0q2cE8v1mZrJ5", "Inspector", {
      redirect_uris: [
        "http://localhost:6274/oauth/callback",
        "https://client.example/a/very/long/path/that/does/not/end/callback",
      ],
    }),
    usedAt: NOW - 200,
  }],
  isFirst: true,
  next: "0123456789abcdefoctopus",
};

const MACHINE = client("nightly-build", "Nightly build", {
  grant_types: ["client_credentials"],
  redirect_uris: [],
});

const CLIENTS = {
  machines: [{ client: MACHINE, tokens: 2, isMore: false, usedAt: NOW - 3000 }],
  clients: [
    { client: MACHINE, usedAt: NOW - 3000 },
    {
      client: client("intranet", "Intranet", {
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: ["https://intranet.example.com/callback"],
      }),
    },
  ],
};

const ATTEMPTS = [
  {
    at: NOW - 40,
    step: "POST /token",
    client: "Claude",
    isStranger: false,
    count: 1,
  },
  {
    at: NOW - 300,
    step: "GET /authorize",
    client: LONG_NAME,
    isStranger: true,
    count: 57,
    failure:
      "invalid_request: redirect_uri is not one that the client registered",
  },
];

const OPERATOR_CALLS = failuresFirst([
  ...CALLS.map((call) => ({ ...call, person: "octocat", client: "Claude" })),
  {
    at: NOW - 500,
    tool: "a_tool_with_a_name_that_is_longer_than_anybody_would_wish",
    outcome: "tool_error",
    count: 1200,
    person: LONG_NAME,
    client: RTL_NAME,
  },
]);

const ERRORS: [
  name: string,
  error: Error,
  request?: Partial<RefusedRequest>,
][] = [
  ["expired", new OAuthError("invalid_request", "", { situation: "expired" })],
  [
    "signed-in",
    new OAuthError("invalid_request", "", { situation: "signed in" }),
  ],
  ["client", new OAuthError("invalid_client", "This client is not registered")],
  ["storage", new StorageError(), { status: 503 }],
  ["missing", new HttpError(404, ""), { status: 404 }],
  ["internal", new Error(), { status: 500 }],
];

const PROVIDERS = [
  { key: "work", name: "Example Company", isLast: true },
  { key: "github", name: "GitHub" },
  { key: "long", name: "AnIdentityProviderWithAVeryLongNameFor40" },
];

/** The pages by the name of their picture. */
export const GALLERY: Readonly<Record<string, JSX.Element>> = {
  ...await approvalsGallery({
    account: ACCOUNT,
    longName: LONG_NAME,
    otherName: RTL_NAME,
    now: NOW,
  }),
  "landing": (
    <LandingPage
      serverTitle={serverTitle}
      baseUrl="https://tools.example.com"
      about={ABOUT}
      tools={TOOLS}
      access={{ kind: "sign-in" }}
    />
  ),
  "landing-many-tools": (
    <LandingPage
      serverTitle={LONG_NAME}
      baseUrl="https://tools.example.com"
      tools={MANY_TOOLS}
      access={{ kind: "open" }}
    />
  ),
  "landing-local": (
    <LandingPage
      serverTitle={serverTitle}
      baseUrl="http://localhost:3000"
      tools={TOOLS}
      access={{
        kind: "credential",
        header: "Authorization",
        example: "Bearer YOUR_TOKEN",
      }}
      notice="This address is for MCP clients."
    />
  ),
  "consent": <ConsentPage {...CONSENT} />,
  "consent-unverified": (
    <ConsentPage
      {...CONSENT}
      client={clientCalled("Inspector")}
      redirectUri="http://localhost:6274/oauth/callback"
      scopes={CONSENT.scopes.filter(({ isFixed }) => isFixed)}
      tools={[{ tool: "pay", toolTitle: "Pay an invoice", needsScope: false }]}
    />
  ),
  "consent-private-use": (
    <ConsentPage
      {...CONSENT}
      client={clientCalled("Cursor")}
      redirectUri="cursor://anysphere.cursor-mcp/oauth/callback"
    />
  ),
  "consent-long": (
    <ConsentPage
      {...CONSENT}
      client={clientCalled(LONG_NAME)}
      redirectUri={`https://client.example/${"callback/".repeat(20)}`}
      tools={Array.from({ length: 120 }, (_, index) => ({
        tool: `tool_${index}`,
        toolTitle: [
          LONG_NAME.repeat(4),
          RTL_NAME,
          "✅ Verified\u202e by “GitHub”",
          "\u200b",
        ][index] ?? `Tool number ${index}`,
        needsScope: index % 9 > 0,
      }))}
      scopes={Array.from({ length: 14 }, (_, index) => ({
        scope: `${index < 8 ? "mail" : "files"}:scope${index}`,
        words: "Finds messages in your mailbox. Reads one of them.",
        opens: Array.from({ length: index }, (_, n) => `Tool number ${n}`),
      }))}
    />
  ),
  "consent-right-to-left": (
    <ConsentPage
      {...CONSENT}
      serverTitle="أدوات البريد"
      client={clientCalled(RTL_NAME)}
    />
  ),
  "callback": (
    <CallbackPage
      serverTitle={serverTitle}
      message={{ type: "oauth_callback", code: "c", state: "s" }}
      origins={[]}
    />
  ),
  "callback-error": (
    <CallbackPage
      serverTitle={serverTitle}
      message={{ type: "oauth_callback", error: "access_denied" }}
      origins={[]}
    />
  ),
  "wait": <WaitPage {...WAIT} />,
  "wait-long": (
    <WaitPage
      {...WAIT}
      client={{ name: RTL_NAME }}
      tool="a_tool_with_a_name_that_is_longer_than_anybody_would_wish"
      message={`${LONG_NAME}\n${RTL_NAME}\n${"Pay the order. ".repeat(300)}`}
      url={`https://${"checkout.".repeat(20)}example.com/${"a".repeat(500)}`}
    />
  ),
  "wait-answered": (
    <WaitAnsweredPage
      serverTitle={serverTitle}
      client={WAIT.client}
      answer="done"
    />
  ),
  "wait-not-now": (
    <WaitAnsweredPage
      serverTitle={serverTitle}
      client={{ name: "Backup", isKnown: true }}
      answer="not-now"
    />
  ),
  "wait-none": (
    <NoWaitPage serverTitle={serverTitle} person="octocat" csrf="c" />
  ),
  "wait-signed-out": (
    <SignInPage
      serverTitle={serverTitle}
      title="Waiting for you"
      heading="Is this for you?"
      lead="Sign in to see what waits for you here. The link shows nothing to anyone else."
      back="wait/w1"
      options={PROVIDERS}
    />
  ),
  "connect": <ConnectPage {...CONNECT} />,
  "connect-refused": (
    <ConnectPage
      {...BEGUN}
      several
      asksLabel
      connected={[
        { ...LINEAR_ACCOUNT, refusedAt: NOW - 600 },
        { ...LINEAR_ACCOUNT, label: RTL_NAME },
      ]}
      refusal="Linear does not take this key (401)."
    />
  ),
  "connect-oauth": (
    <ConnectPage
      {...CONNECT}
      title="GitHub"
      host="api.github.com"
      scopes={["repo", "read:org"]}
      connected={[{ ...LINEAR_ACCOUNT, scopes: ["repo"] }]}
    />
  ),
  "connect-confirm-oauth": (
    <ConfirmPage
      {...CONNECT}
      title="GitHub"
      scopes={["repo", "read:org"]}
      unnamed={["read:org"]}
      several
      checked="c"
    />
  ),
  "connect-confirm": (
    <ConfirmPage
      {...BEGUN}
      label={LINEAR_ACCOUNT.label}
      checked="c"
      isOther
    />
  ),
  "connect-done": <ConnectedPage {...BEGUN} several account={LINEAR_ACCOUNT} />,
  "connect-signed-out": (
    <SignInPage
      serverTitle={serverTitle}
      title="Connect Linear"
      lead="Sign in first. An account at Linear is connected to you alone, no matter who sent you this link."
      back="connect/linear"
      options={PROVIDERS}
    />
  ),
  "consent-accounts": (
    <ConsentPage
      {...CONSENT}
      accounts={[{ title: "Linear", since: NOW - 90_000 }, { title: "Notion" }]}
    />
  ),
  "accounts": (
    <AccountPage
      {...ACCOUNT}
      part="accounts"
      title="Your accounts at other services"
      parts={PARTS.toSpliced(2, 0, { name: "accounts", label: "Accounts" })}
    >
      <AccountsSection
        csrf="c"
        accounts={[
          { ...LINEAR_ACCOUNT, title: "Linear", isConnectable: true },
          {
            ...LINEAR_ACCOUNT,
            id: "a2",
            title: "Example Tickets",
            label: "ada@example.com",
            usedAt: NOW - 86_400,
            refusedAt: NOW - 600,
            isConnectable: true,
          },
        ]}
        offered={[{ name: "notion", title: "Notion" }]}
        now={NOW}
      />
    </AccountPage>
  ),
  "account-accounts": (
    <AccountPage {...ACCOUNT} part="accounts" title="Your accounts">
      <AccountsSection
        csrf="c"
        accounts={[
          {
            ...LINEAR_ACCOUNT,
            title: "Linear",
            isConnectable: true,
          },
          {
            ...LINEAR_ACCOUNT,
            title: "GitHub",
            scopes: ["repo", "read:org"],
            refusedAt: NOW - 60,
            isConnectable: true,
            isRevoked: true,
          },
          {
            ...LINEAR_ACCOUNT,
            label: LONG_NAME,
            usedAt: undefined,
            title: "gone",
            isConnectable: false,
          },
          {
            ...LINEAR_ACCOUNT,
            refusedAt: NOW - 600,
            title: "Linear",
            isConnectable: true,
          },
        ]}
        offered={[{ name: "notion", title: "Notion" }]}
        now={NOW}
      />
    </AccountPage>
  ),
  "account-waiting": (
    <AccountPage {...ACCOUNT}>
      <ConnectionsSection
        {...CONNECTIONS}
        waiting={
          <WaitingSection
            waits={[
              {
                ...WAIT,
                person: undefined,
                path: "/wait/w1",
                createdAt: NOW - 60,
              },
              {
                ...WAIT,
                person: { name: LONG_NAME, account: "ann@example.com" },
                path: "/wait/w2",
                client: { name: LONG_NAME },
                message: `${LONG_NAME} `.repeat(9),
                createdAt: NOW - 3000,
              },
            ]}
            now={NOW}
          />
        }
      />
    </AccountPage>
  ),
  "account-signed-out": (
    <SignInPage
      {...SIGNED_OUT}
      options={[{ name: "GitHub" }]}
    />
  ),
  "account-signed-out-several": (
    <SignInPage {...SIGNED_OUT} options={PROVIDERS} />
  ),
  "chooser": (
    <ChooserPage
      serverTitle={serverTitle}
      options={PROVIDERS}
      fields={[]}
      action="/authorize"
    />
  ),
  "account-erased": (
    <SignInPage
      {...SIGNED_OUT}
      options={[{ name: "GitHub" }]}
      notice="Erased. You are signed out, and every app has to ask again."
    />
  ),
  "account": (
    <AccountPage {...ACCOUNT}>
      <ConnectionsSection {...CONNECTIONS} />
    </AccountPage>
  ),
  "account-changes": (
    <AccountPage {...ACCOUNT} notice={{ change: "paused", names: ["Cursor"] }}>
      <ConnectionsSection {...CHANGES} />
    </AccountPage>
  ),
  "account-empty": (
    <AccountPage
      {...ACCOUNT}
      notice={{ change: "ended", names: ["Claude"], count: 3 }}
    >
      <ConnectionsSection {...CONNECTIONS} clients={[]} />
    </AccountPage>
  ),
  "account-names": (
    <AccountPage {...ACCOUNT} person={LONG_NAME}>
      <ConnectionsSection
        {...CONNECTIONS}
        clients={[LONG_NAME, RTL_NAME, "👩‍👩‍👧‍👦🏳️‍🌈"].map((name) => ({
          name,
          signIns: ["g1", "g2", "g3", "g4"].map((id) => ({ ...GRANT, id })),
        }))}
      />
    </AccountPage>
  ),
  "account-tokens": (
    <AccountPage {...ACCOUNT} part="tokens" title="Your access tokens">
      {TOKENS}
    </AccountPage>
  ),
  "account-calls": (
    <AccountPage {...ACCOUNT} part="calls" title="Latest calls">
      <CallsSection
        calls={CALLS.map((call) => ({
          ...call,
          person: "octocat",
          client: "Claude",
        }))}
        filter={{}}
        now={NOW}
      />
    </AccountPage>
  ),
  "account-work": (
    <AccountPage {...ACCOUNT} part="work" title="Your work">
      <WorkSection work={WORK} count={120} now={NOW} />
    </AccountPage>
  ),
  "account-work-empty": (
    <AccountPage {...operator("work", "Your work")}>
      <WorkSection work={[]} count={0} now={NOW} />
    </AccountPage>
  ),
  "account-work-one": (
    <AccountPage {...ACCOUNT} part="work" title="Your work">
      <WorkPage {...ONE_WORK} />
    </AccountPage>
  ),
  "account-work-done": (
    <AccountPage
      {...ACCOUNT}
      part="work"
      title="Your work"
      notice={{ change: "over" }}
    >
      <WorkPage
        {...ONE_WORK}
        state="done"
        isOpen={false}
        questions={[]}
        steps={[{ name: "draft", state: "uncertain", at: NOW - 3900 }]}
        result={{
          text: `A report.\n\n${LONG_NAME} ${RTL_NAME}\n`.repeat(4),
          isTruncated: true,
        }}
      />
    </AccountPage>
  ),
  "account-durable": (
    <AccountPage {...operator("durable", "Everyone’s durable work")}>
      <OperatorWork
        work={DURABLE}
        hasMore
        wakes={200}
        failures={[
          {
            tool: "publish_article",
            step: "upload",
            count: 57,
            since: NOW - 90_000,
            at: NOW - 40,
          },
          {
            tool: WORK[1].tool!,
            step: LONG_NAME,
            count: 1,
            since: NOW - 400,
            at: NOW - 400,
          },
        ]}
        now={NOW}
      />
    </AccountPage>
  ),
  "account-durable-empty": (
    <AccountPage {...operator("durable", "Everyone’s durable work")}>
      <OperatorWork
        work={[]}
        hasMore={false}
        wakes={200}
        failures={[]}
        now={NOW}
      />
    </AccountPage>
  ),
  "account-data": (
    <AccountPage {...ACCOUNT} part="data" title="Your data">
      <DataSection
        csrf="c"
        providerName="GitHub"
        mayErase
        kept={keptAbout(KEPT_DATA, keptUnder({}))}
      />
    </AccountPage>
  ),
  "account-data-later": (
    <AccountPage {...ACCOUNT} part="data" title="Your data">
      <DataSection
        csrf="c"
        providerName="GitHub"
        mayErase={false}
        kept={keptAbout(KEPT_DATA, keptUnder({ OAUTH_LEDGER_DAYS: "0" }))}
      />
    </AccountPage>
  ),
  "account-people": (
    <AccountPage {...operator("people", "Everyone’s connections")}>
      <OperatorPeople {...PEOPLE} csrf="c" now={NOW} />
    </AccountPage>
  ),
  "account-people-empty": (
    <AccountPage {...operator("people", "Everyone’s connections")}>
      <OperatorPeople
        people={[]}
        registrations={[]}
        isFirst
        csrf="c"
        now={NOW}
      />
    </AccountPage>
  ),
  "account-everyones-calls": (
    <AccountPage {...operator("calls", "Latest calls")}>
      <CallsSection
        calls={OPERATOR_CALLS}
        filter={{}}
        isForOperators
        hasMore
        now={NOW}
      />
    </AccountPage>
  ),
  "account-calls-filtered": (
    <AccountPage {...operator("calls", "Latest calls")}>
      <CallsSection
        calls={[]}
        filter={{ person: "octo", client: "claude", outcome: "tool_error" }}
        isForOperators
        now={NOW}
      />
    </AccountPage>
  ),
  "account-clients": (
    <AccountPage {...operator("clients", "Clients you set up")}>
      <OperatorClients {...CLIENTS} csrf="c" now={NOW} />
    </AccountPage>
  ),
  "account-attempts": (
    <AccountPage {...operator("attempts", "The last attempts to connect")}>
      <OperatorAttempts attempts={ATTEMPTS} now={NOW} />
    </AccountPage>
  ),
  "dev-sign-in": (
    <DevSignInPage serverTitle={serverTitle} action="/" fields={{}} />
  ),
  ...Object.fromEntries(
    ERRORS.map(([name, error, request]) => [
      `error-${name}`,
      <ErrorPage
        key={name}
        serverTitle={serverTitle}
        about={ABOUT}
        reference="nR3xk1v0aQ2m"
        {...errorWords(error, {
          status: 400,
          base: "",
          method: "GET",
          path: "/authorize",
          ...request,
        })}
      />,
    ]),
  ),
};

/** Serves the gallery, each page under its name. */
export const gallery = new Hono().get("/:name", (c) => {
  const content = GALLERY[c.req.param("name")];
  if (!content) return c.notFound();
  const script = `${content}`.includes(PASSKEY_SCRIPT)
    ? PASSKEY_SCRIPT
    : undefined;
  return page(c, content, { forms: "any", script });
});
