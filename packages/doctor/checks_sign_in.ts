/**
 * The checks of the sign-in: its provider, and the metadata by which clients
 * find it.
 *
 * @module
 * @see RFC 9728, RFC 8414
 */
import { pause } from "../../src/core/clock.ts";
import { isObject } from "../../src/core/json.ts";
import { callbackAt } from "../../src/core/settings/providers.ts";
import { parseObject } from "./answer.ts";
import type { Check } from "./check.ts";
import { checkAllowedOrigin, checkPreflight } from "./checks_reach.ts";
import { Fault, Skipped } from "./finding.ts";
import { baseUrlFix, OTHER_ORIGIN, type Site } from "./site.ts";

/**
 * The maximum number of reads of `/ready`. Together they take 11 seconds,
 * because a server waits ten for a provider.
 */
const PROVIDER_LOOKS = 44;
const PROVIDER_PAUSE_MILLISECONDS = 250;

/** Checks the state of the sign-in providers, as the server reports it. */
const PROVIDER_CHECK: Check = {
  name: "Sign-in provider (everyone)",
  async run(site) {
    const states = Object.entries(await askForProviders(site));
    const worst = ["misbehaved", "unavailable", "ok"]
      .find((state) => states.some(([, is]) => is === state));
    // A single provider has no name.
    const names = states.map(([name]) => name).filter((name) => name !== "");
    const who = states.filter(([name, is]) => name && is === worst)
      .map(([name]) => `${name}: `).join("");
    const there = who && " there";
    switch (worst) {
      case "ok":
        return `${who}answers the server; ending at /account tells it nothing` +
          (names.length > 0 ? exactCallbacks(site, names) : "");
      case "unavailable":
        throw new Fault(
          `${who}does not answer the server, so no one can sign in${there}`,
          "Look for “No one can sign in” in the server's log: it names the " +
            "setting and the reason. Check OAUTH_PROVIDER and OAUTH_ISSUER, " +
            "and that the machine reaches that address (DNS, firewall, " +
            "HTTPS_PROXY).",
        );
      case "misbehaved":
        throw new Fault(
          `${who}answers the server with what is no sign-in, so no one ` +
            `can${there}`,
          "Check OAUTH_ISSUER: “No one can sign in” in the server's log " +
            "says what it found there.",
        );
    }
    throw new Skipped("the server does not tell how its provider is");
  },
};

/**
 * Lists the callback URLs to register at several providers. A provider that
 * accepts every URL beginning with a registered one would also accept another
 * provider's callback. Only the operator can see that.
 */
function exactCallbacks({ base }: Site, names: readonly string[]): string {
  const addresses = names.map((name) => callbackAt(base, name)).join(", ");
  return `; see that exactly these are registered there, one each: ${addresses}`;
}

/**
 * Reads the state of each provider, keyed by its name; by "" if there is only
 * one.
 */
async function askForProviders(site: Site): Promise<Record<string, unknown>> {
  for (let left = PROVIDER_LOOKS;; left--) {
    const { status, text } = await site.send(`${site.base}/ready`);
    // This is another kind of server, or the 503 is reported by the check of
    // readiness.
    if (status !== 200 || !text.startsWith("{")) return {};
    const ready = parseObject("/ready", text, "Answer with JSON.");
    const { provider, providers = { "": provider } } = ready;
    const states = isObject(providers) ? providers : {};
    const isKnown = !Object.values(states).includes("unknown");
    if (isKnown || left === 0) return states;
    await pause(PROVIDER_PAUSE_MILLISECONDS);
  }
}

/**
 * The checks of the provider, the documents that a client reads, and their
 * endpoints.
 */
export const SIGN_IN_CHECKS: readonly Check[] = [
  PROVIDER_CHECK,
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
        `the server metadata says ${JSON.stringify(named)}, the resource ` +
          JSON.stringify(issuer),
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
  listed("PKCE (everyone)", { code_challenge_methods_supported: "S256" }),
  listed("Public clients (Claude, Cursor, VS Code, Inspector)", {
    token_endpoint_auth_methods_supported: "none",
    grant_types_supported: "refresh_token",
  }),
  {
    name: "Authorization response issuer (ChatGPT)",
    async run(site) {
      const metadata = await site.serverMetadata();
      const name = "authorization_response_iss_parameter_supported";
      if (metadata[name] === true) return "iss is promised";
      const fix = "Send iss and advertise it (RFC 9207).";
      throw new Fault("iss is not promised", fix, "warning");
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
];

/** Makes a check that lists in the server metadata contain these values. */
function listed(name: string, values: Readonly<Record<string, string>>): Check {
  return {
    name,
    async run(site) {
      const metadata = await site.serverMetadata();
      for (const [member, value] of Object.entries(values)) {
        const list = metadata[member];
        if (Array.isArray(list) && list.includes(value)) continue;
        const found = `${member} does not name ${value}`;
        throw new Fault(found, `Add ${value} to ${member}.`);
      }
      return "all that they need is advertised";
    },
  };
}
