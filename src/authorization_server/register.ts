/**
 * `POST /register`: dynamic client registration.
 *
 * @see RFC 7591 §3
 * @module
 */
import type { Context } from "@hono/hono";
import type { Logger } from "../log.ts";
import {
  clientName,
  printRegistration,
  registerClient,
} from "../oauth/client.ts";
import type { RegistrationStore } from "../store/registrations.ts";
import { type Clock, now } from "../clock.ts";
import { readJson } from "../http/body.ts";
import type { CheckRate } from "../http/rate_limit.ts";

/** Registers whoever asks: what a registration may do, a person decides. */
export function registerEndpoint(
  { registrations, checkRate, clock, log }: {
    registrations: RegistrationStore;
    checkRate: CheckRate;
    clock: Clock;
    log: Logger;
  },
): (c: Context) => Promise<Response> {
  return async (c) => {
    c.header("Cache-Control", "no-store");
    await checkRate(c);
    const body = await readJson(c.req.raw);
    const registration = registerClient(body, now(clock));
    const { client } = registration;
    await registrations.save(client);
    log.info("Client registered", {
      clientId: client.clientId,
      client: clientName(client),
    });
    return c.json(printRegistration(registration), 201);
  };
}
