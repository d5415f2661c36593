// Several cores in one thread, with links between them that are only FIFO: the seed decides the order of arrival between links. Cores fail
// and restart from what was written.
//
//   client ══ core 0 ──► link 0→1 [ publish, interest ] ──► core 1 ══ client
//                 ╲                                          ╱
//                  ╲──► link 0→2 [ ... ] ──► core 2 ◄───────╱          one step: one of all that may happen next
//
// Stored shards have the numbers 0 to count - 1 here, and local shards the next ones. In the cores, local shards have other numbers.

import {
  changeShards,
  createMessageFromStored,
  Message,
  PeerNames,
  computeOwnerShard,
  toStored,
  type Command,
  type CommandResult,
  type Connection,
  type CoreSettings,
  type Input,
  type LocalShardName,
  type PeerCount,
  type PeerMessage,
  type PeerName,
  type PeerNumber,
  type Permissions,
  type SendList,
  type ShardPlace,
} from '../../../src/core/index.ts'
import { defaultCoreSettings } from '../default-settings.ts'
import type { StoredChange } from '../../../src/records/index.ts'
import type { TopicTable } from '../../../src/protocol/index.ts'
import { MemoryRecordStore } from '../../simulator/record-store.ts'
import { Random } from '../../simulator/random.ts'
import { DrivenCore, type CoreRules } from './driven-core.ts'
import { PacketClient, type ClientTraits } from './packet-client.ts'

interface Link {
  readonly from: number
  readonly to: number
  queue: (PeerMessage | Message)[]
  /** Nothing arrives until `releaseLink`. */
  isHeld: boolean
}

export interface SeveralCoresOptions {
  shards?: number
  seed?: number
  settings?: Partial<CoreSettings>
  /** Permissions of every shard; undefined: all is allowed. */
  permissions?: Permissions
  /** The rule of every shard. */
  rules?: CoreRules
  /** Local shards may join. */
  hasLocals?: boolean
}

/** More steps mean that the cores exchange messages endlessly. */
const maxSteps = 200_000

export class SeveralCores {
  readonly random: Random
  readonly settings: CoreSettings
  /** Number of shards. */
  count: number
  readonly permissions: Permissions | undefined
  readonly #rules: CoreRules | undefined
  readonly recordStore = new MemoryRecordStore()
  readonly clients: PacketClient[] = []
  nowMs = 1_767_225_600_000
  /** By shard; undefined: it has failed. */
  cores: (DrivenCore | undefined)[]
  #links: Link[] = []
  #generation = 0
  readonly #hasLocals: boolean
  /** By shard: the names of the others as it knows them. */
  readonly #names = new Map<number, PeerNames>()
  readonly #localNames = new Map<number, LocalShardName>()
  /** Shards of clients on local shards. */
  readonly #localClients = new Map<PacketClient, number>()
  #commands = 0

  constructor(options: SeveralCoresOptions = {}) {
    this.random = new Random(options.seed ?? 1)
    this.settings = { ...defaultCoreSettings, ...options.settings }
    this.count = options.shards ?? 3
    this.permissions = options.permissions
    this.#rules = options.rules
    this.#hasLocals = options.hasLocals ?? false
    this.#links = linksOf(this.count)
    this.cores = Array.from({ length: this.count }, () => undefined)
    for (let own = 0; own < this.count; own++) this.start(own)
    this.settle()
  }

  /** Returns a client ID that the shard owns. */
  idOn(shard: PeerNumber, name: string): string {
    for (let attempt = 0; ; attempt++) {
      const id = attempt === 0 ? name : `${name}-${attempt}`
      if (computeOwnerShard(id, this.count) === shard) return id
    }
  }

  /** Adds a client on the shard, which is connected when everything has settled. */
  client(shard: PeerNumber, name: string, traits: Partial<ClientTraits> = {}): PacketClient {
    const client = new PacketClient(this.idOn(shard, name), traits)
    this.clients.push(client)
    this.connect(client)
    return client
  }

  /** Adds a client on a local shard. Its session must be clean. */
  localClient(shard: number, name: string, traits: Partial<ClientTraits> = {}): PacketClient {
    const client = new PacketClient(name, traits)
    this.clients.push(client)
    this.moveToLocal(client, shard)
    return client
  }

