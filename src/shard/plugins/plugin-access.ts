// Plugins as an authenticator and a source of access rules: see `AccessPlugins`.

import type {
  AccessPlugins,
  Attempt,
  PluginAuthorizationRequest,
  PluginAuthentication,
  PluginAuthorization,
} from '../../access/index.ts'
import { toNamespacedName, type HookedClient, type Identity } from '../../core/index.ts'
import { type HookedPlugin, parseAuthentication, parseAuthorization, type PluginHooks } from '../../plugins/index.ts'

export class PluginAccess implements AccessPlugins {
  readonly #hooks: PluginHooks

  constructor(hooks: PluginHooks) {
    this.#hooks = hooks
  }

  get canAuthenticate(): boolean {
    return this.#hooks.hasHook('client.authenticate')
  }

  get canAuthorize(): boolean {
    return this.#hooks.hasHook('client.authorize')
  }

  authenticate(attempt: Attempt): Promise<PluginAuthentication> | undefined {
    if (!this.canAuthenticate) return undefined
    const { connection, namespace, clientId, username } = attempt
    const client = {
      connection,
      clientId: toNamespacedName(namespace, clientId),
      username,
      isUnauthenticated: true,
    }
    const plugins = this.#hooks.listPlugins('client.authenticate', client)
    return plugins.length === 0 ? undefined : this.#callInOrder(plugins, client, attempt)
  }

  async #callInOrder(
    plugins: readonly HookedPlugin[],
    client: HookedClient,
    { password }: Attempt,
  ): Promise<PluginAuthentication> {
    const fields = password === undefined ? {} : { password: password.toString('base64') }
    for (const plugin of plugins) {
      const by = plugin.name
      if (!plugin.hasCapacity) return { result: 'busy', by }
      const answer = await this.#hooks.call(plugin, {
        hook: 'client.authenticate',
        client,
        fields,
        parse: parseAuthentication,
      })
      if (answer === undefined) return { result: 'failed', by }
      if (answer.result !== 'ignore') return { ...answer, by }
    }
    return { result: 'ignore' }
  }

  /** The listener of the client is compared when the plugins are asked. */
  mustAuthorize({ clientId }: Identity, topic: string): boolean {
    return this.#hooks
      .listPlugins('client.authorize')
      .some(({ matcher }) => matcher.matchesClientId(clientId) && matcher.overlapsFilter(topic))
  }

  async authorize({
    connection,
    identity,
    action,
    topic,
    qos,
    retain,
  }: PluginAuthorizationRequest): Promise<PluginAuthorization> {
    const { namespace, clientId, username, attributes } = identity
    const client = { connection, clientId: toNamespacedName(namespace, clientId), username, attributes }
    let isCached = true
    for (const plugin of this.#hooks.listPlugins('client.authorize', client)) {
      if (!plugin.matcher.overlapsFilter(topic)) continue
      const answer = await this.#hooks.call(plugin, {
        hook: 'client.authorize',
        client,
        fields: { action, topic, qos, retain },
        parse: parseAuthorization,
      })
      // A failed call is repeated with the next packet.
      if (answer === undefined) return { result: 'deny', isCached: false }
      isCached &&= answer.isCached
      if (answer.result !== 'ignore') return { result: answer.result, isCached }
    }
    return { result: 'ignore', isCached }
  }
}
