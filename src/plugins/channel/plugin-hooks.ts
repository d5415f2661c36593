// The hooks of all plugins, on one shard. The node sends the plan; the core asks `matches`, and the shard passes requests.
//
//   node ──plan──► PluginHooks ──► HookedPlugin (one each) ──► PluginChannel ══ frames ══► process

import type { Socket } from 'node:net'
import type { Connection, HookedClient, HookedPublication, PublishHook, PublishHookResult } from '../../core/index.ts'
import type { HookName, NotifyingHook } from '../manifest/plugin-manifest.ts'
import { ClientNumbers, toMatchedClient } from './plugin-clients.ts'
import { HookedPlugin, type HookCall, type HookedPluginDependencies } from './hooked-plugin.ts'
import { PluginChannel, type PluginRequest } from './plugin-channel.ts'
import type { PluginPlan } from './plugin-plan.ts'
import { PublishChain } from './publish-chain.ts'
import { openSocketPair } from './socket-pair.ts'

export interface PluginHooksDependencies extends HookedPluginDependencies {
  /** Maximum of a frame from a process. */
  maxFrameBytes(): number
  /** Handles a request of a plugin. Rejects with an error whose text the plugin gets. */
  handleRequest(plugin: string, request: PluginRequest): Promise<unknown>
  /** Plans `flush` for the end of the turn. */
  planFlush(): void
  /** Runs work that gives inputs to the core. */
  run(work: () => void): void
  /** Reports an internal error. */
  fail(error: unknown): void
}

interface OpenChannel {
  readonly channel: PluginChannel
  /** The end of the process, until that has started. */
  other: Socket | undefined
}

const none: readonly HookedPlugin[] = []
/** Calls that take too long fail at the next check. */
const expiryCheckMs = 50

export class PluginHooks implements PublishHook {
  readonly #dependencies: PluginHooksDependencies
  readonly #channels = new Map<number, OpenChannel>()
  readonly #numbers = new ClientNumbers()
  readonly #lastChains = new Map<string, PublishChain>()
  readonly #byHook = new Map<HookName, readonly HookedPlugin[]>()
  #plugins: readonly HookedPlugin[] = []
  /** Those with the hook `message.publish`. */
  #publishPlugins: readonly HookedPlugin[] = []
  #matched = new WeakMap<Connection, readonly HookedPlugin[]>()
  #timer: NodeJS.Timeout | undefined

  constructor(dependencies: PluginHooksDependencies) {
    this.#dependencies = dependencies
  }

  get isActive(): boolean {
    return this.#publishPlugins.length > 0
  }

  get isFull(): boolean {
    return this.#publishPlugins.some(({ isFull }) => isFull)
  }

  /** Opens a channel for a process that starts next. Resolves with the descriptor that it inherits. */
  async openChannel(process: number, plugin: string, socketPath: string): Promise<number> {
    const { own, other, descriptor } = await openSocketPair(socketPath)
    const channel = new PluginChannel(own, {
      nowMs: () => this.#dependencies.nowMs(),
      maxFrameBytes: this.#dependencies.maxFrameBytes(),
      run: (work) => this.#dependencies.run(work),
      handleRequest: (request) => this.#handleRequest(plugin, channel, request),
      onEnd: () => this.#channels.delete(process),
    })
    this.#channels.set(process, { channel, other })
    return descriptor
  }

  /** The process has inherited its end, or was not started. */
  releaseDescriptor(process: number): void {
    const open = this.#channels.get(process)
    open?.other?.destroy()
    if (open !== undefined) open.other = undefined
  }

  /** Resolves when no call of the process is pending; then its channel is closed. */
  async closeChannel(process: number): Promise<void> {
    const open = this.#channels.get(process)
    if (open === undefined) return
    await open.channel.waitUntilDrained()
    open.other?.destroy()
    open.channel.close()
    this.#channels.delete(process)
  }

  configure(plan: PluginPlan): void {
    const before = new Map(this.#plugins.map((plugin) => [plugin.name, plugin]))
    this.#plugins = plan.map((planned) => {
      const channel = this.#channels.get(planned.process)?.channel
      const known = before.get(planned.name)
      before.delete(planned.name)
      if (known === undefined) return new HookedPlugin(planned, channel, this.#dependencies)
      known.change(planned, channel)
      return known
    })
    this.#byHook.clear()
    for (const plugin of this.#plugins)
      for (const hook of plugin.plan.hooks) this.#byHook.set(hook, [...(this.#byHook.get(hook) ?? none), plugin])
    this.#publishPlugins = this.#byHook.get('message.publish') ?? none
    this.#matched = new WeakMap()
    for (const plugin of before.values()) plugin.end()
    this.#setTimer()
  }

  matches(client: HookedClient | undefined, topic: string, publishedBy?: string): boolean {
    const plugins = this.#findMatched(client)
    for (const { name, matcher } of plugins) if (name !== publishedBy && matcher.matchesTopic(topic)) return true
    return false
  }

  #findMatched(client: HookedClient | undefined): readonly HookedPlugin[] {
    const connection = client?.connection
    if (connection === undefined) return this.#matchClient(client)
    const known = this.#matched.get(connection)
    if (known !== undefined) return known
    const found = this.#matchClient(client)
    this.#matched.set(connection, found)
    return found
  }

