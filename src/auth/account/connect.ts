/**
 * `/connect/:name`: the page on which people connect an account at another
 * service, by a key of theirs. Its address is worth nothing: anyone who opens it
 * connects an account of their own, once they have signed in. `?w=` names the
 * wait of a call, and is no use to anyone but its person.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { PersonalKey } from "../../authoring/account.ts";
import { now } from "../../clock.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { HttpError } from "../../errors.ts";
import { titleOf } from "../../http/account_fetch.ts";
import { mintCsrf, redirect } from "../../http/browser.ts";
import { Buckets, type Rate } from "../../http/buckets.ts";
import { refuseFor } from "../../http/rate_limit.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import { personName } from "../../oauth/person.ts";
import {
  ConfirmPage,
  ConnectedPage,
  ConnectPage,
  type ConnectProps,
  ConnectSignInPage,
} from "../../pages/connect_page.tsx";
import { page } from "../../pages/respond.ts";
import type { AccountVault } from "../../store/account_vault.ts";
import type { Wait } from "../../store/waits.ts";
import type { AuthServices } from "../services.ts";
import { type SignedIn, signedOut } from "../signed_in.ts";
import { type CheckedKey, checkedKeys } from "./checked_key.ts";
import { checkKey, KeyRefusal, parseKey, parseLabel } from "./pasted_key.ts";
import { answerConnecting, askingClient, connectsAt, noWait } from "./waits.ts";

/** The keys that one person may have tried. */
const TRIES: Rate = { burst: 10, perSecond: 1 / 30 };

/** A form of the page, and all that it is about. */
interface Submission {
  person: SignedIn;
  form: Parameters;
  service: PersonalKey;
  vault: AccountVault;
  /** The call that waits, if the address named one. */
  wait?: Wait;
}

