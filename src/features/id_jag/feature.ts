/**
 * Access tokens for assertions (ID-JAG) of an organization's identity provider.
 *
 * @module
 * @see draft-ietf-oauth-identity-assertion-authz-grant
 */
import { JWT_BEARER_GRANT_TYPE } from "../../core/oauth/client.ts";
import type { Feature } from "../../core/server/feature.ts";
import { ID_JAG } from "./settings.ts";
import type { assertionGrant } from "./assertion_grant.ts";

/** The metadata value that announces this grant. */
const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

export const idJagFeature: Feature = {
  name: "id_jag",
  settings: {
    title: "AUTH_STRATEGY=oauth: clients",
    rows: ID_JAG,
    strategy: "oauth",
    assertionIssuers: ID_JAG.OAUTH_ASSERTION_ISSUERS,
  },
  grantType(services) {
    // Metadata announces the grant, but does not name the trusted issuers.
    if (services.config.assertionIssuers.length === 0) return undefined;
    let redeem: ReturnType<typeof assertionGrant> | undefined;
    return {
      name: JWT_BEARER_GRANT_TYPE,
      metadata: { authorization_grant_profiles_supported: [ID_JAG_PROFILE] },
      signedIn: "Signed in by an assertion",
      async redeem(...request) {
        const { assertionGrant } = await import("./assertion_grant.ts");
        redeem ??= assertionGrant(services);
        return await redeem(...request);
      },
    };
  },
};
