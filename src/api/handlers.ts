// The table of all handlers. A new subject adds its line here.

import { endpoints } from './endpoints.ts'
import type { Handlers, HandlersFor, Authenticator } from '../management/index.ts'
import { ClientQueries } from './clients/client-queries.ts'
import type { ApiContext, NodeParts } from './context/api-context.ts'
import { namesOf } from './context/names.ts'
import type { ShutdownRequests } from './control/control.ts'
import { LiveStreams } from './live/live-stream.ts'
import { CountedTopics } from './topic-metrics/counted-topics.ts'
import { alarmHandlers } from './alarms/alarms.ts'
import { bridgeHandlers, listBridges } from './bridges/bridges.ts'
import type { StoredAccounts } from './accounts/stored-accounts.ts'
import { accountHandlers } from './accounts/v4.ts'
import { brokerHandlers } from './brokers/brokers.ts'
import { diagnosticsHandlers } from './diagnostics/diagnostics.ts'
import { retainedHandlers } from './retained/retained.ts'
import { publishingHandlers } from './publishing/publishing.ts'
import { configurationHandlers } from './configuration/configuration.ts'
import { controlHandlers } from './control/control.ts'
import { clientHandlers } from './clients/clients.ts'
import { clientRuleHandlers } from './client-rules/client-rules.ts'
import { ConfiguredBridges } from './bridges/configured-bridges.ts'
import { ConfiguredGateways } from './gateways/configured-gateways.ts'
import { GatewayUsers } from './gateways/gateway-users.ts'
import { StoredRules } from './client-rules/stored-rules.ts'
import { CredentialLists, ScramHasher } from './credentials/credential-lists.ts'
import { credentialHandlers } from './credentials/credentials.ts'
import { documentHandlers } from './documents/documents.ts'
import { listenerHandlers } from './listeners/listeners.ts'
import { metricHandlers } from './metrics/metrics.ts'
import { subscriptionHandlers } from './subscriptions/subscriptions.ts'
import { slowSubscriptionHandlers } from './slow-subscriptions/slow-subscriptions.ts'
import { traceHandlers } from './traces/traces.ts'
import { v4ResourceHandlers } from './rules/v4/v4-resources.ts'
import { v4RuleHandlers } from './rules/v4/v4-rules.ts'
import { actionHandlers } from './rules/actions.ts'
import { sourceHandlers } from './rules/sources.ts'
import { ConfiguredRules, RuleParts } from './rules/configured-rules.ts'
import { ruleHandlers } from './rules/rules.ts'
import { schemaHandlers } from './schema-registry/schema-registry.ts'
import { apiKeyHandlers } from './accounts/api-keys.ts'
import { auditHandlers } from './audit/audit.ts'
import { backupHandlers } from './backup/backup.ts'
import { gatewayAuthenticationHandlers } from './gateways/gateway-authentication.ts'
import { gatewayClientHandlers } from './gateways/gateway-clients.ts'
import { gatewayListenerHandlers } from './gateways/gateway-listeners.ts'
import { topicMetricsHandlers } from './topic-metrics/topic-metrics.ts'
import { topicSettingHandlers } from './topic-settings/topic-settings.ts'
import { delayedHandlers } from './delayed/delayed.ts'
import { gatewayHandlers } from './gateways/gateways.ts'
import { loginHandlers } from './login/login.ts'
import { liveHandlers } from './live/live.ts'
import { monitorHandlers } from './monitor/monitor.ts'
import { namespaceHandlers } from './namespaces/namespaces.ts'
import { userV5Handlers } from './accounts/users.ts'

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
export function handlersFor(node: NodeParts, parts: ApiParts): HandlersFor {
  const shared = {
    ...parts,
    live: new LiveStreams(node),
    countedTopics: new CountedTopics(node),
    scramHasher: new ScramHasher(),
    ruleParts: new RuleParts(node),
  }
  return (namespace, authenticator) => createHandlers({ ...node, names: namesOf(namespace) }, shared, authenticator)
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
    ...bridgeHandlers(bridges),
    ...brokerHandlers(context),
    ...configurationHandlers(context, (areOfAws) => listBridges(bridges, areOfAws)),
    ...controlHandlers(control),
    ...clientHandlers(clients),
    ...subscriptionHandlers(clients),
    ...clientRuleHandlers(new StoredRules(context, namespace)),
    ...credentialHandlers(new CredentialLists({ ...context, scramHasher }, namespace)),
    ...documentHandlers(context, endpoints),
    ...listenerHandlers(context),
    ...publishingHandlers(context),
    ...retainedHandlers(context),
    ...metricHandlers(context, { rules: ruleParts, gateways, topics: countedTopics }),
    ...alarmHandlers(context),
    ...traceHandlers(context),
    ...accountHandlers(accounts, authenticator),
    ...diagnosticsHandlers(context),
    ...slowSubscriptionHandlers(context),
    ...namespaceHandlers(context),
    ...ruleHandlers(rules),
    ...schemaHandlers(context),
    ...v4RuleHandlers(rules),
    ...v4ResourceHandlers(rules),
    ...actionHandlers(rules),
    ...sourceHandlers(rules),
    ...gatewayHandlers(gateways),
    ...gatewayAuthenticationHandlers(gateways, gatewayUsers),
    ...gatewayClientHandlers(gateways, clients, context),
    ...gatewayListenerHandlers(gateways, gatewayUsers),
    ...delayedHandlers(context),
    ...topicSettingHandlers(context),
    ...topicMetricsHandlers(countedTopics),
    ...apiKeyHandlers(accounts),
    ...auditHandlers(context),
    ...backupHandlers(context.backups),
    ...loginHandlers(context, authenticator),
    ...userV5Handlers(accounts),
    ...monitorHandlers(context),
    ...liveHandlers(live),
  }
}
