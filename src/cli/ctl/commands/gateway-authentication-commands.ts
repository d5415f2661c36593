// Commands for the authentication of a gateway (`coap`) or of one of its listeners (`coap:udp:default`), and for its users.

import type { Result } from '../../../contract/index.ts'
import type { ApiClient } from '../../../api/endpoints.ts'
import { readAllPages } from '../read-all-pages.ts'
import { type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'
import { parseSettings } from './gateway-commands.ts'

const example = '{"mechanism": "password_based", "backend": "built_in_database"}'

export const gatewayAuthenticationCommands: readonly CtlCommand[] = [
  {
    name: 'gateways authentication',
    description: 'show how clients of a gateway (coap) or of one of its listeners (coap:udp:default) are authenticated',
    arguments: ['<gateway>'],
    run: ({ client, operands: [target = ''] }) =>
      showReply(createAuthenticationOperations(client, target).get(), (settings) => ({ thing: settings as Settings })),
  },
  {
    name: 'gateways set-authentication',
    description: 'set or change the authentication of a gateway (coap) or of one of its listeners (coap:udp:default)',
    arguments: ['<gateway>'],
    options: [{ flags: '--settings <json>', description: `settings of the authentication as JSON: ${example}` }],
    run: async ({ client, operands: [target = ''], options: { settings } }): Promise<Outcome> => {
      const body = parseSettings(settings)
      if (body === undefined) return { usage: `--settings needs a JSON object such as ${example}` }
      const authentication = createAuthenticationOperations(client, target)
      const before = await authentication.get()
      if ('failure' in before) return showReply(Promise.resolve(before), () => ({ rows: [] }))
      const isThere = 'mechanism' in (before.reply as object)
      return reportDone(
        isThere ? authentication.change(body) : authentication.add(body),
        `the authentication of ${target} is set`,
      )
    },
  },
  {
    name: 'gateways remove-authentication',
    description: 'remove the authentication of a gateway or of a listener with its users',
    arguments: ['<gateway>'],
    run: ({ client, operands: [target = ''] }) =>
      reportDone(createAuthenticationOperations(client, target).remove(), `the authentication of ${target} is removed`),
  },
  {
    name: 'gateways users',
    description: 'list the users of a gateway or of a listener with its own authentication',
    arguments: ['<gateway>'],
    run: ({ client, operands: [target = ''] }) =>
      showReply(
        readAllPages((query) => createAuthenticationOperations(client, target).users(query)),
        ({ data }) => ({ rows: data, columns: ['user_id', 'is_superuser'] }),
      ),
  },
  {
    name: 'gateways add-user',
    description: 'store a user of a gateway or of a listener; the password is read from the terminal or from stdin',
    arguments: ['<gateway>', '<user>'],
    options: [{ flags: '--superuser', description: 'access rules do not apply to this user' }],
    run: async ({ client, secrets, operands: [target = '', user = ''], options }): Promise<Outcome> => {
      const given = await secrets.next(`password of ${user}`)
      if ('usage' in given) return given
      const body = { user_id: user, password: given.secret, is_superuser: options.superuser === true }
      return reportDone(createAuthenticationOperations(client, target).addUser(body), `${user} is stored`)
    },
  },
  {
    name: 'gateways update-user',
    description: 'change the password of a user of a gateway or of a listener',
    arguments: ['<gateway>', '<user>'],
    run: async ({ client, secrets, operands: [target = '', user = ''] }): Promise<Outcome> => {
      const given = await secrets.next(`password of ${user}`)
      if ('usage' in given) return given
      return reportDone(
        createAuthenticationOperations(client, target).changeUser(user, { password: given.secret }),
        `${user} is stored`,
      )
    },
  },
  {
    name: 'gateways remove-user',
    description: 'remove a user of a gateway or of a listener',
    arguments: ['<gateway>', '<user>'],
    run: ({ client, operands: [target = '', user = ''] }) =>
      reportDone(createAuthenticationOperations(client, target).removeUser(user), `${user} is removed`),
  },
]

type Settings = Record<string, unknown>
type Page = { readonly page: number; readonly limit: number }

/** The operations below a gateway, or below a listener where there is a colon in the name. */
function createAuthenticationOperations(client: ApiClient, target: string) {
  const [name = ''] = target.split(':')
  if (name === target) {
    const params = { name }
    return {
      get: (): Promise<Result<unknown>> => client.get_gateway_authentication({ params }),
      add: (body: Settings) => client.add_gateway_authentication({ params, body }),
      change: (body: Settings) => client.change_gateway_authentication({ params, body }),
      remove: () => client.remove_gateway_authentication({ params }),
      users: (query: Page) => client.get_gateway_users({ params, query }),
      addUser: (body: { user_id: string; password: string; is_superuser: boolean }) =>
        client.add_gateway_user({ params, body }),
      changeUser: (uid: string, body: { password: string }) =>
        client.change_gateway_user({ params: { ...params, uid }, body }),
      removeUser: (uid: string) => client.remove_gateway_user({ params: { ...params, uid } }),
    }
  }
  const params = { name, id: target }
  return {
    get: (): Promise<Result<unknown>> => client.get_gateway_listener_authentication({ params }),
    add: (body: Settings) => client.add_gateway_listener_authentication({ params, body }),
    change: (body: Settings) => client.change_gateway_listener_authentication({ params, body }),
    remove: () => client.remove_gateway_listener_authentication({ params }),
    users: (query: Page) => client.get_gateway_listener_users({ params, query }),
    addUser: (body: { user_id: string; password: string; is_superuser: boolean }) =>
      client.add_gateway_listener_user({ params, body }),
    changeUser: (uid: string, body: { password: string }) =>
      client.change_gateway_listener_user({ params: { ...params, uid }, body }),
    removeUser: (uid: string) => client.remove_gateway_listener_user({ params: { ...params, uid } }),
  }
}
