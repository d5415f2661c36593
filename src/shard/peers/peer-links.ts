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
  type RemoteListener,
} from '../../links/index.ts'
import type { TopicTable } from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import type { ShardListener } from '../messages/messages.ts'
import type { ShardDependencies } from '../runtime/shard-dependencies.ts'
import { isClockDue } from '../runtime/turn-limits.ts'

/** In place of the number of a listener of this node: clients of another node's listener stay when a listener of this node closes. */
const remoteListenerNumber = -1

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
  readonly dependencies: Pick<
    ShardDependencies,
    'findListener' | 'findListenerByName' | 'acceptGatewayStream' | 'reportLinkFailure' | 'log'
  >
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
  readonly #nextPorts = new Map<PeerNumber, { readonly port: LinkPort; readonly isRemote: boolean }>()
  /** Peers on other nodes. */
  readonly #remotePeers = new Set<PeerNumber>()
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

  /** Returns whether all running shards of this node have reported that they will send nothing more. Other nodes do not stop with this one. */
  get isQuiet(): boolean {
    for (const [peer, link] of this.#links) {
      if (!this.#finalNotices.has(link) && !this.#remotePeers.has(peer)) return false
    }
    return true
  }

  /** `isRemote`: the shard runs on another node. */
  add(peer: PeerNumber, port: LinkPort, isRemote: boolean): void {
    if (this.#isClosed) return port.close()
    const old = this.#links.get(peer)
    if (old === undefined) return this.#join(peer, port, isRemote)
    this.#nextPorts.get(peer)?.port.close()
    this.#nextPorts.set(peer, { port, isRemote })
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

  /**
   * Relays a connection to the shard of its session. `listener`: a number for datagrams of a gateway, which are not relayed to other nodes.
   * Returns false if that shard is not running, or cannot be reached.
   */
  relay(peer: PeerNumber, stream: ByteStream, listener: ShardListener | number, received: Buffer): boolean {
    const link = this.#links.get(peer)
    if (link === undefined) return false
    if (!this.#remotePeers.has(peer)) {
      link.relay(stream, typeof listener === 'number' ? listener : listener.number, [received])
      return true
    }
    if (typeof listener === 'number') return false
    link.relay(stream, toRemoteListener(listener), [received])
    return true
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
    const next = this.#nextPorts.get(peer)
    this.#nextPorts.delete(peer)
    if (next !== undefined) this.add(peer, next.port, next.isRemote)
  }

  #reportFailure(peer: PeerNumber, { message: reason }: LinkDecodeError): void {
    const { dependencies } = this.#shard
    dependencies.log.error('link failed', { peer, reason })
    dependencies.reportLinkFailure(peer)
  }

  #accept(stream: RelayedStream, { listener: origin }: RelayOrigin): void {
    if (typeof origin !== 'number') return this.#acceptRemote(stream, origin)
    const listener = this.#shard.dependencies.findListener(origin)
    // The listener was closed while the client was being relayed.
    if (listener === undefined) stream.destroy()
    else if (!this.#shard.dependencies.acceptGatewayStream(stream, origin)) this.#shard.acceptRelayed(stream, listener)
  }

  /** Accepts a client of a listener of another node. Without a listener of this name, the authentication of its clients is unknown. */
  #acceptRemote(stream: RelayedStream, { kind, name, port, isLoopback }: RemoteListener): void {
    const listener = this.#shard.dependencies.findListenerByName(kind, name)
    if (listener !== undefined)
      return this.#shard.acceptRelayed(stream, { ...listener, number: remoteListenerNumber, port, isLoopback })
    const remedy = 'configure it on all nodes of the cluster'
    this.#shard.dependencies.log.warn('listener unknown on this node', { listener: `${kind}:${name}`, remedy })
    stream.destroy()
  }

  #join(peer: PeerNumber, port: LinkPort, isRemote: boolean): void {
    if (isRemote) this.#remotePeers.add(peer)
    else this.#remotePeers.delete(peer)
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

function toRemoteListener({ kind, name, port, isLoopback }: ShardListener): RemoteListener {
  return { kind, name, port, isLoopback }
}
