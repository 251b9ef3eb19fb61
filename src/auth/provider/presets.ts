/**
 * Presets for the OpenID providers that are known by name.
 *
 * @module
 */
import { GOOGLE_ISSUER, isGoogleAddress } from "./google.ts";
import {
  isMicrosoftIssuer,
  isTenantIssuer,
  microsoftGroups,
} from "./microsoft.ts";
import type { OpenIdOptions } from "./openid.ts";

/** An OpenID provider, without our application there. */
export type Preset =
  & Omit<OpenIdOptions, "clientId" | "clientSecret">
  & {
    apiUrl: string;
    /** Parameters that the provider answers with an error. */
    refusedParams?: readonly string[];
  };

/**
 * Presets by `OAUTH_PROVIDER`. `extraAuthParams` may be replaced by settings; endpoints
 * come from discovery.
 */
export const PRESETS: Readonly<
  Record<"google" | "microsoft" | "gitlab", Preset>
> = {
  /** @see https://developers.google.com/identity/openid-connect/reference */
  google: {
    name: "Google",
    issuer: GOOGLE_ISSUER,
    scopes: ["openid", "email", "profile"],
    // Only with both parameters is there a refresh token, also at later
    // sign-ins.
    extraAuthParams: { access_type: "offline" },
    prompt: "consent",
    apiUrl: "https://www.googleapis.com",
    isFrom: (named, issuer) =>
      issuer === named || issuer === "accounts.google.com",
    // The Workspace domain as a claim; the parameter of that name is only a
    // hint.
    claims: {
      isOwnAddress: isGoogleAddress,
      memberships: { organizations: ["hd"] },
    },
  },
  /** @see https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc */
  microsoft: {
    name: "Microsoft",
    issuer: "https://login.microsoftonline.com/common/v2.0",
    scopes: ["openid", "profile", "email", "offline_access", "User.Read"],
    extraAuthParams: {},
    apiUrl: "https://graph.microsoft.com/v1.0",
    isNamed: isMicrosoftIssuer,
    isFrom: isTenantIssuer,
    // Any tenant's administrator can write any address into `email`; this
    // optional claim says that the tenant owns its domain.
    claims: {
      emailVerified: "xms_edov",
      memberships: { roles: ["roles"], groups: ["groups"] },
    },
    readGroups: microsoftGroups,
    // Its userinfo takes only tokens for Graph, and knows nothing more.
    userinfo: false,
    // AADSTS901002: v2.0 takes scopes instead.
    refusedParams: ["resource"],
  },
  /** @see https://docs.gitlab.com/integration/openid_connect_provider/ */
  gitlab: {
    name: "GitLab",
    issuer: "https://gitlab.com",
    scopes: ["openid", "profile", "email", "read_user"],
    extraAuthParams: {},
    apiUrl: "https://gitlab.com/api/v4",
    claims: { memberships: { groups: ["groups"] } },
  },
};