export function connectEndpoints(services: AuthServices) {
  const { baseUrl, frame, signedIn, waits, accounts, clock, log } = services;
  const tries = new Buckets(TRIES);

  function find(c: Context): Pick<Submission, "service" | "vault"> {
    const service = services.accountServices.get(c.req.param("name")!);
    if (!service) {
      throw new HttpError(404, "There is nothing at this address");
    }
    const { vault } = services;
    if (vault) return { service, vault };
    throw new HttpError(
      503,
      "This server keeps no accounts: its operator has to set SECRETS_KEYS",
    );
  }

  /** Finds the wait that an address names; undefined if it is not theirs. */
  async function findWait(
    id: string | undefined,
    { session: { subject } }: SignedIn,
    service: PersonalKey,
  ): Promise<Wait | undefined> {
    const wait = id ? await waits.find(id, subject) : undefined;
    return wait && connectsAt(wait, baseUrl) === service.name
      ? wait
      : undefined;
  }

  async function propsOf(
    { person: { id, session }, service, wait }: Pick<
      Submission,
      "person" | "service" | "wait"
    >,
  ): Promise<ConnectProps> {
    const own = await accounts.listOf(session.subject);
    return {
      ...frame,
      name: service.name,
      title: titleOf(service),
      host: new URL(service.api).host,
      help: service.help,
      several: service.several,
      asksLabel: service.several === true && !service.check,
      person: personName(session),
      connected: own.filter((it) => it.service === service.name),
      ...wait?.state === "open" && {
        asked: {
          id: wait.id!,
          client: askingClient(wait, services),
          tool: wait.tool,
          toolTitle: services.titleOf(wait.tool),
        },
      },
      csrf: mintCsrf(id),
      now: now(clock),
    };
  }

  /** Keeps a key, if the person is still signed in and not blocked. */
  async function keep(
    c: Context,
    submission: Submission,
    { key, label }: CheckedKey,
  ): Promise<Response> {
    const { person, service, vault } = submission;
    const { subject } = person.session;
    const { name, several } = service;
    const isSaved = await vault.save(
      { subject, service: name, label, several },
      key,
      await signedIn.staysAllowed(person),
    );
    if (!isSaved) throw signedOut();
    log.audit("Account connected", {
      reference: c.get("reference"),
      subject,
      service: name,
    });
    return await goOn(c, submission, label);
  }

  /** Lets the calls go on that wait for an account, and shows that it is there. */
  async function goOn(
    c: Context,
    submission: Submission,
    label = "",
  ): Promise<Response> {
    await answerConnecting(submission, "accept", services);
    const query = new URLSearchParams({ connected: label });
    const { name } = submission.service;
    return redirect(c, `${baseUrl}/connect/${name}?${query}`);
  }

  /** Takes a key into use again that the service has refused, if it takes it. */
  async function tryAgain(
    c: Context,
    submission: Submission,
  ): Promise<Response> {
    const { person, form, service, vault } = submission;
    const { subject } = person.session;
    refuseFor(tries.take(fingerprint(subject)));
    const id = form.require("account");
    const found = (await vault.find(subject, true)).find(({ key, value }) =>
      key.at(-1) === id && value.service === service.name
    );
    const key = found && await vault.open(found).catch(() => undefined);
    if (!found || key === undefined) {
      throw new KeyRefusal("This account is not connected any more.");
    }
    await checkKey(service, key, log);
    const stays = await signedIn.staysAllowed(person);
    if (!await vault.noteRefusal(found, false, stays)) throw signedOut();
    return await goOn(c, submission, found.value.label);
  }

  /** Checks a key, and keeps it or asks if it is the one that was meant. */
  async function connect(
    c: Context,
    submission: Submission,
  ): Promise<Response> {
    const { person: { id, session: { subject } }, form, service } = submission;
    const pages = checkedKeys(id, { subject, service: service.name });
    const checked = await pages.open(form.get("checked"), now(clock));
    if (checked) return await keep(c, submission, checked);
    refuseFor(tries.take(fingerprint(subject)));
    const key = parseKey(service, form.get("key") ?? "");
    const told = await checkKey(service, key, log);
    if (told === undefined) {
      const label = service.several
        ? parseLabel(form.get("label") ?? "", key)
        : undefined;
      return await keep(c, submission, { key, label });
    }
    const sealed = await pages.seal({ key, label: told }, now(clock));
    const props = await propsOf(submission);
    return page(c, ConfirmPage({ ...props, label: told, checked: sealed }), {
      forms: "self",
    });
  }

  return {
    /** Answers `GET /connect/:name`. */
    async show(c: Context): Promise<Response> {
      const { service } = find(c);
      const { w, connected } = c.req.query();
      const person = await signedIn.find(c);
      if (!person) {
        const query = w ? `?${new URLSearchParams({ w })}` : "";
        const props = {
          ...frame,
          title: titleOf(service),
          back: `connect/${service.name}${query}`,
          options: services.choice.options(c),
        };
        return page(c, ConnectSignInPage(props), { forms: "any" });
      }
      signedIn.checkAllowed(person);
      const wait = await findWait(w, person, service);
      if (w && !wait) return noWait(c, person, services);
      const props = await propsOf({ person, service, wait });
      // Only an account that is there: an address could say anything.
      const account = connected === undefined
        ? undefined
        : props.connected.find(({ label = "" }) => label === connected);
      const content = account
        ? ConnectedPage({ ...props, account })
        : ConnectPage(props);
      return page(c, content, { forms: "self" });
    },

    /** Answers `POST /connect/:name`. */
    async answer(c: Context): Promise<Response> {
      const { service, vault } = find(c);
      const { form, ...person } = await signedIn.findForm(c);
      signedIn.checkAllowed(person);
      const wait = await findWait(form.get("w"), person, service);
      const submission = { person, form, service, vault, wait };
      const act = { connect, again: tryAgain }[form.get("answer") ?? ""];
      if (!act) {
        if (wait) await answerConnecting(submission, "decline", services);
        return redirect(c, `${baseUrl}/account/accounts`);
      }
      try {
        return await act(c, submission);
      } catch (error) {
        if (!(error instanceof KeyRefusal)) throw error;
        const props = await propsOf(submission);
        const refusal = error.message;
        return page(c, ConnectPage({ ...props, refusal }), {
          forms: "self",
          status: 400,
        });
      }
    },
  };
}
