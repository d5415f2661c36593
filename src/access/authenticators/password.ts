// By a password that is known here: of the user name, or of the client id. Either is enough; where one of them is known
// and no password fits, the client is not who it says.

import { reasonCodes } from '../../protocol/index.ts'
import type { PasswordHash } from '../../records/index.ts'
import type { CredentialTable, CredentialKind } from '../credentials/credential-table.ts'
import { isPassword, simulateHashing } from '../credentials/password-hash.ts'
import { ignored, type Attempt, type Authenticator, type Outcome } from './authenticator.ts'

export class PasswordAuthenticator implements Authenticator {
  readonly #credentials: CredentialTable
  /** What strangers are taken for: most credentials are of this kind. */
  readonly #defaultAlgorithm: PasswordHash

  constructor(credentials: CredentialTable, defaultAlgorithm: PasswordHash) {
    this.#credentials = credentials
    this.#defaultAlgorithm = defaultAlgorithm
  }

  authenticate(attempt: Attempt): Outcome {
    const byUsername = this.#compare('username', attempt.username, attempt)
    const byClientId = this.#compare('clientid', attempt.clientId, attempt)
    if (byUsername === undefined && byClientId === undefined) return ignored
    const fitting = byUsername?.isRight === true ? byUsername : byClientId
    if (fitting?.isRight !== true) {
      return { result: 'reject', reason: reasonCodes.badUserNameOrPassword, why: 'the password is wrong' }
    }
    // Who knows the password of the client id alone has not shown to be the user, whom rules may be about.
    const isWhoItSays = byUsername?.isRight !== false || attempt.connection.origin?.username !== undefined
    const username = isWhoItSays ? attempt.username : undefined
    const isByClientId = fitting === byClientId
    return { result: 'success', username, isSuperuser: fitting.isSuperuser, isByClientId }
  }

  /**
   * Undefined: nobody of this name. As long as there is anybody at all it takes the same time to find that out; who gives no
   * name has none to find out about.
   */
  #compare(
    kind: CredentialKind,
    id: string | undefined,
    { password, namespace }: Attempt,
  ): { isRight: boolean; isSuperuser: boolean } | undefined {
    if (id === undefined || this.#credentials.isEmpty(kind)) return undefined
    const record = this.#credentials.find(kind, id, namespace)
    if (record === undefined) {
      simulateHashing(password, this.#defaultAlgorithm)
      return undefined
    }
    return { isRight: isPassword(password, record), isSuperuser: record.isSuperuser }
  }
}
