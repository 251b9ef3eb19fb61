/**
 * `/connect/:name`: the page on which people connect an account at a service,
 * by pasting a key or by OAuth. The URL is not secret: anyone who opens it
 * signs in and connects their own account. `?w=` names a waiting call, and
 * works only for that call's person.
 *
 * @module
 */
import type { ConnectServices } from "./connect_pages.ts";
import type { Context } from "@hono/hono";
import { type PersonalKey, titleOf } from "../../authoring/account.ts";
import { SealingError } from "../../core/store/own_sealing.ts";
import { redirect } from "../../core/http/browser.ts";
import { accountsAt, isKeyFor } from "./begun_account.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import { ConnectedPage } from "./confirm_page.tsx";
import { ConnectPage } from "./connect_page.tsx";
import { page } from "../../core/pages/respond.ts";
import type { AccountRecord } from "./accounts.ts";
import type { Found } from "../../core/kv/database.ts";
import { signInFirst } from "../account_page/account_pages.ts";
import { signedOut } from "../account_page/signed_in.ts";
import { accountAuthorization } from "./account_authorization.ts";
import { type ConnectVisit, formsOf, signInHostOf } from "./connect_pages.ts";
import { connectFlow, labelOf } from "./connect_flow.ts";
import { checkKey, KeyRefusal, parseKey } from "./pasted_key.ts";
import { noWait } from "../questions/wait_pages.ts";
import { answerWaitingCalls, begunAccountOf } from "./waiting_calls.ts";

const NO_ACCOUNT = "This account is not connected any more.";

