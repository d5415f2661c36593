// Who asks. Every request says it anew; there are no sessions below `/api/v4`.

import type { Caller } from '../contract/index.ts'
import { type Refusal, refuse } from './refusal.ts'

/** Knows the accounts. */
export interface Accounts {
  /**
   * By user name and password, or application id and secret. Takes the same time whether the name is known or not.
   * undefined: nobody of that name with that password.
   */
  signIn(name: string, password: string): Promise<Omit<Caller, 'address'> | undefined>
}

const challenge = 'Basic '

/** Of the Authorization header of a request from `address`. */
export async function callerOf(
  authorization: string | undefined,
  address: string,
  accounts: Accounts,
): Promise<Caller | Refusal> {
  if (authorization === undefined || !authorization.startsWith(challenge)) {
    return refuse('emptyCredentials', 'no user name and password were given: send them as HTTP Basic')
  }
  const text = Buffer.from(authorization.slice(challenge.length), 'base64').toString()
  const colon = text.indexOf(':')
  if (colon === -1) return wrongCredentials()
  const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
  if (name === '' || password === '') return refuse('emptyCredentials', 'user name or password is empty')
  const found = await accounts.signIn(name, password)
  return found === undefined ? wrongCredentials() : { ...found, address }
}

function wrongCredentials(): Refusal {
  return refuse('wrongCredentials', 'user name or password is wrong')
}
