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
  /** It accepts connections: nobody has stopped it. */
  readonly isRunning: boolean
  /** Connections that were turned away since it was opened. */
  readonly refused: number
}

/** What the management asks of the node about its listeners. */
export interface ListenerOperations {
  readonly nodeName: string
  list(): readonly ListenerDescription[]
  /** False: there is none of that kind and name. A problem: it could not be opened again. */
  restart(kind: string, name: string): Promise<boolean | { readonly problem: string }>
  /** Closed until it is started or restarted. */
  stop(kind: string, name: string): Promise<boolean | { readonly problem: string }>
  start(kind: string, name: string): Promise<boolean | { readonly problem: string }>
}