export function connectEndpoints(services: ConnectServices) {
  const { baseUrl, signedIn, log } = services;
  const flow = connectFlow(services);
  const authorization = accountAuthorization(services, flow);

  /**
   * Checks a pasted key. Then stores it, or shows a confirmation page first.
   */
  async function connectKey(
    c: Context,
    visit: ConnectVisit & { service: PersonalKey },
    form: Parameters,
  ): Promise<Response> {
    const { service } = visit;
    flow.countTry(visit);
    const key = parseKey(service, form.get("key") ?? "");
    const told = await checkKey(service, key, log);
    // The person confirms the service's name for the account, or types one.
    if (told.label !== undefined || service.several && service.check) {
      return await flow.confirm(c, visit, { key, ...told });
    }
    const label = labelOf(visit, { key }, form.get("label"));
    return await flow.keep(c, visit, { key, ...told, label });
  }

  async function connect(
    c: Context,
    visit: ConnectVisit,
    form: Parameters,
  ): Promise<Response> {
    const checked = await flow.openConfirmed(visit, form.get("checked"));
    if (checked) {
      const label = labelOf(visit, checked, form.get("label"));
      return await flow.keep(c, visit, { ...checked, label });
    }
    const { service } = visit;
    return service.kind === "account"
      ? await authorization.start(c, visit)
      : await connectKey(c, { ...visit, service }, form);
  }

  /** Sends the person to the service again, to allow missing scopes. */
  async function goBack(
    c: Context,
    visit: ConnectVisit,
    form: Parameters,
  ): Promise<Response> {
    await authorization.discard(visit, form.get("checked"));
    return await authorization.start(c, visit);
  }

  async function findAccount(
    { person: { session: { subject } }, service, vault }: ConnectVisit,
    form: Parameters,
  ): Promise<Found<AccountRecord> | undefined> {
    const id = form.require("account");
    return accountsAt(await vault.find(subject, true), service)
      .find(({ key }) => key.at(-1) === id);
  }

  /** Lets a call that waits for one account continue with another. */
  async function useAnother(
    c: Context,
    visit: ConnectVisit,
    form: Parameters,
  ): Promise<Response> {
    const { person, service, vault, wait } = visit;
    const found = await findAccount(visit, form);
    const begun = wait?.state === "open" ? begunAccountOf(wait) : undefined;
    if (!begun) throw new KeyRefusal("Nothing waits for it any more.");
    if (!found) throw new KeyRefusal(NO_ACCOUNT);
    await flow.wakeLater(visit);
    const stays = await signedIn.staysAllowed(person);
    if (!await vault.standIn(found, begun, stays)) throw signedOut();
    log.audit("Account put in the place of another", {
      reference: c.get("reference"),
      subject: person.session.subject,
      service: service.name,
    });
    return await flow.continueCalls(c, visit, found.value.label);
  }

  /** Checks a refused key again, and uses it if the service now accepts it. */
  async function tryAgain(
    c: Context,
    visit: ConnectVisit,
    form: Parameters,
  ): Promise<Response> {
    const { person, service, vault } = visit;
    flow.countTry(visit);
    const found = await findAccount(visit, form);
    const key = found && isKeyFor(found.value, service)
      ? await vault.open(found)
      : undefined;
    if (!found || key === undefined) throw new KeyRefusal(NO_ACCOUNT);
    await checkKey(service, key, log);
    await flow.wakeLater(visit);
    const stays = await signedIn.staysAllowed(person);
    if (!await vault.noteRefusal(found, false, stays)) throw signedOut();
    return await flow.continueCalls(c, visit, found.value.label);
  }

  /**
   * A map instead of an object: a form could name a member of
   * `Object.prototype`.
   */
  const acts = new Map(Object.entries({
    connect,
    again: tryAgain,
    back: goBack,
    "go-on": useAnother,
  }));

  return {
    async show(c: Context): Promise<Response> {
      const found = flow.find(c);
      const { service } = found;
      const { w, connected } = c.req.query();
      const person = await signedIn.find(c);
      if (!person) {
        const query = w ? `?${new URLSearchParams({ w })}` : "";
        const title = titleOf(service);
        return signInFirst(c, services, {
          title: `Connect ${title}`,
          lead: `Sign in first. An account at ${title} is connected to you ` +
            "alone, no matter who sent you this link.",
          back: `connect/${service.name}${query}`,
        });
      }
      signedIn.checkAllowed(person);
      const wait = await flow.findWait(w, person, service);
      if (w && !wait && connected === undefined) {
        return noWait(c, person, services);
      }
      const props = await flow.propsOf({ ...found, person, wait });
      // Only an existing account is named, because anyone can write the URL.
      const account = connected === undefined
        ? undefined
        : props.connected.find(({ label = "" }) => label === connected);
      const content = account
        ? ConnectedPage({ ...props, account })
        : ConnectPage({ ...props, signInHost: await signInHostOf(found) });
      return page(c, content, { forms: formsOf(found) });
    },

    /** Handles `POST /connect/:name`. An unknown `answer` means "Not now". */
    async answer(c: Context): Promise<Response> {
      const found = flow.find(c);
      // Encrypted tokens in the form are longer than a pasted key.
      const { form, ...person } = await signedIn.findForm(c, 64 * 1024);
      signedIn.checkAllowed(person);
      const wait = await flow.findWait(form.get("w"), person, found.service);
      const visit = { ...found, person, wait };
      const act = acts.get(form.get("answer") ?? "");
      if (!act) {
        await authorization.discard(visit, form.get("checked"));
        if (wait) await answerWaitingCalls(visit, "decline", services);
        return redirect(c, `${baseUrl}/account/accounts`);
      }
      try {
        return await act(c, visit, form);
      } catch (error) {
        const isRefusal = error instanceof KeyRefusal;
        if (!isRefusal && !(error instanceof SealingError)) throw error;
        if (isRefusal) noteRefusal(c, visit, error);
        const words = isRefusal ? error.message : `${error.message}.`;
        const { status } = isRefusal ? {} : error;
        const sealed = form.get("checked");
        return await flow.showAgain(c, visit, sealed, words, status);
      }
    },

    async finish(c: Context): Promise<Response> {
      const found = flow.find(c);
      const person = await signedIn.find(c);
      const { visit, answer } = await authorization.open(c, found, person);
      try {
        return await authorization.finish(c, visit, answer);
      } catch (error) {
        if (!(error instanceof KeyRefusal)) throw error;
        noteRefusal(c, visit, error);
        return await flow.refuse(c, visit, error.message);
      }
    },
  };
}

/**
 * Adds to the log entry the status that the service sent, or else that nothing
 * was stored.
 */
function noteRefusal(
  c: Context,
  { service: { name } }: ConnectVisit,
  { answered }: KeyRefusal,
): void {
  c.set(
    "refusal",
    answered === undefined
      ? `nothing was kept for ${name}`
      : `${name} answered ${answered}`,
  );
}
