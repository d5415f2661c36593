// Several cores in one thread, with links between them that are only FIFO: the seed decides the order of arrival between links. Cores fail
// and restart from what was written.
//
//   client ══ core 0 ──► link 0→1 [ publish, interest ] ──► core 1 ══ client
//                 ╲                                          ╱
//                  ╲──► link 0→2 [ ... ] ──► core 2 ◄───────╱          one step: one of all that may happen next

import {
  changeShards,
  createMessageFromStored,
  Message,
  computeOwnerShard,
  toStored,
  type Command,
  type CommandResult,
  type Connection,
  type CoreSettings,
  type Input,
  type PeerMessage,
  type PeerNumber,
  type Permissions,
  type SendList,
} from '../../../src/core/index.ts'
import { defaultCoreSettings } from '../default-settings.ts'
import type { StoredChange } from '../../../src/records/index.ts'
import type { TopicTable } from '../../../src/protocol/index.ts'
import { MemoryRecordStore } from '../../simulator/record-store.ts'
import { Random } from '../../simulator/random.ts'
import { DrivenCore, type CoreRules } from './driven-core.ts'
import { PacketClient, type ClientTraits } from './packet-client.ts'

interface Link {
  readonly from: PeerNumber
  readonly to: PeerNumber
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
  #commands = 0

  constructor(options: SeveralCoresOptions = {}) {
    this.random = new Random(options.seed ?? 1)
    this.settings = { ...defaultCoreSettings, ...options.settings }
    this.count = options.shards ?? 3
    this.permissions = options.permissions
    this.#rules = options.rules
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

  shardOf(client: PacketClient): PeerNumber {
    return this.shardOfId(client.id)
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
  start(own: PeerNumber): void {
    const core: DrivenCore = new DrivenCore(
      { own, count: this.count },
      {
        recordStore: this.recordStore,
        settings: this.settings,
        permissions: this.permissions,
        rules: this.#rules,
        identity: `generation${++this.#generation}`,
        dependencies: {
          sent: (sends) => this.#sent(sends),
          toPeer: (to, message) => this.#link(own, to).queue.push(message),
          closed: (connection) => this.#closed(own, connection),
          nowMs: () => this.nowMs,
        },
      },
    )
    this.cores[own] = core
    for (const other of this.cores) {
      if (other === undefined || other === core) continue
      for (const link of [this.#link(own, other.number), this.#link(other.number, own)]) link.queue = []
      core.handle({ kind: 'peer-joined', peer: other.number })
      other.handle({ kind: 'peer-joined', peer: own })
    }
  }

  /** Stops a core at once: unwritten records and messages on its links are lost. */
  kill(own: PeerNumber): void {
    if (this.cores[own] === undefined) return
    this.cores[own] = undefined
    for (const link of this.#links) if (link.from === own || link.to === own) link.queue = []
    for (const client of this.clients) if (this.shardOf(client) === own) this.#drop(client)
    for (const core of this.cores) core?.handle({ kind: 'peer-left', peer: own })
  }

  /** Stops all cores: no core receives a notice of the failure of another. */
  killAll(): void {
    for (let own = 0; own < this.count; own++) this.cores[own] = undefined
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

  holdLink(from: PeerNumber, to: PeerNumber): void {
    this.#link(from, to).isHeld = true
  }

  releaseLink(from: PeerNumber, to: PeerNumber): void {
    this.#link(from, to).isHeld = false
  }

  /** Messages from one shard to another that have not arrived. */
  messagesOnLink(from: PeerNumber, to: PeerNumber): readonly (PeerMessage | Message)[] {
    return this.#link(from, to).queue
  }

  /** All messages from one shard to another arrive, and nothing else happens. */
  deliverAll(from: PeerNumber, to: PeerNumber): void {
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
    const peer = link.from
    if (message instanceof Message)
      core.handle({ kind: 'plain-peer-message', peer, message: copied(message, core.topics) })
    else core.handle({ kind: 'peer-message', peer, message: copiedByLink(message, core.topics) })
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

  #link(from: PeerNumber, to: PeerNumber): Link {
    const link = this.#links.find((one) => one.from === from && one.to === to)
    if (link === undefined) throw new Error(`there is no link from ${from} to ${to}`)
    return link
  }
}

function linksOf(count: number): Link[] {
  const links: Link[] = []
  for (let from = 0; from < count; from++)
    for (let to = 0; to < count; to++) if (from !== to) links.push({ from, to, queue: [], isHeld: false })
  return links
}

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
