// The two large tables of MQTT 5.0, written independently of the code and with numbers instead of names. Every
// combination is tested.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProtocolError, toReturnCode, type ProtocolVersion, type Role } from '../../src/protocol/index.ts'
import { bytes, frame } from './bytes.ts'
import { decoderFor, drain, freshDecoder } from './decoding.ts'

function isTaken(packet: Buffer, role: Role, version: ProtocolVersion = 5): boolean {
  const decoder = packet[0] === 0x10 ? freshDecoder() : decoderFor(version, role)
  decoder.push(packet)
  try {
    assert.equal(drain(decoder).length, 1)
    return true
  } catch (fault) {
    if (fault instanceof ProtocolError) return false
    throw fault
  }
}

describe('a property is accepted in the packets of table 2-4, and in no others', () => {
  const table: Record<string, { value: Buffer; in: string } | undefined> = {
    '01': { value: bytes`01`, in: 'publish will' },
    '02': { value: bytes`00000001`, in: 'publish will' },
    '03': { value: bytes`0001 61`, in: 'publish will' },
    '08': { value: bytes`0001 61`, in: 'publish will' },
    '09': { value: bytes`0001 00`, in: 'publish will' },
    '0b': { value: bytes`01`, in: 'publish subscribe' },
    '11': { value: bytes`00000001`, in: 'connect connack disconnect' },
    '12': { value: bytes`0001 61`, in: 'connack' },
    '13': { value: bytes`0001`, in: 'connack' },
    '15': { value: bytes`0001 61`, in: 'connect connack auth' },
    '16': { value: bytes`0001 00`, in: 'connect connack auth' },
    '17': { value: bytes`01`, in: 'connect' },
    '18': { value: bytes`00000001`, in: 'will' },
    '19': { value: bytes`01`, in: 'connect' },
    '1a': { value: bytes`0001 61`, in: 'connack' },
    '1c': { value: bytes`0001 61`, in: 'connack disconnect' },
    '1f': { value: bytes`0001 61`, in: 'connack puback pubrec pubrel pubcomp suback unsuback disconnect auth' },
    '21': { value: bytes`0001`, in: 'connect connack' },
    '22': { value: bytes`0001`, in: 'connect connack' },
    '23': { value: bytes`0001`, in: 'publish' },
    '24': { value: bytes`01`, in: 'connack' },
    '25': { value: bytes`01`, in: 'connack' },
    '26': {
      value: bytes`0001 61 0001 62`,
      in: 'connect connack publish will puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback disconnect auth',
    },
    '27': { value: bytes`00000001`, in: 'connect connack' },
    '28': { value: bytes`01`, in: 'connack' },
    '29': { value: bytes`01`, in: 'connack' },
    '2a': { value: bytes`01`, in: 'connack' },
  }

  /** The packet with a property section, and the end that reads it. */
  const holders: Record<string, { role: Role; packet: (section: Buffer) => Buffer }> = {
    connect: {
      role: 'server',
      packet: (section) => frame(0x10, bytes`0004 ${'MQTT'} 05 02 0000 ${section} 0001 61`),
    },
    will: {
      role: 'server',
      packet: (section) => frame(0x10, bytes`0004 ${'MQTT'} 05 06 0000 00 0001 61 ${section} 0001 77 0000`),
    },
    connack: { role: 'client', packet: (section) => frame(0x20, bytes`00 00 ${section}`) },
    publish: { role: 'client', packet: (section) => frame(0x30, bytes`0001 61 ${section}`) },
    puback: { role: 'server', packet: (section) => frame(0x40, bytes`0001 00 ${section}`) },
    pubrec: { role: 'server', packet: (section) => frame(0x50, bytes`0001 00 ${section}`) },
    pubrel: { role: 'server', packet: (section) => frame(0x62, bytes`0001 00 ${section}`) },
    pubcomp: { role: 'server', packet: (section) => frame(0x70, bytes`0001 00 ${section}`) },
    subscribe: { role: 'server', packet: (section) => frame(0x82, bytes`0001 ${section} 0001 61 00`) },
    suback: { role: 'client', packet: (section) => frame(0x90, bytes`0001 ${section} 00`) },
    unsubscribe: { role: 'server', packet: (section) => frame(0xa2, bytes`0001 ${section} 0001 61`) },
    unsuback: { role: 'client', packet: (section) => frame(0xb0, bytes`0001 ${section} 00`) },
    disconnect: { role: 'server', packet: (section) => frame(0xe0, bytes`00 ${section}`) },
    auth: { role: 'server', packet: (section) => frame(0xf0, bytes`18 ${section}`) },
  }

  for (const [holder, { role, packet }] of Object.entries(holders)) {
    test(holder, () => {
      for (let identifier = 0; identifier < 0x80; identifier++) {
        const name = identifier.toString(16).padStart(2, '0')
        const property = table[name]
        const value = property?.value ?? bytes`00`
        const one = Buffer.concat([Buffer.from([identifier]), value])
        // Authentication data requires an authentication method.
        const whole = identifier === 0x16 && holder === 'connect' ? Buffer.concat([bytes`15 0001 61`, one]) : one
        const isExpected = property?.in.split(' ').includes(holder) === true
        assert.equal(isTaken(packet(bytes`${Buffer.from([whole.length])} ${whole}`), role), isExpected, name)
        if (!isExpected) continue
        const twice = bytes`${Buffer.from([whole.length + one.length])} ${whole} ${one}`
        assert.equal(isTaken(packet(twice), role), mayRepeat(holder, name), `${name} twice`)
      }
    })
  }
})

