import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtocolError, type ProtocolVersion, type Role, type UserProperties } from '../../src/protocol/index.ts'
import { travellingPacket } from './arbitrary-packets.ts'
import { decoderFor, encode, freshDecoder, plain, type PlainPacket } from './decoding.ts'
import { mutate, withoutStackTraces } from './fuzz/mutations.ts'
import { Random } from './fuzz/random.ts'
import { readByPeer, writeByPeer } from './mqtt-packet-peer.ts'
import { namedPackets } from './named-packets.ts'
import { fc } from '../properties.ts'
import { testLength } from '../test-length.ts'

/** mqtt-packet reads the other packets but does not write them: no peer checks those. */
function peerWritesIt(packet: PlainPacket): boolean {
  if (packet.type !== 'connect') return true
  const { version, clientId, cleanStart, username, password, isBridge } = packet
  const namesItself = clientId !== '' || (cleanStart && version !== 3)
  const hasPasswordOnly = password !== undefined && username === undefined
  return namesItself && !hasPasswordOnly && !(isBridge && version === 5)
}

/** mqtt-packet stores user properties by name, so those with the same name are adjacent. */
function grouped(packet: PlainPacket): PlainPacket {
  return withGroupedProperties(packet as PropertyHolder) as PlainPacket
}

interface PropertyHolder {
  readonly properties?: { readonly userProperties?: UserProperties }
  readonly will?: PropertyHolder
}

function withGroupedProperties(holder: PropertyHolder): PropertyHolder {
  const { properties, will } = holder
  const userProperties = properties?.userProperties
  const copy = { ...holder, ...(will !== undefined && { will: withGroupedProperties(will) }) }
  if (userProperties === undefined) return copy
  const groupedProperties = [...Map.groupBy(userProperties, ([name]) => name).values()].flat()
  return { ...copy, properties: { ...properties, userProperties: groupedProperties } }
}

/** Packets that mqtt-packet refuses and the standards allow. */
function peerReadsIt(packet: PlainPacket, bytes: Buffer, version: ProtocolVersion): boolean {
  // An AUTH without reason code and properties means success (section 3.15.2.1 of 5.0).
  if (packet.type === 'auth') return bytes.length > 2
  // MQTT 3.1 does not define unused bits, and allows a CONNECT without fields that its flags announce.
  return version !== 3 || packet.type === 'publish'
}

interface Reading {
  readonly packet: PlainPacket
  /** The bytes of the packet, without later bytes. */
  readonly bytes: Buffer
}

function readByUs(bytes: Buffer, version: ProtocolVersion, role: Role, isConnect: boolean): Reading | undefined {
  const decoder = isConnect ? freshDecoder() : decoderFor(version, role)
  decoder.push(bytes)
  try {
    const packet = decoder.next()
    return packet && { packet: plain(packet), bytes: bytes.subarray(0, bytes.length - decoder.bufferedBytes) }
  } catch (fault) {
    if (fault instanceof ProtocolError) return undefined
    throw fault
  }
}

test('mqtt-packet reads the packets that Godwit writes, and Godwit reads what mqtt-packet writes as the same packets', () => {
  fc.assert(
    fc.property(travellingPacket, ({ packet, version, role }) => {
      const bytes = encode(packet, version)
      const byPeer = readByPeer(bytes, version)
      if (byPeer === undefined && !peerReadsIt(packet, bytes, version)) return
      assert.ok(byPeer, 'mqtt-packet refuses it')
      assert.equal(byPeer.cmd, packet.type)
      if (!peerWritesIt(packet)) return
      const back = readByUs(writeByPeer(byPeer, version), version, role, packet.type === 'connect')
      assert.ok(back, 'we refuse what mqtt-packet wrote')
      assert.deepEqual(grouped(back.packet), grouped(packet))
    }),
    { numRuns: 3_000, seed: 11 },
  )
})

const inputs = testLength({ daily: 20_000, long: 200_000 })

test('each mutated packet that Godwit accepts is accepted by mqtt-packet and has the same content there', () => {
  withoutStackTraces(compareSpoiledPackets)
})

function compareSpoiledPackets(): void {
  const random = new Random(7)
  let accepted = 0
  for (let input = 0; input < inputs; input++) {
    const { bytes, version, role, packet } = random.pick(namedPackets)
    const isConnect = packet.type === 'connect'
    const spoiled = mutate([bytes], random)
    const ours = readByUs(spoiled, version, role, isConnect)
    if (ours === undefined) continue
    const declared = ours.packet.type === 'connect' ? ours.packet.version : version
    const byPeer = readByPeer(ours.bytes, declared)
    if (byPeer === undefined && !peerReadsIt(ours.packet, ours.bytes, declared)) continue
    assert.ok(byPeer, `mqtt-packet refuses ${ours.bytes.toString('hex')}`)
    accepted++
    if (!peerWritesIt(ours.packet)) continue
    const back = readByUs(writeByPeer(byPeer, declared), version, role, isConnect)
    assert.deepEqual(back && grouped(back.packet), grouped(ours.packet), ours.bytes.toString('hex'))
  }
  assert.ok(accepted > inputs / 10, `only ${accepted} were accepted by both`)
}
