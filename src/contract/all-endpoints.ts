// All operations of the API by name. A new set of endpoints adds its line only here.

import { alarmEndpoints } from './endpoints/alarms.ts'
import { bridgeEndpoints } from './endpoints/bridges.ts'
import { accountEndpoints } from './endpoints/accounts.ts'
import { brokerEndpoints } from './endpoints/brokers.ts'
import { diagnosticsEndpoints } from './endpoints/diagnostics.ts'
import { retainedEndpoints } from './endpoints/retained.ts'
import { publishingEndpoints } from './endpoints/publishing.ts'
import { configurationEndpoints } from './endpoints/configuration.ts'
import { controlEndpoints } from './endpoints/control.ts'
import { clientEndpoints } from './endpoints/clients.ts'
import { clientRuleEndpoints } from './endpoints/client-rules.ts'
import { credentialEndpoints } from './endpoints/credentials.ts'
import { documentEndpoints } from './endpoints/documents.ts'
import { listenerEndpoints } from './endpoints/listeners.ts'
import { metricEndpoints } from './endpoints/metrics.ts'
import { subscriptionEndpoints } from './endpoints/subscriptions.ts'
import { slowSubscriptionEndpoints } from './endpoints/slow-subscriptions.ts'
import { traceEndpoints } from './endpoints/traces.ts'
import { v4ResourceEndpoints } from './endpoints/v4-resources.ts'
import { v4RuleEndpoints } from './endpoints/v4-rules.ts'
import { actionEndpoints } from './endpoints/v5/actions.ts'
import { sourceEndpoints } from './endpoints/v5/sources.ts'
import { ruleEndpoints } from './endpoints/v5/rules.ts'
import { schemaEndpoints } from './endpoints/v5/schemas.ts'
import { apiKeyEndpoints } from './endpoints/v5/api-keys.ts'
import { auditEndpoints } from './endpoints/v5/audit.ts'
import { backupEndpoints } from './endpoints/v5/backup.ts'
import { gatewayAuthenticationEndpoints } from './endpoints/v5/gateway-authentication.ts'
import { gatewayClientEndpoints } from './endpoints/v5/gateway-clients.ts'
import { gatewayListenerEndpoints } from './endpoints/v5/gateway-listeners.ts'
import { topicMetricsEndpoints } from './endpoints/v5/topic-metrics.ts'
import { topicSettingEndpoints } from './endpoints/v5/topic-settings.ts'
import { delayedEndpoints } from './endpoints/v5/delayed.ts'
import { gatewayEndpoints } from './endpoints/v5/gateways.ts'
import { liveEndpoints } from './endpoints/v5/live.ts'
import { loginEndpoints } from './endpoints/v5/login.ts'
import { monitorEndpoints } from './endpoints/v5/monitor.ts'
import { namespaceEndpoints } from './endpoints/v5/namespaces.ts'
import { userEndpoints } from './endpoints/v5/users.ts'

export const endpoints = {
  ...bridgeEndpoints,
  ...brokerEndpoints,
  ...configurationEndpoints,
  ...controlEndpoints,
  ...clientEndpoints,
  ...subscriptionEndpoints,
  ...clientRuleEndpoints,
  ...credentialEndpoints,
  ...documentEndpoints,
  ...listenerEndpoints,
  ...publishingEndpoints,
  ...retainedEndpoints,
  ...metricEndpoints,
  ...alarmEndpoints,
  ...traceEndpoints,
  ...accountEndpoints,
  ...diagnosticsEndpoints,
  ...slowSubscriptionEndpoints,
  ...apiKeyEndpoints,
  ...auditEndpoints,
  ...backupEndpoints,
  ...loginEndpoints,
  ...userEndpoints,
  ...namespaceEndpoints,
  ...v4RuleEndpoints,
  ...v4ResourceEndpoints,
  ...ruleEndpoints,
  ...schemaEndpoints,
  ...actionEndpoints,
  ...sourceEndpoints,
  ...gatewayEndpoints,
  ...gatewayAuthenticationEndpoints,
  ...gatewayClientEndpoints,
  ...gatewayListenerEndpoints,
  ...delayedEndpoints,
  ...topicSettingEndpoints,
  ...topicMetricsEndpoints,
  ...monitorEndpoints,
  ...liveEndpoints,
}

export type EndpointName = keyof typeof endpoints
