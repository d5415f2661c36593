// Commands for accounts and API keys of the management API.

import { randomBytes } from 'node:crypto'
import { type CtlCall, type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'

const viewerOption = { flags: '--viewer', description: 'the account can only read' }

export const accountCommands: readonly CtlCommand[] = [
  {
    name: 'admins list',
    description: 'list the accounts of the management API',
    run: ({ client }) => showReply(client.get_users(), ({ data }) => toAccountTable(data)),
  },
  {
    name: 'admins add',
    description: 'create an account; the password is read from the terminal or from stdin',
    arguments: ['<name>'],
    options: [viewerOption],
    run: addAdmin,
  },
  {
    name: 'admins password',
    description: 'change a password; the old and the new one are read from the terminal or from stdin',
    arguments: ['<name>'],
    run: changePassword,
  },
  {
    name: 'admins reset',
    description:
      'set a new random password of an account and print it; the old one is not needed (only on the machine of the broker)',
    arguments: ['<name>'],
    run: resetPassword,
  },
  {
    name: 'admins mfa-reset',
    description: 'remove the second factor of an account, if the device with its codes is lost',
    arguments: ['<name>'],
    run: ({ client, operands: [username = ''] }) =>
      reportDone(client.remove_mfa({ params: { username } }), `the second factor of ${username} is removed`),
  },
  {
    name: 'admins del',
    description: 'delete an account',
    arguments: ['<name>'],
    run: ({ client, operands: [username = ''] }) =>
      reportDone(client.delete_user({ params: { username } }), `${username} is deleted`),
  },
  {
    name: 'api-key list',
    description: 'list the API keys of programs that can use the management API',
    run: ({ client }) => showReply(client.list_apps(), ({ data }) => ({ rows: data })),
  },
  {
    name: 'api-key show',
    description: 'show an API key without its secret',
    arguments: ['<id>'],
    run: ({ client, operands: [appId = ''] }) =>
      showReply(client.lookup_app({ params: { app_id: appId } }), ({ data }) => ({ thing: data })),
  },
  {
    name: 'api-key add',
    description: 'create an API key; prints its secret, which is shown only once',
    arguments: ['<id>'],
    options: [viewerOption],
    run: ({ client, operands: [appId = ''], options }) => {
      const body = { app_id: appId, tags: toRole(options) }
      return showReply(client.create_app({ body }), ({ data }) => ({
        text: data.secret,
        document: { app_id: appId, ...data },
      }))
    },
  },
  {
    name: 'api-key del',
    description: 'delete an API key; its program loses access at once',
    arguments: ['<id>'],
    run: ({ client, operands: [appId = ''] }) =>
      reportDone(client.delete_app({ params: { app_id: appId } }), `${appId} is deleted`),
  },
]

function toRole({ viewer }: CtlCall['options']): 'administrator' | 'viewer' {
  return viewer === true ? 'viewer' : 'administrator'
}

interface Account {
  readonly username: string
  readonly role: string
  readonly namespace: string | null
  readonly backend: string
}

/** The columns `namespace` and `backend` are there where an account has a namespace, or is of OpenID Connect. A document has all. */
function toAccountTable(accounts: readonly Account[]): Outcome {
  const rows = accounts.map(({ username, role, ...rest }) => ({ username, tags: role, ...rest }))
  const ofNamespaces = accounts.some(({ namespace }) => namespace !== null) ? ['namespace'] : []
  const ofProviders = accounts.some(({ backend }) => backend !== 'local') ? ['backend'] : []
  return { rows, columns: ['username', 'tags', ...ofNamespaces, ...ofProviders] }
}

async function addAdmin({ client, operands: [username = ''], options, secrets }: CtlCall): Promise<Outcome> {
  const given = await secrets.next(`password of ${username}`)
  if ('usage' in given) return given
  const body = { username, password: given.secret, tags: toRole(options) }
  return reportDone(client.create_user({ body }), `${username} is created`)
}

const generatedPasswordBytes = 15

async function resetPassword({ client, operands: [username = ''], archives }: CtlCall): Promise<Outcome> {
  if (!archives.isLocal) return { usage: 'a password can be reset on the machine of the broker only: omit --url' }
  const password = randomBytes(generatedPasswordBytes).toString('base64url')
  const call = client.change_password({ params: { username }, body: { new_pwd: password } })
  return showReply(call, () => ({ text: `new password of ${username}: ${password}`, document: { username, password } }))
}

async function changePassword({ client, operands: [username = ''], secrets }: CtlCall): Promise<Outcome> {
  const old = await secrets.next(`old password of ${username}`)
  if ('usage' in old) return old
  const fresh = await secrets.next(`new password of ${username}`)
  if ('usage' in fresh) return fresh
  const body = { old_pwd: old.secret, new_pwd: fresh.secret }
  return reportDone(client.change_password({ params: { username }, body }), `the password of ${username} is changed`)
}
