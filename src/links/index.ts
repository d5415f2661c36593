// The door of links: what two shards of a node say to each other, and the connections that they carry for each other.

export { Link, type LinkOwner } from './link.ts'
export type { LinkPort } from './link-port.ts'
export { linkPortOver } from './message-port.ts'
export type { RelayedStream, RelayOrigin } from './relayed-stream.ts'
