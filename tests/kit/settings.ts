/**
 * Settings with which people sign in.
 *
 * @module
 */
export const GITHUB = {
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "github",
  OAUTH_CLIENT_ID: "app",
  OAUTH_CLIENT_SECRET: "hush",
};
