// The access module with an HTTP service.

import type { TestContext } from 'node:test'
import type { HttpAuthConfig } from '../../src/config/index.ts'
import type { AccessSettings } from '../../src/access/index.ts'
import type { AuthenticationResult } from '../../src/core/index.ts'
import { AccessStage, outcomeOf, type RequestOptions } from './stage.ts'

type Request = NonNullable<HttpAuthConfig['authRequest']>

export const requestTo = (url: string, more: Partial<Request> = {}): Request => ({
  url,
  method: 'POST',
  headers: [],
  params: [
    ['username', '%u'],
    ['password', '%P'],
  ],
  ...more,
})

export function settingsFor(http: Partial<HttpAuthConfig>): HttpAuthConfig {
  return {
    authRequest: undefined,
    superRequest: undefined,
    aclRequest: undefined,
    timeoutMs: 5_000,
    connectTimeoutMs: 5_000,
    poolSize: 8,
    maxWaiting: 100,
    cacheTtlMs: 0,
    ...http,
  }
}

export function stageFor(
  context: TestContext,
  http: Partial<HttpAuthConfig>,
  more: Partial<AccessSettings> = {},
): AccessStage {
  const stage = new AccessStage({ chain: ['http', 'password'], http: settingsFor(http), ...more })
  context.after(() => stage.access.close())
  return stage
}

export async function authenticate(stage: AccessStage, options: RequestOptions = {}): Promise<AuthenticationResult> {
  return stage.authenticate({ username: 'alice', password: 'secret', ...options })
}

export const outcome = async (stage: AccessStage, options: RequestOptions = {}) =>
  outcomeOf(await authenticate(stage, options))
