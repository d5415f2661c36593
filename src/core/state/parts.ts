// Which parts of the state a function takes. The whole state satisfies all of these types, so a caller passes on what it
// has, and the signature shows what a function and everything that it calls can read and change.
//
//   one part                    the part itself: `outputs: OutputLists`
//   a few parts                 by name: `Parts<'nowMs' | 'rules'>`
//   parts that go together      a type of this file, with further parts if needed: `WillParts & Parts<'sessions'>`
//   all parts                   `BrokerState`, only where a message can be published: see ADR 0020

import type { BrokerState } from './broker-state.ts'

/** The named parts of the state. */
export type Parts<Name extends keyof BrokerState> = Pick<BrokerState, Name>

/** For acknowledgements that wait for commits. */
export type AckParts = Parts<'batches' | 'counts' | 'nowMs' | 'outputs' | 'settings' | 'storage'>

/** For sending messages to peers. */
export type PeerSendParts = Parts<'counts' | 'ids' | 'outputs' | 'payloads' | 'settings'>

/** For sending messages to peers after a commit. */
export type ForwardParts = PeerSendParts & Parts<'batches' | 'peers' | 'storage'>

/** For the end of a QoS 2 exchange on peers. */
export type ReleaseParts = Parts<'batches' | 'ids' | 'outputs' | 'payloads' | 'peers' | 'storage'>

/** For the exchange of acknowledgements with a publisher. */
export type ExchangeParts = AckParts & ReleaseParts

/** For checks whether a message can be accepted now. */
export type PermitParts = Parts<'access' | 'peers' | 'router' | 'sessions' | 'settings' | 'topics'>

/** For retained messages of this shard. */
export type RetainedParts = Parts<
  'batches' | 'deadlines' | 'memory' | 'namespaces' | 'nowMs' | 'retained' | 'settings' | 'shard'
>

/** For records of wills. */
export type WillRecordParts = Parts<'batches' | 'ids' | 'memory' | 'nowMs' | 'wills'>

/** For wills and delayed messages until they are due. */
export type WillParts = WillRecordParts & Parts<'deadlines' | 'settings' | 'topics'>

/** For the queue of a session: store, delete and drop messages. */
export type QueueParts = Parts<
  'batches' | 'counts' | 'memory' | 'payloads' | 'peers' | 'rules' | 'sessions' | 'settings'
>

/** For sending one message to a client. */
export type TransmitParts = Parts<
  'batches' | 'counts' | 'deadlines' | 'memory' | 'nowMs' | 'outputs' | 'settings' | 'topics'
>

/** For giving a message to one session, which sends or queues it. */
export type EnqueueParts = QueueParts & TransmitParts & Parts<'requests'>

/** For giving a message to the subscribers on this shard, with shared groups. */
export type DeliverParts = EnqueueParts & Parts<'access' | 'router' | 'shared'>

/** For messages that move to another member of a shared group, here or on a peer. */
export type RedeliverParts = DeliverParts & Parts<'ids' | 'storage'>

/** For sending what waits for a session: its queue, shared messages and retained messages. */
export type DrainParts = RedeliverParts & Parts<'retained'>

/** For adding and removing subscriptions. */
export type SubscribeParts = Parts<
  'batches' | 'bridges' | 'nowMs' | 'outputs' | 'peers' | 'retained' | 'router' | 'rules' | 'subscriptions'
>

/** For a connection that waits for the end of an older one. */
export type TakeoverParts = Parts<'deadlines' | 'nowMs' | 'outputs' | 'sessions' | 'waiting' | 'wills'>

/** For refusing a CONNECT. */
export type RefusalParts = Parts<'batches' | 'deadlines' | 'nowMs' | 'outputs' | 'requests' | 'rules' | 'waiting'>
