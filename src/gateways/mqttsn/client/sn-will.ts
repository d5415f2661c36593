// The will of an MQTT-SN client, which is set and changed by two packets [6.3, 6.4].

import { parseTopicName, TopicTable, type Will } from '../../../protocol/index.ts'
import type { GatewayPublication } from '../../gateway.ts'
import type { StoredWill } from '../model/stored-sessions.ts'
import type { SnFlags, SnRequest } from '../codec/sn-packets.ts'

/** Packet identifier of the will when it is published: it is the last packet of the connection, so it is in use by no other. */
const willPacketId = 0xffff
const none = Buffer.alloc(0)

export type WillUpdate = SnRequest & { type: 'willtopicupd' | 'willmsgupd' }

export class SnWill {
  #topic: { readonly name: string; readonly flags: SnFlags } | undefined
  #message: Buffer | undefined

  constructor(topic?: { readonly name: string; readonly flags: SnFlags }) {
    this.#topic = topic
  }

  get hasTopic(): boolean {
    return this.#topic !== undefined
  }

  /** Undefined: the will is deleted. */
  setTopic(name: string | undefined, flags: SnFlags): void {
    this.#topic = name === undefined ? undefined : { name, flags }
    if (name === undefined) this.#message = undefined
  }

  /** Returns false if the change is not possible. */
  change(update: WillUpdate): boolean {
    if (update.type === 'willmsgupd') {
      if (this.hasTopic) this.setMessage(update.message)
      return this.hasTopic
    }
    if (update.topic !== undefined && parseTopicName(update.topic) === undefined) return false
    this.setTopic(update.topic, update.flags)
    return true
  }

  setMessage(message: Buffer): void {
    this.#message = Buffer.from(message)
  }

  /** The will as it is stored across restarts. */
  get stored(): StoredWill | undefined {
    if (this.#topic === undefined) return undefined
    return { topic: this.#topic.name, flags: this.#topic.flags, message: (this.#message ?? none).toString('base64') }
  }

  restore(will: StoredWill | undefined): void {
    if (will === undefined) return
    this.setTopic(will.topic, will.flags)
    this.setMessage(Buffer.from(will.message, 'base64'))
  }

  /** Returns the message to publish when the client is lost. */
  toPublication(): GatewayPublication | undefined {
    const will = this.toMqtt()
    if (will === undefined) return undefined
    const { topic: name, payload, qos, retain } = will
    return { topic: new TopicTable(1).internName(name), payload, qos, retain, packetId: qos === 0 ? 0 : willPacketId }
  }

  /** Returns the will for the CONNECT to the broker. */
  toMqtt(): Will | undefined {
    const topic = this.#topic === undefined ? undefined : parseTopicName(this.#topic.name)
    if (this.#topic === undefined || topic === undefined) return undefined
    const { qos, retain } = this.#topic.flags
    const payload = this.#message ?? none
    return { topic, payload, qos: qos === -1 ? 0 : qos, retain, properties: undefined }
  }
}
