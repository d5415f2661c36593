/** Slow clients, for the API. */
export interface SlowSubscriptionOperations {
  readonly nodeName: string
  /** Returns the slow subscriptions of all shards, the slowest first. */
  listSlow(request: {
    readonly atLeastMs: number
    readonly maxRows: number
    /** Undefined: all clients. */
    readonly namespace?: string | undefined
  }): Promise<readonly SlowSubscription[]>
}

export interface SlowSubscription {
  readonly clientId: string
  readonly topic: string
  readonly ageMs: number
  readonly waiting: number
}
