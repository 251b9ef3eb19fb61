/**
 * The checks that the known clients can sign in.
 *
 * @module
 */
import { checkAllowedOrigin, checkPreflight } from "./checks_reach.ts";
import type { Check } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Json } from "../client/mod.ts";
import { baseUrlFix, OTHER_ORIGIN, parseObject, type Site } from "./site.ts";

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

/** A server gives up its provider after ten seconds. */
const PROVIDER_LOOKS = 44;
const PROVIDER_PAUSE_MILLISECONDS = 250;

/** Redirect URIs that must be refused. */
const REFUSED = [
  "javascript:alert(1)",
  "http://attacker.example/callback",
  "https://user@client.example/callback",
  "https://client.example/callback#fragment",
];

/** The steps of a client between the challenge and the person's browser. */
export const SIGN_IN_CHECKS: readonly Check[] = [
  {
    name: "Sign-in provider (everyone)",
    async run(site) {
      switch (await askForProvider(site)) {
        case "ok":
          return "answers the server; ending at /account tells it nothing";
        case "unavailable":
          throw new Fault(
            "does not answer the server, so no one can sign in",
            "Look for “No one can sign in” in the server's log: it names the " +
              "setting and the reason. Check OAUTH_PROVIDER and OAUTH_ISSUER, " +
              "and that the machine reaches that address (DNS, firewall, " +
              "HTTPS_PROXY).",
          );
        case "misbehaved":
          throw new Fault(
            "answers the server with what is no sign-in, so no one can",
            "Check OAUTH_ISSUER: “No one can sign in” in the server's log " +
              "says what it found there.",
          );
      }
      throw new Skipped("the server does not tell how its provider is");
    },
  },
  {
    name: "Resource metadata (everyone)",
    async run(site) {
      const { resource } = await site.resourceMetadata();
      if (resource !== site.mcp) {
        throw new Fault(
          `this server believes it is ${JSON.stringify(resource)}, clients ` +
            `were given ${JSON.stringify(site.mcp)}`,
          baseUrlFix(site),
        );
      }
      const well = "/.well-known/oauth-protected-resource";
      const { pathname } = new URL(site.mcp);
      for (const target of new Set([`${well}${pathname}`, well])) {
        const { status, text } = await site.send(target);
        const fix =
          `Serve it at ${target} too: some clients look nowhere else.`;
        if (status === 200) {
          const document = parseObject(target, text, fix);
          if (document.resource === resource) continue;
          throw new Fault(`${target} names another resource`, fix);
        }
        throw new Fault(`${target} answers ${status}`, fix, "warning");
      }
      return "names this server, at every address";
    },
  },
  {
    name: "Issuer (everyone)",
    async run(site) {
      const issuer = await site.issuer();
      const { issuer: named } = await site.serverMetadata();
      if (named === issuer) return `${issuer}, byte for byte the same`;
      throw new Fault(
        `the server metadata says ${JSON.stringify(named)}, the resource ${
          JSON.stringify(issuer)
        }`,
        "Both must be BASE_URL, without a trailing slash (RFC 8414 §3.3).",
      );
    },
  },
  {
    name: "Endpoints (everyone)",
    async run(site) {
      const { protocol } = new URL(site.origin);
      const { registration_endpoint } = await site.serverMetadata();
      const names = ["authorization", "token"];
      if (registration_endpoint !== undefined) names.push("registration");
      for (const name of names) {
        const url = new URL(await site.endpoint(name));
        if (url.protocol === protocol) continue;
        throw new Fault(`${name}_endpoint is ${url.href}`, baseUrlFix(site));
      }
      return `${names.join(", ")}: all are there`;
    },
  },
  {
    name: "Registration (everyone)",
    async run(site) {
      await site.registrationEndpoint();
      return "clients may register themselves";
    },
  },
  {
    name: "CORS of the OAuth endpoints (Inspector and other pages)",
    async run(site) {
      const metadata = [
        await site.resourceMetadataUrl(),
        `${await site.issuer()}/.well-known/oauth-authorization-server`,
      ];
      for (const target of metadata) {
        const { headers } = await site.send(target, {
          headers: { origin: OTHER_ORIGIN },
        });
        checkAllowedOrigin(target, headers);
      }
      const { registration_endpoint } = await site.serverMetadata();
      for (const name of ["token", "registration"]) {
        if (name === "registration" && !registration_endpoint) continue;
        const target = await site.endpoint(name);
        await checkPreflight(site, target, ["content-type"]);
      }
      return "a page on another origin may read and use them";
    },
  },
  {
    name: "PKCE (everyone)",
    async run(site) {
      await requireListed(site, "code_challenge_methods_supported", "S256");
      return "S256 is advertised";
    },
  },
  {
    name: "Public clients (Claude, Cursor, VS Code, Inspector)",
    async run(site) {
      await requireListed(
        site,
        "token_endpoint_auth_methods_supported",
        "none",
      );
      await requireListed(site, "grant_types_supported", "refresh_token");
      return "need no secret, and may refresh";
    },
  },
  {
    name: "Authorization response issuer (ChatGPT)",
    async run(site) {
      const metadata = await site.serverMetadata();
      if (metadata.authorization_response_iss_parameter_supported === true) {
        return "iss is promised";
      }
      throw new Fault(
        "iss is not promised",
        "Send iss and advertise it (RFC 9207).",
        "warning",
      );
    },
  },
  {
    name: "Client ID metadata documents (Claude, VS Code)",
    async run(site) {
      const metadata = await site.serverMetadata();
      if (metadata.client_id_metadata_document_supported === true) {
        return "are accepted";
      }
      if (site.isLocal) return "are off on this machine: clients register";
      throw new Fault(
        "are not accepted, so clients register themselves again and again",
        "Leave CIMD_ENABLED unset, or set it to true.",
        "warning",
      );
    },
  },
  {
    name: "OpenID configuration (ChatGPT)",
    async run(site) {
      const target = "/.well-known/openid-configuration";
      await site.resourceMetadata();
      const { status, text } = await site.send(target);
      if (status !== 200) return "is not there, and need not be";
      const fix = "Remove it: half a document is worse than none.";
      if ("jwks_uri" in parseObject(target, text, fix)) return "is complete";
      throw new Fault("is there without jwks_uri", fix);
    },
  },
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
        const { status } = await post(site, target, clientMetadata([uri]));
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
        throw new Fault(
          "its answers may be cached",
          "Send Cache-Control: no-store.",
        );
      }
      return "refuses an unknown code as clients expect";
    },
  },
];

