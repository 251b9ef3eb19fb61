/**
 * The stores and rules that the pages and the forms of the account share.
 *
 * @module
 */
import type { About } from "../../authoring/about.ts";
import type { Scopes } from "../../authoring/scope.ts";
import type { Clock } from "../../clock.ts";
import type { CheckRate, WaiveRate } from "../../http/rate_limit.ts";
import type { Logger } from "../../log/log.ts";
import type { ScopeInWords } from "../../pages/scope_boxes.tsx";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import type { AccountSessionStore } from "../../store/account_sessions.ts";
import type { ApprovalStore } from "../../store/approvals.ts";
import type { AttemptStore } from "../../store/attempts.ts";
import type { ClientUseStore } from "../../store/client_uses.ts";
import type { ConnectionStore } from "../../store/connections.ts";
import type { Database } from "../../store/database.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { LedgerStore } from "../../store/ledger.ts";
import type { PeopleStore } from "../../store/people.ts";
import type { SessionStore } from "../../store/sessions.ts";
import type { StepFailureStore } from "../../store/step_failures.ts";
import type { StepStore } from "../../store/steps.ts";
import type { TaskRunStore } from "../../store/task_runs.ts";
import type { TaskStore } from "../../store/tasks.ts";
import type { WaitStore } from "../../store/waits.ts";
import type { ClientDirectory } from "../clients/client_directory.ts";
import type { EndGrants } from "../grants/end_grant.ts";
import type { PersonData } from "../grants/person_data.ts";
import type { ProviderChoice } from "../grants/provider_choice.ts";
import type { SignInProviders } from "../provider/sign_in_providers.ts";
import type { Client } from "../rules/client.ts";
import type { Confirmation } from "../rules/confirmation.ts";
import type { MayHold } from "../rules/held_scopes.ts";
import type { Lifetimes } from "../rules/lifetimes.ts";
import type { ListEntry } from "../rules/list_entry.ts";
import type { Permissions } from "../rules/permissions.ts";
import type { SignedInPeople } from "./signed_in.ts";

/** The parts of the server that the account is made of. */
export interface AccountServices {
  baseUrl: string;
  serverTitle: string;
  about?: About;
  config: { ledgerDays: number };
  clock: Clock;
  log: Logger;
  checkRate: CheckRate;
  waiveRate: WaiveRate;

  providers: SignInProviders;
  choice: ProviderChoice;
  /** The prefixes of all subjects. */
  subjectIds: readonly string[];
  signedIn: SignedInPeople;
  /** Decides when the provider is asked who a person is now. */
  confirmation: Confirmation;
  allowedUsers: readonly ListEntry[];
  /** `OAUTH_BLOCKED`. */
  blocked: readonly ListEntry[];
  permissions?: Permissions;
  /** Tells what a grant's token may be used for here. */
  mayHold: MayHold;
  lifetimes: Lifetimes;
  scopes: Scopes;
  /** True if something here needs no scope. */
  opensUnscoped: boolean;
  inWords(scopes: readonly string[]): ScopeInWords[];
  clients: ClientDirectory;
  /** `OAUTH_CLIENTS`. */
  configured: readonly Client[];

  database: Database;
  accessTokens: AccessTokenStore;
  accountSessions: AccountSessionStore;
  approvals: ApprovalStore;
  attempts: AttemptStore;
  clientUses: ClientUseStore;
  connections: ConnectionStore;
  endGrants: EndGrants;
  grants: GrantStore;
  /** Absent where no calls are kept. */
  ledger?: LedgerStore;
  people: PeopleStore;
  personData: PersonData;
  sessions: SessionStore;
  stepFailures: StepFailureStore;
  steps: StepStore;
  taskRuns: TaskRunStore;
  tasks: TaskStore;
  waits: WaitStore;
}
