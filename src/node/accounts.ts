// Who may use the API.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { GodwitConfig } from '../config/index.ts'
import type { Accounts } from '../management/index.ts'

export interface ConfiguredAccount {
  readonly username: string
  readonly password: string
}

const randomPasswordBytes = 18

/** The account of `http_server`. */
export function ownAccounts(config: GodwitConfig): { accounts: Accounts; newPassword: ConfiguredAccount | undefined } {
  const { username, password: told } = config.http
  const unsaid = config.node.securityProfile === 'legacy' ? 'public' : undefined
  const made = randomBytes(randomPasswordBytes).toString('base64url')
  const password = told ?? unsaid ?? made
  const expected = digest(`${username}:${password}`)
  const accounts: Accounts = {
    signIn: async (name, given) =>
      timingSafeEqual(digest(`${name}:${given}`), expected)
        ? { name, by: 'administrator', mayChange: true }
        : undefined,
  }
  return { accounts, newPassword: password === made ? { username, password } : undefined }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
