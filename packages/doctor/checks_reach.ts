/**
 * The checks that clients can reach the server, and that it responds as MCP
 * requires.
 *
 * @module
 */
import { SignIn } from "../client/mod.ts";
import { parseObject } from "./answer.ts";
import type { Check } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";
import { OTHER_ORIGIN, type Site } from "./site.ts";

/** The headers of RFC 7540 §3.2 in the first request of Java's HttpClient. */
const H2C_UPGRADE = {
  "connection": "Upgrade, HTTP2-Settings",
  "upgrade": "h2c",
  "http2-settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
};

/** The requirements of any MCP client, in the order in which it meets them. */
export const REACH_CHECKS: readonly Check[] = [
  {
    name: "Health",
    async run(site) {
      await site.locate();
      const { status, text } = await site.send(`${site.base}/health`);
      if (status === 200 && text.includes('"ok"')) return "the server is up";
      if (status >= 500) {
        throw new Fault(
          `GET /health answers ${status}`,
          "Look at the server's log, and at any proxy in front of it.",
        );
      }
      throw new Skipped("there is no /health, which no standard asks for");
    },
  },
  {
    name: "Readiness",
    async run(site) {
      const { status, text } = await site.send(`${site.base}/ready`);
      if (status === 200 && text.includes('"ok"')) {
        return "the database answers";
      }
      if (status !== 503) {
        throw new Skipped("there is no /ready, which no standard asks for");
      }
      throw new Fault(
        "GET /ready answers 503: the database does not answer, is full or of " +
          "a release with another layout, or the server is about to end",
        "Look at the server's log, at KV_PATH, and at the disk.",
      );
    },
  },
  {
    name: "Public address (Claude, ChatGPT)",
    run(site) {
      const isTls = new URL(site.origin).protocol === "https:";
      if (isTls && site.options.namesNoProxy) {
        throw new Fault(
          "TLS ends at a proxy that TRUSTED_PROXIES does not name: all of its " +
            "clients share one limit",
          "Set TRUSTED_PROXIES to its address; on Deno Deploy there is none.",
          "warning",
        );
      }
      if (site.isLocal) {
        throw new Fault(
          "only this machine reaches it",
          "Deploy it for clients that call from the internet.",
          "warning",
        );
      }
      if (isTls) return "https, with a certificate that is trusted";
      throw new Fault(
        "http, which clients refuse beyond loopback",
        "Put TLS in front of it, and set BASE_URL to the https address.",
      );
    },
  },
  {
    name: "POST /mcp (everyone)",
    async run(site) {
      const { status, headers, text } = await site.greeting();
      if (status === 401) return "asks for credentials";
      const fix = "Look at the server's log: initialize must be answered.";
      if (status !== 200) throw new Fault(`answers ${status}`, fix);
      const { result, error } = parseObject("/mcp", text, fix);
      if (!result || error) throw new Fault("initialize is refused", fix);
      return `answers, ${
        headers.has("mcp-session-id") ? "with" : "without"
      } a session, and no one has to sign in`;
    },
  },
  {
    name: "GET /mcp (everyone)",
    async run(site) {
      const { status, headers } = await site.send(site.mcp, {
        headers: { accept: "text/event-stream" },
      });
      const type = headers.get("content-type") ?? "";
      if (status === 200 && type.startsWith("text/event-stream")) {
        return "a stream for 2025 clients";
      }
      if (status === 401 || status === 400) {
        return `${status}: it is asked for credentials or a session first`;
      }
      if (status !== 405) {
        throw new Fault(
          `answers ${status}`,
          "It must be 405 or a stream, or clients wait for one in vain.",
        );
      }
      if (!headers.get("allow")?.includes("POST")) {
        throw new Fault(
          "405 without Allow",
          "Name POST and DELETE in Allow (RFC 9110 §15.5.6).",
          "warning",
        );
      }
      return "405, and clients go on with POST";
    },
  },
  {
    name: "Upgrade to HTTP/2 (Java)",
    async run(site) {
      if (new URL(site.origin).protocol === "https:") {
        return "agreed on by TLS, before a request is sent";
      }
      const { status } = await site.greeting();
      const upgrading = await site.greet(H2C_UPGRADE);
      if (upgrading.status === status) return "a request to upgrade is ignored";
      throw new Fault(
        `answers ${upgrading.status} to Upgrade: h2c, which Java's HttpClient ` +
          "sends over http",
        "In the client, set version(HttpClient.Version.HTTP_1_1), or use https.",
        "warning",
      );
    },
  },
  { name: "Requests that do not end (strangers)", run: checkHalfSent },
  {
    name: "Long bodies (everyone)",
    async run(site) {
      const { status } = await site.send(site.mcp, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}".padEnd(4_000_000),
      }).catch(() => {
        throw new Skipped("a body of 4 MB was not answered");
      });
      // Caddy answers 502 once it has passed on as much as its limit allows.
      if (status !== 413 && status < 500) return "4 MB are not too long";
      throw new Fault(
        `answers ${status} to a body of 4 MB, and a Tool Server takes 4 MiB`,
        "In your proxy let 5 MB pass (Caddyfile: request_body max_size 5MB, " +
          "and @long; nginx.conf: client_max_body_size 5m).",
        "warning",
      );
    },
  },
  {
    name: "Strict-Transport-Security (browsers)",
    async run(site) {
      if (new URL(site.origin).protocol === "http:") {
        return "https alone has it";
      }
      const { headers } = await site.greeting();
      const age = headers.get("strict-transport-security") ?? "";
      if (/max-age="?[1-9]/i.test(age)) return "a browser comes by https alone";
      throw new Fault(
        "a browser that was here may be led to http",
        'Let your proxy send Strict-Transport-Security: "max-age=31536000" ' +
          "(Caddyfile: header; nginx.conf: add_header … always).",
        "warning",
      );
    },
  },
  {
    name: "CORS of /mcp (Inspector and other pages)",
    async run(site) {
      await checkPreflight(site, site.mcp, [
        "authorization",
        "content-type",
        "mcp-protocol-version",
        "mcp-session-id",
      ]);
      const { headers } = await site.greeting();
      const exposed = lower(headers, "access-control-expose-headers");
      for (const name of ["mcp-session-id", "www-authenticate"]) {
        // A header that the server does not send need not be readable.
        if (exposed.includes(name) || !headers.has(name)) continue;
        throw new Fault(
          `a page cannot read ${name}`,
          "Name it in Access-Control-Expose-Headers.",
        );
      }
      return "a page on another origin may call and read the answer";
    },
  },
  {
    name: "Challenge (everyone)",
    async run(site) {
      const { status, headers } = await site.greeting();
      if (status !== 401) throw new Skipped("no one signs in here");
      if (!headers.get("www-authenticate")) {
        throw new Fault(
          "401 without WWW-Authenticate",
          "Let the header through any proxy: clients find the sign-in by it.",
        );
      }
      const { metadataUrl = "", error } = SignIn.parseChallenge(headers);
      if (!/^https?:/.test(metadataUrl)) {
        throw new Skipped("clients send a credential that is given to them");
      }
      if (error !== undefined) {
        throw new Fault(
          "the challenge names an error although no credentials were sent",
          "Leave error out (RFC 6750 §3.1): some clients give up on it.",
        );
      }
      return "401 says where to sign in";
    },
  },
];

