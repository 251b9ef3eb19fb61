/**
 * The checks that known clients can register and send a person to the sign-in
 * page, and that unsafe ones cannot.
 *
 * @module
 * @see RFC 7591, RFC 6749 §4.1
 */
import { SignIn } from "../client/mod.ts";
import { parseObject } from "./answer.ts";
import type { Check } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Site } from "./site.ts";

/** The redirect URIs with which the known clients register. */
const REGISTRATIONS: Readonly<Record<string, readonly string[]>> = {
  "Claude": [
    "https://claude.ai/api/mcp/auth_callback",
    "https://claude.com/api/mcp/auth_callback",
  ],
  "Claude Code": ["http://localhost:3118/callback"],
  "ChatGPT": [
    "https://chatgpt.com/connector/oauth/doctor",
    "https://chatgpt.com/connector_platform_oauth_redirect",
  ],
  "Codex": ["http://127.0.0.1:1455/callback"],
  "Cursor": [
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "http://localhost:8787/callback",
    "https://www.cursor.com/agents/mcp/oauth/callback",
  ],
  "VS Code": [
    "https://vscode.dev/redirect",
    "https://insiders.vscode.dev/redirect",
    "http://127.0.0.1/",
    "http://127.0.0.1:33418/",
  ],
  "Inspector": ["http://localhost:6274/oauth/callback"],
  "Microsoft 365 Copilot": [
    "https://teams.microsoft.com/api/platform/v1.0/oAuthRedirect",
  ],
};

/** Redirect URIs that must be refused. */
const REFUSED = [
  "javascript:alert(1)",
  "http://attacker.example/callback",
  "https://user@client.example/callback",
  "https://client.example/callback#fragment",
];

/** The steps of a client from its registration to its tokens. */
export const REGISTRATION_CHECKS: readonly Check[] = [
  ...Object.entries(REGISTRATIONS).map(([client, redirectUris]): Check => ({
    name: `Registration (${client})`,
    async run(site) {
      await register(site, redirectUris);
      return "its redirect URIs are accepted";
    },
  })),
  {
    name: "Dangerous redirect URIs",
    async run(site) {
      const target = await site.registrationEndpoint();
      for (const uri of REFUSED) {
        const { status } = await post(site, target, [uri]);
        if (status === 400) continue;
        throw new Fault(
          `a client with ${uri} is answered ${status}`,
          "Refuse it with 400 invalid_redirect_uri.",
        );
      }
      return "dangerous redirect URIs are refused";
    },
  },
  {
    name: "Consent page (everyone)",
    async run(site) {
      const [redirectUri] = REGISTRATIONS.Inspector;
      const clientId = await register(site, [redirectUri]);
      const authorize = await authorizeUrl(site, clientId, redirectUri);
      const { status, headers } = await site.send(authorize);
      if (status !== 200) {
        throw new Fault(
          `a correct request is answered ${status}`,
          "Look at the server's log for its reason.",
        );
      }
      const policy = headers.get("content-security-policy") ?? "";
      if (policy.includes("form-action")) {
        throw new Fault(
          "its policy names form-action, which breaks cursor: and localhost",
          "Leave form-action out of that page, and out of any proxy's policy.",
        );
      }
      if (!policy.includes("frame-ancestors 'none'")) {
        throw new Fault(
          "another site may frame it",
          "Let its Content-Security-Policy through any proxy.",
        );
      }
      return "asks the person, unframed, and leads anywhere";
    },
  },
  {
    name: "Unregistered redirect URI",
    async run(site) {
      const clientId = await register(site, REGISTRATIONS.Inspector);
      const stranger = "https://stranger.example/callback";
      const authorize = await authorizeUrl(site, clientId, stranger);
      const { status, headers } = await site.send(authorize);
      if (status >= 400 && status < 500 && !headers.has("location")) {
        return "is refused on a page";
      }
      throw new Fault(
        `is answered ${status}`,
        "Never send a browser to an address that was not registered.",
      );
    },
  },
  {
    name: "Token endpoint (everyone)",
    async run(site) {
      const clientId = await register(site, REGISTRATIONS.Inspector);
      const target = await site.endpoint("token");
      const { status, headers, text } = await site.send(target, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "authorization_code",
          client_id: clientId,
          code: "unknown",
          code_verifier: "v".repeat(43),
          redirect_uri: REGISTRATIONS.Inspector[0],
        }),
      });
      const fix = "Answer 400 with invalid_grant (RFC 6749 §5.2).";
      const { error } = parseObject(target, text, fix);
      if (status !== 400 || error !== "invalid_grant") {
        throw new Fault(`an unknown code is answered ${status} ${error}`, fix);
      }
      if (!headers.get("cache-control")?.includes("no-store")) {
        throw new Fault("may be cached", "Send Cache-Control: no-store.");
      }
      return "refuses an unknown code as clients expect";
    },
  },
];

function post(site: Site, target: string, redirectUris: readonly string[]) {
  return site.send(target, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(SignIn.clientMetadata("Doctor", redirectUris)),
  });
}

/** Registers a client and returns its `client_id`. */
async function register(
  site: Site,
  redirectUris: readonly string[],
): Promise<string> {
  const target = await site.registrationEndpoint();
  const { status, text } = await post(site, target, redirectUris);
  const fix = "Accept https, loopback and private-use redirect URIs.";
  if (status === 429) {
    throw new Skipped("too many requests from here: try again in a minute");
  }
  if (status !== 201) {
    throw new Fault(`is answered ${status} ${text.slice(0, 200)}`, fix);
  }
  const { client_id } = parseObject(target, text, fix);
  if (typeof client_id === "string") return client_id;
  throw new Fault("gives no client_id", "Return client_id (RFC 7591 §3.2.1).");
}

async function authorizeUrl(
  site: Site,
  clientId: string,
  redirectUri: string,
): Promise<string> {
  const url = new URL(await site.endpoint("authorization"));
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    // RFC 7636, appendix B.
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    state: "doctor",
  }).toString();
  return url.href;
}
