/**
 * The endpoints by which people pause, resume, narrow and end their
 * connections. Operators may also end other people's.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { now } from "../../core/clock.ts";
import { HttpError } from "../../core/errors.ts";
import { endSubject } from "../../core/auth/grants/end_grant.ts";
import {
  type Grant,
  hasSingleToken,
  narrowGrant,
  pauseGrant,
  resumeGrant,
} from "../../core/oauth/grant.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import type { Notice } from "./notice.tsx";
import type { AccountSession } from "./account_sessions.ts";
import type { Found } from "../../core/kv/database.ts";
import { CERTAIN_SECONDS } from "../../core/store/waiting_work.ts";
import { clientNameOf } from "./client_words.ts";
import { personName } from "../../core/oauth/person.ts";
import { type FormServices, redirectBack } from "./account_pages.ts";

/** The changed grants; undefined for each that has ended. */
type Changes = (Grant | undefined)[];

export function connectionChanges(services: FormServices) {
  const { returnPaths, signedIn, consents } = services;
  const { connections, grants, endGrants, clock, log } = services;

  /**
   * Reads all grants of the connection of a grant. Returns the grant alone if
   * it has no connection.
   */
  async function grantsOfConnection(
    grant: Found<Grant>,
  ): Promise<Found<Grant>[]> {
    if (grant.value.kind !== undefined) return [grant];
    return await connections.signInsOf(grant.value);
  }

  /** Removes the unticked scopes of a form from all grants of a connection. */
  async function narrowAll(of: Grant, form: Parameters): Promise<Changes> {
    const signIns = (await connections.signInsOf(of)).map(({ value }) => value);
    const revoked = signIns.flatMap((grant) => {
      const { scopes } = narrow(grant, form);
      return grant.scopes.filter((scope) => !scopes.includes(scope));
    });
    // The connection is changed first, so that a simultaneous sign-in sees the
    // change or is listed below. If no scope is revoked, nothing is written: a
    // write would make such a sign-in try again.
    if (revoked.length > 0) {
      await connections.revokeScopes(of, revoked);
      await consents.revokeScopes(signIns, revoked);
    }
    return await Array.fromAsync(
      await connections.signInsOf(of),
      (one) => grants.change(one, (grant) => narrow(grant, form)),
    );
  }

  /** Makes the endpoint that changes a person's own connection or token. */
  function changing(
    done: Notice["change"],
    { connection, token }: {
      /** Changes all current and future sign-ins of the connection. */
      connection(of: Grant, form: Parameters): Promise<Changes>;
      token(grant: Grant, form: Parameters): Grant;
    },
  ): (c: Context) => Promise<Response> {
    async function change(
      found: Found<Grant>,
      form: Parameters,
    ): Promise<Changes> {
      return found.value.kind === undefined
        ? await connection(found.value, form)
        : [await grants.change(found, (grant) => token(grant, form))];
    }

    async function wake(session: AccountSession, afterSeconds: number) {
      if (done !== "resumed") return;
      for (const { resumed } of services.additions) {
        await resumed?.(session, services, afterSeconds);
      }
    }

    return async (c) => {
      const { id, session, form } = await signedIn.findForm(c);
      const { subject } = session;
      const found = await grants.find(form.require("grant"));
      // Another person's grant is treated like one that does not exist.
      const isOwn = found?.value.subject === subject &&
        !hasSingleToken(found.value);
      // This process may die between the change and the second of these.
      if (isOwn) await wake(session, CERTAIN_SECONDS);
      const changes = isOwn ? await change(found, form) : [];
      const after = changes.filter((grant) => grant !== undefined);
      for (const { id: grantId, clientName } of after) {
        log.audit(`Connection ${done} on the account page`, {
          reference: c.get("reference"),
          subject,
          grantId,
          client: clientName,
        });
      }
      await wake(session, 0);
      const names = namesOf(after);
      const notice: Notice = names.length > 0
        ? { change: done, names }
        : { change: "gone" };
      return await redirectBack(c, returnPaths, { id, form }, notice);
    };
  }

  /**
   * Ends the grants that a form names, with all sign-ins of their connections.
   * A person can end their own, an operator anyone's. Returns the notice.
   */
  async function endSome(
    c: Context,
    grantIds: ReadonlySet<string>,
    session: AccountSession,
  ): Promise<Notice> {
    const named = await Promise.all([...grantIds].map(grants.find));
    const own = named.filter((one) => one !== undefined)
      // Another person's grant is treated like one that does not exist.
      .filter(({ value: { subject } }) =>
        subject === session.subject || signedIn.isOperator(session)
      );
    const all = (await Promise.all(own.map(grantsOfConnection))).flat()
      .filter(({ value }) => value.status !== "closed");
    // The form may name several sign-ins of one connection.
    const once = new Map(all.map((one) => [one.value.id, one]));
    const ended = [...once.values()];
    await endGrants(ended);
    for (const { value: { id, subject, clientName } } of ended) {
      log.audit("Connection ended on the account page", {
        reference: c.get("reference"),
        subject: session.subject,
        // An operator may end other people's connections.
        owner: subject === session.subject ? undefined : subject,
        grantId: id,
        client: clientName,
      });
    }
    if (ended.length === 0) return { change: "gone" };
    const [{ value: grant, value: { subject } }] = ended;
    return {
      change: "ended",
      names: namesOf(ended.map(({ value }) => value)),
      of: subject === session.subject
        ? undefined
        : { name: personName(grant), subject },
      count: ended.length,
    };
  }

  /**
   * Ends all grants and accounts of a person or machine. Returns the notice.
   */
  async function endAllOf(
    c: Context,
    subject: string,
    session: AccountSession,
  ): Promise<Notice> {
    if (!signedIn.isOperator(session)) {
      throw new HttpError(403, "Only operators end everything of a person");
    }
    const [newest] = await grants.listOfSubject(subject, 1);
    const { grants: count, accounts } = await endSubject(subject, services);
    log.audit("Everything of a subject ended on the account page", {
      reference: c.get("reference"),
      subject: session.subject,
      ended: subject,
      count,
      accounts,
    });
    const name = newest ? personName(newest) : subject;
    return { change: "endedAll", of: { name, subject }, count, accounts };
  }

  return {
    /** Pauses a connection: its requests are refused until it is resumed. */
    pause: changing("paused", {
      connection: (of) => connections.pause(of, now(clock)),
      token: (grant) => pauseGrant(grant, now(clock)),
    }),

    resume: changing("resumed", {
      connection: (of) => connections.pause(of, undefined),
      token: resumeGrant,
    }),

    narrow: changing("narrowed", { connection: narrowAll, token: narrow }),

    /** Ends the grants that the form names, or everything of a subject. */
    async end(c: Context): Promise<Response> {
      const { id, session, form } = await signedIn.findForm(c);
      const subject = form.get("subject");
      const notice = subject === undefined
        ? await endSome(c, new Set(form.require("grants").split(" ")), session)
        : await endAllOf(c, decoded(subject), session);
      return await redirectBack(c, returnPaths, { id, form }, notice);
    },
  };
}

function namesOf(grants: readonly Grant[]): string[] {
  return [...new Set(grants.map(clientNameOf))];
}

function narrow(grant: Grant, form: Parameters): Grant {
  return narrowGrant(
    grant,
    grant.scopes.filter((scope) => form.get(`scope.${scope}`) !== undefined),
  );
}

/** Decodes the subject in a form. @throws {HttpError} 400 */
function decoded(subject: string): string {
  try {
    return decodeURIComponent(subject);
  } catch (cause) {
    throw new HttpError(400, "subject is not percent-encoded", { cause });
  }
}
