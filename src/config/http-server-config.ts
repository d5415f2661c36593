// The management API over HTTP, and the dashboard: sections http_server and dashboard.

import { toDashboardListener, type WebSocketListenerConfig } from './listener-config.ts'
import { type OidcConfig, toOidcConfig } from './oidc-config.ts'
import { readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import { dashboard as dashboardSection } from './settings/dashboard.ts'
import { httpServer as httpServerSection, requestLimits } from './settings/http-server.ts'
import type { SettingValues } from './settings/root.ts'

const { jwt: jwtSection } = httpServerSection.entries

/** Limits of API requests. */
export interface RequestLimits extends SettingFields<typeof requestLimits> {
  /** Maximum requests at the same time. */
  readonly maxRequests: number
}

/** The dashboard: the section `dashboard`. */
export interface DashboardConfig extends SettingFields<typeof dashboardSection.entries> {
  /** For MQTT clients of the page. */
  readonly listener: WebSocketListenerConfig
  /** Login by OpenID Connect; undefined: off. */
  readonly oidc: OidcConfig | undefined
}

/** The section `http_server`. `username` and `password` are those of the first administrator. */
export interface HttpServerConfig extends SettingFields<typeof httpServerSection.entries> {
  readonly limits: RequestLimits
  /** Undefined: the dashboard is not served. */
  readonly dashboard: DashboardConfig | undefined
  /** Content of `operatorKeyFile`. */
  readonly operatorKeyText: string | undefined
  readonly jwt: SettingFields<typeof jwtSection.entries> & {
    /** Path, as written in the configuration. */
    readonly keyFile: string | undefined
    /** Content of the file. */
    readonly keyText: string | undefined
  }
}

/** Contents of the files with keys. */
export interface ApiKeyTexts {
  readonly token: string | undefined
  readonly operator: string | undefined
}

export function toHttpServerConfig(values: SettingValues, keys: ApiKeyTexts): HttpServerConfig {
  const { http_server: http, dashboard } = values
  return {
    ...readSettingFields(httpServerSection.entries, http),
    limits: { ...readSettingFields(requestLimits, http), maxRequests: http.parallel ?? http.limit_conn },
    dashboard: dashboard.enable
      ? {
          ...readSettingFields(dashboardSection.entries, dashboard),
          listener: toDashboardListener(values),
          oidc: toOidcConfig(dashboard.oidc),
        }
      : undefined,
    jwt: { ...readSettingFields(jwtSection.entries, http.jwt), keyFile: http.jwt.public.keyfile, keyText: keys.token },
    operatorKeyText: keys.operator,
  }
}
