// The links of this shard to its peers. Messages of peers become inputs of the core, within the limits of a turn. Messages of the core
// are sent at the end of the turn. Not used if a node has one shard.
//
//   peer-joined --> messages, relays ... --> peer-left          when the other shard has restarted, a new link is
//                                                                added

import {
  type BrokerCore,
  type Input,
  type Message,
  type PeerMessage,
  PeerNames,
  type PeerNumber,
  type PeerSendList,
} from '../../core/index.ts'
import {
  Link,
  type LinkDecodeError,
  type LinkDependencies,
  type LinkPort,
  type RelayedStream,
  type RelayOrigin,
} from '../../links/index.ts'
import type { TopicTable } from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import type { ShardListener } from '../messages/messages.ts'
import type { ShardDependencies } from '../runtime/shard-dependencies.ts'
import { isClockDue } from '../runtime/turn-limits.ts'

/** Number of messages of a peer that are handled between two reads of the clock. */
const inputsBetweenClockReads = 256

export interface PeerLinksDependencies {
  readonly core: BrokerCore
  readonly topics: TopicTable
  /** Returns the time of this turn. */
  turnMs(): number
  /** Returns whether the turn has used its time. */
  isOverdue(): boolean
  /** Returns whether there are so many outputs that they must be carried out before the next input. */
  isFull(): boolean
  carryOut(): void
  planTurnEnd(): void
  readonly dependencies: Pick<ShardDependencies, 'log' | 'findListener' | 'acceptGatewayStream' | 'reportLinkFailure'>
  /** Accepts a client whose socket belongs to another shard. */
  acceptRelayed(stream: ByteStream, listener: ShardListener): void
}

export class PeerLinks implements LinkDependencies {
  readonly topics: TopicTable
  /** A node of one machine has stored shards only. */
  readonly names = new PeerNames()
  readonly #shard: PeerLinksDependencies
  readonly #links = new Map<PeerNumber, Link>()
  /** Ports of shards that restarted before the end of their old link was reported. Each is used when the old link has ended. */
  readonly #nextPorts = new Map<PeerNumber, LinkPort>()
  #dirty: Link[] = []
  /** Links with more messages than one turn handles. */
  #backlog = new Set<Link>()
  readonly #finalNotices = new Set<Link>()
  /** Relayed clients that arrived before this shard accepted clients; undefined: it accepts clients now. */
  #pendingRelays: { stream: RelayedStream; origin: RelayOrigin }[] | undefined = []
  #isClosed = false
  /** One object for all inputs of this kind, because millions of objects would have to be collected. */
  readonly #messageInput: { kind: 'peer-message'; peer: PeerNumber; message: PeerMessage }
  readonly #plainMessageInput: { kind: 'plain-peer-message'; peer: PeerNumber; message: Message }
  readonly #findLink = (peer: PeerNumber): Link | undefined => this.#links.get(peer)

  constructor(shard: PeerLinksDependencies) {
    this.#shard = shard
    this.topics = shard.topics
    this.#messageInput = { kind: 'peer-message', peer: 0, message: undefined as never }
    this.#plainMessageInput = { kind: 'plain-peer-message', peer: 0, message: undefined as never }
  }

