// The table of all handlers. A new subject adds its line here.

import { endpoints } from './endpoints.ts'
import type { Handlers, HandlersFor, Authenticator } from '../management/index.ts'
import { ClientQueries } from './clients/client-queries.ts'
import type { ApiContext, NodeParts } from './context/api-context.ts'
import { resolveNames } from './context/names.ts'
import type { ShutdownRequests } from './control/control.ts'
import { LiveStreams } from './live/live-stream.ts'
import { CountedTopics } from './topic-metrics/counted-topics.ts'
import { createAlarmHandlers } from './alarms/alarms.ts'
import { createBridgeHandlers, listBridges } from './bridges/bridges.ts'
import type { StoredAccounts } from './accounts/stored-accounts.ts'
import { createAccountHandlers } from './accounts/v4.ts'
import { createBrokerHandlers } from './brokers/brokers.ts'
import { createDiagnosticsHandlers } from './diagnostics/diagnostics.ts'
import { createRetainedHandlers } from './retained/retained.ts'
import { createPublishingHandlers } from './publishing/publishing.ts'
import { createConfigurationHandlers } from './configuration/configuration.ts'
import { createControlHandlers } from './control/control.ts'
import { createClientHandlers } from './clients/clients.ts'
import { createClientRuleHandlers } from './client-rules/client-rules.ts'
import { ConfiguredBridges } from './bridges/configured-bridges.ts'
import { ConfiguredGateways } from './gateways/configured-gateways.ts'
import { GatewayUsers } from './gateways/gateway-user-operations.ts'
import { StoredRules } from './client-rules/stored-rules.ts'
import { CredentialLists, ScramHasher } from './credentials/credential-lists.ts'
import { createCredentialHandlers } from './credentials/credentials.ts'
import { createClusterHandlers } from './cluster/cluster.ts'
import { createDrainHandlers } from './drain/drain.ts'
import { createDocumentHandlers } from './documents/documents.ts'
import { createListenerHandlers } from './listeners/listeners.ts'
import { createMetricHandlers } from './metrics/metrics.ts'
import { createSubscriptionHandlers } from './subscriptions/subscriptions.ts'
import { createSlowSubscriptionHandlers } from './slow-subscriptions/slow-subscriptions.ts'
import { createTraceHandlers } from './traces/traces.ts'
import { createV4ResourceHandlers } from './rules/v4/v4-resources.ts'
import { createV4RuleHandlers } from './rules/v4/v4-rules.ts'
import { createActionHandlers } from './rules/actions.ts'
import { createSourceHandlers } from './rules/sources.ts'
import { ConfiguredRules, RuleParts } from './rules/configured-rules.ts'
import { createRuleHandlers } from './rules/rules.ts'
import { createSchemaHandlers } from './schema-registry/schema-registry.ts'
import { createApiKeyHandlers } from './accounts/api-keys.ts'
import { createAuditHandlers } from './audit/audit.ts'
import { createBackupHandlers } from './backup/backup.ts'
import { createGatewayAuthenticationHandlers } from './gateways/gateway-authentication-handlers.ts'
import { createGatewayClientHandlers } from './gateways/gateway-clients.ts'
import { createGatewayListenerHandlers } from './gateways/gateway-listeners.ts'
import { createTopicMetricsHandlers } from './topic-metrics/topic-metrics.ts'
import { createTopicSettingHandlers } from './topic-settings/topic-settings.ts'
import { createDelayedHandlers } from './delayed/delayed.ts'
import { createGatewayHandlers } from './gateways/gateways.ts'
import { createLoginHandlers } from './login/login.ts'
import { createLiveHandlers } from './live/live.ts'
import { createMonitorHandlers } from './monitor/monitor.ts'
import { createNamespaceHandlers } from './namespaces/namespaces.ts'
import { createModuleHandlers } from './modules/modules.ts'
import { createPluginHandlers } from './plugins/plugins.ts'
import { createV4PluginHandlers } from './plugins/v4.ts'
import { createUserV5Handlers } from './accounts/users.ts'

/** What the code that starts the node provides in addition to its parts. */
export interface ApiParts {
  /** Receives requests to stop or restart. */
  readonly control: ShutdownRequests
  readonly accounts: StoredAccounts
}

/** What exists once for all servers and namespaces. */
interface SharedParts extends ApiParts {
  readonly live: LiveStreams
  readonly countedTopics: CountedTopics
  readonly scramHasher: ScramHasher
  readonly ruleParts: RuleParts
}

/** Returns the handlers of all endpoints. */
export function createHandlerFactory(node: NodeParts, parts: ApiParts): HandlersFor {
  const shared = {
    ...parts,
    live: new LiveStreams(node),
    countedTopics: new CountedTopics(node),
    scramHasher: new ScramHasher(),
    ruleParts: new RuleParts(node),
  }
  return (namespace, authenticator) =>
    createHandlers({ ...node, names: resolveNames(namespace) }, shared, authenticator)
}

function createHandlers(
  context: ApiContext,
  { control, accounts, live, countedTopics, scramHasher, ruleParts }: SharedParts,
  authenticator: () => Authenticator,
): Handlers<typeof endpoints> {
  const clients = new ClientQueries(context)
  const { namespace } = context.names
  const rules = new ConfiguredRules(ruleParts, namespace)
  const bridges = new ConfiguredBridges(context)
  const gateways = new ConfiguredGateways(context)
  const gatewayUsers = new GatewayUsers(context)
  return {
    ...createBridgeHandlers(bridges),
    ...createBrokerHandlers(context),
    ...createConfigurationHandlers(context, (areOfAws) => listBridges(bridges, areOfAws)),
    ...createControlHandlers(control),
    ...createClientHandlers(clients),
    ...createSubscriptionHandlers(clients),
    ...createClientRuleHandlers(new StoredRules(context, namespace)),
    ...createCredentialHandlers(new CredentialLists({ ...context, scramHasher }, namespace)),
    ...createDocumentHandlers(context, endpoints),
    ...createClusterHandlers(context),
    ...createDrainHandlers(context),
    ...createListenerHandlers(context),
    ...createPublishingHandlers(context),
    ...createRetainedHandlers(context),
    ...createMetricHandlers(context, { rules: ruleParts, gateways, topics: countedTopics }),
    ...createAlarmHandlers(context),
    ...createTraceHandlers(context),
    ...createAccountHandlers(accounts, authenticator),
    ...createDiagnosticsHandlers(context),
    ...createSlowSubscriptionHandlers(context),
    ...createNamespaceHandlers(context),
    ...createRuleHandlers(rules),
    ...createSchemaHandlers(context),
    ...createV4RuleHandlers(rules),
    ...createV4ResourceHandlers(rules),
    ...createActionHandlers(rules),
    ...createSourceHandlers(rules),
    ...createGatewayHandlers(gateways),
    ...createGatewayAuthenticationHandlers(gateways, gatewayUsers),
    ...createGatewayClientHandlers(gateways, clients, context),
    ...createGatewayListenerHandlers(gateways, gatewayUsers),
    ...createDelayedHandlers(context),
    ...createTopicSettingHandlers(context),
    ...createTopicMetricsHandlers(countedTopics),
    ...createApiKeyHandlers(accounts),
    ...createAuditHandlers(context),
    ...createBackupHandlers(context.backups),
    ...createLoginHandlers(context, authenticator),
    ...createUserV5Handlers(accounts),
    ...createMonitorHandlers(context),
    ...createLiveHandlers(live),
    ...createModuleHandlers(context),
    ...createPluginHandlers(context),
    ...createV4PluginHandlers(context),
  }
}
