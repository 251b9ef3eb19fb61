/**
 * The checks before a method runs. An HTTP request is admitted by its `Origin`
 * and its caller; reads that need no caller start meanwhile. A call is checked
 * for the scopes that it needs, and for the limits on its caller.
 *
 * @module
 */
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  isStranger,
  missingScopes,
} from "../../caller.ts";
import { ChallengeError, HttpError } from "../../errors.ts";
import { isObject, type JsonObject } from "../../json.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { findResource } from "../../catalogue/find_resource.ts";
import type { Call } from "./call.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import {
  isRequestId,
  type MessageBody,
  readBody,
} from "../../protocol/messages.ts";
import { type LimitKey, limitKeyOf } from "./limits.ts";
import type { AdmittedRequest, Engine, Prefetch } from "./engine.ts";

/** The maximum number of resources that one subscription may name. */
export const MAX_URIS = 1000;

/**
 * The maximum memory of a subscription's message, enough for 1,000 URIs of 190
 * letters.
 */
const MAX_SUBSCRIPTION_BYTES = 256 * 1024;

/**
 * Checks that a call may run. Returns a promise only if the database has to be
 * read.
 *
 * @throws {ChallengeError} see {@linkcode checkGranted}
 * @throws {LimitError} 429 if its caller has reached a limit
 * @throws {HttpError} 413 for a subscription whose message is too long
 */
export function checkCall(call: Call): Promise<void> | undefined {
  const { engine, caller, catalogue, message: { method, params } } = call;
  // The message stays in memory as long as the subscription, and each of its
  // URIs costs a lookup.
  const isSubscription = method === "subscriptions/listen";
  if (isSubscription && call.messageBytes > MAX_SUBSCRIPTION_BYTES) {
    throw new HttpError(413, "The message must take at most 256 KiB of memory");
  }
  if (caller.scopes !== "all") {
    checkGranted(caller, scopesFor(catalogue, method, params) ?? []);
  }
  engine.running.check(call);
  return engine.limits.charge(method, call);
}

/** Lists the scopes that a request needs; undefined for an unknown name. */
function scopesFor(
  catalogue: Catalogue,
  method: string,
  params: JsonObject,
): readonly string[] | undefined {
  const { name, uri } = params as { name: string; uri: string };
  switch (method) {
    case "tools/call":
      return catalogue.tools.get(name)?.scopes;
    case "prompts/get":
      return catalogue.prompts.get(name)?.scopes;
    case "resources/read":
    case "resources/subscribe":
      return findResource(catalogue, uri)?.resource.scopes;
    case "completion/complete":
      return scopesOfReference(catalogue, params.ref);
    case "subscriptions/listen":
      return scopesOfFilter(catalogue, params.notifications);
    default:
      return catalogue.scopesForAdded(method, uri);
  }
}

/**
 * Lists the scopes of the prompt or resource template of a completion, because
 * its values are as private as the prompt or resource.
 */
function scopesOfReference(
  { prompts, resources, templates }: Catalogue,
  ref: unknown,
): readonly string[] | undefined {
  if (!isObject(ref)) return undefined;
  const { type, name, uri } = ref as Record<string, string>;
  if (type === "ref/prompt") return prompts.get(name)?.scopes;
  const template = templates.find(({ resource }) => resource.uri === uri);
  return (resources.get(uri) ?? template?.resource)?.scopes;
}

/**
 * Lists the scopes that a subscription needs: those for reading its resources.
 */
function scopesOfFilter(
  catalogue: Catalogue,
  filter: unknown,
): readonly string[] | undefined {
  if (!isObject(filter)) return undefined;
  const { resourceSubscriptions: uris } = filter;
  if (!Array.isArray(uris) || uris.length > MAX_URIS) return undefined;
  const needed = uris.flatMap((uri) =>
    findResource(catalogue, uri)?.resource.scopes ?? []
  );
  return [...new Set(needed)];
}

/**
 * Checks that a caller was granted scopes.
 * @throws {ChallengeError} 403 with all needed scopes; 401 for an anonymous
 * caller
 */
