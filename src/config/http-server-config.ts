// The management API over HTTP, and the dashboard: sections http_server and dashboard.

import { toDashboardListener, type WebSocketListenerConfig } from './listener-config.ts'
import { type OidcConfig, toOidcConfig } from './oidc-config.ts'
import type { Bind } from './schema/bind.ts'
import type { SettingValues } from './settings/root.ts'

export interface HttpServerConfig {
  readonly isEnabled: boolean
  readonly port: number
  /** Undefined: as for listeners with only a port. */
  readonly host: string | undefined
  /** Maximum requests at the same time. */
  readonly maxRequests: number
  readonly maxBodyBytes: number
  readonly maxUploadBytes: number
  /** User name of the first administrator. */
  readonly username: string
  readonly password: string | undefined
  /** The dashboard; undefined: not served. */
  readonly dashboard:
    | {
        readonly allowedOrigins: readonly string[]
        /** Address of a separate listener for the dashboard and the API; undefined: there is none. */
        readonly bind: Bind | undefined
        /** For MQTT clients of the page. */
        readonly listener: WebSocketListenerConfig
        /** Login by OpenID Connect; undefined: off. */
        readonly oidc: OidcConfig | undefined
      }
    | undefined
  readonly authType: 'basic' | 'jwt' | 'no_auth'
  readonly jwt: {
    /** Path, as written in the configuration. */
    readonly keyFile: string | undefined
    /** Content of the file. */
    readonly keyText: string | undefined
    readonly issuer: string | undefined
    readonly leewayMs: number
  }
}

export function toHttpServerConfig(values: SettingValues, keyText: string | undefined): HttpServerConfig {
  const { http_server: http, dashboard } = values
  return {
    isEnabled: http.enable,
    port: http.port,
    host: http.ip_addr,
    maxRequests: http.parallel ?? http.limit_conn,
    maxBodyBytes: http.max_body,
    maxUploadBytes: http.max_upload,
    username: http.username,
    password: http.password,
    authType: http.auth_type,
    dashboard: dashboard.enable
      ? {
          allowedOrigins: dashboard.allow_origins,
          bind: dashboard.bind,
          listener: toDashboardListener(values),
          oidc: toOidcConfig(dashboard.oidc),
        }
      : undefined,
    jwt: { keyFile: http.jwt.public.keyfile, keyText, issuer: http.jwt.issuer, leewayMs: http.jwt.leeway },
  }
}
