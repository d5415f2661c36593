// Entry point of the module contract: the definition of the management API.

export { alarmEndpoints } from './endpoints/alarms.ts'
export { bridgeEndpoints } from './endpoints/bridges.ts'
export { accountEndpoints } from './endpoints/accounts.ts'
export { brokerEndpoints } from './endpoints/brokers.ts'
export { configurationEndpoints, type HotSettings, hotSettings } from './endpoints/configuration.ts'
export { controlEndpoints } from './endpoints/control.ts'
export { retainedEndpoints } from './endpoints/retained.ts'
export { clientEndpoints } from './endpoints/clients.ts'
export { clientRuleEndpoints } from './endpoints/client-rules.ts'
export { credentialEndpoints } from './endpoints/credentials.ts'
export { documentEndpoints } from './endpoints/documents.ts'
export { listenerEndpoints } from './endpoints/listeners.ts'
export { dropReasonNames, diagnosticsEndpoints, eventNames } from './endpoints/diagnostics.ts'
export { publishingEndpoints, publishMessage, subscribeRequest, unsubscribeRequest } from './endpoints/publishing.ts'
export { metricEndpoints } from './endpoints/metrics.ts'
export { slowSubscriptionEndpoints } from './endpoints/slow-subscriptions.ts'
export { traceEndpoints } from './endpoints/traces.ts'
export { v4ResourceEndpoints } from './endpoints/v4-resources.ts'
export { v4RuleEndpoints } from './endpoints/v4-rules.ts'
export { type Metric, type MetricName, metrics } from './metrics.ts'
export { subscriptionEndpoints } from './endpoints/subscriptions.ts'
export { endpoints, type EndpointName } from './all-endpoints.ts'
export {
  type Access,
  type Caller,
  type Endpoint,
  failure,
  type Method,
  namespaceKey,
  type ReplyOf,
  type RequestOf,
  type Role,
  type Upload,
} from './definition/endpoint.ts'
export { apiKeyEndpoints } from './endpoints/v5/api-keys.ts'
export { auditEndpoints } from './endpoints/v5/audit.ts'
export { backupEndpoints } from './endpoints/v5/backup.ts'
export { loginEndpoints } from './endpoints/v5/login.ts'
export { actionEndpoints } from './endpoints/v5/actions.ts'
export { gatewayAuthenticationEndpoints } from './endpoints/v5/gateway-authentication.ts'
export { gatewayClientEndpoints } from './endpoints/v5/gateway-clients.ts'
export { gatewayListenerEndpoints } from './endpoints/v5/gateway-listeners.ts'
export { topicMetricsEndpoints } from './endpoints/v5/topic-metrics.ts'
export { topicSettingEndpoints } from './endpoints/v5/topic-settings.ts'
export { delayedEndpoints } from './endpoints/v5/delayed.ts'
export { schemaEndpoints } from './endpoints/v5/schemas.ts'
export { sourceEndpoints } from './endpoints/v5/sources.ts'
export { gatewayEndpoints } from './endpoints/v5/gateways.ts'
export { ruleEndpoints } from './endpoints/v5/rules.ts'
export { liveEndpoints } from './endpoints/v5/live.ts'
export { monitorEndpoints } from './endpoints/v5/monitor.ts'
export { namespaceEndpoints } from './endpoints/v5/namespaces.ts'
export { userEndpoints } from './endpoints/v5/users.ts'
export { maxRowsPerPage } from './definition/paging.ts'
export { type ReasonName, reasonOf, reasons } from './definition/reasons.ts'
export { type ResultCode, type ResultCodeName, resultCodes } from './definition/result-codes.ts'
export { type Shape, type ShapeError, shapeOf, type Static, type TSchema } from './definition/schema.ts'
export { writeApiPage } from './documents/api-page.ts'
export { unusedCodes, writeErrorsPage } from './documents/errors-page.ts'
export { listingOf } from './documents/listing.ts'
export { openApiOf } from './documents/open-api.ts'
export { urlsOf } from './documents/urls.ts'
export {
  type ApiClient,
  basicAuthorization,
  type CallOf,
  type ClientOptions,
  createClient,
  type FileToSend,
} from './client.ts'
export type { AnyCall, Failure, Result } from './exchange.ts'
export { operationTable } from './operation-table.ts'
