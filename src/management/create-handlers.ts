// The handlers of all endpoints. A new set adds its line here.

import type { endpoints } from '../contract/index.ts'
import type { Handlers } from './http/handler.ts'
import type { Operations } from './operations.ts'
import { alarmHandlers } from './subjects/alarms.ts'
import { bridgeHandlers, listBridges } from './subjects/bridges/bridges.ts'
import type { Authenticator } from './auth/request-authenticator.ts'
import { accountHandlers } from './subjects/accounts/accounts.ts'
import { brokerHandlers } from './subjects/brokers.ts'
import { diagnosticsHandlers } from './subjects/diagnostics.ts'
import { retainedHandlers } from './subjects/messages/retained.ts'
import { publishingHandlers } from './subjects/messages/publishing.ts'
import { configurationHandlers } from './subjects/configuration.ts'
import { controlHandlers } from './subjects/control.ts'
import { clientHandlers } from './subjects/clients/clients.ts'
import { clientRuleHandlers } from './subjects/access/client-rules.ts'
import { credentialHandlers } from './subjects/access/credentials.ts'
import { documentHandlers } from './subjects/documents.ts'
import { listenerHandlers } from './subjects/listeners.ts'
import { metricHandlers } from './subjects/metrics/metrics.ts'
import { subscriptionHandlers } from './subjects/clients/subscriptions.ts'
import { slowSubscriptionHandlers } from './subjects/slow-subscriptions.ts'
import { traceHandlers } from './subjects/traces.ts'
import { v4ResourceHandlers } from './subjects/rules/v4/v4-resources.ts'
import { v4RuleHandlers } from './subjects/rules/v4/v4-rules.ts'
import { actionHandlers } from './subjects/rules/actions.ts'
import { sourceHandlers } from './subjects/rules/sources.ts'
import { ruleHandlers } from './subjects/rules/rules.ts'
import { schemaHandlers } from './subjects/rules/schemas.ts'
import { apiKeyHandlers } from './subjects/accounts/api-keys.ts'
import { auditHandlers } from './subjects/audit.ts'
import { backupHandlers } from './subjects/backup.ts'
import { gatewayAuthenticationHandlers } from './subjects/gateways/gateway-authentication.ts'
import { gatewayClientHandlers } from './subjects/gateways/gateway-clients.ts'
import { gatewayListenerHandlers } from './subjects/gateways/gateway-listeners.ts'
import { topicMetricsHandlers } from './subjects/metrics/topic-metrics.ts'
import { topicSettingHandlers } from './subjects/topic-settings.ts'
import { delayedHandlers } from './subjects/messages/delayed.ts'
import { gatewayHandlers } from './subjects/gateways/gateways.ts'
import { loginHandlers } from './subjects/accounts/login.ts'
import { liveHandlers } from './subjects/live.ts'
import { monitorHandlers } from './subjects/metrics/monitor.ts'
import { namespaceHandlers } from './subjects/namespaces.ts'
import { userV5Handlers } from './subjects/accounts/users.ts'

export function createHandlers(operations: Operations, authenticator: () => Authenticator): Handlers<typeof endpoints> {
  return {
    ...bridgeHandlers(operations.bridges),
    ...brokerHandlers(operations.brokers),
    ...configurationHandlers(operations.configuration, (areOfAws) => listBridges(operations.bridges, areOfAws)),
    ...controlHandlers(operations.control),
    ...clientHandlers(operations.clients),
    ...subscriptionHandlers(operations.clients),
    ...clientRuleHandlers(operations.clientRules),
    ...credentialHandlers(operations.credentials),
    ...documentHandlers(operations.brokers),
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
