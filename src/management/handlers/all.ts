// The handlers of all endpoints. A new set adds its line here.

import type { endpoints } from '../../contract/index.ts'
import type { Handlers } from '../handler.ts'
import type { Operations } from '../operations/all.ts'
import { alarmHandlers } from './alarms.ts'
import { bridgeHandlers, listBridges } from './bridges.ts'
import type { Authenticator } from '../request-authenticator.ts'
import { accountHandlers } from './accounts.ts'
import { brokerHandlers } from './brokers.ts'
import { diagnosticsHandlers } from './diagnostics.ts'
import { retainedHandlers } from './retained.ts'
import { publishingHandlers } from './publishing.ts'
import { configurationHandlers } from './configuration.ts'
import { controlHandlers } from './control.ts'
import { clientHandlers } from './clients.ts'
import { clientRuleHandlers } from './client-rules.ts'
import { credentialHandlers } from './credentials.ts'
import { documentHandlers } from './documents.ts'
import { listenerHandlers } from './listeners.ts'
import { metricHandlers } from './metrics.ts'
import { subscriptionHandlers } from './subscriptions.ts'
import { slowSubscriptionHandlers } from './slow-subscriptions.ts'
import { traceHandlers } from './traces.ts'
import { v4ResourceHandlers } from './v4-resources.ts'
import { v4RuleHandlers } from './v4-rules.ts'
import { actionHandlers } from './v5/actions.ts'
import { sourceHandlers } from './v5/sources.ts'
import { ruleHandlers } from './v5/rules.ts'
import { schemaHandlers } from './v5/schemas.ts'
import { apiKeyHandlers } from './v5/api-keys.ts'
import { auditHandlers } from './v5/audit.ts'
import { backupHandlers } from './v5/backup.ts'
import { gatewayAuthenticationHandlers } from './v5/gateway-authentication.ts'
import { gatewayClientHandlers } from './v5/gateway-clients.ts'
import { gatewayListenerHandlers } from './v5/gateway-listeners.ts'
import { topicMetricsHandlers } from './v5/topic-metrics.ts'
import { topicSettingHandlers } from './v5/topic-settings.ts'
import { delayedHandlers } from './v5/delayed.ts'
import { gatewayHandlers } from './v5/gateways.ts'
import { loginHandlers } from './v5/login.ts'
import { liveHandlers } from './v5/live.ts'
import { monitorHandlers } from './v5/monitor.ts'
import { namespaceHandlers } from './v5/namespaces.ts'
import { userV5Handlers } from './v5/users.ts'

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
    ...diagnosticsHandlers(operations.insight),
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
