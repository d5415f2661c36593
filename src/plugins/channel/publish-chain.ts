// One message on its way through the plugins. Each sees what the one before made of it; a drop ends the way.
//
// The calls of one client start in the order of its packets, for each plugin: a message is not given to the second plugin before an
// earlier message of the client was, even if the first plugin answered about it earlier.

import type { HookedPublication, PublishHookResult } from '../../core/index.ts'
import type { CallMessage } from '../calls/call-frames.ts'
import { toMatchedClient, type ClientNumbers } from './plugin-clients.ts'
import type { HookedPlugin } from './hooked-plugin.ts'
import { toPropertiesJson } from './plugin-properties.ts'
import { parsePublishAnswer } from './parse-publish-answer.ts'

type Change = Extract<PublishHookResult, { action: 'change' }>

export class PublishChain {
  readonly #plugins: readonly HookedPlugin[]
  readonly #numbers: ClientNumbers
  readonly #publication: HookedPublication
  readonly #onResult: (result: PublishHookResult) => void
  /** The message of the client before this one, until that has ended. */
  #previous: PublishChain | undefined
  #next: PublishChain | undefined
  /** Number of plugins to which the message was given, or that do not concern it. */
  #started = 0
  #isCalling = false
  #hasEnded = false
  #change: Change | undefined

  constructor(
    plugins: readonly HookedPlugin[],
    {
      publication,
      numbers,
      previous,
      onResult,
    }: {
      readonly publication: HookedPublication
      readonly numbers: ClientNumbers
      readonly previous: PublishChain | undefined
      readonly onResult: (result: PublishHookResult) => void
    },
  ) {
    this.#plugins = plugins
    this.#publication = publication
    this.#numbers = numbers
    this.#onResult = onResult
    if (previous !== undefined && !previous.#hasEnded) {
      this.#previous = previous
      previous.#next = this
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Gives the message to the next plugins, as far as earlier messages allow that; then the later messages of the client. */
  advance(): void {
    let following = this.#next
    let hasAdvanced = this.#advanceAlone()
    while (hasAdvanced && following !== undefined) {
      const current = following
      following = current.#next
      hasAdvanced = current.#advanceAlone()
    }
  }

  /** Returns whether anything has changed for later messages. */
  #advanceAlone(): boolean {
    const startedBefore = this.#started
    while (!this.#hasEnded && !this.#isCalling && this.#isAllowedToStart()) {
      if (this.#started === this.#plugins.length) this.#end(this.#change ?? { action: 'pass' })
      else {
        const plugin = this.#plugins[this.#started++]
        if (plugin.hasHook('message.publish') && this.#concerns(plugin)) this.#call(plugin)
      }
    }
    return this.#hasEnded || this.#started > startedBefore
  }

  #isAllowedToStart(): boolean {
    const previous = this.#previous
    return previous === undefined || previous.#hasEnded || previous.#started > this.#started
  }

  #concerns({ name, matcher }: HookedPlugin): boolean {
    const { client, plugin } = this.#publication
    if (plugin === name) return false
    return matcher.matchesTopic(this.#topic) && matcher.matchesClient(toMatchedClient(client))
  }

  get #topic(): string {
    return this.#change?.topic ?? this.#publication.topic
  }

  #call(plugin: HookedPlugin): void {
    this.#isCalling = true
    plugin.call<PublishHookResult>({
      write: (channel, callId) => {
        const number = this.#numbers.findNumber(channel, this.#publication.client)
        channel.writer.writePublishCall(callId, 'message.publish', number, this.#toCallMessage())
      },
      parse: (result) => parsePublishAnswer(plugin.name, result),
      onAnswer: (answer) => {
        this.#isCalling = false
        this.#apply(plugin, answer)
        this.advance()
      },
    })
  }

  /** Undefined: the call failed. */
  #apply(plugin: HookedPlugin, answer: PublishHookResult | undefined): void {
    if (answer === undefined) {
      if (plugin.plan.onFailure === 'deny') this.#end({ action: 'deny', plugin: plugin.name })
    } else if (answer.action === 'change') this.#change = mergeChanges(this.#change, answer)
    else if (answer.action !== 'pass') this.#end(answer)
  }

  #end(result: PublishHookResult): void {
    this.#hasEnded = true
    this.#previous = undefined
    this.#next = undefined
    this.#onResult(result)
  }

  #toCallMessage(): CallMessage {
    const { payload, qos, retain, dup, delaySeconds, properties, source, depth } = this.#publication
    const change = this.#change
    return {
      topic: this.#topic,
      payload: change?.payload ?? payload,
      qos: change?.qos ?? qos,
      retain: change?.retain ?? retain,
      dup,
      delaySeconds,
      source,
      depth,
      properties: toPropertiesJson(change?.properties === undefined ? properties : (change.properties ?? undefined)),
    }
  }
}

function mergeChanges(earlier: Change | undefined, later: Change): Change {
  if (earlier === undefined) return later
  return {
    action: 'change',
    plugin: later.plugin,
    topic: later.topic ?? earlier.topic,
    payload: later.payload ?? earlier.payload,
    qos: later.qos ?? earlier.qos,
    retain: later.retain ?? earlier.retain,
    properties: later.properties === undefined ? earlier.properties : later.properties,
  }
}
