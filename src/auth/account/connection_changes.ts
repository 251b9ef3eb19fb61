/**
 * The forms by which a person changes or ends their connections: pausing,
 * resuming, taking scopes away, and ending. An operator may end those of
 * others.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { type Clock, now } from "../../clock.ts";
import { HttpError } from "../../errors.ts";
import { redirect } from "../../http/redirect.ts";
import type { Logger } from "../../log/log.ts";
import { endOfAll } from "../grants/end_all.ts";
import type { EndGrants } from "../grants/end_grant.ts";
import {
  type Grant,
  isPassing,
  narrowGrant,
  pauseGrant,
  resumeGrant,
} from "../rules/grant.ts";
import type { Parameters } from "../rules/parameters.ts";
import type { Changed } from "../../pages/account_page.tsx";
import type {
  AccountSession,
  AccountSessionStore,
} from "../../store/account_sessions.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { SignedInPeople } from "./signed_in.ts";

/** Makes the endpoints of those forms. */
export function connectionChanges(
  { baseUrl, signedIn, accountSessions, grants, endGrants, clock, log }: {
    baseUrl: string;
    signedIn: SignedInPeople;
    accountSessions: Pick<AccountSessionStore, "endAllOf">;
    grants: GrantStore;
    endGrants: EndGrants;
    clock: Clock;
    log: Logger;
  },
) {
  function changing(
    changed: Changed,
    change: (grant: Grant, form: Parameters) => Grant,
  ): (c: Context) => Promise<Response> {
    return async (c) => {
      const { session: { subject }, form } = await signedIn.findForm(c);
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

  /** Ends those of these grants that a person has, and gives their number. */
  async function endSome(
    c: Context,
    grantIds: ReadonlySet<string>,
    session: AccountSession,
  ): Promise<number> {
    const found = await Promise.all([...grantIds].map(grants.find));
    const ended = found.filter((one) => one?.value.status === "active")
      .map((read) => ({ grant: read!.value, read }))
      // Another person's grant is treated like one that does not exist.
      .filter(({ grant: { subject } }) =>
        subject === session.subject || signedIn.isOperator(session)
      );
    await endGrants(ended);
    for (const { grant: { id, subject, clientName } } of ended) {
      log.audit("Connection ended on the account page", {
        reference: c.get("reference"),
        subject: session.subject,
        // An operator may end those of others.
        owner: subject === session.subject ? undefined : subject,
        grantId: id,
        client: clientName,
      });
    }
    return ended.length;
  }

  /**
   * Ends everything that a person or a machine has: what is open, what a code
   * still opens, and who is signed in here as them. Gives the number.
   */
  async function endAllOf(
    c: Context,
    subject: string,
    session: AccountSession,
  ): Promise<number> {
    if (!signedIn.isOperator(session)) {
      throw new HttpError(403, "Only operators end everything of a person");
    }
    const count = await endOfAll({ accountSessions, grants, endGrants })
      .ofSubject(subject);
    log.audit("Everything of a subject ended on the account page", {
      reference: c.get("reference"),
      subject: session.subject,
      ended: subject,
      count,
    });
    return count;
  }

  return {
    /** Refuses the connection until it is resumed. */
    pause: changing("paused", (grant) => pauseGrant(grant, now(clock))),

    resume: changing("resumed", resumeGrant),

    /** Keeps the scopes whose boxes are ticked. */
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

    /** Ends the grants that the form names, or all of a subject. */
    async end(c: Context): Promise<Response> {
      const { session, form } = await signedIn.findForm(c);
      const subject = form.get("subject");
      const count = subject === undefined
        ? await endSome(c, new Set(form.require("grants").split(" ")), session)
        : await endAllOf(c, decoded(subject), session);
      return redirect(c, `${baseUrl}/account?ended=${count}`);
    },
  };
}

/** A subject as our form has it. @throws {HttpError} 400 */
function decoded(subject: string): string {
  try {
    return decodeURIComponent(subject);
  } catch (cause) {
    throw new HttpError(400, "subject is not percent-encoded", {}, { cause });
  }
}
