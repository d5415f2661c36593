// All operations of the API by name. A new set of endpoints adds its line only here.

import { alarmEndpoints } from './alarms.ts'
import { bridgeEndpoints } from './bridges.ts'
import { accountEndpoints } from './accounts.ts'
import { brokerEndpoints } from './brokers.ts'
import { diagnosticsEndpoints } from './diagnostics.ts'
import { retainedEndpoints } from './retained.ts'
import { publishingEndpoints } from './publishing.ts'
import { configurationEndpoints } from './configuration.ts'
import { controlEndpoints } from './control.ts'
import { clientEndpoints } from './clients.ts'
import { clientRuleEndpoints } from './client-rules.ts'
import { credentialEndpoints } from './credentials.ts'
import { documentEndpoints } from './documents.ts'
import { listenerEndpoints } from './listeners.ts'
import { metricEndpoints } from './metrics.ts'
import { subscriptionEndpoints } from './subscriptions.ts'
import { slowSubscriptionEndpoints } from './slow-subscriptions.ts'
import { traceEndpoints } from './traces.ts'
import { v4ResourceEndpoints } from './v4-resources.ts'
import { v4RuleEndpoints } from './v4-rules.ts'
import { actionEndpoints } from './v5/actions.ts'
import { sourceEndpoints } from './v5/sources.ts'
import { ruleEndpoints } from './v5/rules.ts'
import { schemaEndpoints } from './v5/schemas.ts'
import { apiKeyEndpoints } from './v5/api-keys.ts'
import { auditEndpoints } from './v5/audit.ts'
import { backupEndpoints } from './v5/backup.ts'
import { gatewayAuthenticationEndpoints } from './v5/gateway-authentication.ts'
import { gatewayClientEndpoints } from './v5/gateway-clients.ts'
import { gatewayListenerEndpoints } from './v5/gateway-listeners.ts'
import { topicMetricsEndpoints } from './v5/topic-metrics.ts'
import { topicSettingEndpoints } from './v5/topic-settings.ts'
import { delayedEndpoints } from './v5/delayed.ts'
import { gatewayEndpoints } from './v5/gateways.ts'
import { liveEndpoints } from './v5/live.ts'
import { loginEndpoints } from './v5/login.ts'
import { monitorEndpoints } from './v5/monitor.ts'
import { namespaceEndpoints } from './v5/namespaces.ts'
import { userEndpoints } from './v5/users.ts'

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
