// Subscribes clients when they connect: `auto_subscribe` of the configuration. As for subscriptions by the API, there
// is no permission check and no SUBACK.

import {
  type BrokerEvent,
  type ClientView,
  type Command,
  type CommandResult,
  splitNamespacedName,
} from '../../core/index.ts'
import { parseTopicFilter } from '../../protocol/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { AutoSubscription } from '../messages/messages.ts'

export interface AutoSubscriberDependencies {
  readonly log: Log
  client(clientId: string): ClientView | undefined
  run(command: Command): Promise<CommandResult>
}

export class AutoSubscriber {
  readonly #dependencies: AutoSubscriberDependencies
  #subscriptions: readonly AutoSubscription[]

  constructor(subscriptions: readonly AutoSubscription[] | undefined, dependencies: AutoSubscriberDependencies) {
    this.#subscriptions = subscriptions ?? []
    this.#dependencies = dependencies
  }

  change(subscriptions: readonly AutoSubscription[] = []): void {
    this.#subscriptions = subscriptions
  }

  /** The client has connected. */
  note({ clientId, connection }: Extract<BrokerEvent, { event: 'client-connected' }>): void {
    if (this.#subscriptions.length === 0 || connection.listener.isBridge === true) return
    // Not in the turn in which the client connected.
    setImmediate(() => this.#subscribe(clientId))
  }

  #subscribe(clientId: string): void {
    const client = this.#dependencies.client(clientId)
    if (client === undefined) return
    for (const { topic, qos, options } of this.#subscriptions) {
      const text = filled(topic, client)
      if (text === undefined) continue
      const filter = parseTopicFilter(text)
      if (filter === undefined) this.#noteFailure(clientId, text, 'invalid-topic')
      else void this.#run({ name: 'subscribe', clientId, filter, qos, options })
    }
  }

  async #run(command: Extract<Command, { name: 'subscribe' }>): Promise<void> {
    const result = await this.#dependencies.run(command)
    // A disconnected client needs none.
    if (!result.done && result.why !== 'no-such-client') this.#noteFailure(command.clientId, command.filter, result.why)
  }

  #noteFailure(clientId: string, filter: string, why: string): void {
    this.#dependencies.log.warn('auto-subscribe failed', { client: splitNamespacedName(clientId).name, filter, why })
  }
}

/** Undefined if a placeholder has no value for the client. */
function filled(template: string, { clientId, username, address, port }: ClientView): string | undefined {
  const values: Readonly<Record<string, string | undefined>> = {
    clientid: splitNamespacedName(clientId).name,
    username,
    host: address,
    port: port === 0 ? undefined : String(port),
  }
  let isComplete = true
  const text = template.replaceAll(/\$\{(clientid|username|host|port)\}/g, (whole, name: string) => {
    const value = values[name]
    if (value === undefined || value === '') isComplete = false
    return value ?? whole
  })
  return isComplete ? text : undefined
}
