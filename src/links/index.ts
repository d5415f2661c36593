// Entry point of the module links: messages between two shards of a node, and connections that they relay.

export { Link, type LinkDependencies } from './link.ts'
export { LinkDecodeError } from './link-decode-error.ts'
export type { LinkPort } from './link-port.ts'
export { createLinkPort } from './message-port.ts'
export type { RelayedStream, RelayOrigin } from './relayed-stream.ts'
