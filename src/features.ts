/**
 * The features of this server, a line each. Remove a line to remove a feature.
 *
 * @module
 */
import type { Feature } from "./core/server/feature.ts";
import { accountPageFeature } from "./features/account_page/feature.ts";
import { accountsFeature } from "./features/accounts/feature.ts";
import { discoveryFeature } from "./features/discovery/feature.ts";
import { idJagFeature } from "./features/id_jag/feature.ts";
import { ledgerFeature } from "./features/ledger/feature.ts";
import { landingFeature } from "./features/landing/feature.ts";
import { developmentFeature } from "../packages/dev/feature.ts";
import { mcpServersFeature } from "./features/mcp_servers/feature.ts";
import { operatorsFeature } from "./features/operators/feature.ts";
import { questionsFeature } from "./features/questions/feature.ts";
import { skillsFeature } from "./features/skills/feature.ts";
import { approvalsFeature } from "./features/approvals/feature.ts";
import { viewsFeature } from "./features/views/feature.ts";
import { workFeature } from "./features/work/feature.ts";

export const FEATURES: readonly Feature[] = [
  discoveryFeature,
  landingFeature,
  viewsFeature,
  developmentFeature,
  skillsFeature,
  idJagFeature,
  accountPageFeature,
  accountsFeature,
  mcpServersFeature,
  ledgerFeature,
  workFeature,
  questionsFeature,
  approvalsFeature,
  operatorsFeature,
];