export function checkGranted(caller: Caller, needed: readonly string[]): void {
  if (missingScopes(caller, needed).length === 0) return;
  throw isStranger(caller)
    ? new ChallengeError("Sign in to use this", undefined, needed)
    : new ChallengeError(
      "The request needs scopes that were not granted",
      "insufficient_scope",
      needed,
    );
}

/** True if the caller could be granted all these scopes. */
export function mayBeGranted(
  { ceiling }: Caller,
  needed: readonly string[],
): boolean {
  return ceiling === undefined ||
    needed.every((scope) => ceiling.includes(scope));
}

type Incoming = Pick<AdmittedRequest, "request" | "info">;

/**
 * The maximum size in bytes of a body that is read before the caller is known.
 */
const MAX_PREFETCHED_BYTES = 16_384;

/**
 * Admits a caller. A refused sender learns nothing else. Returns a promise only
 * if the caller has to be looked up: a promise would make every other call
 * slower.
 *
 * @throws {HttpError} 403 for a foreign `Origin`
 * @throws {ChallengeError} 401 without credentials
 */
export function admit(
  engine: Engine,
  incoming: Incoming,
): MaybePromise<AdmittedRequest> {
  const { request } = incoming;
  const hasOrigin = engine.checkOrigin(request);
  if (request.method === "POST") engine.readAhead?.();
  const authenticating = engine.gate.authenticate(request.headers);
  if (!(authenticating instanceof Promise)) {
    return admitAs(engine, incoming, hasOrigin, authenticating);
  }
  const prefetched = prefetch(engine, incoming);
  return authenticating.then((authenticated) =>
    admitAs(engine, incoming, hasOrigin, authenticated, prefetched)
  );
}

function admitAs(
  { catalogue }: Engine,
  { request, info }: Incoming,
  hasOrigin: boolean,
  authenticated: Authenticated,
  prefetched?: Prefetch,
): AdmittedRequest {
  return {
    request,
    info,
    hasOrigin,
    version: request.headers.get("mcp-protocol-version"),
    authenticated,
    catalogue: catalogue.within(authenticated.caller.ceiling),
    prefetched,
    messageBytes: 0,
  };
}

/**
 * Reads the body of a POST as JSON, or returns the read that `prefetch`
 * started.
 */
export function readMessage(
  engine: Engine,
  admitted: AdmittedRequest,
): Promise<MessageBody> {
  return admitted.prefetched?.body ?? readFrom(engine, admitted);
}

/** Reads a body, whose memory counts for the sender's limit key. */
function readFrom(
  { bodies, trustedProxies }: Engine,
  from: Incoming & { authenticated: Pick<Authenticated, "caller"> },
): Promise<MessageBody> {
  let key: LimitKey | undefined;
  const sender = () => (key ??= limitKeyOf(from, trustedProxies)).name;
  return bodies.wait(() => readBody(from.request, sender), sender);
}

/**
 * Starts to read the session while the token is checked. If the message is a
 * short response, also starts to read the question that it answers. All reads
 * take one round trip.
 */
function prefetch(engine: Engine, incoming: Incoming): Prefetch | undefined {
  const { request, request: { headers } } = incoming;
  const sessionId = headers.get("mcp-session-id");
  if (request.method !== "POST" || !sessionId) return undefined;
  const session = engine.sessions.find(sessionId);
  // The code that reads the session again handles a failure.
  if (session instanceof Promise) session.catch(() => {});
  const length = headers.get("content-length");
  if (length === null || Number(length) > MAX_PREFETCHED_BYTES) {
    return undefined;
  }
  const authenticated = { caller: ANONYMOUS };
  const body = readFrom(engine, { ...incoming, authenticated });
  const reply = body.then(({ value }) =>
    isObject(value) && isRequestId(value.id) && !("method" in value)
      ? engine.replies.read(sessionId, value.id)
      : undefined
  );
  // Marks errors as handled: a caller that awaits the read gets them, too.
  reply.catch(() => {});
  return { body, reply };
}
