/** @jsxImportSource @hono/hono/jsx */
/**
 * Every page in every state that looks different, with sample contents.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import type { JSX } from "@hono/hono/jsx/jsx-runtime";
import {
  AccountPage,
  type AccountProps,
  type ConnectionInWords,
  SignInPage,
} from "../../src/pages/account_page.tsx";
import { CallbackPage } from "../../src/pages/callback_page.tsx";
import {
  ConsentPage,
  type ConsentProps,
} from "../../src/pages/consent_page.tsx";
import { DevSignInPage } from "../../src/upstream/dev/dev_sign_in_page.tsx";
import { ErrorPage } from "../../src/pages/error_page.tsx";
import { LandingPage } from "../../src/pages/landing_page.tsx";
import { OperatorSection } from "../../src/pages/operator_section.tsx";
import { page } from "../../src/pages/respond.ts";

const serverTitle = "Tool Server";

const CONSENT: ConsentProps = {
  serverTitle,
  clientName: "Claude",
  clientVerification: { kind: "document", domain: "claude.ai" },
  redirectUri: "https://claude.ai/api/mcp/auth_callback",
  redirectKind: "https",
  providerName: "GitHub",
  scopes: [
    {
      scope: "mail:read",
      words: "Finds messages in your mailbox. Reads one of them.",
    },
    { scope: "mail:send", words: "Sends a message." },
  ],
  fields: { request: "r", csrf: "c" },
  action: "/authorize",
};

const NOW = 1_790_000_000;

const GRANT: ConnectionInWords = {
  grantId: "g1",
  createdAt: NOW - 30 * 86_400,
  usedAt: NOW - 120,
  scopes: ["mail:read", "mail:send"],
  sessions: 2,
};

const ACCOUNT: AccountProps = {
  serverTitle,
  person: "octocat",
  providerName: "GitHub",
  csrf: "c",
  now: NOW,
  clients: [
    {
      clientId: "https://claude.ai/oauth/client",
      name: "Claude",
      domain: "claude.ai",
      connections: [GRANT],
    },
    {
      clientId: "c2",
      name: "Cursor",
      connections: [
        { ...GRANT, sessions: 0, scopes: [], usedAt: NOW - 4000 },
        { ...GRANT, sessions: 1, usedAt: NOW - 90_000 },
      ],
    },
  ],
};

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

/** The pages by the name of their picture. */
export const GALLERY: Readonly<Record<string, JSX.Element>> = {
  "landing": (
    <LandingPage
      serverTitle={serverTitle}
      baseUrl="https://tools.example.com"
      tools={TOOLS}
      entry={{ kind: "sign-in" }}
    />
  ),
  "landing-local": (
    <LandingPage
      serverTitle={serverTitle}
      baseUrl="http://localhost:3000"
      tools={TOOLS}
      entry={{
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
      clientName="Inspector"
      clientVerification={{ kind: "self-asserted" }}
      redirectUri="http://localhost:6274/oauth/callback"
      redirectKind="loopback"
      scopes={[]}
    />
  ),
  "consent-private-use": (
    <ConsentPage
      {...CONSENT}
      clientName="Cursor"
      clientVerification={{ kind: "self-asserted" }}
      redirectUri="cursor://anysphere.cursor-mcp/oauth/callback"
      redirectKind="private-use"
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
  "account-signed-out": (
    <SignInPage serverTitle={serverTitle} providerName="GitHub" />
  ),
  "account": <AccountPage {...ACCOUNT} />,
  "account-empty": <AccountPage {...ACCOUNT} clients={[]} ended={1} />,
  "account-operator": (
    <AccountPage {...ACCOUNT}>
      <OperatorSection
        csrf="c"
        now={NOW}
        grants={[{
          ...GRANT,
          subject: "github:583231",
          person: "octocat",
          clientName: "Claude",
        }]}
        registrations={[{
          clientId: "hYx0q2cE8v1mZrJ5",
          clientName: "Inspector",
          issuedAt: NOW - 4000,
          redirectUris: ["http://localhost:6274/oauth/callback"],
        }]}
        attempts={[
          { at: NOW - 40, step: "POST /token", client: "Claude", count: 1 },
          {
            at: NOW - 300,
            step: "GET /authorize",
            client: "Cursor",
            count: 57,
            failure:
              "invalid_request: redirect_uri is not one that the client registered",
          },
        ]}
      />
    </AccountPage>
  ),
  "dev-sign-in": (
    <DevSignInPage serverTitle={serverTitle} action="/" fields={{}} />
  ),
  "error": (
    <ErrorPage
      serverTitle={serverTitle}
      title="This sign-in has expired"
      happened="The page was open for more than ten minutes, and its request is no longer kept."
      move="Go back to the app and connect again."
      reference="nR3xk1v0aQ2m"
    />
  ),
};

/** Serves the gallery, each page under its name. */
export const gallery = new Hono().get("/:name", (c) => {
  const content = GALLERY[c.req.param("name")];
  return content ? page(c, content, { forms: "any" }) : c.notFound();
});
