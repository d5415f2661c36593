// Entry point of the folder topics, for other folders of the core: subscribers of a message and retained messages by
// topic. This folder does not depend on sessions or connections: a subscriber is any object with an identity.

export type { PeerMatch, CrossShardGroup } from './peer-matches.ts'
export { DeliveryPlan, MatchedSubscriber, type EffectiveOptions } from './delivery-plan.ts'
export { RetainedTree, type RetainedCursor, type RetainedSlice } from './retained-tree.ts'
export { TopicRouter } from './topic-router.ts'
export { SharedGroup, type SharedMember } from './shared-group.ts'
export type { FilterSubscribers } from './filter-subscribers.ts'
export { SubscriptionTrie } from './subscription-trie.ts'
export type { SubscriptionOptions } from './subscription-options.ts'
export { LargeMap, type LargeMapWalk } from './large-map.ts'
