import type { loginEndpoints } from '../../../contract/index.ts'
import type { Handlers } from '../../handler.ts'
import type { BrokerOperations } from '../../operations/brokers.ts'
import { refuseFor, ApiError as RefusalValue } from '../../api-error.ts'
import type { Authenticator } from '../../request-authenticator.ts'
import { writtenRole } from './roles.ts'

export function loginHandlers(
  brokers: BrokerOperations,
  authenticator: () => Authenticator,
): Handlers<typeof loginEndpoints> {
  return {
    login: async ({ body: { username, password, mfa_token: code }, caller: { address }, gone }) => {
      const found = await authenticator().signIn(username, password, address, { gone, code })
      if (found instanceof RefusalValue && found.reason === 'BAD_MFA_TOKEN') return found
      if (found instanceof RefusalValue) return refuseFor('BAD_USERNAME_OR_PWD', found.message)
      // Programs send their secret with every request.
      const token = found.by === 'account' ? authenticator().logins.begin(found.name) : undefined
      if (token === undefined) return refuseFor('BAD_USERNAME_OR_PWD', 'user name or password is wrong')
      const { namespace = null } = found
      const { version } = brokers.describe()
      return { code: 0, token, role: writtenRole(found), namespace, version, license: { edition: 'opensource' } }
    },
    logout: ({ body: { username }, caller: { name, login } }) => {
      if (login === undefined || name !== username) {
        return refuseFor('WRONG_TOKEN_OR_USERNAME', 'show the token of the login that is to end, and say whose it is')
      }
      authenticator().logins.end(login)
      return { code: 0 }
    },
  }
}
