// A subscriber with a persistent session loses its connection repeatedly while a publisher sends. All messages that the broker
// acknowledged must reach the next connections in order, without a restart of the broker.

import mqtt, { type MqttClient } from 'mqtt'

export interface ReconnectScenario {
  readonly url: string
  readonly qos: 1 | 2
  readonly messages: number
  /** Number of messages after which the subscriber loses its connection. */
  readonly messagesPerConnection: number
  readonly receiveMaximum: number
  /** The scenario stops when no message has arrived for this time. */
  readonly silenceMs: number
  /** Added to client IDs and topics, so that they are unique. */
  readonly name: string
}

export interface ReconnectEnd {
  readonly connections: number
  readonly missing: number
  /** Messages whose first delivery followed a later message [MQTT-4.6.0-5]. */
  readonly late: number
  /** Messages that were delivered more than once: a fault at QoS 2 only. */
  readonly repeated: number
}

/** Maximum number of unacknowledged publications: less than the default `mqtt.receive_maximum`. */
const publisherWindow = 50

export async function runReconnectScenario(scenario: ReconnectScenario): Promise<ReconnectEnd> {
  const topic = `reconnect/${scenario.name}`
  const subscriber = await mqtt.connectAsync(scenario.url, {
    protocolVersion: 5,
    clientId: `subscriber-${scenario.name}`,
    clean: false,
    reconnectPeriod: 1,
    // Only the session delivers messages after a reconnect.
    resubscribe: false,
    properties: { sessionExpiryInterval: 600, receiveMaximum: scenario.receiveMaximum },
  })
  subscriber.on('error', () => {})
  await subscriber.subscribeAsync(topic, { qos: scenario.qos })
  const arrivals = watchArrivals(subscriber, scenario)
  const publisher = await mqtt.connectAsync(scenario.url, {
    protocolVersion: 5,
    clientId: `publisher-${scenario.name}`,
  })
  await publishAll(publisher, topic, scenario)
  await publisher.endAsync()
  const end = await arrivals
  await subscriber.endAsync(true)
  return end
}

async function publishAll(publisher: MqttClient, topic: string, { messages, qos }: ReconnectScenario): Promise<void> {
  let next = 0
  const publishNext = async (): Promise<void> => {
    while (next < messages) await publisher.publishAsync(topic, String(next++), { qos })
  }
  await Promise.all(Array.from({ length: publisherWindow }, publishNext))
}

function watchArrivals(subscriber: MqttClient, scenario: ReconnectScenario): Promise<ReconnectEnd> {
  const seen = new Set<number>()
  let connections = 1
  let highest = -1
  let late = 0
  let repeated = 0
  let sinceConnected = 0
  subscriber.on('connect', () => {
    connections++
    sinceConnected = 0
  })
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(silence)
      resolve({ connections, missing: scenario.messages - seen.size, late, repeated })
    }
    const silence = setTimeout(finish, scenario.silenceMs)
    subscriber.on('message', (_topic, payload) => {
      silence.refresh()
      const number = Number(String(payload))
      if (seen.has(number)) repeated++
      else if (number < highest) late++
      seen.add(number)
      highest = Math.max(highest, number)
      if (seen.size === scenario.messages) finish()
      else if (++sinceConnected % scenario.messagesPerConnection === 0) subscriber.stream.destroy()
    })
  })
}
