// One listener of the MQTT-SN gateway: finds the client of a datagram by its address or its contents.
//
// Responses to unconnected clients are few: they are limited per address and in total, and none is
// longer than the datagram to which it responds.

import { randomUUID } from 'node:crypto'
import { Deadlines } from '../../core/index.ts'
import { parseTopicName, TopicTable } from '../../protocol/index.ts'
import type { DatagramGateway, GatewayDependencies } from '../gateway.ts'
import { RestoredConnections } from '../restored-connections.ts'
import { toStoredPeer, restorePeer, canBeSameDevice, toAssociationKey } from '../peer-identity.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { AddressProofs } from '../address-proofs.ts'
import { connectionlessClientId, ConnectionlessPublishers } from './connectionless-publishers.ts'
import { ConnectedClient, type ConnectedClientDependencies, type Peer } from './connected-client.ts'
import { deleteTopicIds, storeSleep, readStoredSessions, createTopicIdStore } from './model/stored-sessions.ts'
import { returnCodes, toShortTopicName, topicKinds, type SnRequest, type WirelessNode } from './codec/sn-packets.ts'
import { readPacket, unwrapForwarded } from './codec/read-sn-packet.ts'
import { type SnCodec, createSn1Codec } from './codec/sn-codec.ts'
import { Sn2Codec, writeSn2Connack, writeSn2Disconnect, writeSn2Gwinfo } from './codec/sn2-codec.ts'
import { sn2ReasonCodes } from './codec/sn2-packet-types.ts'
import { isPublishWithoutSession, isSn2Connect, staysOnShardOfClient } from './codec/sn2-detection.ts'
import { readSn2Packet } from './codec/sn2-reader.ts'
import { findOwnerShard, createOwnName, Routes } from '../shard-place.ts'
import type { MqttSnSettings } from './model/mqttsn-settings.ts'
import type { SnClient } from './client/sn-client.ts'
import type { RestoredSleep, SnClientDependencies } from './model/sn-client-dependencies.ts'
import type { TopicIds } from './model/topic-ids.ts'
import { wrapForwarded, writeBare, writeConnack, writeGwinfo, writeTopicAck } from './codec/write-sn-packet.ts'

/** Minimum interval of DISCONNECT packets to an unconnected client. */
const unauthenticatedPauseMs = 5_000
const maxUnauthenticated = 4_096
/** Maximum sessions of disconnected clients with stored topic IDs. */
const maxStoredTopicIds = 100_000
const maxCachedTopics = 1_024

const pingreq = writeBare('pingreq')

/** The codec of all clients that use MQTT-SN 1.2. */
const codec1 = createSn1Codec(readPacket)

/** A request, and the MQTT-SN version of its packet. */
interface Received {
  readonly request: SnRequest
  readonly version: 1 | 2
}

export class MqttSnGateway implements DatagramGateway {
  readonly #settings: MqttSnSettings
  readonly #dependencies: GatewayDependencies
  readonly #proofs: AddressProofs
  readonly #byPeer = new Map<string, ConnectedClient>()
  readonly #byClientId = new Map<string, ConnectedClient>()
  readonly #routes = new Routes()
  readonly #disconnectSentAtMs = new Map<string, number>()
  readonly #storedTopicIds = new Map<string, TopicIds>()
  readonly #connectionless: ConnectionlessPublishers
  readonly #deadlines = new Deadlines<'client', SnClient>()

  /** The dependencies of all clients. */
  readonly #restored: RestoredConnections
  readonly #clientDependencies: ConnectedClientDependencies