describe('a reason code is accepted in the packets of table 2-6, and in no others', () => {
  const table: Record<
    string,
    { role: Role; codes: string; packet: (code: Buffer) => Buffer; version?: ProtocolVersion }
  > = {
    CONNACK: {
      role: 'client',
      codes: '00 80 81 82 83 84 85 86 87 88 89 8a 8c 90 95 97 99 9a 9b 9c 9d 9f',
      packet: (code) => bytes`20 03 00 ${code} 00`,
    },
    PUBACK: { role: 'server', codes: '00 10 80 83 87 90 91 97 99', packet: (code) => bytes`40 03 0001 ${code}` },
    PUBREC: { role: 'server', codes: '00 10 80 83 87 90 91 97 99', packet: (code) => bytes`50 03 0001 ${code}` },
    PUBREL: { role: 'server', codes: '00 92', packet: (code) => bytes`62 03 0001 ${code}` },
    PUBCOMP: { role: 'server', codes: '00 92', packet: (code) => bytes`70 03 0001 ${code}` },
    SUBACK: {
      role: 'client',
      codes: '00 01 02 80 83 87 8f 91 97 9e a1 a2',
      packet: (code) => bytes`90 04 0001 00 ${code}`,
    },
    UNSUBACK: { role: 'client', codes: '00 11 80 83 87 8f 91', packet: (code) => bytes`b0 04 0001 00 ${code}` },
    DISCONNECT: {
      role: 'client',
      codes: '00 04 80 81 82 83 87 89 8b 8c 8d 8e 8f 90 93 94 95 96 97 98 99 9a 9b 9c 9d 9e 9f a0 a1 a2',
      packet: (code) => bytes`e0 01 ${code}`,
    },
    AUTH: { role: 'server', codes: '00 18 19', packet: (code) => bytes`f0 02 ${code} 00` },
    'CONNACK of 3.1.1': {
      role: 'client',
      version: 4,
      codes: '00 01 02 03 04 05',
      packet: (code) => bytes`20 02 00 ${code}`,
    },
    'SUBACK of 3.1.1': {
      role: 'client',
      version: 4,
      codes: '00 01 02 80',
      packet: (code) => bytes`90 03 0001 ${code}`,
    },
  }

  for (const [name, { role, codes, packet, version }] of Object.entries(table)) {
    test(name, () => {
      const allowed = codes.split(' ')
      for (let code = 0; code < 256; code++) {
        const isExpected = allowed.includes(code.toString(16).padStart(2, '0'))
        assert.equal(isTaken(packet(Buffer.from([code])), role, version), isExpected, `0x${code.toString(16)}`)
      }
    })
  }
})

describe('the reason codes of 5.0 are mapped to the six return codes of CONNACK in 3.1 and 3.1.1', () => {
  test('to the corresponding code if there is one, otherwise to "server unavailable"', () => {
    const like: Record<number, number> = { 0: 0, 0x84: 1, 0x85: 2, 0x86: 4, 0x8c: 4, 0x87: 5, 0x8a: 5 }
    for (const code of [0, 0x80, 0x81, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x97, 0x9f] as const) {
      assert.equal(toReturnCode(code), like[code] ?? 3, `0x${code.toString(16)}`)
    }
  })
})

/** Repeatable properties: user properties everywhere, and the subscription identifiers that a server sends. */
function mayRepeat(holder: string, name: string): boolean {
  return name === '26' || (name === '0b' && holder === 'publish')
}
