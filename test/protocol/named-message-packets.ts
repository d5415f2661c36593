// Packets that carry messages, acknowledge them and subscribe to them, by name.

import { AckPacket, type TopicFilter } from '../../src/protocol/index.ts'
import { bytes } from './bytes.ts'
import type { PlainPublish } from './decoding.ts'
import type { NamedPacket } from './named-packet.ts'

const filter = (text: string): TopicFilter => text as TopicFilter

const publish: PlainPublish = {
  type: 'publish',
  topic: 'a/b',
  qos: 0,
  retain: false,
  dup: false,
  packetId: 0,
  properties: undefined,
  payload: Buffer.from('hi'),
}

const plainSubscription = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const

export const messagePackets: readonly NamedPacket[] = [
  {
    name: 'PUBLISH of QoS 0',
    version: 4,
    role: 'server',
    bytes: bytes`30 07 0003 ${'a/b'} ${'hi'}`,
    packet: publish,
  },
  {
    name: 'PUBLISH of QoS 1, retained',
    version: 4,
    role: 'server',
    bytes: bytes`33 09 0003 ${'a/b'} 0102 ${'hi'}`,
    packet: { ...publish, qos: 1, retain: true, packetId: 0x0102 },
  },
  {
    name: 'PUBLISH of QoS 2, sent again, without a payload',
    version: 3,
    role: 'server',
    bytes: bytes`3c 07 0003 ${'a/b'} ffff`,
    packet: { ...publish, qos: 2, dup: true, packetId: 0xffff, payload: Buffer.alloc(0) },
  },
  {
    name: 'PUBLISH to a topic beyond ASCII, with a byte order mark that stays',
    version: 4,
    role: 'server',
    bytes: bytes`30 11 000f ${'\u{feff}grüße/🐦'}`,
    packet: { ...publish, topic: '\u{feff}grüße/🐦', payload: Buffer.alloc(0) },
  },
  {
    name: 'PUBLISH of MQTT 5.0 without properties',
    version: 5,
    role: 'server',
    bytes: bytes`30 08 0003 ${'a/b'} 00 ${'hi'}`,
    packet: publish,
  },
  {
    name: 'PUBLISH of MQTT 5.0 with an alias for its topic',
    version: 5,
    role: 'server',
    bytes: bytes`32 0a 0000 0007 03 23 0005 ${'hi'}`,
    packet: { ...publish, topic: '', qos: 1, packetId: 7, properties: { topicAlias: 5 } },
  },
  {
    name: 'PUBLISH of MQTT 5.0 with every property, from a server',
    version: 5,
    role: 'client',
    bytes: bytes`
      30 38 0003 ${'a/b'}
      30
      01 00
      02 ffffffff
      03 0001 ${'c'}
      08 0003 ${'r/t'}
      09 0002 0001
      0b 01
      0b ffffff7f
      0b 8001
      23 ffff
      26 0001 ${'k'} 0001 ${'v'}
      26 0001 ${'j'} 0000
      ${'hi'}`,
    packet: {
      ...publish,
      properties: {
        payloadFormatIndicator: 0,
        messageExpiryIntervalSeconds: 0xffff_ffff,
        contentType: 'c',
        responseTopic: 'r/t',
        correlationData: Buffer.from([0, 1]),
        subscriptionIdentifiers: [1, 268_435_455, 128],
        topicAlias: 65_535,
        userProperties: [
          ['k', 'v'],
          ['j', ''],
        ],
      },
    },
    isOnlyRead: true,
  },
  {
    name: "PUBLISH of MQTT 5.0 with every property, the receiver's own in front",
    version: 5,
    role: 'client',
    bytes: bytes`
      30 38 0003 ${'a/b'}
      30
      02 ffffffff
      23 ffff
      0b 01
      0b ffffff7f
      0b 8001
      01 00
      03 0001 ${'c'}
      08 0003 ${'r/t'}
      09 0002 0001
      26 0001 ${'k'} 0001 ${'v'}
      26 0001 ${'j'} 0000
      ${'hi'}`,
    packet: {
      ...publish,
      properties: {
        payloadFormatIndicator: 0,
        messageExpiryIntervalSeconds: 0xffff_ffff,
        contentType: 'c',
        responseTopic: 'r/t',
        correlationData: Buffer.from([0, 1]),
        subscriptionIdentifiers: [1, 268_435_455, 128],
        topicAlias: 65_535,
        userProperties: [
          ['k', 'v'],
          ['j', ''],
        ],
      },
    },
  },
  {
    name: 'PUBACK',
    version: 4,
    role: 'server',
    bytes: bytes`40 02 1234`,
    packet: new AckPacket('puback', 0x1234, 0, undefined),
  },
  {
    name: 'PUBREC',
    version: 3,
    role: 'client',
    bytes: bytes`50 02 0001`,
    packet: new AckPacket('pubrec', 1, 0, undefined),
  },
  {
    name: 'PUBREL',
    version: 4,
    role: 'client',
    bytes: bytes`62 02 ffff`,
    packet: new AckPacket('pubrel', 0xffff, 0, undefined),
  },
  {
    name: 'PUBREL of MQTT 3.1, sent again',
    version: 3,
    role: 'server',
    bytes: bytes`6a 02 0009`,
    packet: new AckPacket('pubrel', 9, 0, undefined),
    isOnlyRead: true,
  },
  {
    name: 'PUBLISH of MQTT 3.1 of QoS 0 with the DUP flag, which means nothing there',
    version: 3,
    role: 'server',
    bytes: bytes`38 07 0003 ${'a/b'} ${'hi'}`,
    packet: publish,
    isOnlyRead: true,
  },
  {
    name: 'PUBREL of MQTT 3.1 with the flag that it does not use',
    version: 3,
    role: 'server',
    bytes: bytes`63 02 0009`,
    packet: new AckPacket('pubrel', 9, 0, undefined),
    isOnlyRead: true,
  },
  {
    name: 'PUBACK of MQTT 3.1 with the flags that it does not use',
    version: 3,
    role: 'server',
    bytes: bytes`4f 02 0009`,
    packet: new AckPacket('puback', 9, 0, undefined),
    isOnlyRead: true,
  },
  {
    name: 'PUBCOMP of MQTT 5.0 that says success by silence',
    version: 5,
    role: 'server',
    bytes: bytes`70 02 0001`,
    packet: new AckPacket('pubcomp', 1, 0, undefined),
  },
  {
    name: 'PUBACK of MQTT 5.0 that says success in full',
    version: 5,
    role: 'server',
    bytes: bytes`40 04 0001 00 00`,
    packet: new AckPacket('puback', 1, 0, undefined),
    isOnlyRead: true,
  },
  {
    name: 'PUBREC of MQTT 5.0 with a reason and no property length',
    version: 5,
    role: 'server',
    bytes: bytes`50 03 0001 97`,
    packet: new AckPacket('pubrec', 1, 0x97, undefined),
  },
  {
    name: 'PUBREL of MQTT 5.0 with reason and properties',
    version: 5,
    role: 'client',
    bytes: bytes`62 0f 0001 92 0b 1f 0001 ${'?'} 26 0001 ${'k'} 0001 ${'v'}`,
    packet: new AckPacket('pubrel', 1, 0x92, { reasonString: '?', userProperties: [['k', 'v']] }),
  },
  {
    name: 'SUBSCRIBE',
    version: 4,
    role: 'server',
    bytes: bytes`82 0e 000a 0003 ${'a/+'} 01 0003 ${'b/#'} 02`,
    packet: {
      type: 'subscribe',
      packetId: 10,
      subscriptions: [
        { filter: filter('a/+'), qos: 1, ...plainSubscription },
        { filter: filter('b/#'), qos: 2, ...plainSubscription },
      ],
      properties: undefined,
    },
  },
  {
    name: 'SUBSCRIBE of MQTT 3.1, sent again',
    version: 3,
    role: 'server',
    bytes: bytes`8a 06 000a 0001 ${'#'} 00`,
    packet: {
      type: 'subscribe',
      packetId: 10,
      subscriptions: [{ filter: filter('#'), qos: 0, ...plainSubscription }],
      properties: undefined,
    },
    isOnlyRead: true,
  },
  {
    name: 'SUBSCRIBE of MQTT 3.1 with all the bits that it does not use',
    version: 3,
    role: 'server',
    bytes: bytes`83 06 000a 0001 ${'#'} fd`,
    packet: {
      type: 'subscribe',
      packetId: 10,
      subscriptions: [{ filter: filter('#'), qos: 1, ...plainSubscription }],
      properties: undefined,
    },
    isOnlyRead: true,
  },
  {
    name: 'SUBSCRIBE of MQTT 5.0 with every option',
    version: 5,
    role: 'server',
    bytes: bytes`
      82 1e ffff
      0a 0b ffffff7f 26 0000 0000
      0001 ${'+'} 2e
      000a ${'$share/g/#'} 19`,
    packet: {
      type: 'subscribe',
      packetId: 0xffff,
      subscriptions: [
        { filter: filter('+'), qos: 2, noLocal: true, retainAsPublished: true, retainHandling: 2 },
        { filter: filter('$share/g/#'), qos: 1, noLocal: false, retainAsPublished: true, retainHandling: 1 },
      ],
      properties: { subscriptionIdentifier: 268_435_455, userProperties: [['', '']] },
    },
  },
  {
    name: 'SUBACK',
    version: 4,
    role: 'client',
    bytes: bytes`90 06 000a 00 01 02 80`,
    packet: { type: 'suback', packetId: 10, reasonCodes: [0, 1, 2, 0x80], properties: undefined },
  },
  {
    name: 'SUBACK of MQTT 5.0',
    version: 5,
    role: 'client',
    bytes: bytes`90 0a 000a 05 1f 0002 ${'no'} 87 02`,
    packet: { type: 'suback', packetId: 10, reasonCodes: [0x87, 2], properties: { reasonString: 'no' } },
  },
  {
    name: 'UNSUBSCRIBE',
    version: 4,
    role: 'server',
    bytes: bytes`a2 0a 0001 0003 ${'a/+'} 0001 ${'b'}`,
    packet: { type: 'unsubscribe', packetId: 1, filters: [filter('a/+'), filter('b')], properties: undefined },
  },
  {
    name: 'UNSUBSCRIBE of MQTT 5.0',
    version: 5,
    role: 'server',
    bytes: bytes`a2 0d 0001 07 26 0001 ${'k'} 0001 ${'v'} 0001 ${'b'}`,
    packet: {
      type: 'unsubscribe',
      packetId: 1,
      filters: [filter('b')],
      properties: { userProperties: [['k', 'v']] },
    },
  },
  {
    name: 'UNSUBACK',
    version: 4,
    role: 'client',
    bytes: bytes`b0 02 0001`,
    packet: { type: 'unsuback', packetId: 1, reasonCodes: [], properties: undefined },
  },
  {
    name: 'UNSUBACK of MQTT 5.0',
    version: 5,
    role: 'client',
    bytes: bytes`b0 05 0001 00 00 11`,
    packet: { type: 'unsuback', packetId: 1, reasonCodes: [0, 0x11], properties: undefined },
  },
]
