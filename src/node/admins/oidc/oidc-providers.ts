// The provider of `dashboard.oidc` as configured now. While its settings do not change, the object stays the same, so that logins in
// progress can be completed.

import { HttpClient } from '../../../access/index.ts'
import type { GodwitConfig } from '../../../config/index.ts'
import { OidcProvider } from './oidc-provider.ts'

const timeoutMs = 10_000
const limits = { timeoutMs, connectTimeoutMs: timeoutMs, poolSize: 8, maxWaiting: 64 }

export class OidcProviders {
  #http: HttpClient | undefined
  #current: OidcProvider | undefined
  #written: string

  constructor() {
    this.#http = undefined
    this.#current = undefined
    this.#written = ''
  }

  /** Undefined: login by OpenID Connect is not configured. */
  get current(): OidcProvider | undefined {
    return this.#current
  }

  take({ http: { dashboard } }: GodwitConfig): void {
    const config = dashboard?.oidc
    const written = JSON.stringify(config ?? '')
    if (written === this.#written) return
    this.#written = written
    this.#http ??= config === undefined ? undefined : new HttpClient(limits)
    const http = this.#http
    this.#current =
      config === undefined || http === undefined
        ? undefined
        : new OidcProvider(config, { http, nowMs: () => Date.now() })
  }

  close(): void {
    this.#current = undefined
    this.#http?.close()
  }
}
