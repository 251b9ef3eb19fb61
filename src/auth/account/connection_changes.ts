/**
 * Changes that a person makes to their connection without ending it: pausing,
 * resuming, and taking scopes away.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { type Clock, now } from "../../clock.ts";
import { redirect } from "../../http/redirect.ts";
import type { Logger } from "../../log/log.ts";
import {
  type Grant,
  isPassing,
  narrowGrant,
  pauseGrant,
  resumeGrant,
} from "../rules/grant.ts";
import type { Parameters } from "../rules/parameters.ts";
import type { Changed } from "../../pages/account_page.tsx";
import type { AccountSessionStore } from "../../store/account_sessions.ts";
import type { GrantStore } from "../../store/grants.ts";
import { signedInPeople } from "./signed_in.ts";

/** The endpoints for connections that go on. */
export interface ConnectionChanges {
  /**
   * Answers `POST /account/pause`: refuses the connection until it is resumed.
   */
  pause(c: Context): Promise<Response>;
  /** Answers `POST /account/resume`. */
  resume(c: Context): Promise<Response>;
  /**
   * Answers `POST /account/narrow`: keeps the scopes whose boxes are ticked.
   */
  narrow(c: Context): Promise<Response>;
}

/** Lets people change their own connections. */
export function connectionChanges(
  options: {
    baseUrl: string;
    providerId: string;
    accountSessions: AccountSessionStore;
    grants: GrantStore;
    clock: Clock;
    log: Logger;
  },
): ConnectionChanges {
  const { baseUrl, grants, clock, log } = options;
  const people = signedInPeople(options);

  function changing(
    changed: Changed,
    change: (grant: Grant, form: Parameters) => Grant,
  ): (c: Context) => Promise<Response> {
    return async (c) => {
      const { session: { subject }, form } = await people.findForm(c);
      const found = await grants.find(form.require("grant"));
      // Another person's grant is treated like one that does not exist.
      const isOwn = found?.value.subject === subject &&
        !isPassing(found.value);
      const after = await grants.change(
        isOwn ? found : undefined,
        (grant) => change(grant, form),
      );
      if (after) {
        log.audit(`Connection ${changed} on the account page`, {
          reference: c.get("reference"),
          subject,
          grantId: after.id,
          client: after.clientName,
        });
      }
      const what = after ? `changed=${changed}` : "ended=0";
      return redirect(c, `${baseUrl}/account?${what}`);
    };
  }

  return {
    pause: changing("paused", (grant) => pauseGrant(grant, now(clock))),
    resume: changing("resumed", resumeGrant),
    narrow: changing(
      "narrowed",
      (grant, form) =>
        narrowGrant(
          grant,
          grant.scopes.filter((scope) =>
            form.get(`scope.${scope}`) !== undefined
          ),
        ),
    ),
  };
}
