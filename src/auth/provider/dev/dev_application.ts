/**
 * The conditions for using the built-in `dev` provider, and its names.
 *
 * @module
 */
import { isLoopback } from "../../../net/loopback.ts";

/** The path of the provider; the issuer is our origin with this path. */
export const DEV_PATH = "/dev-provider";

/** Our application at the `dev` provider. */
export const DEV_CLIENT_ID = "tool-server";

/**
 * Checks that the `dev` provider, at which anyone can sign in under any name,
 * serves only programs on this machine.
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
