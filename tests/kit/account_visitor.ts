/**
 * People on the account page of a test server.
 *
 * @module
 */
import assert from "node:assert/strict";
import { type Arrival, type Browser, browserOf } from "./browser.ts";
import { type Answering, BASE_URL } from "./server.ts";
import type { OAuthServer } from "./sign_in.ts";

/** Cuts a page to one form, by its action. */
export function formOf(page: Arrival, action: string, nth = 0): Arrival {
  const parts = page.text.split("<form").slice(1)
    .filter((part) => part.includes(`action="${action}"`))
    .map((part) => `<form${part.split("</form>")[0]}`);
  assert.ok(parts[nth], `no form ${nth} to ${action} in ${page.text}`);
  return { ...page, text: parts[nth] };
}

/** Reads the token of a page's forms. */
export function csrfOf({ text }: Arrival): string {
  return /name="csrf" value="([^"]*)"/.exec(text)![1];
}

/** A person who signs in to the account page. */
export class AccountVisitor {
  constructor(
    readonly browser: Browser,
    public page: Arrival,
    /** Answers the provider, which asks the person again who they are. */
    readonly answer = (ask: () => Promise<Arrival>) => ask(),
  ) {}

  static async signIn(
    server: Answering & Pick<OAuthServer, "provider">,
    /**
     * `at`: the path below `/account` that they open; `issuers`: real servers
     * that their browser knows.
     */
    { as = "42", email = "jo@example.com", at = "", issuers = [] }: {
      as?: string;
      email?: string;
      at?: string;
      issuers?: readonly string[];
    } = {},
  ): Promise<AccountVisitor> {
    const answer = (ask: () => Promise<Arrival>) => {
      Object.assign(server.provider, { subject: as, email });
      return ask();
    };
    const browser = browserOf(server, { issuers });
    const page = await browser.open(`${BASE_URL}/account${at}`);
    return new AccountVisitor(
      browser,
      await answer(() =>
        browser.press(formOf(page, "/account/sign-in"), "", "")
      ),
      answer,
    );
  }

  /** Loads the first part again, or one at an address below `/account`. */
  async look(path = ""): Promise<string> {
    this.page = await this.browser.open(`${BASE_URL}/account${path}`);
    return this.words;
  }

  /** Opens a part whose forms want a sign-in of the last minutes, with that. */
  async openFresh(path: string): Promise<this> {
    await this.look(path);
    if (this.page.text.includes('action="/account/sign-in"')) {
      this.page = await this.answer(() => this.press("/account/sign-in"));
    }
    return this;
  }

  signInToErase = () => this.openFresh("/data");

  /** Makes an access token on the page for them; empty if it is refused. */
  async makeToken(fields: Record<string, string> = {}): Promise<string> {
    await this.openFresh("/tokens");
    const all = { name: "Backup", days: "30", ...fields };
    const { text } = await this.press("/account/tokens", all);
    return /tsp_\w{58}/.exec(text)?.[0] ?? "";
  }

  /** Sends one of the page's forms. */
  async press(
    action: string,
    fields: Record<string, string> = {},
    nth = 0,
  ): Promise<Arrival> {
    const form = formOf(this.page, action, nth);
    return this.page = await this.browser.press(form, "", "", fields);
  }

  /** Returns the text of the page, without markup. */
  get words(): string {
    return this.page.text.replaceAll(/<(style|script)[^]*?<\/\1>/g, "")
      .replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  }
}
