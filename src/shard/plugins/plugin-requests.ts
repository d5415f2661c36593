// Requests of plugins to the broker: publish, disconnect a client, store values.

import { toNamespacedName, type CommandFailure } from '../../core/index.ts'
import type { PluginRequest } from '../../plugins/index.ts'
import type { Store } from '../../storage/index.ts'
import type { PendingCommands } from '../runtime/pending-commands.ts'

/** Maximum number of publications of plugins, one after the other, that lead to a message. */
const maxPluginDepth = 8
/** Maximum of the names and values that a plugin stores, in UTF-16 units. */
const maxStoredLength = 16_777_216
const maxKeyLength = 1_024

export interface PluginRequestsDependencies {
  readonly commands: PendingCommands
  readonly store: Store
}

type Fields = Readonly<Record<string, unknown>>

export class PluginRequests {
  readonly #dependencies: PluginRequestsDependencies
  /** Values by plugin, after they were read once. */
  readonly #stored = new Map<string, Promise<Map<string, string>>>()

  constructor(dependencies: PluginRequestsDependencies) {
    this.#dependencies = dependencies
  }

  /** Rejects with an error whose text the plugin gets. */
  handle(plugin: string, request: PluginRequest): Promise<unknown> {
    if (request.kind === 'publish-request') return this.#publish(plugin, request)
    const fields = request.request as Fields | null
    const key = fields?.key
    switch (fields?.kind) {
      case 'kick':
        return this.#kick(fields.clientid)
      case 'store-get':
        return this.#get(plugin, parseKey(key))
      case 'store-set':
        return this.#set(plugin, parseKey(key), fields.value)
      case 'store-delete':
        return this.#set(plugin, parseKey(key), undefined)
      default:
        return Promise.reject(new Error('the broker does not know this request'))
    }
  }

  /** Resolves when the message is durable, here and on the other shards. */
  async #publish(
    plugin: string,
    { topic, payload, qos, retain, depth }: Extract<PluginRequest, { kind: 'publish-request' }>,
  ): Promise<void> {
    if (depth >= maxPluginDepth)
      throw new Error(`the message descends from ${maxPluginDepth} publications of plugins: the loop ends here`)
    const result = await this.#dependencies.commands.run({
      name: 'publish',
      topic,
      payload: Buffer.from(payload),
      qos,
      retain,
      properties: undefined,
      clientId: '',
      plugin: { name: plugin, depth: depth + 1 },
    })
    if (!result.done) throw new Error(`the message was refused: ${describeFailure(result.why)}`)
  }

  async #kick(clientId: unknown): Promise<boolean> {
    if (typeof clientId !== 'string') throw new TypeError('the client ID is no text')
    const result = await this.#dependencies.commands.run({
      name: 'kick',
      clientId: toNamespacedName(undefined, clientId),
    })
    return result.done
  }

  async #get(plugin: string, key: string): Promise<unknown> {
    const json = (await this.#load(plugin)).get(key)
    return json === undefined ? undefined : (JSON.parse(json) as unknown)
  }

  /** Undefined: the value is deleted. Resolves when that is durable. */
  async #set(plugin: string, key: string, value: unknown): Promise<void> {
    const stored = await this.#load(plugin)
    const json = value === undefined ? undefined : JSON.stringify(value)
    if (json !== undefined) {
      let length = key.length + json.length
      for (const [name, text] of stored) if (name !== key) length += name.length + text.length
      if (length > maxStoredLength) throw new Error('the store of the plugin is full: 16 MB')
    }
    if (json === undefined) stored.delete(key)
    else stored.set(key, json)
    const name = `${toPrefix(plugin)}${key}`
    const result = await this.#dependencies.commands.run({ name: 'keep-facts', facts: [{ name, value: json }] })
    if (!result.done) throw new Error(`the value was not stored: ${describeFailure(result.why)}`)
  }

  #load(plugin: string): Promise<Map<string, string>> {
    const known = this.#stored.get(plugin)
    if (known !== undefined) return known
    const loading = this.#read(plugin)
    this.#stored.set(plugin, loading)
    loading.catch(() => this.#stored.delete(plugin))
    return loading
  }

  async #read(plugin: string): Promise<Map<string, string>> {
    const values = new Map<string, string>()
    const prefix = toPrefix(plugin)
    for await (const record of this.#dependencies.store.read({ kind: 'fact' }))
      if (record.kind === 'fact' && record.name.startsWith(prefix))
        values.set(record.name.slice(prefix.length), record.value)
    return values
  }
}

/** Names of facts of other modules do not begin so. */
function toPrefix(plugin: string): string {
  return `plugin:${plugin}:`
}

function parseKey(key: unknown): string {
  if (typeof key === 'string' && key !== '' && key.length <= maxKeyLength) return key
  throw new TypeError(`a key is a text of 1 to ${maxKeyLength} characters`)
}

const failures: Readonly<Record<CommandFailure, string>> = {
  'no-such-client': 'no client has this ID',
  'invalid-topic': 'its topic is not valid or is reserved',
  'storage-failing': 'the store of the broker fails',
  'not-allowed': 'a plugin does not allow it',
  'too-large': 'it is larger than mqtt.max_packet_size',
  'receiver-full': 'the queue of a receiver is full',
  'shard-behind': 'a shard cannot store it now',
  'not-available': 'the settings disable it',
  'quota-exceeded': 'a limit is reached',
}

function describeFailure(why: CommandFailure): string {
  return failures[why]
}
