/** Traces, for the API. */
export interface TraceOperations {
  /** Oldest first. */
  list(): readonly TraceRecord[]
  /** Resolves when every shard writes to it, or with the reason why it was not created. */
  create(trace: NewTrace): Promise<'taken' | 'too-many' | undefined>
  /** Stops the trace; its file remains. Returns false if there is no trace of that name. */
  stop(name: string): Promise<boolean>
  /** False: there is none of that name. */
  remove(name: string): Promise<boolean>
  removeAll(): Promise<void>
  /** Returns the content of its file; undefined: there is none of that name. */
  read(name: string): Promise<string | undefined>
}

export interface NewTrace {
  /** Undefined: all clients. */
  readonly namespace?: string | undefined
  /** A valid file name. */
  readonly name: string
  readonly type: 'clientid' | 'topic' | 'ip_address'
  /** Client id, filter or address. */
  readonly value: string
  readonly durationMs: number
}

export interface TraceRecord {
  /** Undefined: all clients. */
  readonly namespace?: string | undefined
  readonly name: string
  readonly type: 'clientid' | 'topic' | 'ip_address'
  readonly value: string
  readonly isRunning: boolean
  /** Wall clock. */
  readonly startedAtMs: number
  readonly endsAtMs: number
  readonly bytes: number
}
