/** The caller, for the log. */
export interface Requester {
  readonly name: string
  readonly address: string
}

/** Stops or restarts the node. Both happen after the call has returned. */
export interface ControlOperations {
  stop(by: Requester): void
  /** undefined: it will restart. A problem: a restart would fail, so it continues to run. */
  restart(by: Requester): { readonly problem: string } | undefined
}