  /** Connects the client to a local shard. */
  moveToLocal(client: PacketClient, shard: number): void {
    this.#localClients.set(client, shard)
    this.connect(client)
  }

  shardOf(client: PacketClient): number {
    return this.#localClients.get(client) ?? this.shardOfId(client.id)
  }

  shardOfId(clientId: string): PeerNumber {
    return computeOwnerShard(clientId, this.count)
  }

  /** Does nothing if the shard has failed. */
  connect(client: PacketClient): void {
    const core = this.cores[this.shardOf(client)]
    if (core === undefined) return
    this.#drop(client)
    const connection = client.open()
    core.handle({ kind: 'connection-opened', connection })
  }

  /** Changes settings of one shard. */
  changeSettings(shard: PeerNumber, changes: Partial<CoreSettings>): void {
    this.cores[shard]?.handle({ kind: 'settings', settings: { ...this.settings, ...changes } })
  }

  /** Breaks the connection. */
  breakConnection(client: PacketClient): void {
    const { connection } = client
    if (connection === undefined) return
    this.#drop(client)
    this.cores[this.shardOf(client)]?.handle({ kind: 'connection-closed', connection })
  }

  /** Starts a core with the stored records, and links it to all running cores. */
  start(own: number, options: { unnoticedBy?: number } = {}): void {
    const names = new PeerNames()
    this.#names.set(own, names)
    const running = [...this.#localNames].flatMap(([number, name]) => (this.cores[number] ? [names.add(name)] : []))
    this.#startCore(own, { own, count: this.count, ...(this.#hasLocals && { names, running }) }, options)
  }

  /** Starts a local shard. Returns its number. `name`: undefined for a new life. */
  startLocal(name?: LocalShardName): number {
    const number = this.cores.length
    const ownName = name ?? { life: number.toString(16).padStart(16, '0'), thread: number % 3 }
    const names = new PeerNames()
    const own = names.add(ownName)
    const running = [...this.#localNames].flatMap(([other, known]) => (this.cores[other] ? [names.add(known)] : []))
    this.#localNames.set(number, ownName)
    this.#names.set(number, names)
    for (let other = 0; other < number; other++) this.#links.push(newLink(number, other), newLink(other, number))
    this.#startCore(number, { own, count: this.count, names, running })
    return number
  }

  /** Returns the name of a shard. */
  nameOf(number: number): PeerName {
    return this.#localNames.get(number) ?? { stored: number }
  }

  /** Returns the number that `core` has for another shard; undefined if it does not know it. */
  numberIn(core: number, of: number): PeerNumber | undefined {
    return this.#names.get(core)?.find(this.nameOf(of))
  }

  get runningLocals(): number[] {
    return [...this.#localNames.keys()].filter((number) => this.cores[number] !== undefined)
  }

  #startCore(own: number, place: ShardPlace, { unnoticedBy }: { unnoticedBy?: number } = {}): void {
    const core: DrivenCore = new DrivenCore(place, {
      recordStore: own < this.count ? this.recordStore : new MemoryRecordStore(),
      settings: this.settings,
      permissions: this.permissions,
      rules: this.#rules,
      identity: `generation${++this.#generation}`,
      dependencies: {
        sent: (sends) => this.#sent(sends),
        toPeer: (to, message) => this.#send(own, to, message),
        closed: (connection) => this.#closed(own, connection),
        nowMs: () => this.nowMs,
      },
    })
    this.cores[own] = core
    for (const [number, other] of this.cores.entries()) {
      if (other === undefined || other === core) continue
      for (const link of [this.#link(own, number), this.#link(number, own)]) link.queue = []
      core.handle({ kind: 'peer-joined', peer: this.#addName(own, number) })
      if (number !== unnoticedBy) other.handle({ kind: 'peer-joined', peer: this.#addName(number, own) })
    }
  }

  /** The shard learns that another one has restarted. What it sent on the earlier link is lost. */
  noticeRestart(shard: number, restarted: number): void {
    this.#link(shard, restarted).queue = []
    this.handle(shard, { kind: 'peer-joined', peer: this.#addName(shard, restarted) })
  }

  #addName(core: number, other: number): PeerNumber {
    const names = this.#names.get(core)
    if (names === undefined) throw new Error(`shard ${core} is not running`)
    return names.add(this.nameOf(other))
  }

  /** A message for a shard that has failed is lost. */
  #send(from: number, to: PeerNumber, message: PeerMessage | Message): void {
    const name = this.#names.get(from)?.get(to)
    if (name === undefined) return
    const target =
      'stored' in name ? name.stored : [...this.#localNames].findLast(([, known]) => isSame(known, name))?.[0]
    if (target !== undefined && this.cores[target] !== undefined) this.#link(from, target).queue.push(message)
  }

  /** Stops a core at once: unwritten records and messages on its links are lost. */
  kill(own: number, { unnoticedBy }: { unnoticedBy?: number } = {}): void {
    if (this.cores[own] === undefined) return
    this.cores[own] = undefined
    for (const link of this.#links) if (link.from === own || link.to === own) link.queue = []
    for (const client of this.clients) if (this.shardOf(client) === own) this.#drop(client)
    for (const [number, core] of this.cores.entries()) {
      const peer = this.numberIn(number, own)
      if (peer !== undefined && number !== unnoticedBy) core?.handle({ kind: 'peer-left', peer })
    }
  }

  /** Stops all cores: no core receives a notice of the failure of another. */
  killAll(): void {
    for (let own = 0; own < this.cores.length; own++) this.cores[own] = undefined
    for (const link of this.#links) link.queue = []
    for (const client of this.clients) this.#drop(client)
  }

  startAll(): void {
    for (let own = 0; own < this.count; own++) this.start(own)
  }

  /** Kills the node and starts it with another number of shards, as `openNodeStore` does. `from`: 0 if the number of before is lost. */
  restartWith(count: number, { from = this.count, isInterrupted = false } = {}): void {
    this.killAll()
    const shards = { from, to: count }
    const change = (): StoredChange[] => changeShards(this.recordStore.readAll(), shards)
    // A node that fails during the translation has committed a part of it, and translates the rest at its next start.
    if (isInterrupted) this.recordStore.apply(change().slice(0, this.random.between(0, 20)))
    this.recordStore.apply(change())
    this.count = count
    this.#links = linksOf(count)
    this.cores = Array.from({ length: count }, () => undefined)
    this.startAll()
  }

  holdLink(from: number, to: number): void {
    this.#link(from, to).isHeld = true
  }

  releaseLink(from: number, to: number): void {
    this.#link(from, to).isHeld = false
  }

  /** Messages from one shard to another that have not arrived. */
  messagesOnLink(from: number, to: number): readonly (PeerMessage | Message)[] {
    return this.#link(from, to).queue
  }

  /** All messages from one shard to another arrive, and nothing else happens. */
  deliverAll(from: number, to: number): void {
    const link = this.#link(from, to)
    while (link.queue.length > 0) this.#deliver(link)
  }

  /** All packets of the client arrive, and nothing else happens. */
  sendAll(client: PacketClient): void {
    while (client.hasPacketToSend) this.#sendPacket(client)
  }

  handle(shard: PeerNumber, input: Input): void {
    this.cores[shard]?.handle(input)
  }

  /** Sends a command of an administrator to a shard; the result is available when everything has settled. */
  command(shard: PeerNumber, command: Command): () => CommandResult | undefined {
    const requestId = ++this.#commands
    const core = this.cores[shard]
    core?.handle({ kind: 'command', requestId, command })
    return () => core?.results.get(requestId)
  }

  /** Runs one of the possible steps, chosen by the seed; false: there is none. */
  step(): boolean {
    const choices: (() => void)[] = []
    for (const link of this.#links) {
      if (link.queue.length > 0 && !link.isHeld) choices.push(() => this.#deliver(link))
    }
    for (const core of this.cores) {
      if (core?.isWriting === true) choices.push(() => core.commit())
      if (core?.isReading === true) choices.push(() => core.read())
      if (core?.hasMoreWork === true) choices.push(() => core.handle({ kind: 'tick' }))
    }
    for (const client of this.clients) {
      if (client.hasPacketToSend) choices.push(() => this.#sendPacket(client))
      if (client.hasPacketToProcess) choices.push(() => client.processPacket())
    }
    if (choices.length === 0) return false
    this.random.pick(choices)()
    return true
  }

  /** Runs until there is no step left. */
  settle(): void {
    for (let steps = 0; this.step(); steps++) if (steps > maxSteps) throw new Error('the cores talk in circles')
  }

  steps(count: number): void {
    for (let step = 0; step < count && this.step(); step++);
  }

  passMs(ms: number): void {
    this.advance(ms)
    this.settle()
  }

  /** Lets time pass: what is due begins, and nothing else happens. */
  advance(ms: number): void {
    this.nowMs += ms
    for (const core of this.cores)
      if (core !== undefined && core.core.findNextDeadlineMs() <= this.nowMs) core.handle({ kind: 'tick' })
  }

  #deliver(link: Link): void {
    const message = link.queue.shift()
    const core = this.cores[link.to]
    if (message === undefined || core === undefined) return
    const peer = this.numberIn(link.to, link.from)
    if (peer === undefined) throw new Error(`shard ${link.to} does not know shard ${link.from}`)
    if (message instanceof Message)
      core.handle({ kind: 'plain-peer-message', peer, message: copied(message, core.topics) })
    else core.handle({ kind: 'peer-message', peer, message: this.#translate(link, copiedByLink(message, core.topics)) })
  }

  /** Replaces the numbers of shards as a link does: by names, and then by the numbers of the receiver. */
  #translate({ from, to }: Link, message: PeerMessage): PeerMessage {
    const translate = (number: PeerNumber): PeerNumber[] => {
      const name = this.#names.get(from)?.get(number)
      const translated = name === undefined ? undefined : this.#names.get(to)?.find(name)
      return translated === undefined ? [] : [translated]
    }
    const translateCounts = (counts: readonly PeerCount[]): PeerCount[] =>
      counts.flatMap((one) => translate(one.peer).map((peer) => ({ ...one, peer })))
    if (message.kind === 'publish' && message.tried !== undefined)
      return { ...message, tried: message.tried.flatMap(translate) }
    if (message.kind === 'interest-seen') return { ...message, sent: translateCounts(message.sent) }
    if (message.kind === 'retained-request') return { ...message, after: translateCounts(message.after) }
    return message
  }

  #sendPacket(client: PacketClient): void {
    const core = this.cores[this.shardOf(client)]
    const { connection } = client
    if (core === undefined || connection === undefined) return
    const packet = client.takePacket(core.topics)
    if (packet !== undefined) core.handle({ kind: 'packet', connection, packet })
  }

  #sent(sends: SendList): void {
    for (let index = 0; index < sends.length; index++) {
      const client = sends.getConnection(index).output as PacketClient
      if (client.connection === sends.getConnection(index)) client.receive(sends, index)
    }
  }

  #closed(own: PeerNumber, connection: Connection): void {
    const client = connection.output as PacketClient
    if (client.connection === connection) this.#drop(client)
    this.cores[own]?.handle({ kind: 'connection-closed', connection })
  }

  #drop(client: PacketClient): void {
    client.loseConnection()
  }

  #link(from: number, to: number): Link {
    const link = this.#links.find((one) => one.from === from && one.to === to)
    if (link === undefined) throw new Error(`there is no link from ${from} to ${to}`)
    return link
  }
}

function linksOf(count: number): Link[] {
  const links: Link[] = []
  for (let from = 0; from < count; from++)
    for (let to = 0; to < count; to++) if (from !== to) links.push(newLink(from, to))
  return links
}

const newLink = (from: number, to: number): Link => ({ from, to, queue: [], isHeld: false })

const isSame = (one: LocalShardName, other: LocalShardName): boolean =>
  one.life === other.life && one.thread === other.thread

/** Copies a message as a link does: it shares no memory with the sender. */
function copiedByLink(message: PeerMessage, topics: TopicTable): PeerMessage {
  if (message.kind === 'publish') return { ...message, message: copied(message.message, topics) }
  if (message.kind === 'retained-response')
    return { ...message, messages: message.messages.map((one) => copied(one, topics)) }
  return message
}

function copied(
  message: Parameters<typeof toStored>[0],
  topics: TopicTable,
): ReturnType<typeof createMessageFromStored> {
  const stored = toStored(message)
  return createMessageFromStored(
    { ...stored, payload: Buffer.from(stored.payload) },
    topics.internName(message.topic.name),
  )
}
