/**
 * Resources: content that clients read by its URI.
 *
 * @module
 */
import type { Annotations } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { AccountNeeds } from "./account.ts";
import { type CommonDefinition, type Context, DESCRIBED } from "./context.ts";
import { NEEDS } from "./oauth_account.ts";
import * as kinds from "./options.ts";
import type { MaybePromise, Services } from "./service.ts";
import type { SettingSchemas } from "./setting.ts";

/** The variables of a URI template: `notes://{folder}/{id}` has two. */
export type Variables<U extends string> = U extends
  `${string}{${infer V}}${infer Rest}` ?
    & { readonly [K in V extends `+${infer Name}` ? Name : V]: string }
    & Variables<Rest>
  : unknown;

/** One resource's content: text, bytes, or the protocol's contents. */
export type ResourceAnswer = string | Uint8Array | ResourceContents[];

/** Contents as the protocol has them; `blob` is base64. */
export interface ResourceContents {
  /** The URI that was read. */
  uri: string;
  /** The media type, such as `text/markdown`. */
  mimeType?: string;
  /** The content as text. */
  text?: string;
  /** The content as bytes, in base64. */
  blob?: string;
  /** Metadata that is sent to the client unchanged. */
  _meta?: Record<string, unknown>;
}

/** The context of a completion request, which cannot ask anything back. */
export type CompleteContext<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
  N extends AccountNeeds = Record<never, never>,
> = Omit<Context<S, V, N>, "progress" | "ask" | "sample" | "roots">;

/**
 * Proposes values for an argument, best first. `value` is the beginning that
 * the person has typed, `known` holds the other arguments so far.
 *
 * @example
 * ```ts
 * import { resource, service } from "@tool-server/tool-server";
 *
 * const store = service({
 *   name: "notes",
 *   start: () => new Map([["tea", "Buy tea."]]),
 * });
 *
 * resource({
 *   uri: "notes://{id}",
 *   name: "note",
 *   services: { store },
 *   complete: {
 *     id: (value, _known, { services }) =>
 *       [...services.store.keys()].filter((id) => id.startsWith(value)),
 *   },
 *   read: ({ id }, { services }) => services.store.get(id),
 * });
 * ```
 */
export type Complete<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
  N extends AccountNeeds = Record<never, never>,
> = (
  value: string,
  known: Readonly<Record<string, string>>,
  context: CompleteContext<S, V, N>,
) => MaybePromise<readonly string[]>;

/** A resource that clients read by its URI. */
export interface ResourceDefinition<
  U extends string = string,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
  N extends AccountNeeds = AccountNeeds,
> extends CommonDefinition<S, V> {
  /** A URI, or an RFC 6570 template with `{name}` and `{+path}`. */
  uri: U;
  /**
   * Services that the resource reads with the caller's own accounts. A person
   * who has not connected one of them is asked to do so first. If a service
   * allows several accounts, `{account}` in `uri` names the account.
   */
  needs?: N;
  /** The media type, such as `text/markdown`. */
  mimeType?: string;
  /** Hints for clients. */
  annotations?: Annotations;
  /** The size in bytes, if it is known beforehand. */
  size?: number;
  /** The seconds for which clients may cache the content; 0 by default. */
  ttlSeconds?: number;
  /** `public` if every caller gets the same; `private` by default. */
  cacheScope?: "public" | "private";
  /** Completions for the variables of `uri`. */
  complete?: { [K in keyof Variables<U>]?: Complete<S, V, N> };
  /** Reads the resource; returns undefined if there is none. */
  read(
    variables: Variables<U>,
    context: Context<S, V, N>,
  ): MaybePromise<ResourceAnswer | undefined>;
}

/**
 * A resource that {@linkcode resource} made. Its type no longer names its
 * variables, settings and services.
 */
export interface Resource
  extends Omit<ResourceDefinition, "complete" | "read"> {
  /** Distinguishes a resource from a tool and a prompt. */
  readonly kind: "resource";
  /** Completions for the variables of `uri`. */
  complete?: Readonly<Record<string, Complete>>;
  /** Reads the resource; returns undefined if there is none. */
  read(
    variables: Record<string, string>,
    context: Context,
  ): MaybePromise<ResourceAnswer | undefined>;
}

/**
 * Declares a resource or a family of them.
 *
 * @example
 * ```ts
 * import { resource } from "@tool-server/tool-server";
 *
 * const greeting = resource({
 *   uri: "greeting://{name}",
 *   name: "greeting",
 *   read: ({ name }) => `Hello, ${name}!`,
 * });
 * ```
 */
export function resource<
  const U extends string,
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
  N extends AccountNeeds = Record<never, never>,
>(definition: ResourceDefinition<U, S, V, N>): Resource {
  return {
    kind: "resource",
    ...kinds.membersOf(RESOURCE, definition),
  } as unknown as Resource;
}

/** The options of {@linkcode Annotations}. */
export const ANNOTATIONS = {
  audience: kinds.list(
    kinds.choice("user", "assistant"),
    '"user" and "assistant"',
  ),
  priority: kinds.numberFrom("a number from 0 to 1", 0, 1),
  lastModified: kinds.like<string>(
    "a time such as 2026-01-31T12:00:00Z",
    (it) => z.iso.datetime({ offset: true }).safeParse(it).success,
  ),
} satisfies kinds.Members<Annotations>;

/**
 * The completions for the variables of a resource or the arguments of a prompt,
 * by name.
 */
export const COMPLETE: kinds.Kind = kinds.recordOf(
  kinds.FUNCTION,
  "an object of functions",
);

/** The options of {@linkcode resource}. */
export const RESOURCE = {
  ...DESCRIBED,
  uri: kinds.required(kinds.TEXT),
  needs: NEEDS,
  mimeType: kinds.TEXT,
  annotations: kinds.object<Annotations>(ANNOTATIONS),
  size: kinds.countFrom(0),
  ttlSeconds: kinds.numberFrom("a number of seconds", 0),
  cacheScope: kinds.choice("public", "private"),
  complete: COMPLETE,
  read: kinds.required(kinds.FUNCTION),
} satisfies kinds.Members<Omit<Resource, "kind">>;
