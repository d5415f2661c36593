/** What the management asks of the node about alarms. */
export interface AlarmOperations {
  readonly nodeName: string
  /** Oldest first. */
  active(): readonly AlarmRecord[]
  /** Those that are over, the last first. */
  history(): readonly AlarmRecord[]
  /** False: no alarm of that name holds. */
  deactivate(name: string): boolean
  forgetHistory(): void
}

export interface AlarmRecord {
  readonly name: string
  readonly message: string
  /** Wall clock. */
  readonly activatedAtMs: number
  /** undefined: it holds. */
  readonly deactivatedAtMs: number | undefined
  readonly occurrences: number
}
