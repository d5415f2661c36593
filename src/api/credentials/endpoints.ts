// Stored credentials of clients: passwords by user name and by client ID, SCRAM users, pre-shared keys. Four
// independent lists with the same five operations. Secrets are never returned.

import {
  responseWith,
  noContent,
  endpoint,
  pageOf,
  pageQuery,
  type TObject,
  type TSchema,
  Type,
} from '../../contract/index.ts'

const exactly = Type.Optional(Type.String({ description: 'Only entries with exactly this value.' }))
const partly = Type.Optional(Type.String({ description: 'Only entries that contain this text.' }))

const createdAt = Type.Integer({ description: 'Time at which the entry was created, in milliseconds since 1970.' })
const newPassword = Type.String({
  minLength: 1,
  description: 'Password. The broker does not store it in readable form and never returns it.',
})
const newKey = Type.String({
  pattern: '^([0-9A-Fa-f]{2})+$',
  description: 'Pre-shared key: 8 to 256 bytes in hexadecimal. The broker never returns it.',
})
const algorithm = Type.Union([Type.Literal('SCRAM-SHA-256'), Type.Literal('SCRAM-SHA-512')])

/** Each item of a batch has its own result: `ok`, or an error. */
const batchReply = Type.Object({
  code: Type.Literal(0),
  data: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description:
        'Result of each entry of a batch, by name of the entry or by position in the array: `ok`, or an error such as `{error,existed}`.',
    }),
  ),
})

interface ListOptions<Item extends TSchema, Query extends TObject> {
  readonly path: string
  /** Name of an entry's key. */
  readonly key: string
  readonly item: Item
  readonly query: Query
  /** Body of POST: one entry. */
  readonly entry: TObject
  /** Body of PUT. */
  readonly change: TObject
  /** For sentences: `a user name with its password`. */
  readonly what: string
  /** Name of several entries, such as `user names`. */
  readonly items: string
  /** Absent: there is one list for all namespaces. */
  readonly isForNamespaces?: true
}

function createOperations<Item extends TSchema, Query extends TObject>(options: ListOptions<Item, Query>) {
  const { path, key, item, query, entry, change, what, items, isForNamespaces } = options
  const params = Type.Object({ [key]: Type.String() })
  const onePath = `${path}/:${key}`
  return {
    list: endpoint({
      method: 'GET',
      path,
      atRoot: 'also',
      summary: `Lists the stored ${items}, newest first, without their secrets.`,
      query,
      reply: pageOf(item),
      failures: ['invalidParameter'],
      access: 'read',
      isForNamespaces,
    }),
    lookup: endpoint({
      method: 'GET',
      path: onePath,
      atRoot: 'also',
      summary: `Returns the stored entry with this ${key}.`,
      params,
      reply: responseWith(item),
      failures: ['userNotFound'],
      access: 'read',
      isForNamespaces,
    }),
    create: endpoint({
      method: 'POST',
      path,
      atRoot: 'also',
      summary: `Stores ${what}, or each entry of an array. New connections can use it at once.`,
      body: Type.Union([entry, Type.Array(entry)]),
      bodyCheckedBy: 'handler',
      reply: batchReply,
      failures: ['emptyCredentials', 'missingParameter', 'invalidParameter', 'notJson', 'userExists'],
      otherStatuses: [['emptyCredentials', 400]],
      access: 'change',
      isForNamespaces,
    }),
    update: endpoint({
      method: 'PUT',
      path: onePath,
      atRoot: 'also',
      summary: `Changes the secret of the stored entry with this ${key}.`,
      params,
      body: change,
      bodyCheckedBy: 'handler',
      reply: noContent,
      failures: ['emptyCredentials', 'missingParameter', 'invalidParameter', 'notJson', 'userNotFound'],
      otherStatuses: [['emptyCredentials', 400]],
      access: 'change',
      isForNamespaces,
    }),
    delete: endpoint({
      method: 'DELETE',
      path: onePath,
      atRoot: 'also',
      summary: `Deletes the stored entry with this ${key}. Connected clients stay connected.`,
      params,
      reply: noContent,
      failures: ['userNotFound'],
      access: 'change',
      isForNamespaces,
    }),
  }
}

const byUsername = createOperations({
  path: '/auth_username',
  isForNamespaces: true,
  key: 'username',
  what: 'a user name with its password',
  items: 'user names',
  item: Type.Object({ username: Type.String(), created_at: createdAt }),
  query: Type.Object({ username: exactly, _like_username: partly, ...pageQuery }),
  entry: Type.Object({ username: Type.String({ minLength: 1 }), password: newPassword }),
  change: Type.Object({ password: newPassword }),
})

const byClientId = createOperations({
  path: '/auth_clientid',
  isForNamespaces: true,
  key: 'clientid',
  what: 'a client ID with its password',
  items: 'client IDs',
  item: Type.Object({ clientid: Type.String(), created_at: createdAt }),
  query: Type.Object({ clientid: exactly, _like_clientid: partly, ...pageQuery }),
  entry: Type.Object({ clientid: Type.String({ minLength: 1 }), password: newPassword }),
  change: Type.Object({ password: newPassword }),
})

const scram = createOperations({
  path: '/auth_scram',
  isForNamespaces: true,
  key: 'username',
  what: 'a SCRAM user with its password',
  items: 'SCRAM users',
  item: Type.Object({ username: Type.String(), algorithm, created_at: createdAt }),
  query: Type.Object({ username: exactly, _like_username: partly, ...pageQuery }),
  entry: Type.Object({
    username: Type.String({ minLength: 1 }),
    password: newPassword,
    algorithm: Type.Optional(algorithm),
  }),
  change: Type.Object({ password: newPassword, algorithm: Type.Optional(algorithm) }),
})

const preSharedKeys = createOperations({
  path: '/auth_psk',
  isForNamespaces: true,
  key: 'identity',
  what: 'a TLS-PSK identity with its key',
  items: 'TLS-PSK identities',
  item: Type.Object({ identity: Type.String() }),
  query: Type.Object({ identity: exactly, _like_identity: partly, ...pageQuery }),
  entry: Type.Object({ identity: Type.String({ minLength: 1 }), key: newKey }),
  change: Type.Object({ key: newKey }),
})

export const credentialEndpoints = {
  list_auth_username: byUsername.list,
  lookup_auth_username: byUsername.lookup,
  create_auth_username: byUsername.create,
  update_auth_username: byUsername.update,
  delete_auth_username: byUsername.delete,
  list_auth_clientid: byClientId.list,
  lookup_auth_clientid: byClientId.lookup,
  create_auth_clientid: byClientId.create,
  update_auth_clientid: byClientId.update,
  delete_auth_clientid: byClientId.delete,
  list_auth_scram: scram.list,
  lookup_auth_scram: scram.lookup,
  create_auth_scram: scram.create,
  update_auth_scram: scram.update,
  delete_auth_scram: scram.delete,
  list_auth_psk: preSharedKeys.list,
  lookup_auth_psk: preSharedKeys.lookup,
  create_auth_psk: preSharedKeys.create,
  update_auth_psk: preSharedKeys.update,
  delete_auth_psk: preSharedKeys.delete,
}
