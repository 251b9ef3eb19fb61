/**
 * The challenge of a server to a caller without the right credentials.
 *
 * @module
 * @see RFC 6750 §3, RFC 9728 §5.1
 */
import { Exit, Failure } from "./failure.ts";

/** A refusal for want of a token, or of scopes. */
export interface Challenge {
  isStepUp: boolean;
  scope?: string;
  metadataUrl?: string;
}

/** Reads the challenge of a response, if it is one. */
export function challengeOf(response: Response): Challenge | undefined {
  const header = response.headers.get("www-authenticate") ?? "";
  const value = (name: string) =>
    new RegExp(`[\\s,]${name}="([^"]*)"`, "i").exec(` ${header}`)?.[1];
  const isStepUp = response.status === 403 &&
    value("error") === "insufficient_scope";
  if (response.status !== 401 && !isStepUp) return undefined;
  return {
    isStepUp,
    scope: value("scope"),
    metadataUrl: value("resource_metadata"),
  };
}

/** Makes the failure for a caller who may not call. */
export function refused(url: string, { isStepUp, scope }: Challenge): Failure {
  return new Failure(
    isStepUp
      ? `This needs the scope ${scope}, which was not granted at ${url}`
      : `${url} does not accept these credentials: sign in, or give --token`,
    Exit.access,
  );
}
