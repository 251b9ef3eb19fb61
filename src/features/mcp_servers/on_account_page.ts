/**
 * Our client ID metadata documents for other authorization servers. Each MCP
 * server has a document of its own, because it has its own redirect URI.
 *
 * @see draft-ietf-oauth-client-id-metadata-document
 * @module
 */
import type { AccountPageAddition } from "../account_page/account_pages.ts";
import { clientMetadata } from "./registrations.ts";
import { clientDocumentUrl } from "./mcp_client.ts";

const addition: AccountPageAddition = {
  routes(app, { server, baseUrl }) {
    for (const { name, ...service } of server.services) {
      if (service.kind !== "account" || !service.isMcp) continue;
      const redirectUri = `${baseUrl}/connect/${name}/callback`;
      const client_id = clientDocumentUrl(redirectUri);
      if (client_id === undefined) continue;
      const { title } = server.config;
      const document = { client_id, ...clientMetadata(redirectUri, title) };
      app.get(`/connect/${name}/client.json`, (c) => c.json(document));
    }
  },
};

export default addition;
