/** Who wants it, for the log. */
export interface Requester {
  readonly name: string
  readonly address: string
}

/** What the management asks of the node about its own end. Both are carried out after they have returned. */
export interface ControlOperations {
  stop(by: Requester): void
  /** undefined: it will. A problem: it could not start again, so it goes on. */
  restart(by: Requester): { readonly problem: string } | undefined
}
