/**
 * The development provider: an OpenID provider below our own origin that
 * believes any name, so that the whole sign-in runs on one machine.
 *
 * People reach it through their browser. We call the same routes in-process: a
 * request over the network would have to find its way back through a proxy, a
 * port mapping or a name that only browsers resolve, and may reach another
 * process. Codes and tokens are sealed and not stored, so each process can
 * serve those of the others.
 *
 * @see OpenID Connect Core 1.0
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { basePathOf } from "../../../net/base_path.ts";
import { type Membership, MEMBERSHIPS } from "../../../caller.ts";
import { fingerprint } from "../../../crypto/crypto.ts";
import { parseMembership } from "../../rules/permissions.ts";
import { DevSignInPage } from "./dev_sign_in_page.tsx";
import { page } from "../../../pages/respond.ts";
import type { Database } from "../../../store/database.ts";
import { secretStore } from "../../../store/secrets.ts";
import { stateStore } from "../../../store/request_states.ts";
import {
  checkDevProvider,
  DEV_CLIENT_ID,
  DEV_PATH,
} from "./dev_application.ts";
import { openIdProvider } from "../openid.ts";
import type { Provider } from "../provider.ts";
import { upstreamFetch } from "../upstream_fetch.ts";
import { type Claims, devSeal } from "./dev_seal.ts";

const CODE_TTL_SECONDS = 60;

/** Short, so that a refresh is seen within an afternoon of development. */
const ACCESS_TTL_SECONDS = 300;

const REFRESH_TTL_SECONDS = 30 * 86_400;

/** The parts of a development provider. */
export interface DevProviderOptions {
  database: Database;
  /** Our public origin, without a trailing slash. */
  baseUrl: string;
  deployed: boolean;
  /** `MCP_TITLE`. */
  serverTitle: string;
}

/** The two sides of the development provider. */
export interface DevProvider {
  /** The pages for browsers, to be mounted at the root of the server. */
  routes: Hono;
  /** Its client: it calls the routes in this process. */
  provider: Provider;
}

/**
 * Makes the development provider.
 *
 * @throws {Error} when the server is not for this machine alone
 */
