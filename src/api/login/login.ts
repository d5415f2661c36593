// Login, logout and single sign-on.

import type { Caller, ReplyOf } from '../../contract/index.ts'
import type { loginEndpoints } from './endpoints.ts'
import { type Handlers, ApiError, refuseFor, type Authenticator } from '../../management/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { formatRole } from '../accounts/roles.ts'

type Known = typeof loginEndpoints

export function createLoginHandlers(
  { version }: Pick<ApiContext, 'version'>,
  authenticator: () => Authenticator,
): Handlers<Known> {
  const toLoginResponse = (found: Caller, token: string): ReplyOf<Known['login']> => ({
    code: 0,
    token,
    role: formatRole(found),
    namespace: found.namespace ?? null,
    version,
    license: { edition: 'opensource' },
  })
  return {
    login: async ({ body: { username, password, mfa_token: code }, caller: { address }, gone }) => {
      const found = await authenticator().logIn(username, password, address, { gone, code })
      if (found instanceof ApiError && found.reason === 'BAD_MFA_TOKEN') return found
      if (found instanceof ApiError) return refuseFor('BAD_USERNAME_OR_PWD', found.message)
      // An API key cannot log in: programs send ID and secret with every request.
      const token = found.by === 'account' ? authenticator().logins.begin(found.name) : undefined
      if (token === undefined) return refuseFor('BAD_USERNAME_OR_PWD', 'user name or password is wrong')
      return toLoginResponse(found, token)
    },
    list_sso: () => ({ code: 0, data: authenticator().singleSignOn.isOn() ? ['oidc'] : [] }),
    begin_sso: async ({ caller: { address } }) => {
      const begun = await authenticator().singleSignOn.begin(address)
      if (begun instanceof ApiError) return begun
      const { url, state, secret, redirectUri } = begun
      return { code: 0, data: { authorization_url: url, state, sign_in_secret: secret, redirect_uri: redirectUri } }
    },
    finish_sso: async ({ body, caller: { address }, gone }) => {
      const { authorization_code: code, state, sign_in_secret: secret, iss: issuer } = body
      const found = await authenticator().singleSignOn.finish({ code, state, secret, issuer }, address, gone)
      if (found instanceof ApiError) return found
      const token = authenticator().logins.begin(found.name)
      if (token === undefined) return refuseFor('BAD_TOKEN', 'the account was deleted meanwhile')
      return { ...toLoginResponse(found, token), username: found.name }
    },
    logout: ({ body: { username }, caller: { name, login } }) => {
      if (login === undefined || name !== username) {
        return refuseFor(
          'WRONG_TOKEN_OR_USERNAME',
          'send the token of the login to end, and the user name of its account',
        )
      }
      authenticator().logins.end(login)
      return { code: 0 }
    },
  }
}
