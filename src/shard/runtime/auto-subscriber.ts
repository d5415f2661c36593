// Subscribes clients when they connect: `auto_subscribe` of the configuration. As for subscriptions by the API, there
// is no permission check and no SUBACK.

import {
  type BrokerEvent,
  type ClientView,
  type Command,
  type CommandResult,
  splitNamespacedName,
} from '../../core/index.ts'
import { fillTopicTemplate, parseTopicFilter, type TopicValues } from '../../protocol/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { AutoSubscription } from '../messages/messages.ts'

export interface AutoSubscriberDependencies {
  readonly log: Log
  findClient(clientId: string): ClientView | undefined
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
  handleConnected({ clientId, connection }: Extract<BrokerEvent, { event: 'client-connected' }>): void {
    if (this.#subscriptions.length === 0 || connection.listener.isInternal === true) return
    // Not in the turn in which the client connected.
    setImmediate(() => this.#subscribe(clientId))
  }

  #subscribe(clientId: string): void {
    const client = this.#dependencies.findClient(clientId)
    if (client === undefined) return
    const values = toTopicValues(client)
    for (const { topic, qos, options } of this.#subscriptions) {
      const text = fillTopicTemplate(topic, values)
      const filter = text === undefined ? undefined : parseTopicFilter(text)
      if (text === undefined) this.#recordUnusable(clientId, topic, values)
      else if (filter === undefined) this.#logFailure(clientId, text, 'invalid-topic')
      else void this.#run({ name: 'subscribe', clientId, filter, qos, options })
    }
  }

  async #run(command: Extract<Command, { name: 'subscribe' }>): Promise<void> {
    const result = await this.#dependencies.run(command)
    // A disconnected client needs none.
    if (!result.done && result.why !== 'no-such-client') this.#logFailure(command.clientId, command.filter, result.why)
  }

  /** A value that is not known is usual. One that the client chose so that it cannot be inserted is reported. */
  #recordUnusable(clientId: string, topic: string, values: TopicValues): void {
    const isUnknown = Object.entries(values).some(
      ([name, value]) => (value ?? '') === '' && topic.includes(`\${${name}}`),
    )
    if (!isUnknown) this.#logFailure(clientId, topic, 'unusable-placeholder')
  }

  #logFailure(clientId: string, filter: string, why: string): void {
    this.#dependencies.log.warn('auto-subscribe failed', { client: splitNamespacedName(clientId).name, filter, why })
  }
}

/** Values for placeholders. */
function toTopicValues({ clientId, username, address, port }: ClientView): TopicValues {
  const host = address.replaceAll('/', '')
  return { clientid: splitNamespacedName(clientId).name, username, host, port: port === 0 ? undefined : String(port) }
}
