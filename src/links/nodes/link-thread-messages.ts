// Messages between the main thread and the link thread. All survive a structured clone.

import type { MessagePort } from 'node:worker_threads'
import type { AnnouncedShard, Life, LinkIdentity, StartedShard } from '../../cluster/index.ts'
import type { ConnectionEnd, NodeAddress, OtherNode } from './node-sockets.ts'
import type { NodeSecurity } from './node-security.ts'

/** `workerData` of the link thread. */
export interface LinkThreadStart {
  readonly identity: LinkIdentity
  readonly listen: NodeAddress
  readonly security: NodeSecurity
  /** See `LifeLinkLimits`. */
  readonly maxKeptBytes: number
}

export type NodeToLinkThread =
  /** Other nodes from now on. The channels of a life that is not among them end. */
  | { readonly kind: 'nodes'; readonly nodes: readonly OtherNode[] }
  /** A shard of this node has started: other nodes open channels to it. */
  | { readonly kind: 'shard-up'; readonly shard: StartedShard }
  /** It has ended. */
  | { readonly kind: 'shard-down'; readonly shard: StartedShard }
  | { readonly kind: 'stop' }

export type LinkThreadToNode =
  | { readonly kind: 'ready'; readonly port: number }
  /** The thread cannot start, and ends. */
  | { readonly kind: 'failed'; readonly message: string }
  /** `port` belongs to the shard `local`, as one end of a link to `remote`, a shard of another life. */
  | {
      readonly kind: 'channel'
      readonly local: AnnouncedShard
      readonly remote: AnnouncedShard
      readonly life: Life
      readonly nodeName: string
      readonly port: MessagePort
    }
  /** The data connection to another life was opened or has ended. */
  | { readonly kind: 'link'; readonly life: Life; readonly isOpen: boolean }
  | { readonly kind: 'established'; readonly nodeName: string; readonly life: Life; readonly address: string }
  | { readonly kind: 'connection-ended'; readonly end: ConnectionEnd }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'files-problem'; readonly message: string | undefined }
  | { readonly kind: 'stopped' }
