/**
 * `/wait/:id`: the page of a question, and its form. Only the person whom the
 * question is for, once signed in, sees it.
 *
 * @module
 */
import {
  type AccountPageServices,
  signInFirst,
} from "../account_page/account_pages.ts";
import type { Context } from "@hono/hono";
import { HttpError } from "../../core/errors.ts";
import { mintCsrf, redirect } from "../../core/http/browser.ts";
import { page } from "../../core/pages/respond.ts";
import type { ClientInWords } from "../../core/pages/names.tsx";
import { NoWaitPage, WaitAnsweredPage, WaitPage } from "./wait_page.tsx";
import type { OpenQuestion } from "../account_page/waiting_section.tsx";
import { isPaused } from "./wait_records.ts";
import { type Wait, waitsOf } from "./waits.ts";
import { personName } from "../../core/oauth/person.ts";
import type { SignedIn } from "../account_page/signed_in.ts";
import { clientInWords } from "../account_page/client_words.ts";

/**
 * Returns the name of the service at which a wait needs an account. Undefined
 * if the wait is for something else.
 */
export function connectsAt(
  { payload }: Pick<Wait, "payload">,
  baseUrl: string,
): string | undefined {
  const before = `${baseUrl}/connect/`;
  const url = String(payload?.url);
  return url.startsWith(before) ? url.slice(before.length) : undefined;
}

function pathOf(wait: Wait, baseUrl: string): string {
  const service = connectsAt(wait, baseUrl);
  return service === undefined
    ? `/wait/${wait.id}`
    : `/connect/${service}?w=${wait.id}`;
}

/** Responds with the page for a link that has ended or is someone else's. */
export function noWait(
  c: Context,
  { id, session }: SignedIn,
  { frame }: AccountPageServices,
): Response {
  const props = { person: personName(session), csrf: mintCsrf(id) };
  return page(c, NoWaitPage({ ...frame, ...props }), {
    forms: "self",
    status: 404,
  });
}

/**
 * Responds with the sign-in page, which leads back to the page of a question or
 * an approval.
 */
export function signInFor(
  c: Context,
  back: string,
  services: AccountPageServices,
): Response {
  return signInFirst(c, services, {
    title: "Waiting for you",
    heading: "Is this for you?",
    lead: "Sign in to see what waits for you here. The link shows nothing to " +
      "anyone else.",
    back,
  });
}

export function askingClient(
  { clientId = "", clientName = "", grantId }: Pick<
    Wait,
    "clientId" | "clientName" | "grantId"
  >,
  services: AccountPageServices,
): ClientInWords {
  // Without a grant, another issuer made the token, so its IDs are not ours.
  if (grantId === undefined) return { name: clientId };
  const client = clientInWords({ clientId, clientName }, services);
  // A token that the person made has no client.
  return clientId === "" ? { ...client, isKnown: true } : client;
}

/** Lists a person's open questions, for their account page. */
export async function waitsInWords(
  subject: string,
  services: AccountPageServices,
): Promise<OpenQuestion[]> {
  const open = await waitsOf(services.server).listOf(subject);
  return await Promise.all(open.map(async (wait) => ({
    path: pathOf(wait, services.baseUrl),
    client: askingClient(wait, services),
    tool: wait.tool,
    toolTitle: services.titleOf(wait.tool),
    message: String(wait.payload!.message),
    createdAt: wait.createdAt,
    isPaused: await isPaused(services.database, wait),
  })));
}

export function waitEndpoints(services: AccountPageServices) {
  const { baseUrl, frame, signedIn } = services;
  const waits = waitsOf(services.server);

  return {
    async show(c: Context): Promise<Response> {
      const id = c.req.param("id")!;
      const found = await signedIn.find(c);
      if (!found) return signInFor(c, `wait/${id}`, services);
      signedIn.checkAllowed(found);
      const { session } = found;
      const person = personName(session);
      const csrf = mintCsrf(found.id);
      const wait = await waits.find(id, session.subject);
      if (!wait) return noWait(c, found, services);
      if (connectsAt(wait, baseUrl) !== undefined) {
        return redirect(c, `${baseUrl}${pathOf(wait, baseUrl)}`);
      }
      const client = askingClient(wait, services);
      const { state, tool, payload, answer } = wait;
      if (state !== "open") {
        const said = state === "answered" && answer &&
          (answer.action === "accept" ? "done" : "not-now");
        return page(
          c,
          WaitAnsweredPage({ ...frame, client, answer: said || undefined }),
        );
      }
      const { message, url } = payload as { message: string; url: string };
      const toolTitle = services.titleOf(tool);
      const asked = { id, person, client, tool, toolTitle, message, url, csrf };
      return page(c, WaitPage({ ...frame, ...asked }), { forms: "self" });
    },

    async answer(c: Context): Promise<Response> {
      const { form, ...person } = await signedIn.findForm(c);
      const id = c.req.param("id")!;
      const said = form.get("answer");
      if (said !== "done" && said !== "not-now") {
        throw new HttpError(400, "answer must be done or not-now");
      }
      const { subject } = person.session;
      const action = said === "done" ? "accept" : "decline";
      const stays = await signedIn.staysAllowed(person);
      const wait = await waits.answer(id, subject, { action }, stays);
      if (!wait) await signedIn.checkStays(person);
      // A later click does not change the first answer.
      if (wait?.answer?.action === action) {
        services.log.audit("Answered on the page of a wait", {
          reference: c.get("reference"),
          subject,
          client: wait.clientName,
          tool: wait.tool,
          answer: said,
        });
      }
      return redirect(c, `${baseUrl}/wait/${encodeURIComponent(id)}`);
    },
  };
}
