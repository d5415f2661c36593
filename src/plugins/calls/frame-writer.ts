// Encodes frames into one buffer, which is sent once for each turn.

import { hookNames, type HookName } from '../manifest/plugin-manifest.ts'
import { frameKinds, messageSources, type CallMessage, type MessageChange } from './call-frames.ts'

const initialBytes = 65_536
/** A larger buffer is not used again: one burst must not keep its memory. */
const maxReusedBytes = 1_048_576
const lengthBytes = 4

export class FrameWriter {
  #buffer = Buffer.allocUnsafeSlow(initialBytes)
  #end = 0
  #frameStart = 0

  get byteLength(): number {
    return this.#end
  }

  /** Returns the frames since the last call, in memory of their own. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#end)
    this.#end = 0
    if (this.#buffer.length > maxReusedBytes) {
      this.#buffer = Buffer.allocUnsafeSlow(initialBytes)
      return taken
    }
    return Buffer.from(taken)
  }

  writeClient(client: number, info: unknown): void {
    this.#begin(frameKinds.client)
    this.#writeUint32(client)
    this.#writeRest(JSON.stringify(info))
    this.#finish()
  }

  writeForgetClient(client: number): void {
    this.#begin(frameKinds.forgetClient)
    this.#writeUint32(client)
    this.#finish()
  }

  writeCall(callId: number, hook: HookName, client: number, fields: unknown): void {
    this.#begin(frameKinds.call)
    this.#writeUint32(callId)
    this.#writeUint8(hookNames.indexOf(hook))
    this.#writeUint32(client)
    this.#writeRest(JSON.stringify(fields))
    this.#finish()
  }

  writePublishCall(callId: number, hook: HookName, client: number, message: CallMessage): void {
    this.#begin(frameKinds.publishCall)
    this.#writeUint32(callId)
    this.#writeUint8(hookNames.indexOf(hook))
    this.#writeUint32(client)
    this.#writeUint8(message.qos | (message.retain ? 4 : 0) | (message.dup ? 8 : 0))
    this.#writeUint8(messageSources.indexOf(message.source))
    this.#writeUint8(message.depth)
    this.#writeUint32(message.delaySeconds)
    this.#writeText(message.topic)
    this.#writeText(message.properties)
    this.#writeBytes(message.payload)
    this.#finish()
  }

  writeResponse(requestId: number, error: string | undefined, value: unknown): void {
    this.#begin(frameKinds.response)
    this.#writeUint32(requestId)
    this.#writeRest(JSON.stringify(error === undefined ? { value } : { error }))
    this.#finish()
  }

  writePass(callId: number): void {
    this.#begin(frameKinds.pass)
    this.#writeUint32(callId)
    this.#finish()
  }

  writeAnswer(callId: number, value: unknown): void {
    this.#begin(frameKinds.answer)
    this.#writeUint32(callId)
    this.#writeRest(JSON.stringify(value))
    this.#finish()
  }

  writeChange(callId: number, { topic, payload, qos, retain, properties }: MessageChange): void {
    this.#begin(frameKinds.change)
    this.#writeUint32(callId)
    const present =
      (topic === undefined ? 0 : 1) |
      (payload === undefined ? 0 : 2) |
      (qos === undefined ? 0 : 4) |
      (retain === undefined ? 0 : 8) |
      (properties === undefined ? 0 : 16)
    this.#writeUint8(present)
    this.#writeUint8((qos ?? 0) | (retain === true ? 4 : 0))
    this.#writeText(topic ?? '')
    this.#writeText(properties ?? '')
    if (payload !== undefined) this.#writeBytes(payload)
    this.#finish()
  }

  writeFailure(callId: number, text: string): void {
    this.#begin(frameKinds.failure)
    this.#writeUint32(callId)
    this.#writeRest(text)
    this.#finish()
  }

  writeRequest(requestId: number, request: unknown): void {
    this.#begin(frameKinds.request)
    this.#writeUint32(requestId)
    this.#writeRest(JSON.stringify(request))
    this.#finish()
  }

  writePublishRequest(
    requestId: number,
    depth: number,
    message: { readonly topic: string; readonly payload: Uint8Array; readonly qos: number; readonly retain: boolean },
  ): void {
    this.#begin(frameKinds.publishRequest)
    this.#writeUint32(requestId)
    this.#writeUint8(depth)
    this.#writeUint8(message.qos | (message.retain ? 4 : 0))
    this.#writeText(message.topic)
    this.#writeBytes(message.payload)
    this.#finish()
  }

  #begin(kind: number): void {
    this.#frameStart = this.#end
    this.#reserve(lengthBytes + 1)
    this.#end += lengthBytes
    this.#writeUint8(kind)
  }

  #finish(): void {
    this.#buffer.writeUInt32BE(this.#end - this.#frameStart - lengthBytes, this.#frameStart)
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#end + bytes))
    this.#buffer.copy(larger, 0, 0, this.#end)
    this.#buffer = larger
  }

  #writeUint8(value: number): void {
    this.#reserve(1)
    this.#buffer[this.#end++] = value
  }

  #writeUint32(value: number): void {
    this.#reserve(4)
    this.#end = this.#buffer.writeUInt32BE(value, this.#end)
  }

  /** With its length before it. */
  #writeText(text: string): void {
    const bytes = Buffer.byteLength(text)
    this.#writeUint32(bytes)
    this.#reserve(bytes)
    this.#end += this.#buffer.write(text, this.#end)
  }

  /** Up to the end of the frame. */
  #writeRest(text: string): void {
    this.#reserve(Buffer.byteLength(text))
    this.#end += this.#buffer.write(text, this.#end)
  }

  #writeBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#end)
    this.#end += bytes.length
  }
}
