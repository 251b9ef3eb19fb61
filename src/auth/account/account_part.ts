/**
 * A part of the account page: its address, its heading, who sees it, and how
 * it is made.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { PartLink } from "../../pages/account_page.tsx";
import type { FormPage } from "../../pages/form.tsx";
import type { PlacedPart } from "./places.ts";
import type { SignedIn } from "./signed_in.ts";

/** A signed-in person who opens a part. */
export interface Visit extends SignedIn {
  isOperator: boolean;
  /** The name of the provider that they signed in at. */
  providerName: string;
  /** The parameters of its address. */
  query: Readonly<Record<string, string>>;
  /** For the forms of its page. */
  form: Required<FormPage>;
  /** Epoch seconds. */
  now: number;
}

/** A part of the account page. */
export interface AccountPart extends PartLink, PlacedPart {
  title: string;
  /** True if a form of it may lead to the provider. */
  leadsAway?: true;
  /** Reads what it shows, and shows it. */
  show(visit: Visit): Promise<Child>;
}
