// Calls the hooks of a plugin, and writes their answers. A hook that throws, rejects, or returns something else than its type
// allows is a failure of this call only.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { FrameToProcess } from '../calls/call-frames.ts'
import type { FrameWriter } from '../calls/frame-writer.ts'
import { parseProperties } from '../calls/properties-json.ts'
import type { ClientInfo, HookedMessage, Hooks } from '../manifest/plugin-types.ts'
import { toMessageChange } from './to-message-change.ts'

type Call = Extract<FrameToProcess, { kind: 'call' | 'publish-call' }>

/** The channel of a call. */
export interface AnswerChannel {
  readonly writer: FrameWriter
  findClient(client: number): ClientInfo | undefined
  planFlush(): void
}

/** `depth` of the message whose hook is running. */
export const runningDepth = new AsyncLocalStorage<number>()

export class HookRunner {
  readonly #hooks: Hooks

  constructor(hooks: Hooks) {
    this.#hooks = hooks
  }

  /** Returns false if the plugin has no `configure`. */
  async configure(config: unknown): Promise<boolean> {
    const { configure } = this.#hooks as { readonly configure?: (config: unknown) => unknown }
    if (configure === undefined) return false
    await configure(config)
    return true
  }

  run(channel: AnswerChannel, call: Call): void {
    try {
      const returned = this.#call(channel, call)
      if (returned instanceof Promise) {
        returned.then(
          (late) => this.#writeResult(channel, call, late),
          (error: unknown) => this.#fail(channel, call, error),
        )
      } else this.#writeResult(channel, call, returned)
    } catch (error) {
      this.#fail(channel, call, error)
    }
  }

  #call(channel: AnswerChannel, call: Call): unknown {
    const hook = this.#hooks[call.hook] as ((event: object) => unknown) | undefined
    if (hook === undefined) throw new Error(`the plugin has no hook ${call.hook}`)
    const client = channel.findClient(call.client)
    if (call.kind === 'call') return hook({ client, ...readFields(call.fields) })
    const { source, depth } = call.message
    return runningDepth.run(depth, () => hook({ client, message: toHookedMessage(call.message), source }))
  }

  #writeResult(channel: AnswerChannel, call: Call, returned: unknown): void {
    if (call.callId === 0) return
    try {
      this.#writeAnswer(channel, call, returned)
    } catch (error) {
      return this.#fail(channel, call, error)
    }
    channel.planFlush()
  }

  #writeAnswer({ writer }: AnswerChannel, { callId, hook }: Call, returned: unknown): void {
    if (returned === undefined || returned === null) return writer.writePass(callId)
    if (typeof returned !== 'object') throw new TypeError(`${hook} returned a ${typeof returned}`)
    if (hook !== 'message.publish' || 'drop' in returned) return writer.writeAnswer(callId, returned)
    writer.writeChange(callId, toMessageChange(returned))
  }

  #fail(channel: AnswerChannel, call: Call, error: unknown): void {
    channel.writer.writeFailure(call.callId, (error instanceof Error ? error.message : String(error)).slice(0, 1_024))
    channel.planFlush()
  }
}

/** `password` is sent as base64. */
function readFields(fields: unknown): object {
  const { password, ...others } = fields as { readonly password?: string }
  return password === undefined ? others : { ...others, password: Buffer.from(password, 'base64') }
}

function toHookedMessage(message: Extract<Call, { kind: 'publish-call' }>['message']): HookedMessage {
  const { topic, payload, qos, retain, dup, delaySeconds, properties } = message
  return { topic, payload, qos, retain, dup, delay: delaySeconds, properties: parseProperties(properties) }
}
