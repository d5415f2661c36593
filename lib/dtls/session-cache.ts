// Sessions that can be resumed by their ID (RFC 5246 7.4.1.2). Limited by number and age; only sessions whose master
// secret is bound to the handshake (RFC 7627 5.3).

import type { ClientCredentials } from './dtls-credentials.ts'

export interface ResumableSession {
  readonly master: Buffer
  readonly suiteId: number
  readonly credentials: ClientCredentials
  /** The key of the client, which is checked again when the session is resumed. */
  readonly key: Uint8Array | undefined
  readonly certificateEndsAtMs: number
}

const maxSessions = 10_000
const lifetimeMs = 3_600_000

export class SessionCache {
  readonly #sessions = new Map<string, { readonly session: ResumableSession; readonly endsAtMs: number }>()

  add(id: Buffer, session: ResumableSession, nowMs: number): void {
    if (this.#sessions.size >= maxSessions) {
      const [oldest] = this.#sessions.keys()
      if (oldest !== undefined) this.#sessions.delete(oldest)
    }
    this.#sessions.set(id.toString('latin1'), { session, endsAtMs: nowMs + lifetimeMs })
  }

  find(id: Buffer, nowMs: number): ResumableSession | undefined {
    const found = id.length === 0 ? undefined : this.#sessions.get(id.toString('latin1'))
    if (found === undefined || found.endsAtMs <= nowMs) return undefined
    return found.session
  }

  clear(): void {
    this.#sessions.clear()
  }
}
