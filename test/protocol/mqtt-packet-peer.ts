// Another implementation of the same standards, to be compared with: mqtt-packet, that of MQTT.js.

import mqttPacket from 'mqtt-packet'
import type { ProtocolVersion } from '../../src/protocol/index.ts'

/** The packet in `bytes` as it understands it, `undefined` where it refuses them or waits for more. */
export function readByPeer(bytes: Buffer, version: ProtocolVersion): mqttPacket.Packet | undefined {
  const parser = mqttPacket.parser({ protocolVersion: version })
  const packets: mqttPacket.Packet[] = []
  let isRefused = false
  parser.on('packet', (packet: mqttPacket.Packet) => packets.push(packet))
  parser.on('error', () => {
    isRefused = true
  })
  try {
    parser.parse(bytes)
  } catch {
    return undefined // It throws at some malformed packets where it should emit an error: refused all the same.
  }
  return isRefused ? undefined : packets[0]
}

/** Writes what `readByPeer` gave. */
export function writeByPeer(packet: mqttPacket.Packet, version: ProtocolVersion): Buffer {
  return mqttPacket.generate(packet, { protocolVersion: version })
}