  #matchClient(client: HookedClient | undefined): readonly HookedPlugin[] {
    const matched = toMatchedClient(client)
    return this.#publishPlugins.filter(({ matcher }) => matcher.matchesClient(matched))
  }

  /** Gives a message to its hooks. `onResult` may be called before this returns. */
  runPublish(publication: HookedPublication, onResult: (result: PublishHookResult) => void): void {
    const session = publication.client?.clientId
    const previous = session === undefined ? undefined : this.#lastChains.get(session)
    const chain = new PublishChain(this.#publishPlugins, {
      publication,
      numbers: this.#numbers,
      previous,
      onResult: (result) => {
        if (session !== undefined && this.#lastChains.get(session) === chain) this.#lastChains.delete(session)
        onResult(result)
      },
    })
    if (session !== undefined) this.#lastChains.set(session, chain)
    chain.advance()
    if (chain.hasEnded && session !== undefined && this.#lastChains.get(session) === chain)
      this.#lastChains.delete(session)
    this.#dependencies.planFlush()
  }

  /** Returns the plugins with this hook, in order: those that concern the client, or all of them. */
  listPlugins(hook: HookName, client?: HookedClient): readonly HookedPlugin[] {
    const plugins = this.#byHook.get(hook) ?? none
    if (client === undefined || plugins.length === 0) return plugins
    const matched = toMatchedClient(client)
    return plugins.filter(({ matcher }) => matcher.matchesClient(matched))
  }

  /** Calls one hook of one plugin. Resolves with undefined if the call failed. */
  call<Answer extends object>(
    plugin: HookedPlugin,
    {
      hook,
      client,
      fields,
      parse,
    }: {
      readonly hook: HookName
      readonly client: HookedClient
      readonly fields: unknown
      readonly parse: HookCall<Answer>['parse']
    },
  ): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      plugin.call<Answer>({
        write: (channel, callId) => {
          channel.writer.writeCall(callId, hook, this.#numbers.findNumber(channel, client), fields)
        },
        parse,
        onAnswer: resolve,
      })
      this.#dependencies.planFlush()
    })
  }

  /** Reports an event to the plugins that it concerns. `topic` undefined: it concerns no topic. */
  notify(hook: NotifyingHook, client: HookedClient, topic: string | undefined, fields: object): void {
    for (const plugin of this.listPlugins(hook, client)) {
      if (topic !== undefined && !plugin.matcher.matchesTopic(topic)) continue
      plugin.notify((channel, callId) => {
        channel.writer.writeCall(callId, hook, this.#numbers.findNumber(channel, client), fields)
      })
      this.#dependencies.planFlush()
    }
  }

  /** Returns whether a plugin has the hook. */
  hasHook(hook: HookName): boolean {
    return this.#byHook.has(hook)
  }

  /** The connection is closed, or its client has another identity. */
  forget(connection: Connection): void {
    if (this.#plugins.length === 0) return
    this.#numbers.forget(connection)
    this.#matched.delete(connection)
  }

  /** Sends the calls of this turn. */
  flush(): void {
    for (const { channel } of this.#channels.values()) channel.flush()
  }

  close(): void {
    clearInterval(this.#timer)
    for (const { channel, other } of this.#channels.values()) {
      other?.destroy()
      channel.close()
    }
  }

  #setTimer(): void {
    clearInterval(this.#timer)
    if (this.#plugins.length === 0) return
    this.#timer = setInterval(() => {
      this.#dependencies.run(() => this.#plugins.forEach((plugin) => plugin.expire()))
    }, expiryCheckMs).unref()
  }

  #handleRequest(plugin: string, channel: PluginChannel, request: PluginRequest): void {
    this.#dependencies
      .handleRequest(plugin, request)
      .then(
        (value) => channel.writer.writeResponse(request.requestId, undefined, value),
        (error: unknown) =>
          channel.writer.writeResponse(
            request.requestId,
            error instanceof Error ? error.message : String(error),
            undefined,
          ),
      )
      .then(
        () => channel.flush(),
        (error: unknown) => this.#dependencies.fail(error),
      )
  }
}
