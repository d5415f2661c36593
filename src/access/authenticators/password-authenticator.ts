// Authenticates with the password of the user name or of the client ID. Either is sufficient. If one of the names is known
// and the password matches neither, the client is refused.

import { reasonCodes } from '../../protocol/index.ts'
import type { PasswordHash } from '../../records/index.ts'
import type { CredentialKind } from '../credentials/credential-table.ts'
import { type HashedPassword, isPassword, simulateHashing } from '../credentials/password-hash.ts'
import { unknownClient, type Attempt, type Authenticator, type AuthenticatorResult } from './authenticator.ts'

/** Source of passwords: `CredentialTable`, or the users of a gateway. */
export interface CredentialSource {
  isEmpty(kind: CredentialKind): boolean
  find(
    kind: CredentialKind,
    id: string,
    namespace: string | undefined,
  ): (HashedPassword & { readonly isSuperuser: boolean }) | undefined
}

export class PasswordAuthenticator implements Authenticator {
  readonly #credentials: CredentialSource
  /** Hash algorithm that is simulated for unknown users: that of most credentials. */
  readonly #defaultAlgorithm: PasswordHash
  /** Whether a user proves this name in another way, so that the password of a client ID does not suffice for it. */
  readonly #isNameOfAnother: (username: string, namespace: string | undefined) => boolean

  constructor(
    credentials: CredentialSource,
    defaultAlgorithm: PasswordHash,
    isNameOfAnother: (username: string, namespace: string | undefined) => boolean = () => false,
  ) {
    this.#credentials = credentials
    this.#defaultAlgorithm = defaultAlgorithm
    this.#isNameOfAnother = isNameOfAnother
  }

  authenticate(attempt: Attempt): AuthenticatorResult {
    const byUsername = this.#compare('username', attempt.username, attempt)
    const byClientId = this.#compare('clientid', attempt.clientId, attempt)
    if (byUsername === undefined && byClientId === undefined) return unknownClient
    const match = byUsername?.isCorrect === true ? byUsername : byClientId
    if (match?.isCorrect !== true) {
      return { result: 'refused', reason: reasonCodes.badUserNameOrPassword, why: 'the password is wrong' }
    }
    // A client that knows only the password of the client ID has not proved its user name, which rules may use.
    const username = this.#mayHaveUsername(attempt, byUsername?.isCorrect) ? attempt.username : undefined
    const provesClientId = match === byClientId
    return { result: 'accepted', username, isSuperuser: match.isSuperuser, provesClientId }
  }

  /** `isCorrect`: the password is that of the user name; undefined: the user name has no password. */
  #mayHaveUsername({ username, namespace, connection }: Attempt, isCorrect: boolean | undefined): boolean {
    if (isCorrect === true || connection.origin?.username !== undefined) return true
    return isCorrect === undefined && (username === undefined || !this.#isNameOfAnother(username, namespace))
  }

  /**
   * Returns undefined if the name is unknown. If there are any credentials, that takes as long as a wrong password, so that
   * the time does not reveal which names exist.
   */
  #compare(
    kind: CredentialKind,
    id: string | undefined,
    { password, namespace }: Attempt,
  ): { isCorrect: boolean; isSuperuser: boolean } | undefined {
    if (id === undefined || this.#credentials.isEmpty(kind)) return undefined
    const record = this.#credentials.find(kind, id, namespace)
    if (record === undefined) {
      simulateHashing(password, this.#defaultAlgorithm)
      return undefined
    }
    return { isCorrect: isPassword(password, record), isSuperuser: record.isSuperuser }
  }
}
