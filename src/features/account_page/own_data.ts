/**
 * `/account/data`: the data stored about a person, and the endpoints that
 * download and erase it.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { now } from "../../core/clock.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { HttpError } from "../../core/errors.ts";
import { Buckets, type Rate } from "../../core/http/buckets.ts";
import { dropCookie, redirect } from "../../core/http/browser.ts";
import { refuseIfLimited } from "../../core/http/rate_limit.ts";
import { keptAbout, keptData } from "./kept_data.ts";
import { DataSection } from "./data_section.tsx";
import type { AccountPagePart, AccountPageServices } from "./account_pages.ts";
import { checkFresh, isFreshNow } from "./signed_in.ts";

export function dataPart(services: AccountPageServices): AccountPagePart {
  const { additions, config, lifetimes, server } = services;

  return {
    name: "data",
    label: "Your data",
    title: "Your data",
    leadsAway: true,
    async show({ session, providerKey, providerName, form, now }) {
      return DataSection({
        ...form,
        providerKey,
        providerName,
        mayErase: isFreshNow(session, now),
        kept: keptAbout(keptData(additions), {
          lifetimes,
          ledgerDays: config.ledgerDays,
          features: server.config.features,
        }),
        unrevoked: (await Promise.all(
          additions.map(({ unrevokedOf }) =>
            unrevokedOf?.(session.subject, services) ?? []
          ),
        )).flat(),
      });
    },
  };
}

/** The rate limit of one person's downloads, which read all their data. */
const DOWNLOADS: Rate = { burst: 5, perSecond: 1 / 60 };

export function ownDataEndpoints(
  { baseUrl, signedIn, personData, clock, log }: AccountPageServices,
) {
  const downloads = new Buckets(DOWNLOADS);

  return {
    async download(c: Context): Promise<Response> {
      const { session: { subject } } = await signedIn.findForm(c);
      refuseIfLimited(downloads.take(fingerprint(subject)));
      log.audit("Person exported on the account page", {
        reference: c.get("reference"),
        subject,
      });
      const text = ReadableStream.from(personData.print(subject))
        .pipeThrough(new TextEncoderStream());
      return c.body(text, 200, {
        "content-type": "application/json; charset=utf-8",
        "content-disposition": 'attachment; filename="account.json"',
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      });
    },

    /** Erases all data stored about the person, and signs them out. */
    async erase(c: Context): Promise<Response> {
      const { session, form } = await signedIn.findForm(c);
      checkFresh(session, now(clock), "erase everything");
      if (form.get("erase") !== "on") {
        throw new HttpError(400, "Tick the box to erase everything");
      }
      const { grants, accounts } = await personData.erase(session.subject);
      // Without the subject, which was erased.
      log.audit("Person erased on the account page", {
        reference: c.get("reference"),
        count: grants,
        accounts,
      });
      dropCookie(c, { name: "account", baseUrl });
      return redirect(c, `${baseUrl}/account?erased=1`);
    },
  };
}
