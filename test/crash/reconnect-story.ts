// A subscriber with a persistent session loses its connection again and again while a publisher streams. What the broker
// acknowledged must reach the next connections: all of it, in order, without a restart of the broker.

import mqtt, { type MqttClient } from 'mqtt'

export interface ReconnectStory {
  readonly url: string
  readonly qos: 1 | 2
  readonly messages: number
  /** The subscriber loses its connection after so many messages. */
  readonly messagesPerConnection: number
  readonly receiveMaximum: number
  /** The story is given up when nothing has come for so long. */
  readonly silenceMs: number
  /** Makes client ids and topics of its own. */
  readonly name: string
}

export interface ReconnectEnd {
  readonly connections: number
  readonly missing: number
  /** Messages whose first delivery came behind a later message [MQTT-4.6.0-5]. */
  readonly late: number
  /** Delivered more than once: a fault at QoS 2 only. */
  readonly repeated: number
}

/** Publications that may be unacknowledged at a time: less than the default `mqtt.receive_maximum`. */
const publisherWindow = 50

export async function tellReconnectStory(story: ReconnectStory): Promise<ReconnectEnd> {
  const topic = `reconnect/${story.name}`
  const subscriber = await mqtt.connectAsync(story.url, {
    protocolVersion: 5,
    clientId: `subscriber-${story.name}`,
    clean: false,
    reconnectPeriod: 1,
    // Only the session brings messages after a reconnection.
    resubscribe: false,
    properties: { sessionExpiryInterval: 600, receiveMaximum: story.receiveMaximum },
  })
  subscriber.on('error', () => {})
  await subscriber.subscribeAsync(topic, { qos: story.qos })
  const arrivals = watchArrivals(subscriber, story)
  const publisher = await mqtt.connectAsync(story.url, { protocolVersion: 5, clientId: `publisher-${story.name}` })
  await publishAll(publisher, topic, story)
  await publisher.endAsync()
  const end = await arrivals
  await subscriber.endAsync(true)
  return end
}

async function publishAll(publisher: MqttClient, topic: string, { messages, qos }: ReconnectStory): Promise<void> {
  let next = 0
  const publishNext = async (): Promise<void> => {
    while (next < messages) await publisher.publishAsync(topic, String(next++), { qos })
  }
  await Promise.all(Array.from({ length: publisherWindow }, publishNext))
}

function watchArrivals(subscriber: MqttClient, story: ReconnectStory): Promise<ReconnectEnd> {
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
      resolve({ connections, missing: story.messages - seen.size, late, repeated })
    }
    const silence = setTimeout(finish, story.silenceMs)
    subscriber.on('message', (_topic, payload) => {
      silence.refresh()
      const number = Number(String(payload))
      if (seen.has(number)) repeated++
      else if (number < highest) late++
      seen.add(number)
      highest = Math.max(highest, number)
      if (seen.size === story.messages) finish()
      else if (++sinceConnected % story.messagesPerConnection === 0) subscriber.stream.destroy()
    })
  })
}
