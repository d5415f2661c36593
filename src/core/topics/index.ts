// The door of the topics folder, for the other folders of the core: who is to get a message, and which message a topic
// remembers. Nothing here knows what a session or a connection is: a subscriber is any object with an identity.

export type { PeerMatch as PeerPart, CrossShardGroup as SpanningGroup } from './peer-matches.ts'
export { DeliveryPlan, MatchedSubscriber as Recipient, type EffectiveOptions } from './delivery-plan.ts'
export { RetainedTree, type RetainedCursor, type RetainedSlice } from './retained-tree.ts'
export { TopicRouter as Routes } from './topic-router.ts'
export { SharedGroup, type SharedMember } from './shared-group.ts'
export { SubscriptionTrie, type FilterSubscribers as Audience } from './subscription-trie.ts'
export type { SubscriptionOptions } from './subscription-options.ts'
export { LargeMap as WideMap, type LargeMapWalk as WideMapWalk } from './large-map.ts'
