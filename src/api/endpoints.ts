// All operations of the API by name. A new set of endpoints adds its line only here.

import type { EndpointClient } from '../contract/index.ts'
import { alarmEndpoints } from './alarms/endpoints.ts'
import { bridgeEndpoints } from './bridges/endpoints.ts'
import { accountEndpoints } from './accounts/v4-endpoints.ts'
import { brokerEndpoints } from './brokers/endpoints.ts'
import { diagnosticsEndpoints } from './diagnostics/endpoints.ts'
import { retainedEndpoints } from './retained/endpoints.ts'
import { publishingEndpoints } from './publishing/endpoints.ts'
import { configurationEndpoints } from './configuration/endpoints.ts'
import { controlEndpoints } from './control/endpoints.ts'
import { clientEndpoints } from './clients/endpoints.ts'
import { clientRuleEndpoints } from './client-rules/endpoints.ts'
import { credentialEndpoints } from './credentials/endpoints.ts'
import { documentEndpoints } from './documents/endpoints.ts'
import { clusterEndpoints } from './cluster/endpoints.ts'
import { drainEndpoints } from './drain/endpoints.ts'
import { listenerEndpoints } from './listeners/endpoints.ts'
import { metricEndpoints } from './metrics/endpoints.ts'
import { subscriptionEndpoints } from './subscriptions/endpoints.ts'
import { slowSubscriptionEndpoints } from './slow-subscriptions/endpoints.ts'
import { traceEndpoints } from './traces/endpoints.ts'
import { v4ResourceEndpoints } from './rules/v4/resource-endpoints.ts'
import { v4RuleEndpoints } from './rules/v4/rule-endpoints.ts'
import { actionEndpoints } from './rules/action-endpoints.ts'
import { sourceEndpoints } from './rules/source-endpoints.ts'
import { ruleEndpoints } from './rules/endpoints.ts'
import { schemaEndpoints } from './schema-registry/endpoints.ts'
import { apiKeyEndpoints } from './accounts/api-key-endpoints.ts'
import { auditEndpoints } from './audit/endpoints.ts'
import { backupEndpoints } from './backup/endpoints.ts'
import { gatewayAuthenticationEndpoints } from './gateways/authentication-endpoints.ts'
import { gatewayClientEndpoints } from './gateways/client-endpoints.ts'
import { gatewayListenerEndpoints } from './gateways/listener-endpoints.ts'
import { topicMetricsEndpoints } from './topic-metrics/endpoints.ts'
import { topicSettingEndpoints } from './topic-settings/endpoints.ts'
import { delayedEndpoints } from './delayed/endpoints.ts'
import { gatewayEndpoints } from './gateways/endpoints.ts'
import { liveEndpoints } from './live/endpoints.ts'
import { loginEndpoints } from './login/endpoints.ts'
import { monitorEndpoints } from './monitor/endpoints.ts'
import { namespaceEndpoints } from './namespaces/endpoints.ts'
import { moduleEndpoints } from './modules/endpoints.ts'
import { pluginEndpoints } from './plugins/endpoints.ts'
import { v4PluginEndpoints } from './plugins/v4-endpoints.ts'
import { userEndpoints } from './accounts/user-endpoints.ts'

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
  ...clusterEndpoints,
  ...drainEndpoints,
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
  ...moduleEndpoints,
  ...pluginEndpoints,
  ...v4PluginEndpoints,
}

export type EndpointName = keyof typeof endpoints

/** The typed client of these endpoints. */
export type ApiClient = EndpointClient<typeof endpoints>
