// What a namespace as a whole may have. The shards of a node count together, so the core asks somebody who knows of all.

/** Names of namespaces, as everywhere. */
export interface NamespaceQuotas {
  /** One client more; false: there is no place left. `isInPlaceOfAnother`: one of the namespace goes for it, so there is. */
  takeClient(namespace: string, isInPlaceOfAnother: boolean): boolean
  giveBackClient(namespace: string): void
  /** Whether one more of its topics may have a message. */
  hasRoomForRetained(namespace: string): boolean
  /** A topic has a message from now on (1), or none (-1). */
  countRetained(namespace: string, change: 1 | -1): void
  /** One message was published. For how long its publisher may publish no more, in milliseconds; 0: it may. */
  takeMessage(namespace: string, nowMs: number): number
}
