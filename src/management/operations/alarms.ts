/** Alarms of the node, for the API. */
export interface AlarmOperations {
  readonly nodeName: string
  /** Oldest first. */
  active(): readonly AlarmRecord[]
  /** Ended alarms, the latest first. */
  history(): readonly AlarmRecord[]
  /** Returns false if no alarm of that name is active. */
  deactivate(name: string): boolean
  forgetHistory(): void
}

export interface AlarmRecord {
  readonly name: string
  readonly message: string
  /** Wall clock. */
  readonly activatedAtMs: number
  /** undefined: it is active. */
  readonly deactivatedAtMs: number | undefined
  readonly occurrences: number
}
