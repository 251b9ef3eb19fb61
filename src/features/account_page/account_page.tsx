/** @jsxImportSource @hono/hono/jsx */
/**
 * The account page: a frame with the navigation of its parts, one of which it
 * shows.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { displayName } from "../../core/pages/names.tsx";
import {
  AccountForm,
  CardPage,
  type FormPage,
  Layout,
  type PageProps,
} from "../../core/pages/layout.tsx";
import { type Notice, NoticeOf } from "./notice.tsx";
import {
  type ProviderOption,
  SignInForm,
} from "../../core/pages/provider_buttons.tsx";
import { COPY_SCRIPT, TICK_SCRIPT } from "../../core/pages/scripts.ts";

/** A part of the account page in its navigation. */
export interface PartLink {
  /** The part's name in the address; empty for the first part. */
  name: string;
  label: string;
  isForOperators?: boolean;
}

export interface AccountProps extends PageProps {
  /** The heading of the part. */
  title: string;
  /** The name of the part that is shown. */
  part: string;
  /** The parts that the person may see. */
  parts: readonly PartLink[];
  /** The signed-in person's name at the provider. */
  person: string;
  providerName: string;
  /** The CSRF token of all forms of the page. */
  csrf: string;
  /** The change that was made just now. */
  notice?: Notice;
  /** The scripts of the part alone. */
  scripts?: readonly string[];
  /** The contents of the part. */
  children?: Child;
}

/** One part of a person's account. Send the page with `forms: "self"`. */
export function AccountPage(props: AccountProps) {
  const { base = "", title, parts, part, person, providerName } = props;
  return (
    <Layout
      {...props}
      // All parts that one person sees are equally wide, so that the navigation
      // stays in place.
      width={parts.some((it) => it.isForOperators) ? "full" : "wide"}
      scripts={[COPY_SCRIPT, TICK_SCRIPT, ...props.scripts ?? []]}
    >
      <section class="row-head" aria-label="Signed in">
        <p class="small soft">
          Signed in as{" "}
          <strong>
            <bdi>{displayName(person)}</bdi>
          </strong>{" "}
          with {providerName}
        </p>
        <AccountForm base={base} csrf={props.csrf} action="/account/sign-out">
          <button class="quiet" type="submit">Sign out</button>
        </AccountForm>
      </section>
      <nav class="parts" aria-label="Your account">
        <PartList base={base} part={part} of={parts} />
        <PartList base={base} part={part} of={parts} isForOperators />
      </nav>
      <main>
        <h1>{title}</h1>
        {props.notice && <NoticeOf {...props.notice} />}
        {props.children}
      </main>
    </Layout>
  );
}

/** The parts for everyone, or those for operators. */
function PartList(
  { base, part, of, isForOperators = false }: {
    base: string;
    part: string;
    of: readonly PartLink[];
    isForOperators?: boolean;
  },
) {
  const shown = of.filter((it) =>
    (it.isForOperators ?? false) === isForOperators
  );
  if (shown.length === 0) return null;
  return (
    <ul aria-label={isForOperators ? "For operators" : undefined}>
      {shown.map(({ name, label }) => (
        <li>
          <a
            href={`${base}/account${name && `/${name}`}`}
            aria-current={name === part ? "page" : undefined}
          >
            {label}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The words of a page on which a person signs in first. */
export interface SignInWords extends Pick<FormPage, "back"> {
  title: string;
  heading?: string;
  /** The reason to sign in. */
  lead: string;
  /** A message about what was done just now. */
  notice?: string;
}

/** A page on which a person signs in first. Send it with `forms: "any"`. */
export function SignInPage(
  { lead, notice, back, options, ...page }: PageProps & SignInWords & {
    options: readonly ProviderOption[];
  },
) {
  return (
    <CardPage {...page}>
      {notice && <p class="note good" role="status">{notice}</p>}
      <p class="lead">{lead}</p>
      <SignInForm base={page.base} back={back} options={options} />
    </CardPage>
  );
}
