// Creates a token for an account, which later requests use.

import { noContent, endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'
import { namespaceOrNull, roleOfPerson } from './roles.ts'

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
    reply: Type.Object({
      code: Type.Literal(0),
      token: Type.String({ description: 'For `Authorization: Bearer`.' }),
      role: roleOfPerson,
      namespace: namespaceOrNull,
      version: Type.String({ description: 'Of the broker.' }),
      license: Type.Object({ edition: Type.Literal('opensource') }),
    }),
    reasons: ['BAD_USERNAME_OR_PWD', 'BAD_MFA_TOKEN'],
    access: 'open',
    // Password guesses would remove all other entries from the log.
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
