// The handlers of all endpoints. A new set adds its line here.

import { endpoints } from './endpoints.ts'
import type { Handlers, HandlersFor, Authenticator } from '../management/index.ts'
import type { Operations } from './operations.ts'
import { alarmHandlers } from './alarms/alarms.ts'
import { bridgeHandlers, listBridges } from './bridges/bridges.ts'
import { accountHandlers } from './accounts/v4.ts'
import { brokerHandlers } from './brokers/brokers.ts'
import { diagnosticsHandlers } from './diagnostics/diagnostics.ts'
import { retainedHandlers } from './retained/retained.ts'
import { publishingHandlers } from './publishing/publishing.ts'
import { configurationHandlers } from './configuration/configuration.ts'
import { controlHandlers } from './control/control.ts'
import { clientHandlers } from './clients/clients.ts'
import { clientRuleHandlers } from './client-rules/client-rules.ts'
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

/** Returns what the management server needs to serve these operations. */
export function handlersFor(operations: Operations): HandlersFor {
  return (namespace, authenticator) => {
    const scoped = namespace === undefined ? operations : { ...operations, ...operations.within(namespace) }
    return createHandlers(scoped, authenticator)
  }
}

function createHandlers(operations: Operations, authenticator: () => Authenticator): Handlers<typeof endpoints> {
  return {
    ...bridgeHandlers(operations.bridges),
    ...brokerHandlers(operations.brokers),
    ...configurationHandlers(operations.configuration, (areOfAws) => listBridges(operations.bridges, areOfAws)),
    ...controlHandlers(operations.control),
    ...clientHandlers(operations.clients),
    ...subscriptionHandlers(operations.clients),
    ...clientRuleHandlers(operations.clientRules),
    ...credentialHandlers(operations.credentials),
    ...documentHandlers(operations.brokers, endpoints),
    ...listenerHandlers(operations.listeners),
    ...publishingHandlers(operations.publishing),
    ...retainedHandlers(operations.retained),
    ...metricHandlers(operations.metrics, {
      rules: operations.rules,
      gateways: operations.gateways,
      topics: operations.topicMetrics,
    }),
    ...alarmHandlers(operations.alarms),
    ...traceHandlers(operations.traces),
    ...accountHandlers(operations.accounts, authenticator),
    ...diagnosticsHandlers(operations.diagnostics),
    ...slowSubscriptionHandlers(operations.slowSubscriptions),
    ...namespaceHandlers(operations.namespaces),
    ...ruleHandlers(operations.rules),
    ...schemaHandlers(operations.schemas),
    ...v4RuleHandlers(operations.rules),
    ...v4ResourceHandlers(operations.rules),
    ...actionHandlers(operations.rules),
    ...sourceHandlers(operations.rules),
    ...gatewayHandlers(operations.gateways),
    ...gatewayAuthenticationHandlers(operations.gateways),
    ...gatewayClientHandlers(operations.gateways, operations.clients, operations.publishing),
    ...gatewayListenerHandlers(operations.gateways),
    ...delayedHandlers(operations.delayed),
    ...topicSettingHandlers(operations.topicSettings),
    ...topicMetricsHandlers(operations.topicMetrics),
    ...apiKeyHandlers(operations.accounts),
    ...auditHandlers(operations.audit),
    ...backupHandlers(operations.backup),
    ...loginHandlers(operations.brokers, authenticator),
    ...userV5Handlers(operations.accounts),
    ...monitorHandlers(operations.metrics),
    ...liveHandlers(operations.live),
  }
}
