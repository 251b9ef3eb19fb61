/**
 * Where the built-in `dev` provider may be used, and what it is called.
 *
 * @module
 */
import { isLoopback } from "../../loopback.ts";

/** Below our own origin; the issuer is the origin with this path. */
export const DEV_PATH = "/dev-provider";

/** Our application at the `dev` provider. */
export const DEV_CLIENT_ID = "tool-server";

/**
 * Lets the `dev` provider, at which anyone is anyone who they say, serve nothing
 * but programs on this machine.
 *
 * @throws {Error} when others could reach it
 */
export function checkDevProvider(
  { baseUrl, deployed }: { baseUrl: string; deployed: boolean },
): void {
  if (!deployed && isLoopback(new URL(baseUrl))) return;
  throw new Error(
    "OAUTH_PROVIDER=dev lets anyone in under any name: " +
      "it works on a loopback address only, and never when deployed",
  );
}
