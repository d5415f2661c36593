// The door of the core: a broker without a world. See broker-core.ts for the four calls that drive it.

export * from './records.ts'
export * from './settings.ts'
export * from './access.ts'
export * from './namespaced-names.ts'
export { isReserved } from './reserved-names.ts'
export type { NamespaceQuotas } from './namespace-quotas.ts'
export { namespaceOf, type NamespaceSettings } from './namespaces.ts'
export * from './access-records.ts'
export * from './operator-records.ts'
export * from './peer-messages.ts'
export * from './peer-send-list.ts'
export * from './memory-account.ts'
export * from './message.ts'
export * from './inputs.ts'
export * from './outputs.ts'
export * from './send-list.ts'
export {
  bridgeClientId,
  bridgeMarksRoot,
  brokerNameTopic,
  hopMarkName,
  isBridgeClient,
  isForgottenThere,
  isNameOfBroker,
  publishedQoSOf,
  type SpoolLimits,
  spoolProperties,
} from './bridge-client.ts'
export { BrokerCore } from './broker-core.ts'
export { PendingQueue } from './sessions/pending-queue.ts'
export type { ClientFilters, FilterChange } from './client-filters.ts'
export type { BrokerCounts, BrokerOptions } from './broker-state.ts'
export type { BridgeSessionView } from './views/bridge-session.ts'
export type { BrokerView } from './views/broker-view.ts'
export type { Bounds, ClientFilter } from './views/client-list.ts'
export type { ClientView } from './views/client-view.ts'
export type { SubscriptionFilter, SubscriptionView } from './views/subscription-list.ts'
export type { Slice, SliceWanted, WalkPosition } from './views/walk.ts'
export type { RememberedVerdict } from './verdict-cache.ts'
export type { RetainedView } from './views/retained-list.ts'
export type { MemoryUser } from './views/memory-users.ts'
export type { SlowSession } from './views/slow-sessions.ts'
export type { MatchingFound, MatchingSubscription, Quota, Standing } from './views/explanation.ts'
export type { Outlook } from './views/outlook.ts'
export {
  Connection,
  type ArrivalTraits,
  type CertificateTraits,
  type ConnectionStateName,
  type ListenerTraits,
} from './connection.ts'
export { clientIdOf } from './views/client-id-of.ts'