export function devProvider(
  { database, baseUrl, deployed, serverTitle }: DevProviderOptions,
): DevProvider {
  checkDevProvider({ baseUrl, deployed });
  const issuer = `${baseUrl}${DEV_PATH}`;
  const redirectUri = `${baseUrl}/oauth/provider-callback`;
  const { seal, open, sign, publicKey } = devSeal(secretStore(database));
  const codes = stateStore(database);
  const app = new Hono().basePath(DEV_PATH);

  app.get("/.well-known/openid-configuration", (c) =>
    c.json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["EdDSA"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      scopes_supported: ["openid", "profile", "email", "offline_access"],
      authorization_response_iss_parameter_supported: true,
    }));

  app.get("/jwks", async (c) => c.json({ keys: [await publicKey()] }));

  app.get("/authorize", (c) => {
    const request = c.req.query();
    if (!isOurs(request, redirectUri)) return refuse(c, "invalid_request");
    const props = {
      serverTitle,
      action: `${basePathOf(baseUrl)}${DEV_PATH}/authorize`,
    };
    // The redirects that follow may end at any client's address.
    return page(c, DevSignInPage({ ...props, fields: request }), {
      forms: "any",
    });
  });

  app.post("/authorize", async (c) => {
    const form = await readForm(c);
    const { state, nonce, code_challenge, name = "", groups, cancel } = form;
    if (!isOurs(form, redirectUri)) return refuse(c, "invalid_request");
    const answer = new URL(redirectUri);
    answer.searchParams.set("state", state);
    answer.searchParams.set("iss", issuer);
    if (cancel !== undefined || name.trim() === "") {
      answer.searchParams.set("error", "access_denied");
    } else {
      const claims = { nonce, code_challenge, person: person(name, groups) };
      const code = await seal("code", claims, CODE_TTL_SECONDS);
      answer.searchParams.set("code", code);
    }
    c.header("Cache-Control", "no-store");
    return c.redirect(answer.href, 303);
  });

  app.post("/token", async (c) => {
    const form = await readForm(c);
    if (form.client_id !== DEV_CLIENT_ID) return refuse(c, "invalid_client");
    c.header("Cache-Control", "no-store");
    const granted = form.grant_type === "refresh_token"
      ? await open("refresh", form.refresh_token ?? "")
      : await redeem(form);
    if (granted === undefined) return refuse(c, "invalid_grant");
    const { person, nonce } = granted;
    return c.json({
      token_type: "Bearer",
      access_token: await seal("access", { person }, ACCESS_TTL_SECONDS),
      expires_in: ACCESS_TTL_SECONDS,
      refresh_token: form.refresh_token ??
        await seal("refresh", { person }, REFRESH_TTL_SECONDS),
      id_token: await sign({
        ...(person as Person),
        iss: issuer,
        aud: DEV_CLIENT_ID,
        nonce,
      }),
    });
  });

  app.get("/userinfo", async (c) => {
    const [, token = ""] = (c.req.header("authorization") ?? "").split(" ");
    const granted = await open("access", token);
    if (granted !== undefined) return c.json(granted.person as Person);
    c.header("WWW-Authenticate", 'Bearer error="invalid_token"');
    return c.json({ error: "invalid_token" }, 401);
  });

  // Errors are handled by the server that mounts the routes; in-process they
  // are thrown to the client.
  app.onError((error) => {
    throw error;
  });

  /**
   * Gives a code's claims, only once, if the verifier matches its challenge.
   */
  async function redeem(
    form: Record<string, string>,
  ): Promise<Claims | undefined> {
    const code = await open("code", form.code ?? "");
    const ours = code !== undefined && form.redirect_uri === redirectUri &&
      fingerprint(form.code_verifier ?? "") === code.code_challenge;
    if (!ours) return undefined;
    return await codes.spend(code.jti, { expiresAt: code.exp })
      ? code
      : undefined;
  }

  const fetchRoutes: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const path = request.url.slice(baseUrl.length);
    return await app.request(path, request);
  };
  const provider = openIdProvider({
    name: "Dev Provider",
    issuer,
    clientId: DEV_CLIENT_ID,
    extra: {},
    apiUrl: issuer,
    claims: {
      memberships: Object.fromEntries(
        MEMBERSHIPS.map((kind) => [kind, [kind]]),
      ),
    },
  }, upstreamFetch(fetchRoutes));
  return { routes: app, provider };
}

/** OpenID claims of a person who typed a name. */
interface Person extends Partial<Record<Membership, string[]>> {
  sub: string;
  name: string;
  preferred_username: string;
  email?: string;
  email_verified?: boolean;
}

/** Makes a person from a name; case does not matter for the subject. */
function person(typed: string, groups?: string): Person {
  const name = typed.normalize("NFC").replaceAll(/\s+/g, " ").trim();
  const sub = name.toLowerCase();
  const mail = /^\S+@\S+$/.test(sub)
    ? { email: sub, email_verified: true }
    : undefined;
  return {
    sub,
    name,
    preferred_username: sub,
    ...mail,
    ...memberships(groups),
  };
}

/** Parses the second field: `admins, role:editor, org:acme`. */
function memberships(typed = ""): Partial<Record<Membership, string[]>> {
  const names = typed.split(",").map((name) => name.trim()).filter(Boolean);
  const found: Partial<Record<Membership, string[]>> = {};
  for (const { kind, name } of names.map(parseMembership)) {
    (found[kind] ??= []).push(name);
  }
  return found;
}

/** True if an authorization request comes from our own server. */
function isOurs(
  request: Readonly<Record<string, string>>,
  redirectUri: string,
): boolean {
  return request.client_id === DEV_CLIENT_ID &&
    request.redirect_uri === redirectUri &&
    request.response_type === "code" && Boolean(request.state) &&
    Boolean(request.code_challenge) && request.code_challenge_method === "S256";
}

async function readForm(c: Context): Promise<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(await c.req.text()));
}

function refuse(c: Context, error: string): Response {
  return c.json({ error }, 400);
}