/**
 * Checks that the server ends two unfinished requests: one stops within its
 * headers, the other within its body.
 *
 * @throws {Fault} a warning
 */
async function checkHalfSent(site: Site): Promise<string> {
  const { host, pathname } = new URL(site.mcp);
  const start = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n`;
  const ended = await Promise.all(
    HALF_SENT.map(({ more }) => site.endsHalfSent(start + more)),
  );
  const held = HALF_SENT.filter((_, index) => !ended[index]);
  if (held.length === 0) return "a request that is half sent is ended";
  const by = held.map(({ by }) => by).join(" and by ");
  const bounds = held.map(({ bound }) => bound).join(", and ");
  throw new Fault(
    `a stranger holds a connection for as long as they like, by ${by}`,
    `In your proxy set ${bounds}. deploy/ has both files.`,
    "warning",
  );
}

/** The two unfinished requests, and the settings of proxies that limit them. */
const HALF_SENT = [
  {
    more: "accept: ",
    by: "headers that do not end",
    bound: "a time for headers (Caddyfile: read_header 10s; nginx.conf: " +
      "client_header_timeout 10s)",
  },
  {
    more: "content-type: application/json\r\ncontent-length: 33000000\r\n\r\n{",
    by: "a long body that does not arrive",
    bound: "the longest body (Caddyfile: respond 413 to a longer " +
      "Content-Length, request_body max_size 5MB; nginx.conf: " +
      "client_max_body_size 5m, client_body_timeout 30s)",
  },
];

/**
 * Checks that a page of another origin may POST with these headers.
 *
 * @throws {Fault}
 */
export async function checkPreflight(
  site: Site,
  target: string,
  names: readonly string[],
): Promise<void> {
  const { status, headers } = await site.send(target, {
    method: "OPTIONS",
    headers: {
      "origin": OTHER_ORIGIN,
      "access-control-request-method": "POST",
      "access-control-request-headers": names.join(","),
    },
  });
  if (status !== 200 && status !== 204) {
    throw new Fault(
      `OPTIONS ${target} answers ${status}`,
      "Answer preflights before any check of credentials.",
    );
  }
  checkAllowedOrigin(target, headers);
  const allowed = lower(headers, "access-control-allow-headers");
  for (const name of names) {
    // Fetch Standard: * does not cover Authorization.
    if (allowed.includes(name)) continue;
    if (allowed.includes("*") && name !== "authorization") continue;
    throw new Fault(
      `a page may not send ${name} to ${target}`,
      "Name it in Access-Control-Allow-Headers.",
    );
  }
}

/** @throws {Fault} */
export function checkAllowedOrigin(target: string, headers: Headers): void {
  const allowed = headers.get("access-control-allow-origin");
  if (allowed === "*" || allowed === OTHER_ORIGIN) return;
  throw new Fault(
    `a page on another origin cannot read ${target}`,
    "Send Access-Control-Allow-Origin, on errors too.",
  );
}

function lower(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? "").toLowerCase().split(/\s*,\s*/);
}
