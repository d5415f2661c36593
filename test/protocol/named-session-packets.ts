// Packets that begin, keep and end a session, by name.

import type { TopicName } from '../../src/protocol/index.ts'
import { bytes } from './bytes.ts'
import type { NamedPacket } from './named-packet.ts'

const topic = (text: string): TopicName => text as TopicName

const connect = {
  type: 'connect',
  version: 4,
  clientId: 'gull',
  cleanStart: true,
  keepAliveSeconds: 60,
  username: undefined,
  password: undefined,
  will: undefined,
  properties: undefined,
  isBridge: false,
} as const

export const sessionPackets: readonly NamedPacket[] = [
  {
    name: 'CONNECT of MQTT 3.1',
    version: 3,
    role: 'server',
    bytes: bytes`10 12 0006 ${'MQIsdp'} 03 02 003c 0004 ${'gull'}`,
    packet: { ...connect, version: 3 },
  },
  {
    name: 'CONNECT of MQTT 3.1 that ends before the username that its flags announce',
    version: 3,
    role: 'server',
    bytes: bytes`10 12 0006 ${'MQIsdp'} 03 82 003c 0004 ${'gull'}`,
    packet: { ...connect, version: 3 },
    isOnlyRead: true,
  },
  {
    name: 'CONNECT of MQTT 3.1 with all the bits that it does not use',
    version: 3,
    role: 'server',
    bytes: bytes`1f 12 0006 ${'MQIsdp'} 03 3b 003c 0004 ${'gull'}`,
    packet: { ...connect, version: 3 },
    isOnlyRead: true,
  },
  {
    name: 'CONNECT of MQTT 3.1.1',
    version: 4,
    role: 'server',
    bytes: bytes`10 10 0004 ${'MQTT'} 04 02 003c 0004 ${'gull'}`,
    packet: connect,
  },
  {
    name: 'CONNECT of a bridge',
    version: 4,
    role: 'server',
    bytes: bytes`10 10 0004 ${'MQTT'} 84 02 003c 0004 ${'gull'}`,
    packet: { ...connect, isBridge: true },
  },
  {
    name: 'CONNECT with an empty client ID without clean session: decoded, refused by the core',
    version: 4,
    role: 'server',
    bytes: bytes`10 0c 0004 ${'MQTT'} 04 00 0000 0000`,
    packet: { ...connect, clientId: '', cleanStart: false, keepAliveSeconds: 0 },
  },
  {
    name: 'CONNECT with will, username and password',
    version: 4,
    role: 'server',
    bytes: bytes`10 23 0004 ${'MQTT'} 04 f4 000a 0004 ${'gull'} 0003 ${'w/x'} 0004 ${'gone'} 0002 ${'me'} 0002 00ff`,
    packet: {
      ...connect,
      cleanStart: false,
      keepAliveSeconds: 10,
      username: 'me',
      password: Buffer.from([0x00, 0xff]),
      will: { topic: topic('w/x'), payload: Buffer.from('gone'), qos: 2, retain: true, properties: undefined },
    },
  },
  {
    name: 'CONNECT of MQTT 5.0',
    version: 5,
    role: 'server',
    bytes: bytes`10 11 0004 ${'MQTT'} 05 02 003c 00 0004 ${'gull'}`,
    packet: { ...connect, version: 5 },
  },
  {
    name: 'CONNECT of MQTT 5.0 with every property',
    version: 5,
    role: 'server',
    bytes: bytes`
      10 4a 0004 ${'MQTT'} 05 02 003c
      39
      11 ffffffff
      15 0004 ${'SCRA'}
      16 0002 0102
      17 00
      19 01
      21 0014
      22 000a
      26 0001 ${'k'} 0002 ${'v1'}
      26 0001 ${'k'} 0002 ${'v2'}
      27 00010000
      26 0004 ${'last'} 0000
      0004 ${'gull'}`,
    packet: {
      ...connect,
      version: 5,
      properties: {
        sessionExpiryIntervalSeconds: 0xffff_ffff,
        authenticationMethod: 'SCRA',
        authenticationData: Buffer.from([1, 2]),
        requestProblemInformation: false,
        requestResponseInformation: true,
        receiveMaximum: 20,
        topicAliasMaximum: 10,
        userProperties: [
          ['k', 'v1'],
          ['k', 'v2'],
          ['last', ''],
        ],
        maximumPacketSizeBytes: 65_536,
      },
    },
    isOnlyRead: true,
  },
  {
    name: 'CONNECT of MQTT 5.0 with a will that has all properties, and a password without a username',
    version: 5,
    role: 'server',
    bytes: bytes`
      10 46 0004 ${'MQTT'} 05 4c 0000 00 0000
      30
      01 01
      02 0000000a
      03 0003 ${'t/x'}
      08 0005 ${'reply'}
      09 0001 07
      18 00000e10
      26 0005 ${'where'} 0003 ${'sea'}
      26 0000 0000
      0001 ${'w'} 0000
      0001 ${'p'}`,
    packet: {
      ...connect,
      version: 5,
      clientId: '',
      cleanStart: false,
      keepAliveSeconds: 0,
      password: Buffer.from('p'),
      will: {
        topic: topic('w'),
        payload: Buffer.alloc(0),
        qos: 1,
        retain: false,
        properties: {
          payloadFormatIndicator: 1,
          messageExpiryIntervalSeconds: 10,
          contentType: 't/x',
          responseTopic: 'reply',
          correlationData: Buffer.from([7]),
          willDelayIntervalSeconds: 3_600,
          userProperties: [
            ['where', 'sea'],
            ['', ''],
          ],
        },
      },
    },
  },
  {
    name: 'CONNACK that accepts',
    version: 4,
    role: 'client',
    bytes: bytes`20 02 01 00`,
    packet: { type: 'connack', sessionPresent: true, reasonCode: 0, properties: undefined },
  },
  {
    name: 'CONNACK with a return code',
    version: 3,
    role: 'client',
    bytes: bytes`20 02 00 05`,
    packet: { type: 'connack', sessionPresent: false, reasonCode: 5, properties: undefined },
  },
  {
    name: 'CONNACK of MQTT 5.0 with every property',
    version: 5,
    role: 'client',
    bytes: bytes`
      20 3e 00 00
      3b
      11 00000000
      12 0001 ${'i'}
      13 001e
      15 0001 ${'m'}
      16 0000
      1a 0001 ${'r'}
      1c 0001 ${'s'}
      1f 0001 ${'t'}
      21 ffff
      22 0000
      24 01
      25 00
      26 0001 ${'k'} 0001 ${'v'}
      27 0fffffff
      28 01
      29 00
      2a 01`,
    packet: {
      type: 'connack',
      sessionPresent: false,
      reasonCode: 0,
      properties: {
        sessionExpiryIntervalSeconds: 0,
        assignedClientIdentifier: 'i',
        serverKeepAliveSeconds: 30,
        authenticationMethod: 'm',
        authenticationData: Buffer.alloc(0),
        responseInformation: 'r',
        serverReference: 's',
        reasonString: 't',
        receiveMaximum: 65_535,
        topicAliasMaximum: 0,
        maximumQoS: 1,
        retainAvailable: false,
        userProperties: [['k', 'v']],
        maximumPacketSizeBytes: 268_435_455,
        wildcardSubscriptionAvailable: true,
        subscriptionIdentifiersAvailable: false,
        sharedSubscriptionAvailable: true,
      },
    },
  },
  { name: 'PINGREQ', version: 4, role: 'server', bytes: bytes`c0 00`, packet: { type: 'pingreq' } },
  { name: 'PINGRESP', version: 5, role: 'client', bytes: bytes`d0 00`, packet: { type: 'pingresp' } },
  {
    name: 'DISCONNECT',
    version: 4,
    role: 'server',
    bytes: bytes`e0 00`,
    packet: { type: 'disconnect', reasonCode: 0, properties: undefined },
  },
  {
    name: 'DISCONNECT of MQTT 5.0 with a reason',
    version: 5,
    role: 'server',
    bytes: bytes`e0 01 04`,
    packet: { type: 'disconnect', reasonCode: 4, properties: undefined },
  },
  {
    name: 'DISCONNECT of MQTT 5.0 with an expiry',
    version: 5,
    role: 'server',
    bytes: bytes`e0 07 00 05 11 00000000`,
    packet: { type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: 0 } },
  },
  {
    name: 'DISCONNECT of MQTT 5.0 with Server moved',
    version: 5,
    role: 'client',
    bytes: bytes`e0 0a 9d 08 1c 0001 ${'b'} 1f 0001 ${'m'}`,
    packet: { type: 'disconnect', reasonCode: 0x9d, properties: { serverReference: 'b', reasonString: 'm' } },
  },
  {
    name: 'AUTH with Continue authentication',
    version: 5,
    role: 'server',
    bytes: bytes`f0 0a 18 08 15 0001 ${'m'} 16 0001 01`,
    packet: {
      type: 'auth',
      reasonCode: 0x18,
      properties: { authenticationMethod: 'm', authenticationData: Buffer.from([1]) },
    },
  },
  {
    name: 'AUTH of length 0: reason code Success',
    version: 5,
    role: 'client',
    bytes: bytes`f0 00`,
    packet: { type: 'auth', reasonCode: 0, properties: undefined },
  },
]
