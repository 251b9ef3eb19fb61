/** @jsxImportSource @hono/hono/jsx */
/**
 * `/account/passkeys`: the passkeys with which a person approves calls. The
 * forms that make and remove passkeys need a recent sign-in.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type {
  AccountPagePart,
  AccountPageServices,
  AccountPageVisit,
  FormServices,
} from "../account_page/account_pages.ts";
import { FreshSignIn } from "../account_page/data_section.tsx";
import { readName } from "../account_page/personal_tokens.ts";
import { NameField } from "../account_page/token_section.tsx";
import {
  checkFresh,
  isFreshNow,
  type SignedIn,
} from "../account_page/signed_in.ts";
import { now } from "../../core/clock.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { redirect } from "../../core/http/browser.ts";
import type { Write } from "../../core/kv/database.ts";
import { isLoopback } from "../../core/net/url.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import { personName } from "../../core/oauth/person.ts";
import { AccountForm } from "../../core/pages/layout.tsx";
import { displayName } from "../../core/pages/names.tsx";
import { FutureTime, PastTime } from "../../core/pages/times.tsx";
import { PASSKEY_SCRIPT } from "./passkey_script.ts";
import type { Passkey } from "./passkey_store.ts";
import { passkeysOf } from "./passkeys.ts";

function challengeOf({ session: { subject } }: SignedIn, csrf: string): string {
  return fingerprint(JSON.stringify(["make a passkey", csrf, subject]));
}

export function passkeysPart(services: AccountPageServices): AccountPagePart {
  const passkeys = passkeysOf(services);
  return {
    name: "passkeys",
    label: "Passkeys",
    title: "Your passkeys",
    query: ["call"],
    leadsAway: true,
    script: PASSKEY_SCRIPT,
    async show(visit) {
      const { session, providerKey, form, now, query: { call } } = visit;
      const { subject } = session;
      const isFresh = isFreshNow(session, now);
      const { own, usable, hasAny } = await passkeys.store.find(subject);
      const creation = isFresh && passkeys.creation({
        subject,
        name: personName(session),
        challenge: challengeOf(visit, form.csrf),
        own,
      });
      return (
        <section>
          <div class="card">
            <p class="soft">
              Some calls of your apps want a passkey before they begin: your
              finger, your face or a PIN, which no program in your browser can
              give.
            </p>
            {call && (
              <p>
                <a href={`${form.base}/approve/${encodeURIComponent(call)}`}>
                  Back to the call that waits
                </a>
              </p>
            )}
            {!passkeys.isPossible && <NoPasskeys {...services} />}
            {own.length > 0 && (
              <ul class="rows">
                {own.map((passkey) => (
                  <PasskeyRow
                    {...{ passkey, form, now, isFresh }}
                    confirmation={usable.length > 0 && passkey.countsFrom > now
                      ? passkeys.confirmation(subject, passkey, usable)
                      : undefined}
                  />
                ))}
              </ul>
            )}
            {creation
              ? <PasskeyForm {...{ form, creation, hasAny }} />
              : <FreshSignIn {...form} providerKey={providerKey} />}
          </div>
        </section>
      );
    },
  };
}

/** Tells why no passkey can be made here, and what helps. */
function NoPasskeys({ baseUrl }: Pick<AccountPageServices, "baseUrl">) {
  const named = new URL(`${baseUrl}/account/passkeys`);
  const isNear = isLoopback(named);
  named.hostname = isNear ? "localhost" : "example.com";
  return (
    <p class="note">
      Browsers make and use no passkeys here: the address of this page is a
      number, and passkeys need a name like {named.hostname}. {isNear
        ? (
          <>
            Start the server with BASE_URL={named.origin}, then{" "}
            <a href={named.href}>make yours there.</a>
          </>
        )
        : "Ask the people who run this server for one."}
    </p>
  );
}

