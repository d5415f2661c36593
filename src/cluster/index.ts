// Entry point of the module cluster: state machines of a node that is part of a cluster. They know no I/O, clock or random number.

export type { Life, PeerName } from './peer-name.ts'
export type { LifeLinkLimits } from './links/life-link.ts'
export { HeartbeatLinks } from './links/heartbeat-links.ts'
export { LifeLinks, type StartedShard } from './links/life-links.ts'
export type { AnnouncedShard, ChannelReceiver, LinkChannel } from './links/link-channel.ts'
export { LinkConnection, type LinkEnd, type LinkFrameReceiver } from './links/link-connection.ts'
export { LinkFailure, type LinkFailureReason } from './links/link-failure.ts'
export { decodeHeartbeat, encodeHeartbeat, type Heartbeat, type StoreServer } from './links/link-heartbeat.ts'
export { linkLevels, type LinkHello, type LinkIdentity, type LinkPurpose } from './links/link-hello.ts'
export { challengeBytes, proofBytes, type LinkRole, type LinkSecret } from './links/link-secret.ts'
export {
  describeMembership,
  type MembershipFacts,
  type NodeFacts,
  type ShardFacts,
  type Stall,
} from './membership/describe-membership.ts'
export type { HomeOutput, StopReason } from './membership/home-table.ts'
export { grantLease, type Instant, isLeaseHeld, type Lease } from './membership/lease.ts'
export { LeaseCell } from './membership/lease-cell.ts'
export type {
  MembershipAction,
  MembershipTransaction,
  NodeDescription,
  ShardVersion,
} from './membership/membership-actions.ts'
export type {
  MembershipCommand,
  MembershipInput,
  MembershipOptions,
  MembershipOutput,
} from './membership/membership-events.ts'
export {
  countFailures,
  findNode,
  isHomeless,
  isWaiting,
  maxFailures,
  type MembershipRows,
  type NodeRole,
  type NodeRow,
  type ShardRow,
  type UnlinkedRow,
} from './membership/membership-rows.ts'
export { Membership } from './membership/membership.ts'
export type { DatabaseServer, NodeHeartbeat } from './membership/node-heartbeat.ts'
