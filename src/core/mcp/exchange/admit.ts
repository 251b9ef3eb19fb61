/**
 * The admission of an HTTP request: its `Origin`, its caller, and the reads
 * that can start before the caller is known.
 *
 * @module
 */
import type { MaybePromise } from "../../../authoring/service.ts";
import { ANONYMOUS, type Authenticated } from "../../caller.ts";
import { isObject } from "../../json.ts";
import { isRequestId } from "../../protocol/messages.ts";
import { type MessageBody, readBody } from "../../protocol/transport.ts";
import { type LimitKey, limitKeyOf } from "./caller_bound.ts";
import type { AdmittedRequest, Engine, Prefetch } from "./engine.ts";

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
 * Starts to read the session, and the question that a short response answers,
 * while the token is checked. All reads take one round trip.
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
