/**
 * `POST /register`: dynamic client registration. Its rate limit is in
 * `authorization_server.ts`. The client ID itself contains the registration.
 * @see RFC 7591 §3
 * @module
 */
import type { Context } from "@hono/hono";
import { OAuthError } from "../../errors.ts";
import {
  clientName,
  printRegistration,
  registerClient,
} from "../../oauth/client.ts";
import { checkRedirectHosts } from "../../oauth/client_policy.ts";
import { sealClient } from "../../oauth/sealed_client.ts";
import { now } from "../../clock.ts";
import { readJson } from "../../http/body.ts";
import type { AuthServices } from "../services.ts";

/**
 * Makes the endpoint. It registers any client, because a person later decides
 * what the client may do.
 */
export function registerEndpoint(
  { policy, secrets, clock, log }: AuthServices,
): (c: Context) => Promise<Response> {
  return async (c) => {
    if (!policy.registration) {
      throw new OAuthError(
        "access_denied",
        "Clients cannot register here: the operator sets them up",
      );
    }
    const body = await readJson(c);
    const { client: named, clientSecret } = registerClient(body, now(clock));
    c.set("claimedName", clientName(named));
    checkRedirectHosts(named.metadata.redirect_uris, policy);
    const client = await sealClient(await secrets.find("client-ids"), named);
    c.set("clientId", named.clientId);
    log.info("Client registered", {
      reference: c.get("reference"),
      clientId: named.clientId,
      client: clientName(client),
    });
    return c.json(printRegistration({ client, clientSecret }), 201);
  };
}
