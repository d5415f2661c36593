// Another implementation of the same standards for comparison: mqtt-packet, which MQTT.js uses.

import mqttPacket from 'mqtt-packet'
import type { ProtocolVersion } from '../../src/protocol/index.ts'

/** Returns the packet in `bytes` as mqtt-packet reads it; undefined if mqtt-packet refuses it or waits for more bytes. */
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
    return undefined // For some malformed packets it throws instead of emitting an error: this is a refusal, too.
  }
  return isRefused ? undefined : packets[0]
}

/** Writes a packet that `readByPeer` returned. */
export function writeByPeer(packet: mqttPacket.Packet, version: ProtocolVersion): Buffer {
  return mqttPacket.generate(packet, { protocolVersion: version })
}
