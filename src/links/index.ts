// Entry point of the module links: messages between two shards, connections that they relay, and connections to other nodes.

export { Link, type LinkDependencies } from './link.ts'
export { LinkDecodeError } from './link-decode-error.ts'
export type { LinkPort } from './link-port.ts'
export { createLinkPort } from './message-port.ts'
export { linkThreadEntry } from './nodes/link-thread-entry.ts'
export type { LinkThreadStart, LinkThreadToNode, NodeToLinkThread } from './nodes/link-thread-messages.ts'
export type { NodeSecurity } from './nodes/node-security.ts'
export { type ConnectionEnd, type NodeAddress, NodeSockets, type OtherNode } from './nodes/node-sockets.ts'
export type { RelayedStream, RelayOrigin, RemoteListener } from './relayed-stream.ts'
