// Commands for the stored credentials of clients. Passwords come from the terminal or from stdin.

import type { Result } from '../../../contract/index.ts'
import { readAllPages } from '../read-all-pages.ts'
import { type CtlCall, type CtlCommand, reportDone, type Outcome, type Row, showReply } from '../ctl-command.ts'

/** The operations of one list of credentials. `name` is the user name or client ID of an entry. */
interface CredentialList {
  /** First word of its commands. */
  readonly group: string
  /** Name of an entry in descriptions. */
  readonly what: string
  readonly secret: string
  list(call: CtlCall): Promise<Result<{ readonly data: readonly Row[] }>>
  add(call: CtlCall, name: string, secret: string): Promise<Result<unknown>>
  update(call: CtlCall, name: string, secret: string): Promise<Result<unknown>>
  remove(call: CtlCall, name: string): Promise<Result<unknown>>
}

const lists: readonly CredentialList[] = [
  {
    group: 'user',
    what: 'user name',
    secret: 'password',
    list: ({ client }) => readAllPages((query) => client.list_auth_username({ query })),
    add: ({ client }, username, password) => client.create_auth_username({ body: { username, password } }),
    update: ({ client }, username, password) =>
      client.update_auth_username({ params: { username }, body: { password } }),
    remove: ({ client }, username) => client.delete_auth_username({ params: { username } }),
  },
  {
    group: 'clientid',
    what: 'client ID',
    secret: 'password',
    list: ({ client }) => readAllPages((query) => client.list_auth_clientid({ query })),
    add: ({ client }, clientid, password) => client.create_auth_clientid({ body: { clientid, password } }),
    update: ({ client }, clientid, password) =>
      client.update_auth_clientid({ params: { clientid }, body: { password } }),
    remove: ({ client }, clientid) => client.delete_auth_clientid({ params: { clientid } }),
  },
  {
    group: 'scram',
    what: 'SCRAM user',
    secret: 'password',
    list: ({ client }) => readAllPages((query) => client.list_auth_scram({ query })),
    add: ({ client }, username, password) => client.create_auth_scram({ body: { username, password } }),
    update: ({ client }, username, password) => client.update_auth_scram({ params: { username }, body: { password } }),
    remove: ({ client }, username) => client.delete_auth_scram({ params: { username } }),
  },
  {
    group: 'psk',
    what: 'TLS-PSK identity',
    secret: 'key in hexadecimal',
    list: ({ client }) => readAllPages((query) => client.list_auth_psk({ query })),
    add: ({ client }, identity, key) => client.create_auth_psk({ body: { identity, key } }),
    update: ({ client }, identity, key) => client.update_auth_psk({ params: { identity }, body: { key } }),
    remove: ({ client }, identity) => client.delete_auth_psk({ params: { identity } }),
  },
]

export const credentialCommands: readonly CtlCommand[] = lists.flatMap(createCommands)

function createCommands(list: CredentialList): CtlCommand[] {
  const { group, what, secret } = list
  return [
    {
      name: `${group} list`,
      description: `list each stored ${what}`,
      run: (call) => showReply(list.list(call), ({ data }) => ({ rows: data })),
    },
    {
      name: `${group} add`,
      description: `store a ${what}; its ${secret} is read from the terminal or from stdin`,
      arguments: ['<name>'],
      run: (call) => withSecret(call, list, (name, newSecret) => list.add(call, name, newSecret)),
    },
    {
      name: `${group} update`,
      description: `change the ${secret} of a stored ${what}`,
      arguments: ['<name>'],
      run: (call) => withSecret(call, list, (name, newSecret) => list.update(call, name, newSecret)),
    },
    {
      name: `${group} del`,
      description: `delete a stored ${what}; connected clients stay connected`,
      arguments: ['<name>'],
      run: (call) => reportDone(list.remove(call, call.operands[0] ?? ''), `${call.operands[0]} is deleted`),
    },
  ]
}

async function withSecret(
  { secrets, operands: [name = ''] }: CtlCall,
  { secret }: CredentialList,
  store: (name: string, newSecret: string) => Promise<Result<unknown>>,
): Promise<Outcome> {
  const given = await secrets.next(`${secret} of ${name}`)
  return 'usage' in given ? given : reportDone(store(name, given.secret), `${name} is stored`)
}
