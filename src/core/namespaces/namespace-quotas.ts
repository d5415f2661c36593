// Limits of a namespace as a whole. All shards of a node count together, so the counters are outside of the core.

/** All parameters are names of namespaces. */
export interface NamespaceQuotas {
  /**
   * Counts one more client; false if the limit is reached. `isInPlaceOfAnother`: it replaces a client, so it is always
   * accepted.
   */
  takeClient(namespace: string, isInPlaceOfAnother: boolean): boolean
  releaseClient(namespace: string): void
  /** Returns whether another topic of the namespace may have a retained message. */
  allowsRetained(namespace: string): boolean
  /** Counts a new (1) or deleted (-1) retained message. */
  countRetained(namespace: string, change: 1 | -1): void
  /** Counts one published message. Returns the time in milliseconds for which its publisher must wait; 0: none. */
  takeMessage(namespace: string, nowMs: number): number
}
