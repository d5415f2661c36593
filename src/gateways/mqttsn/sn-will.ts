// The will of an MQTT-SN client, which comes in two packets and is changed in two [6.3, 6.4].

import { parseTopicName, type Will } from '../../protocol/index.ts'
import type { SnFlags } from './packets.ts'

export class SnWill {
  #topic: { readonly name: string; readonly flags: SnFlags } | undefined
  #message: Buffer | undefined

  get hasTopic(): boolean {
    return this.#topic !== undefined
  }

  /** Undefined: there is no will any more. */
  setTopic(name: string | undefined, flags: SnFlags): void {
    this.#topic = name === undefined ? undefined : { name, flags }
    if (name === undefined) this.#message = undefined
  }

  setMessage(message: Buffer): void {
    this.#message = Buffer.from(message)
  }

  clear(): void {
    this.#topic = undefined
    this.#message = undefined
  }

  /** For CONNECT. */
  toMqtt(): Will | undefined {
    const topic = this.#topic === undefined ? undefined : parseTopicName(this.#topic.name)
    if (this.#topic === undefined || topic === undefined) return undefined
    const { qos, retain } = this.#topic.flags
    const payload = this.#message ?? Buffer.alloc(0)
    return { topic, payload, qos: qos === -1 ? 0 : qos, retain, properties: undefined }
  }
}
