// Creates a token for an account, which later requests use.

import { responseWith, noContent, endpoint, Type } from '../../contract/index.ts'
import { namespaceOrNull, roleOfUser } from '../accounts/role-schemas.ts'

const loginReply = {
  code: Type.Literal(0),
  token: Type.String({ description: 'Token for the header `Authorization: Bearer`.' }),
  role: roleOfUser,
  namespace: namespaceOrNull,
  version: Type.String({ description: 'Version of the broker.' }),
  license: Type.Object({ edition: Type.Literal('opensource') }),
}
const shortText = Type.String({ minLength: 1, maxLength: 256 })

export const loginEndpoints = {
  login: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/login',
    summary: 'Returns a token for a user name and a password. The token expires after an hour without a request.',
    body: Type.Object({
      username: Type.String(),
      password: Type.String(),
      mfa_token: Type.Optional(
        Type.String({ description: 'One-time code, required if the account has a second factor.' }),
      ),
    }),
    reply: Type.Object(loginReply),
    reasons: ['BAD_USERNAME_OR_PWD', 'BAD_MFA_TOKEN'],
    access: 'open',
    callerIsNamedIn: 'body',
    // The audit log has a limited size: entries for guessed passwords would remove all other entries.
    audit: 'when-done',
  }),
  list_sso: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/sso/running',
    summary: 'Lists the enabled kinds of single sign-on: `oidc`, or none.',
    reply: responseWith(Type.Array(Type.Literal('oidc'))),
    access: 'open',
  }),
  begin_sso: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/sso/login/oidc',
    summary: 'Starts a login with OpenID Connect. The browser then opens the returned address of the provider.',
    reply: responseWith(
      Type.Object({
        authorization_url: Type.String({ description: 'Address of the provider that the browser opens.' }),
        state: Type.String({
          description: 'Value that the browser compares with `state` in the address to which the provider redirects.',
        }),
        sign_in_secret: Type.String({ description: 'Secret for `POST /sso/oidc/callback`. Valid for ten minutes.' }),
        redirect_uri: Type.String({ description: 'Address to which the provider redirects the browser.' }),
      }),
    ),
    failures: ['rpcError'],
    otherStatuses: [['rpcError', 503]],
    reasons: ['NOT_FOUND'],
    access: 'open',
    audit: 'never',
  }),
  finish_sso: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/sso/oidc/callback',
    summary: 'Returns a token for the authorization code of the provider. The first login creates the account.',
    body: Type.Object({
      authorization_code: Type.String({
        minLength: 1,
        maxLength: 4_096,
        description: 'Parameter `code` of the address to which the provider redirected.',
      }),
      state: shortText,
      sign_in_secret: shortText,
      iss: Type.Optional(
        Type.String({
          maxLength: 2_048,
          description: 'Parameter `iss` of the address to which the provider redirected, if present.',
        }),
      ),
    }),
    reply: Type.Object({ ...loginReply, username: Type.String() }),
    reasons: ['BAD_TOKEN', 'UNAUTHORIZED_ROLE'],
    access: 'open',
    callerIsNamedIn: 'reply',
    audit: 'when-done',
  }),
  logout: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/logout',
    summary: 'Ends the login of the token in the request.',
    body: Type.Object({ username: Type.String() }),
    reply: noContent,
    reasons: ['WRONG_TOKEN_OR_USERNAME'],
    access: 'signed-in',
  }),
}
