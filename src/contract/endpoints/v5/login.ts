// Creates a token for an account, which later requests use.

import { answer, noContent, endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'
import { namespaceOrNull, roleOfUser } from './roles.ts'

const loginReply = {
  code: Type.Literal(0),
  token: Type.String({ description: 'For `Authorization: Bearer`.' }),
  role: roleOfUser,
  namespace: namespaceOrNull,
  version: Type.String({ description: 'Of the broker.' }),
  license: Type.Object({ edition: Type.Literal('opensource') }),
}
const shortText = Type.String({ minLength: 1, maxLength: 256 })

export const loginEndpoints = {
  login: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/login',
    summary: 'A token for a user name and password. It ends when it is not shown for an hour.',
    body: Type.Object({
      username: Type.String(),
      password: Type.String(),
      mfa_token: Type.Optional(Type.String({ description: 'One-time code, where the account has a second factor.' })),
    }),
    reply: Type.Object(loginReply),
    reasons: ['BAD_USERNAME_OR_PWD', 'BAD_MFA_TOKEN'],
    access: 'open',
    // Password guesses would remove all other entries from the log.
    audit: 'when-done',
  }),
  list_sso: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/sso/running',
    summary: 'The ways of single sign-on that are on: `oidc`, or none.',
    reply: answer(Type.Array(Type.Literal('oidc'))),
    access: 'open',
  }),
  begin_sso: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/sso/login/oidc',
    summary: 'Begins a sign-in by OpenID Connect, for a browser that then goes to the provider.',
    reply: answer(
      Type.Object({
        authorization_url: Type.String({ description: 'Where the browser goes.' }),
        state: Type.String({ description: 'The browser compares it with the one that it comes back with.' }),
        sign_in_secret: Type.String({ description: 'For `POST /sso/oidc/callback`, within ten minutes.' }),
        redirect_uri: Type.String({ description: 'Where the provider sends the browser back to.' }),
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
    summary: 'A token for what the provider sent the browser back with. The account is created at the first sign-in.',
    body: Type.Object({
      authorization_code: Type.String({ minLength: 1, maxLength: 4_096, description: '`code` of the address.' }),
      state: shortText,
      sign_in_secret: shortText,
      iss: Type.Optional(Type.String({ maxLength: 2_048, description: '`iss` of the address, if there is one.' })),
    }),
    reply: Type.Object({ ...loginReply, username: Type.String() }),
    reasons: ['BAD_TOKEN', 'UNAUTHORIZED_ROLE'],
    access: 'open',
    audit: 'when-done',
  }),
  logout: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/logout',
    summary: 'Ends the login whose token is shown.',
    body: Type.Object({ username: Type.String() }),
    reply: noContent,
    reasons: ['WRONG_TOKEN_OR_USERNAME'],
    access: 'signed-in',
  }),
}