function PasskeyRow({ passkey, form, now, isFresh, confirmation }: {
  passkey: Passkey;
  form: AccountPageVisit["form"];
  now: number;
  isFresh: boolean;
  /** The request for another passkey, which lets this one approve at once. */
  confirmation?: object;
}) {
  const { id, name, createdAt, countsFrom, usedAt } = passkey;
  return (
    <li>
      <div class="row-head">
        <strong class="row-title">
          <bdi>{displayName(name)}</bdi>
        </strong>
        {isFresh && (
          <AccountForm
            {...form}
            action="/account/passkeys/remove"
            fields={{ id }}
          >
            <button class="quiet" type="submit">
              Remove<span class="visually-hidden">{` ${name}`}</span>
            </button>
          </AccountForm>
        )}
      </div>
      <p class="small soft">
        Made <PastTime at={createdAt} now={now} />. {countsFrom > now
          ? (
            <>
              You can use it from <FutureTime at={countsFrom} now={now} /> on.
            </>
          )
          : usedAt === undefined
          ? "You can use it now, and have not yet."
          : (
            <>
              Used last <PastTime at={usedAt} now={now} />.
            </>
          )}
      </p>
      {confirmation && (
        <AccountForm
          {...form}
          action="/account/passkeys/confirm"
          fields={{ id }}
          class="actions"
          data-get={JSON.stringify(confirmation)}
        >
          <p class="note" role="status" hidden></p>
          <button type="submit" data-passkey="get">
            Confirm with another passkey, and use it now
          </button>
        </AccountForm>
      )}
    </li>
  );
}

function PasskeyForm({ form, creation, hasAny }: {
  form: AccountPageVisit["form"];
  creation: object;
  hasAny: boolean;
}) {
  return (
    <AccountForm
      {...form}
      action="/account/passkeys"
      data-create={JSON.stringify(creation)}
    >
      {hasAny && <h2>Another passkey</h2>}
      <NameField placeholder="Where it is: my phone" />
      <p class="small soft">
        {hasAny
          ? "A further passkey can be used in a day, or as soon as you confirm it with one that you have."
          : "You can use it at once."}{" "}
        One that you make within a day after you removed others waits for a day,
        so that no one who has your browser for a moment can take your place.
      </p>
      <p class="note" role="status" hidden></p>
      <div class="actions">
        <button class="primary" type="submit" data-passkey="create">
          Make a passkey
        </button>
      </div>
    </AccountForm>
  );
}

/** The maximum size in bytes of a form, which has a name and two responses. */
const MAX_FORM_BYTES = 64 * 1024;

export function passkeyEndpoints(services: FormServices) {
  const { clock, log, returnPaths, signedIn } = services;
  const passkeys = passkeysOf(services);

  /** @param act returns undefined if it changed nothing */
  function endpoint(
    event: string,
    isForFresh: boolean,
    act: (form: Parameters, person: SignedIn, stays: Write) => Promise<unknown>,
  ) {
    return async (c: Context): Promise<Response> => {
      const { form, ...person } = await signedIn.findForm(c, MAX_FORM_BYTES);
      const { session, session: { subject } } = person;
      if (isForFresh) checkFresh(session, now(clock), "change passkeys");
      const stays = await signedIn.staysAllowed(person);
      let isDone = false;
      try {
        isDone = await act(form, person, stays) !== undefined;
      } finally {
        if (!isDone) await signedIn.checkStays(person);
      }
      if (isDone) log.audit(event, { reference: c.get("reference"), subject });
      return redirect(c, returnPaths.addressOf(form.get("back") ?? "passkeys"));
    };
  }

  return {
    make: endpoint(
      "Passkey made",
      true,
      (form, person, stays) =>
        passkeys.make(person.session.subject, {
          name: readName(form),
          response: form.get("create") ?? "",
          challenge: challengeOf(person, form.get("csrf")!),
        }, stays),
    ),

    confirm: endpoint(
      "Passkey confirmed with another",
      false,
      (form, { session: { subject } }, stays) => {
        const [id = "", response = ""] = [form.get("id"), form.get("get")];
        return passkeys.confirm(subject, id, response, stays);
      },
    ),

    remove: endpoint(
      "Passkey removed",
      true,
      (form, { session: { subject } }, stays) =>
        passkeys.store.remove(subject, form.get("id") ?? "", stays),
    ),
  };
}