  /** Number of sockets of this shard whose sessions belong to other shards. */
  get relayedSockets(): number {
    let relayedSockets = 0
    for (const link of this.#links.values()) relayedSockets += link.relayedSockets
    return relayedSockets
  }

  /** Number of chunks that these sockets received and sent. */
  get relayedChunks(): number {
    let relayedChunks = 0
    for (const link of this.#links.values()) relayedChunks += link.relayedChunks
    return relayedChunks
  }

  /** Returns whether all running shards have reported that they will send nothing more. */
  get isQuiet(): boolean {
    for (const link of this.#links.values()) if (!this.#finalNotices.has(link)) return false
    return true
  }

  add(peer: PeerNumber, port: LinkPort): void {
    if (this.#isClosed) return port.close()
    const old = this.#links.get(peer)
    if (old === undefined) return this.#join(peer, port)
    this.#nextPorts.get(peer)?.close()
    this.#nextPorts.set(peer, port)
    old.close()
  }

  /** Accepts clients with sessions on this shard from now on. */
  acceptClients(): void {
    const pendingRelays = this.#pendingRelays ?? []
    this.#pendingRelays = undefined
    for (const { stream, origin } of pendingRelays) {
      this.#accept(stream, origin)
      stream.resume()
    }
  }

  /** Relays a connection to the shard of its session. Returns false if that shard is not running. */
  relay(peer: PeerNumber, stream: ByteStream, listener: number, received: Buffer): boolean {
    const link = this.#links.get(peer)
    link?.relay(stream, listener, [received])
    return link !== undefined
  }

  /** Sends messages of the core. Messages for a failed shard are dropped. When it has restarted, the core sends its outbox again. */
  send(sends: PeerSendList): void {
    sends.drainTo(this.#findLink)
    for (const link of this.#dirty) link.settle()
  }

  /** Called at the end of a turn: continues with messages that the last turn could not handle. */
  continueBacklog(): void {
    if (this.#backlog.size === 0) return
    const backlog = this.#backlog
    this.#backlog = new Set()
    for (const link of backlog) {
      if (this.#shard.isOverdue()) this.#postpone(link)
      else this.#read(link)
    }
  }

  /** Transfers the link buffers. Called last in a turn. */
  flush(): void {
    const dirty = this.#dirty
    this.#dirty = []
    for (const link of dirty) link.flush()
  }

  /** Reports to all peers that this shard will send nothing more. */
  sendFinalNotice(): void {
    for (const link of this.#links.values()) link.sendFinalNotice()
  }

  /** Closes the links. Called after the last messages were sent, because other shards may wait for confirmations. */
  close(): void {
    this.#isClosed = true
    this.flush()
    for (const link of this.#links.values()) link.close()
  }

  onPeerMessage(link: Link, message: PeerMessage): void {
    const input = this.#messageInput
    input.peer = link.peer
    input.message = message
    this.#handleInput(input)
  }

  /** Drops the references to the last messages of peers, because a payload may have many megabytes. */
  forget(): void {
    this.#messageInput.message = undefined as never
    this.#plainMessageInput.message = undefined as never
  }

  onPlainMessage(link: Link, message: Message): void {
    const input = this.#plainMessageInput
    input.peer = link.peer
    input.message = message
    this.#shard.core.handle(input, this.#shard.turnMs())
  }

  onRelayedConnection(_: Link, stream: RelayedStream, origin: RelayOrigin): void {
    if (this.#pendingRelays === undefined) return this.#accept(stream, origin)
    stream.pause()
    this.#pendingRelays.push({ stream, origin })
  }

  onCongestionChange(link: Link, isCongested: boolean): void {
    this.#handleInput({ kind: 'peer-congested', peer: link.peer, isCongested })
    this.#shard.planTurnEnd()
  }

  onInput(link: Link): void {
    if (!this.#backlog.has(link)) this.#read(link)
  }

  onFlushNeeded(link: Link): void {
    this.#dirty.push(link)
    this.#shard.planTurnEnd()
  }

  onFinalNotice(link: Link): void {
    this.#finalNotices.add(link)
    this.#shard.planTurnEnd()
  }

  onClosed(link: Link, error: LinkDecodeError | undefined): void {
    const { peer } = link
    if (error !== undefined) this.#reportFailure(peer, error)
    this.#links.delete(peer)
    this.#finalNotices.delete(link)
    this.#handleInput({ kind: 'peer-left', peer })
    this.#shard.planTurnEnd()
    const nextPort = this.#nextPorts.get(peer)
    this.#nextPorts.delete(peer)
    if (nextPort !== undefined) this.add(peer, nextPort)
  }

  #reportFailure(peer: PeerNumber, { message: reason }: LinkDecodeError): void {
    const { dependencies } = this.#shard
    dependencies.log.error('link failed', { peer, reason })
    dependencies.reportLinkFailure(peer)
  }

  #accept(stream: RelayedStream, origin: RelayOrigin): void {
    const listener = this.#shard.dependencies.findListener(origin.listener)
    // The listener was closed while the client was being relayed.
    if (listener === undefined) stream.destroy()
    else if (!this.#shard.dependencies.acceptGatewayStream(stream, origin.listener))
      this.#shard.acceptRelayed(stream, listener)
  }

  #join(peer: PeerNumber, port: LinkPort): void {
    this.#links.set(peer, new Link(peer, port, this))
    this.#handleInput({ kind: 'peer-joined', peer })
    this.#shard.carryOut()
  }

  /** Reads messages of a link until there are no more, or the turn has used its time. */
  #read(link: Link): void {
    let handled = 0
    let { costlySteps } = this.#shard.core
    while (link.readNext()) {
      handled++
      if (this.#shard.isFull()) this.#shard.carryOut()
      else if (!isClockDue(handled, this.#shard.core.costlySteps - costlySteps, inputsBetweenClockReads)) continue
      costlySteps = this.#shard.core.costlySteps
      if (this.#shard.isOverdue()) {
        this.#postpone(link)
        break
      }
    }
    this.#shard.carryOut()
  }

  #postpone(link: Link): void {
    this.#backlog.add(link)
    this.#shard.planTurnEnd()
  }

  #handleInput(input: Input): void {
    this.#shard.core.handle(input, this.#shard.turnMs())
  }
}
