/** @jsxImportSource @hono/hono/jsx */
/**
 * The frame of the account page: navigation and one part.
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
import { type Notice, NoticeBox } from "./notice.tsx";
import {
  type ProviderOption,
  SignInForm,
} from "../../core/pages/provider_buttons.tsx";
import {
  COPY_SCRIPT,
  FRONT_SCRIPT,
  TICK_SCRIPT,
} from "../../core/pages/scripts.ts";

export interface PartLink {
  /** The part's name in the URL; empty for the first part. */
  name: string;
  label: string;
  isForOperators?: boolean;
}

export interface AccountProps extends PageProps {
  title: string;
  /** The name of the part that is shown. */
  part: string;
  /** The parts that the person may see. */
  parts: readonly PartLink[];
  /** The person's name at the provider. */
  person: string;
  providerName: string;
  csrf: string;
  /** The change that the person just made. */
  notice?: Notice;
  scripts?: readonly string[];
  children?: Child;
}

/** The account page with one part. Respond with `forms: "self"`. */
export function AccountPage(props: AccountProps) {
  const { base = "", title, parts, part, person, providerName } = props;
  return (
    <Layout
      {...props}
      // The parts that one person sees have the same width, so that the
      // navigation does not move.
      width={parts.some((it) => it.isForOperators) ? "full" : "wide"}
      scripts={[FRONT_SCRIPT, COPY_SCRIPT, TICK_SCRIPT, ...props.scripts ?? []]}
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
        {props.notice && <NoticeBox {...props.notice} />}
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

export interface SignInWords extends Pick<FormPage, "back"> {
  title: string;
  heading?: string;
  /** The reason to sign in. */
  lead: string;
  /** A message about what the person just did. */
  notice?: string;
}

/** A sign-in page. Respond with `forms: "any"`. */
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
