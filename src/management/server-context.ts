// The management server with its settings, and the state of its requests.

import type { RequestLimits } from '../config/index.ts'
import type { Caller, Endpoint } from '../contract/index.ts'
import type { Log } from '../telemetry/index.ts'
import type { Authenticator } from './auth/request-authenticator.ts'
import type { DashboardFiles } from './dashboard/dashboard-files.ts'
import type { DashboardSettings } from './dashboard/dashboard-routes.ts'
import type { OpenConnections } from './http/open-connections.ts'
import type { PublicResponses } from './http/public-responses.ts'
import type { RequestLimiter, Ticket } from './http/request-limiter.ts'
import type { AuditEntry } from './audited-request.ts'
import type { HandlersFor } from './namespaced-handlers.ts'
import type { FastifyInstance } from './fastify-library.ts'

/** Settings that may change while the server runs: each request reads them when it starts. */
export interface ManagementSettings extends RequestLimits {
  readonly authenticator: Authenticator
  /** Undefined: the dashboard is not served. */
  readonly dashboard?: DashboardSettings | undefined
}

/** Receives an entry for each audited request. */
export interface AuditTrail {
  /** Resolves when the entry is durable. Never rejects: a failure is logged. */
  record(entry: AuditEntry): Promise<void>
}

export interface ManagementOptions extends ManagementSettings {
  /** The served endpoints, by the names of their handlers. */
  readonly endpoints: Readonly<Record<string, Endpoint>>
  readonly handlersFor: HandlersFor
  readonly audit: AuditTrail
  readonly log: Log
  /** Maximum bytes of the request line and all headers; absent: `maxHeaderBytes`. */
  readonly headerBytes?: number
  /** The built dashboard; absent: not served. */
  readonly dashboardFiles?: DashboardFiles
  /** Path of the socket of the listener for MQTT clients of the dashboard; absent: there is none. */
  readonly mqttSocket?: string | undefined
}

/** State of a request. */
export interface RequestState {
  readonly caller: Caller
  readonly ticket: Ticket | undefined
  /** Aborted when the response was sent or the client has disconnected. */
  readonly disconnected: AbortSignal
  isHandled: boolean
  hasDisconnected: boolean
}

/** The server with its current settings. */
export interface ServerContext {
  readonly connections: OpenConnections
  readonly server: FastifyInstance
  readonly options: ManagementOptions
  readonly limiter: RequestLimiter
  readonly publicResponses: PublicResponses
  readonly readSettings: () => ManagementSettings
}
