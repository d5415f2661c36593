// Entry point of the module core: the broker as a state machine without I/O. See broker-core.ts for the four calls that drive it.

export * from './model/core-settings.ts'
export * from './messages/identity.ts'
export * from './namespaces/namespaced-names.ts'
export { isInternalName } from './namespaces/internal-session-names.ts'
export type { DropReason } from './model/drop-reason.ts'
export type { NamespaceQuotas } from './namespaces/namespace-quotas.ts'
export { resolveNamespace, type NamespaceSettings } from './model/resolve-namespace.ts'
export * from './model/peer-messages.ts'
export * from './model/peer-names.ts'
export * from './model/peer-send-list.ts'
export * from './model/memory-account.ts'
export * from './messages/message.ts'
export * from './model/inputs.ts'
export * from './model/outputs.ts'
export * from './model/publish-hook.ts'
export * from './model/rule-hook.ts'
export * from './model/rule-trigger.ts'
export * from './model/send-list.ts'
export {
  toActionClientId,
  actionClientPrefix,
  parseActionClientId,
  toBridgeClientId,
  bridgeMarksRoot,
  isInternalClient,
} from './messages/internal-clients.ts'
export {
  brokerNameTopic,
  loopMarkerName,
  remoteSessionLostProperty,
  isBrokerName,
  decodePublishedQoS,
  type SpoolLimits,
  toSpoolProperties,
} from './messages/internal-client-options.ts'
export {
  isSourceClient,
  isSourceTopic,
  toSourceBridgeName,
  parseSourceBridgeName,
  toSourceTopicPrefix,
  splitSourceTopic,
} from './messages/source-topics.ts'
export { BrokerCore } from './broker-core.ts'
export { changeShards, ShardChange, shardChangeKinds } from './time/change-shards.ts'
export { PendingQueue } from './state/sessions/pending-queue.ts'
export type { ClientFilters, FilterChange } from './state/client-filters.ts'
export type { BrokerCounts } from './state/broker-counts.ts'
export type { BrokerOptions } from './state/broker-state.ts'
export type { InternalSessionView } from './views/internal-session.ts'
export type { BrokerView } from './views/broker-view.ts'
export type { Bounds, ClientFilter } from './views/client-list.ts'
export type { ClientQueueView, QueuedMessageView } from './views/client-queue.ts'
export type { ClientView } from './views/client-view.ts'
export type { SubscriptionFilter, SubscriptionView } from './views/subscription-list.ts'
export type { Slice, SliceWanted, WalkPosition } from './views/walk.ts'
export type { CachedAuthorization } from './model/authorization-cache.ts'
export type { SubscribeCommandOptions } from './model/inputs.ts'
export type { RefusalCause } from './model/packet-refusal.ts'
export type { MatchRegex, RewriteRule } from './model/topic-rewrites.ts'
export type { DelayedView } from './views/delayed-list.ts'
export type { RetainedMessageView, RetainedView } from './views/retained-list.ts'
export type { NearlyFullSession } from './views/nearly-full-sessions.ts'
export type { ClientNumber, ClientTraffic, NumberedClient } from './views/client-numbers.ts'
export type { MemoryUser } from './views/memory-users.ts'
export type { SlowSession } from './views/slow-sessions.ts'
export type { MatchingFound, MatchingSubscription, Quota, ClientStatus } from './views/explain-client.ts'
export type { DeliveryEstimate } from './views/estimate-delivery.ts'
export {
  Connection,
  type ConnectionOrigin,
  type CertificateTraits,
  type ConnectionStateName,
  type GatewayClient,
  type ListenerTraits,
} from './model/connection.ts'
export { findClientId } from './views/find-client-id.ts'
export { readOnlyEnd, readOnlySubscription } from './retained/read-only-subscription.ts'
export { Deadlines } from './model/deadlines.ts'
