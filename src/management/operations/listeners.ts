export interface ListenerDescription {
  readonly kind: 'tcp' | 'ssl' | 'ws' | 'wss' | 'quic'
  readonly name: string
  readonly host: string
  readonly port: number
  /** Below the API, where it has no address of its own. */
  readonly path: string | undefined
  /** Threads that accept connections. */
  readonly acceptors: number
  readonly maxConnections: number
  readonly connections: number
  /** True if the listener accepts connections, because it was not stopped. */
  readonly isRunning: boolean
  /** Connections refused since it was opened. */
  readonly refused: number
}

/** Listeners of the node, for the API. */
export interface ListenerOperations {
  readonly nodeName: string
  list(): readonly ListenerDescription[]
  /** False: there is none of that kind and name. A problem: it could not be opened again. */
  restart(kind: string, name: string): Promise<boolean | { readonly problem: string }>
  /** Closed until it is started or restarted. */
  stop(kind: string, name: string): Promise<boolean | { readonly problem: string }>
  start(kind: string, name: string): Promise<boolean | { readonly problem: string }>
}
