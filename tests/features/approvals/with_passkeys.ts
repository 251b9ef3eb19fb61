/**
 * People with passkeys, which are software: they make them on the page, and sign
 * with them what the page of an approval shows.
 *
 * @module
 */
import assert from "node:assert/strict";
import { SoftwarePasskey } from "../../../packages/testing/software_passkey.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";

export const SITE = { origin: BASE_URL, rpId: new URL(BASE_URL).hostname };

/** Reads the options in a form of the page. */
export function optionsIn(
  visitor: AccountVisitor,
  action: string,
  kind: "get" | "create",
): { challenge: string; allowCredentials: { id: string }[] } {
  const { text } = formOf(visitor.page, action);
  const [, found] = new RegExp(`data-${kind}="([^"]*)"`).exec(text) ?? [];
  assert.ok(found, `no data-${kind} in ${text}`);
  return JSON.parse(found.replaceAll("&quot;", '"').replaceAll("&amp;", "&"));
}

/** Signs in again on the page of passkeys, as making one wants it. */
export async function openPasskeys(visitor: AccountVisitor): Promise<void> {
  await visitor.look("/passkeys");
  if (visitor.page.text.includes("data-create=")) return;
  await visitor.press("/account/sign-in");
}

export async function make(
  visitor: AccountVisitor,
  passkey: SoftwarePasskey,
  name = "Phone",
) {
  const { challenge } = optionsIn(visitor, "/account/passkeys", "create");
  const create = await passkey.register({ ...SITE, challenge });
  return await visitor.press("/account/passkeys", { name, create });
}

/** A person with a passkey. */
export async function withPasskey(server: OAuthServer) {
  const visitor = await AccountVisitor.signIn(server);
  await openPasskeys(visitor);
  const passkey = await SoftwarePasskey.make(1);
  await make(visitor, passkey);
  return { visitor, passkey };
}

export function pathOf(link: string): string {
  return new URL(link).pathname;
}

export async function sign(
  visitor: AccountVisitor,
  link: string,
  passkey: SoftwarePasskey,
  other: Partial<Parameters<SoftwarePasskey["sign"]>[0]> = {},
): Promise<string> {
  visitor.page = await visitor.browser.open(link);
  const { challenge } = optionsIn(visitor, pathOf(link), "get");
  return await passkey.sign({ ...SITE, challenge, ...other });
}

export function send(visitor: AccountVisitor, link: string, get: string) {
  return visitor.press(pathOf(link), { answer: "approve", get });
}