/** Asks the server for the state of its provider, until it knows it. */
async function askForProvider(site: Site): Promise<unknown> {
  for (let left = PROVIDER_LOOKS;; left--) {
    const { status, text } = await site.send(`${site.base}/ready`);
    // Nothing of ours, or told already.
    if (status !== 200 || !text.startsWith("{")) return undefined;
    const { provider } = parseObject("/ready", text, "Answer with JSON.");
    if (provider !== "unknown" || left === 0) return provider;
    await new Promise((resolve) =>
      setTimeout(resolve, PROVIDER_PAUSE_MILLISECONDS)
    );
  }
}

async function requireListed(
  site: Site,
  member: string,
  value: string,
): Promise<void> {
  const list = (await site.serverMetadata())[member];
  if (Array.isArray(list) && list.includes(value)) return;
  throw new Fault(
    `${member} does not name ${value}`,
    `Add ${value} to ${member}.`,
  );
}

function clientMetadata(redirectUris: readonly string[]): Json {
  return {
    client_name: "Doctor",
    redirect_uris: redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

function post(site: Site, target: string, body: Json) {
  return site.send(target, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Registers a client and gives its `client_id`. */
async function register(
  site: Site,
  redirectUris: readonly string[],
): Promise<string> {
  const target = await site.registrationEndpoint();
  const { status, text } = await post(
    site,
    target,
    clientMetadata(redirectUris),
  );
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