  constructor(settings: MqttSnSettings, dependencies: GatewayDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
    this.#proofs = new AddressProofs(() => dependencies.nowMs())
    this.#connectionless = new ConnectionlessPublishers(settings, dependencies)
    this.#restored = new RestoredConnections(dependencies, () => this.#plan())
    this.#clientDependencies = {
      settings,
      dependencies,
      topics: new TopicTable(maxCachedTopics),
      proofs: this.#proofs,
      send: (bytes, peer) => this.#send(bytes, peer),
      sendUnasked: (bytes, peer) => this.#sendUnasked(bytes, peer),
      reserveUnasked: (pings, peer) => this.#proofs.take(peer, pings * wrapForNode(peer, pingreq).length),
      releaseUnasked: (pings, peer) => this.#proofs.returnBytes(peer, pings * wrapForNode(peer, pingreq).length),
      sendReserved: (bytes, peer) => this.#transmit(wrapForNode(peer, bytes), peer),
      restored: this.#restored,
      scheduleClient: (client) => this.#scheduleClient(client),
      storeSleep: (connected, sleep) => this.#storeSleep(connected, sleep),
      onConnected: (connected) => this.#handleConnected(connected),
      onEnded: (connected) => this.#handleEnded(connected),
    }
  }

  get clients(): number {
    return this.#byPeer.size
  }

  handleDatagram(bytes: Buffer, from: PeerAddress, isForwarded = false): void {
    const { counters } = this.#dependencies
    if (!isForwarded) counters.received++
    const unwrapped = unwrapForwarded(bytes)
    if (unwrapped === undefined) return void counters.dropped.malformed++
    const peer = toPeer(from, unwrapped.node)
    if (this.#settings.speaksVersion2 && !isForwarded && staysOnShardOfClient(unwrapped.bytes)) {
      // The packet may have either version. The shard of the client knows which one.
      const routed = this.#routes.findOwner(peer.key)
      if (routed !== undefined) return this.#dependencies.forward(routed, bytes, from)
    }
    const received = this.#settings.speaksVersion2
      ? this.#read(unwrapped.bytes, peer)
      : toReceived1(readPacket(unwrapped.bytes))
    if (received === undefined) return void counters.dropped.malformed++
    const { request, version } = received
    const owner = isForwarded ? this.#dependencies.place.own : this.#findOwner(request, peer)
    if (owner !== this.#dependencies.place.own) return this.#dependencies.forward(owner, bytes, from)
    this.#proofs.recordReceived(peer, bytes.length)
    // CONNECT gets the response of the broker.
    if (request.type !== 'connect' && this.#dependencies.isBanned(peer.address)) return this.#countDropped('banned')
    if (request.type === 'searchgw') return this.#respondToSearch(peer, version)
    if (request.type === 'publish' && request.flags.qos === -1)
      return this.#publishConnectionless(request, peer, version)
    const known = this.#byPeer.get(peer.key)
    const isNamed = request.type === 'pingreq' || request.type === 'connect'
    const isOfAnother = isNamed && (request.clientId ?? known?.client.clientId) !== known?.client.clientId
    if (known !== undefined && !isOfAnother && version === known.codec.version) {
      known.moveTo(peer)
      return known.client.handle(request)
    }
    // Another device has this address now, or the device has other software.
    if (known !== undefined && request.type === 'connect') known.client.lose()
    this.#handleUnauthenticated(request, peer, version)
  }

  /** Reads a packet of either version. Returns undefined if it is malformed. */
  #read(bytes: Buffer, peer: Peer): Received | undefined {
    const known = this.#byPeer.get(peer.key)
    const isOwn = known?.codec.version === 2
    if (isOwn || isSn2Connect(bytes) || (known === undefined && isPublishWithoutSession(bytes))) {
      const request = isOwn ? known.codec.read(bytes) : readSn2Packet(bytes)
      if (request !== undefined) return { request, version: 2 }
    }
    const request = readPacket(bytes)
    if (request !== undefined && (!isOwn || request.type === 'connect')) return { request, version: 1 }
    // The packet may be one that only version 2.0 has.
    const only2 = known === undefined ? readSn2Packet(bytes) : undefined
    return only2 === undefined ? undefined : { request: only2, version: 2 }
  }

  /** Returns the shard of the client of a packet: by the client ID in the packet, or by that of the CONNECT from the same address. */
  #findOwner(request: SnRequest, peer: Peer): number {
    const { place } = this.#dependencies
    if (place.shards === 1 || request.type === 'searchgw') return place.own
    if (request.type === 'publish' && request.flags.qos === -1) return findOwnerShard(connectionlessClientId, place)
    const isNamed = request.type === 'connect' || request.type === 'pingreq'
    const clientId = isNamed ? request.clientId : undefined
    if (clientId === undefined) return this.#routes.findOwner(peer.key) ?? place.own
    const owner = findOwnerShard(clientId, place)
    this.#routes.setOwner(peer.key, owner === place.own ? undefined : owner)
    return owner
  }

  restore(stored: ReadonlyMap<string, string>): void {
    const { topicIds, sleeping, messages } = readStoredSessions(stored, this.#settings.predefined)
    for (const [clientId, ids] of topicIds) this.#storeTopicIds(clientId, ids)
    for (const { connect, peer: storedAt, node, lostAtMs, will } of sleeping) {
      const peer = restorePeer(storedAt)
      const ids = this.#storedTopicIds.get(connect.clientId)
      this.#storedTopicIds.delete(connect.clientId)
      if (ids !== undefined) ids.store = createTopicIdStore(this.#dependencies, connect.clientId)
      this.#dependencies.addresses.takeClient(peer.address)
      const wireless = node === undefined ? undefined : (Buffer.from(node, 'hex').toString('latin1') as WirelessNode)
      const waiting = messages.get(connect.clientId) ?? new Map()
      const asleep = { lostAtMs, will, topicIds: ids, messages: waiting }
      this.#begin({ connect, codec: createCodec(connect, false), asleep }, toPeer(peer, wireless))
    }
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs)) {
      due.subject.tick()
      this.#scheduleClient(due.subject)
    }
    this.#restored.tick()
    this.#plan()
  }

  #plan(): void {
    this.#dependencies.wakeAt(Math.min(this.#deadlines.findNextMs(), this.#restored.dueAtMs))
  }

  close(): void {
    for (const { client } of this.#byPeer.values()) client.close()
    this.#connectionless.close()
  }

  #respondToSearch(peer: Peer, version: 1 | 2): void {
    if (!this.#canRespond(peer)) return this.#countDropped('limit')
    const { gatewayId } = this.#settings
    this.#send(version === 2 ? writeSn2Gwinfo(gatewayId) : writeGwinfo(gatewayId), peer)
  }

  #handleUnauthenticated(request: SnRequest, peer: Peer, version: 1 | 2): void {
    const isWaking = request.type === 'connect' || request.type === 'pingreq'
    const asleep = isWaking && request.clientId !== undefined ? this.#byClientId.get(request.clientId) : undefined
    // A late copy of PINGREQ from the previous port of the client may have woken it.
    const isSleeping = asleep?.client.state === 'asleep' || asleep?.client.state === 'awake'
    // Behind a forwarder, the wireless node is the address of the device.
    const isSame = asleep !== undefined && canBeSameDevice(asleep.peer, peer) && asleep.peer.node === peer.node
    if (asleep !== undefined && isSleeping && isSame) return this.#move(asleep, peer, request)
    if (request.type === 'connect') return this.#connect(request, peer)
    this.#countDropped('unconnected')
    // In MQTT-SN 1.2, DISCONNECT and PINGREQ with a client ID always get a response.
    const hasOwnResponse =
      request.type === 'disconnect' || (request.type === 'pingreq' && request.clientId !== undefined)
    if (!(hasOwnResponse && version === 1) && !this.#isUnauthenticatedDue(peer)) return
    const { noVirtualConnection } = sn2ReasonCodes
    const response = version === 2 ? writeSn2Disconnect(noVirtualConnection) : writeBare('disconnect')
    if (this.#canRespond(peer)) this.#send(response, peer)
  }

  #isUnauthenticatedDue({ key }: Peer): boolean {
    const nowMs = this.#dependencies.nowMs()
    if (nowMs - (this.#disconnectSentAtMs.get(key) ?? -Infinity) < unauthenticatedPauseMs) return false
    this.#disconnectSentAtMs.delete(key)
    if (this.#disconnectSentAtMs.size >= maxUnauthenticated) forgetFirst(this.#disconnectSentAtMs)
    this.#disconnectSentAtMs.set(key, nowMs)
    return true
  }

  #connect(request: SnRequest & { type: 'connect' }, peer: Peer): void {
    const { counters, addresses } = this.#dependencies
    const hasSpace = this.#byPeer.size < this.#settings.maxClients && this.#dependencies.hasSpace()
    if (!hasSpace || !addresses.takeClient(peer.address)) {
      counters.dropped.limit++
      const { options } = request
      const { congestion } = sn2ReasonCodes
      const response =
        options === undefined ? writeConnack(returnCodes.congestion) : writeSn2Connack(options.messageId, congestion)
      if (this.#canRespond(peer)) this.#send(response, peer)
      return
    }
    const isAssigned = request.options !== undefined && request.clientId === ''
    const connect = isAssigned ? { ...request, clientId: createOwnName(this.#dependencies.place, randomUUID) } : request
    this.#begin({ connect, codec: createCodec(connect, isAssigned) }, peer)
  }

  #begin(beginning: Beginning, from: Peer): void {
    // A joined string keeps its parts in memory, so the key is copied.
    const { address, port, secure, node } = from
    const peer = { address, port, secure, key: Buffer.from(from.key, 'latin1').toString('latin1'), node }
    const connected = new ConnectedClient(this.#clientDependencies, peer, beginning)
    const { client } = connected
    client.begin(beginning.asleep)
    if (connected.isEnded) return
    this.#byPeer.set(peer.key, connected)
    if (beginning.asleep !== undefined) this.#byClientId.set(client.clientId, connected)
    this.#scheduleClient(client)
  }

  #handleConnected(connected: ConnectedClient): void {
    const { client } = connected
    const before = this.#byClientId.get(client.clientId)
    const ofPrevious = before !== undefined && before !== connected ? before.client.messages.topicIds : undefined
    const known = ofPrevious ?? this.#storedTopicIds.get(client.clientId)
    const startsClean = client.isCleanSession || client.startsClean
    if (!startsClean && known !== undefined) client.messages.adoptTopicIds(known)
    else if (known !== undefined) deleteTopicIds(this.#dependencies, client.clientId, known)
    if (!client.isCleanSession) client.messages.topicIds.store = createTopicIdStore(this.#dependencies, client.clientId)
    this.#storedTopicIds.delete(client.clientId)
    this.#byClientId.set(client.clientId, connected)
  }

  #handleEnded({ client, peer }: ConnectedClient): void {
    this.#dependencies.addresses.releaseClient(peer.address)
    this.#deadlines.cancel('client', client)
    if (this.#byPeer.get(peer.key)?.client === client) this.#byPeer.delete(peer.key)
    if (this.#byClientId.get(client.clientId)?.client !== client) return
    this.#byClientId.delete(client.clientId)
    if (client.isCleanSession) return
    this.#storeTopicIds(client.clientId, client.messages.topicIds)
  }

  #storeTopicIds(clientId: string, topicIds: TopicIds): void {
    const [oldest] = this.#storedTopicIds
    if (this.#storedTopicIds.size >= maxStoredTopicIds && oldest !== undefined) {
      this.#storedTopicIds.delete(oldest[0])
      deleteTopicIds(this.#dependencies, ...oldest)
    }
    this.#storedTopicIds.set(clientId, topicIds)
  }

  #storeSleep({ client, peer }: ConnectedClient, sleep: Parameters<SnClientDependencies['storeSleep']>[0]): void {
    const node = peer.node === undefined ? undefined : Buffer.from(peer.node, 'latin1').toString('hex')
    const place = { peer: toStoredPeer(peer), node }
    storeSleep(this.#dependencies, client.clientId, sleep === undefined ? undefined : { ...sleep, ...place })
  }

  /** Handles a packet of a sleeping client from another port: the NAT entry of the client has expired while it was asleep. */
  #move(connected: ConnectedClient, peer: Peer, request: SnRequest): void {
    this.#byPeer.delete(connected.peer.key)
    connected.moveTo(peer)
    this.#byPeer.set(peer.key, connected)
    connected.client.handle(request)
  }

  #publishConnectionless(request: SnRequest & { type: 'publish' }, peer: Peer, version: 1 | 2): void {
    const { flags, topicId, messageId, payload } = request
    const refuse = (returnCode: number): void => {
      this.#countDropped('unconnected')
      // [2.0: 3.6.1] There is no response to PUBWOS.
      if (version === 1 && this.#canRespond(peer))
        this.#send(writeTopicAck('puback', topicId, messageId, returnCode), peer)
    }
    if (!this.#settings.allowsQosMinusOne) return refuse(returnCodes.notSupported)
    const { predefined } = this.#settings
    let text = request.topic
    if (flags.topicKind === topicKinds.predefined) text = predefined.findName(topicId)
    else if (flags.topicKind === topicKinds.short) text = toShortTopicName(topicId)
    const name = text === undefined ? undefined : parseTopicName(text)
    if (name === undefined) return refuse(returnCodes.invalidTopicId)
    const topic = this.#clientDependencies.topics.internName(name)
    const isTaken = this.#connectionless.publish({ topic, payload, qos: 0, retain: flags.retain, packetId: 0 }, peer)
    if (!isTaken) this.#countDropped('queue-full')
  }

  #send(bytes: Buffer, peer: Peer): void {
    const datagram = wrapForNode(peer, bytes)
    this.#proofs.recordResponse(peer, datagram.length)
    this.#transmit(datagram, peer)
  }

  #sendUnasked(bytes: Buffer, peer: Peer): boolean {
    const datagram = wrapForNode(peer, bytes)
    const isAllowed = this.#proofs.take(peer, datagram.length)
    if (isAllowed) this.#transmit(datagram, peer)
    return isAllowed
  }

  #transmit(datagram: Buffer, peer: Peer): void {
    this.#dependencies.counters.sent++
    this.#dependencies.send(datagram, peer)
  }

  #canRespond(peer: Peer): boolean {
    return this.#dependencies.addresses.takeResponse(peer, this.#dependencies.nowMs())
  }

  #countDropped(reason: 'limit' | 'unconnected' | 'queue-full' | 'banned'): void {
    this.#dependencies.counters.dropped[reason]++
  }

  #scheduleClient(client: SnClient): void {
    if (client.dueAtMs === Infinity) return this.#deadlines.cancel('client', client)
    this.#deadlines.set('client', client, client.dueAtMs)
    this.#plan()
  }
}

function wrapForNode({ node }: Peer, bytes: Buffer): Buffer {
  return node === undefined ? bytes : wrapForwarded(node, bytes)
}

interface Beginning {
  readonly connect: SnRequest & { type: 'connect' }
  readonly codec: SnCodec
  readonly asleep?: RestoredSleep
}

/** `isAssigned`: the broker has chosen the client ID. */
function createCodec(connect: SnRequest & { type: 'connect' }, isAssigned: boolean): SnCodec {
  return connect.options === undefined ? codec1 : new Sn2Codec(connect, isAssigned)
}

function toReceived1(request: SnRequest | undefined): Received | undefined {
  return request === undefined ? undefined : { request, version: 1 }
}

function toPeer(from: PeerAddress, node: WirelessNode | undefined): Peer {
  const { address, port, secure } = from
  const key = toAssociationKey(from)
  return { address, port, secure, key: node === undefined ? key : `${key}/${node}`, node }
}

function forgetFirst(map: Map<string, unknown>): void {
  const [first] = map.keys()
  if (first !== undefined) map.delete(first)
}
