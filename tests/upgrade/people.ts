/**
 * People who signed in at each kind of provider before the update.
 *
 * @module
 */
import type { Environment } from "../../src/settings/setting.ts";

/** A person who is `42` at their provider. */
export interface FormerPerson {
  /** Their subject as version 0.2 wrote it, and as it is written today. */
  former: string;
  subject: string;
  /** The settings of their provider. */
  environment: Environment;
}

const TENANT = "login.microsoftonline.com/72f988bf-86f1-41af/v2.0";

export const FORMER_PEOPLE: readonly FormerPerson[] = [
  { former: "github:42", subject: "github:42", environment: {} },
  {
    former: "id.example.com:8443/t1:42",
    subject: "https://id.example.com:8443/t1#42",
    environment: {
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: "https://id.example.com:8443/t1",
    },
  },
  {
    former: `${TENANT}:42`,
    subject: `https://${TENANT}#42`,
    environment: {
      OAUTH_PROVIDER: "microsoft",
      OAUTH_ISSUER: `https://${TENANT}`,
    },
  },
  {
    former: "api.example.com:42",
    subject: "https://api.example.com#42",
    environment: {
      OAUTH_PROVIDER: "custom",
      OAUTH_AUTHORIZATION_URL: "https://id.example.com/authorize",
      OAUTH_TOKEN_URL: "https://id.example.com/token",
      OAUTH_USERINFO_URL: "https://api.example.com/me",
    },
  },
];
