// Packets that no peer may send, and the reason codes of the responses.

import type { ProtocolVersion, ReasonName, Role } from '../../src/protocol/index.ts'
import { bytes, frame } from './bytes.ts'

export interface MalformedPacket {
  readonly name: string
  readonly version: ProtocolVersion
  readonly role: Role
  readonly bytes: Buffer
  readonly reason: ReasonName
  /** The packet is the first of its connection. */
  readonly isFirst?: true
}

const fromClient =
  (version: ProtocolVersion) =>
  (name: string, packet: Buffer, reason: ReasonName): MalformedPacket => ({
    name,
    version,
    role: 'server',
    bytes: packet,
    reason,
  })
const fromServer =
  (version: ProtocolVersion) =>
  (name: string, packet: Buffer, reason: ReasonName): MalformedPacket => ({
    name,
    version,
    role: 'client',
    bytes: packet,
    reason,
  })
const first = (name: string, packet: Buffer, reason: ReasonName): MalformedPacket => ({
  name,
  version: 4,
  role: 'server',
  bytes: packet,
  reason,
  isFirst: true,
})
const old = fromClient(4)
const oldest = fromClient(3)
const five = fromClient(5)
const server = fromServer(4)
const serverFive = fromServer(5)

const tooLarge = 'packetTooLarge'
const connect = (body: Buffer): Buffer => frame(0x10, body)
const publish = (body: Buffer): Buffer => frame(0x30, body)
const subscribe = (body: Buffer): Buffer => frame(0x82, body)

const framing: readonly MalformedPacket[] = [
  first('the first packet is a PUBLISH', bytes`30 07 0003 ${'a/b'} ${'hi'}`, 'protocolError'),
  first('the first packet is a PINGREQ', bytes`c0 00`, 'protocolError'),
  first('the first packet is an HTTP request', Buffer.from('GET / HTTP/1.1\r\n'), 'protocolError'),
  first('a TLS handshake comes to a plain port', bytes`16 03 01 02 00 01`, 'malformedPacket'),
  first(
    'CONNECT of 3.1.1 has flags in its fixed header',
    bytes`12 0c 0004 ${'MQTT'} 04 02 0000 0000`,
    'malformedPacket',
  ),
  first(
    'CONNECT of 5.0 has flags in its fixed header',
    bytes`18 0d 0004 ${'MQTT'} 05 02 0000 00 0000`,
    'malformedPacket',
  ),
  old('packet type 0', bytes`00 00`, 'protocolError'),
  old('CONNACK from a client', bytes`20 02 00 00`, 'protocolError'),
  old('SUBACK from a client', bytes`90 03 0001 00`, 'protocolError'),
  old('UNSUBACK from a client', bytes`b0 02 0001`, 'protocolError'),
  old('PINGRESP from a client', bytes`d0 00`, 'protocolError'),
  old('AUTH before MQTT 5.0', bytes`f0 00`, 'protocolError'),
  server('CONNECT from a server', bytes`10 00`, 'protocolError'),
  server('SUBSCRIBE from a server', bytes`82 00`, 'protocolError'),
  server('UNSUBSCRIBE from a server', bytes`a2 00`, 'protocolError'),
  server('PINGREQ from a server', bytes`c0 00`, 'protocolError'),
  server('DISCONNECT from a server before MQTT 5.0', bytes`e0 00`, 'protocolError'),
  old('a remaining length of five bytes', bytes`30 ff ff ff ff 01`, 'malformedPacket'),
  old('a remaining length of four bytes that say there are more', bytes`30 80 80 80 80`, 'malformedPacket'),
  old('a remaining length that is longer than it need be', bytes`c0 80 00`, 'malformedPacket'),
  old('a packet larger than is taken', bytes`30 81 80 40`, 'packetTooLarge'),
  old('the largest packet that a header can announce', bytes`30 ff ff ff 7f`, 'packetTooLarge'),
  old('PUBACK with flags', bytes`42 02 0001`, 'malformedPacket'),
  old('PUBREL without its flags', bytes`60 02 0001`, 'malformedPacket'),
  old('PUBREL of 3.1.1 with the DUP flag of 3.1', bytes`6a 02 0001`, 'malformedPacket'),
  oldest('PUBREL of 3.1 with QoS 0', bytes`60 02 0001`, 'malformedPacket'),
  oldest('SUBSCRIBE of 3.1 with QoS 2', bytes`84 06 0001 0001 ${'a'} 00`, 'malformedPacket'),
  oldest('UNSUBSCRIBE of 3.1 with QoS 3', bytes`a6 05 0001 0001 ${'a'}`, 'malformedPacket'),
  old('SUBSCRIBE without its flags', bytes`80 06 0001 0001 ${'a'} 00`, 'malformedPacket'),
  old('UNSUBSCRIBE without its flags', bytes`a0 05 0001 0001 ${'a'}`, 'malformedPacket'),
  old('PINGREQ with flags', bytes`c1 00`, 'malformedPacket'),
  old('PINGREQ with a body', bytes`c0 01 00`, 'malformedPacket'),
  old('DISCONNECT with flags', bytes`e1 00`, 'malformedPacket'),
  old('DISCONNECT of 3.1.1 with a reason', bytes`e0 01 00`, 'malformedPacket'),
  server('PINGRESP with a body', bytes`d0 01 00`, 'malformedPacket'),
]

const connects: readonly MalformedPacket[] = [
  first('CONNECT without a body', connect(bytes``), 'malformedPacket'),
  first('a wrong protocol name', connect(bytes`0004 ${'MQTQ'} 04 02 0000 0000`), 'unsupportedProtocolVersion'),
  first(
    'the protocol name in small letters',
    connect(bytes`0004 ${'mqtt'} 04 02 0000 0000`),
    'unsupportedProtocolVersion',
  ),
  first('an empty protocol name', connect(bytes`0000 04 02 0000 0000`), 'unsupportedProtocolVersion'),
  first('a protocol name longer than the packet', connect(bytes`ffff ${'MQTT'} 04`), 'malformedPacket'),
  first('MQTT with level 3', connect(bytes`0004 ${'MQTT'} 03 02 0000 0000`), 'unsupportedProtocolVersion'),
  first('MQIsdp with level 4', connect(bytes`0006 ${'MQIsdp'} 04 02 0000 0000`), 'unsupportedProtocolVersion'),
  first('MQTT with level 6', connect(bytes`0004 ${'MQTT'} 06 02 0000 00 0000`), 'unsupportedProtocolVersion'),
  first('MQTT with level 0', connect(bytes`0004 ${'MQTT'} 00 02 0000 0000`), 'unsupportedProtocolVersion'),
  first('[MQTT-3.1.2-3] the reserved connect flag', connect(bytes`0004 ${'MQTT'} 04 03 0000 0000`), 'malformedPacket'),
  first(
    '[MQTT-3.1.2-14] a will of QoS 3',
    connect(bytes`0004 ${'MQTT'} 04 1e 0000 0000 0001 ${'w'} 0000`),
    'malformedPacket',
  ),
  first('[MQTT-3.1.2-13] a will QoS without a will', connect(bytes`0004 ${'MQTT'} 04 0a 0000 0000`), 'malformedPacket'),
  first(
    '[MQTT-3.1.2-15] will retain without a will',
    connect(bytes`0004 ${'MQTT'} 04 22 0000 0000`),
    'malformedPacket',
  ),
  first(
    '[MQTT-3.1.2-22] a password without a username',
    connect(bytes`0004 ${'MQTT'} 04 42 0000 0000 0001 ${'p'}`),
    'malformedPacket',
  ),
  first(
    'a CONNECT of 3.1.1 that ends before its username',
    connect(bytes`0004 ${'MQTT'} 04 82 0000 0000`),
    'malformedPacket',
  ),
  first(
    'a will of QoS 3 in 3.1',
    connect(bytes`0006 ${'MQIsdp'} 03 1e 0000 0001 ${'c'} 0001 ${'w'} 0000`),
    'malformedPacket',
  ),
  first(
    'a password without a username in 3.1',
    connect(bytes`0006 ${'MQIsdp'} 03 42 0000 0001 ${'c'} 0001 ${'p'}`),
    'malformedPacket',
  ),
  first('a CONNECT that ends before its will', connect(bytes`0004 ${'MQTT'} 04 06 0000 0000`), 'malformedPacket'),
  first('a CONNECT that ends within its keep alive', connect(bytes`0004 ${'MQTT'} 04 02 00`), 'malformedPacket'),
  first('a CONNECT with more behind it', connect(bytes`0004 ${'MQTT'} 04 02 0000 0000 00`), 'malformedPacket'),
  first(
    'a username that claims 65,535 bytes',
    connect(bytes`0004 ${'MQTT'} 04 82 0000 0000 ffff 00`),
    'malformedPacket',
  ),
  first('a client id with U+0000', connect(bytes`0004 ${'MQTT'} 04 02 0000 0003 610062`), 'malformedPacket'),
  first('a client id with a surrogate', connect(bytes`0004 ${'MQTT'} 04 02 0000 0003 eda080`), 'malformedPacket'),
  first('a username that is not UTF-8', connect(bytes`0004 ${'MQTT'} 04 82 0000 0000 0001 ff`), 'malformedPacket'),
  first('a will to a wildcard', connect(bytes`0004 ${'MQTT'} 04 06 0000 0000 0001 ${'#'} 0000`), 'malformedPacket'),
  first('a will to no topic', connect(bytes`0004 ${'MQTT'} 04 06 0000 0000 0000 0000`), 'malformedPacket'),
  first(
    'a will to more levels than are taken',
    connect(bytes`0004 ${'MQTT'} 04 06 0000 0000 0080 ${'/'.repeat(128)} 0000`),
    'topicNameInvalid',
  ),
  first('a receive maximum of 0', connect(bytes`0004 ${'MQTT'} 05 02 0000 03 21 0000 0000`), 'protocolError'),
  first('a maximum packet size of 0', connect(bytes`0004 ${'MQTT'} 05 02 0000 05 27 00000000 0000`), 'protocolError'),
  first('a receive maximum twice', connect(bytes`0004 ${'MQTT'} 05 02 0000 06 21 0001 21 0001 0000`), 'protocolError'),
  first('request problem information 2', connect(bytes`0004 ${'MQTT'} 05 02 0000 02 17 02 0000`), 'protocolError'),
  first(
    'authentication data without a method',
    connect(bytes`0004 ${'MQTT'} 05 02 0000 04 16 0001 00 0000`),
    'protocolError',
  ),
  first('a topic alias in CONNECT', connect(bytes`0004 ${'MQTT'} 05 02 0000 03 23 0001 0000`), 'malformedPacket'),
  first(
    'a will delay outside of the will',
    connect(bytes`0004 ${'MQTT'} 05 02 0000 05 18 00000001 0000`),
    'malformedPacket',
  ),
  first(
    'a topic alias in the will',
    connect(bytes`0004 ${'MQTT'} 05 06 0000 00 0000 03 23 0001 0001 ${'w'} 0000`),
    'malformedPacket',
  ),
]

const publishes: readonly MalformedPacket[] = [
  old('[MQTT-3.3.1-4] QoS 3', bytes`36 09 0003 ${'a/b'} 0001 ${'hi'}`, 'malformedPacket'),
  old('[MQTT-3.3.1-2] QoS 0 sent again', bytes`38 07 0003 ${'a/b'} ${'hi'}`, 'malformedPacket'),
  oldest('PUBLISH of 3.1 with QoS 3', bytes`36 09 0003 ${'a/b'} 0001 ${'hi'}`, 'malformedPacket'),
  old('[MQTT-2.3.1-1] packet id 0', bytes`32 09 0003 ${'a/b'} 0000 ${'hi'}`, 'protocolError'),
  old('PUBLISH without a body', bytes`30 00`, 'malformedPacket'),
  old('PUBLISH that ends within the length of its topic', bytes`30 01 00`, 'malformedPacket'),
  old('PUBLISH whose topic is longer than the packet', publish(bytes`0004 ${'a/b'}`), 'malformedPacket'),
  old('PUBLISH whose topic claims 65,535 bytes', publish(bytes`ffff ${'a/b'}`), 'malformedPacket'),
  old('PUBLISH of QoS 1 that ends before its packet id', frame(0x32, bytes`0003 ${'a/b'} 00`), 'malformedPacket'),
  old('[MQTT-4.7.3-1] an empty topic', publish(bytes`0000 ${'hi'}`), 'protocolError'),
  old('[MQTT-3.3.2-2] # in a topic', publish(bytes`0003 ${'a/#'}`), 'malformedPacket'),
  old('[MQTT-3.3.2-2] + in a topic', publish(bytes`0003 ${'a+b'}`), 'malformedPacket'),
  old('[MQTT-1.5.3-2] U+0000 in a topic', publish(bytes`0003 ${'a'} 00 ${'b'}`), 'malformedPacket'),
  old('[MQTT-1.5.3-1] a surrogate in a topic', publish(bytes`0004 ${'a'} eda080`), 'malformedPacket'),
  old('an overlong form in a topic', publish(bytes`0003 ${'a'} c0af`), 'malformedPacket'),
  old('a topic that ends within a character', publish(bytes`0003 ${'a'} e282`), 'malformedPacket'),
  old('a topic beyond Unicode', publish(bytes`0004 f4908080`), 'malformedPacket'),
  five('neither topic nor alias', publish(bytes`0000 00 ${'hi'}`), 'protocolError'),
  five('[MQTT5-3.3.2-8] alias 0', publish(bytes`0000 03 23 0000`), 'topicAliasInvalid'),
  five(
    'PUBLISH of 5.0 without a property length, and a zero behind it',
    bytes`30 05 0003 ${'a/b'} 00 00`,
    'malformedPacket',
  ),
  five('PUBLISH of 5.0 without a property length', publish(bytes`0003 ${'a/b'}`), 'malformedPacket'),
  five('properties longer than the packet', publish(bytes`0003 ${'a/b'} 04 23 0001`), 'malformedPacket'),
  five('a property that crosses the end of its section', publish(bytes`0003 ${'a/b'} 02 23 0001`), 'malformedPacket'),
  five('a property length of five bytes', publish(bytes`0003 ${'a/b'} 80 80 80 80 01`), 'malformedPacket'),
  five(
    '[MQTT5-1.5.5-1] a property length of two bytes for 3',
    publish(bytes`0003 ${'a/b'} 83 00 23 0001`),
    'malformedPacket',
  ),
  five('a property identifier that does not exist', publish(bytes`0003 ${'a/b'} 02 7f 00`), 'malformedPacket'),
  five('a property identifier of two bytes', publish(bytes`0003 ${'a/b'} 03 8001 00`), 'malformedPacket'),
  five('a property of CONNECT', publish(bytes`0003 ${'a/b'} 03 21 0001`), 'malformedPacket'),
  five('a topic alias twice', publish(bytes`0003 ${'a/b'} 06 23 0001 23 0001`), 'protocolError'),
  five('payload format 2', publish(bytes`0003 ${'a/b'} 02 01 02`), 'protocolError'),
  five(
    '[MQTT5-3.3.2-14] a response topic with a wildcard',
    publish(bytes`0003 ${'a/b'} 06 08 0003 ${'r/+'}`),
    'protocolError',
  ),
  five('an empty response topic', publish(bytes`0003 ${'a/b'} 03 08 0000`), 'protocolError'),
  five(
    '[MQTT5-3.3.4-6] a subscription identifier from a client',
    publish(bytes`0003 ${'a/b'} 02 0b 01`),
    'protocolError',
  ),
  five('a content type that is not UTF-8', publish(bytes`0003 ${'a/b'} 04 03 0001 ff`), 'malformedPacket'),
  five('a user property with U+0000', publish(bytes`0003 ${'a/b'} 06 26 0001 00 0000`), 'malformedPacket'),
  five('a user property without a value', publish(bytes`0003 ${'a/b'} 04 26 0001 ${'k'}`), 'malformedPacket'),
  five(
    'more properties than are taken',
    publish(bytes`0003 ${'a/b'} 81 80 04 ${Buffer.alloc(65_537)}`),
    'packetTooLarge',
  ),
  serverFive('a subscription identifier of 0', publish(bytes`0003 ${'a/b'} 02 0b 00`), 'protocolError'),
]

const acknowledgements: readonly MalformedPacket[] = [
  old('[MQTT-2.3.1-1] PUBACK with packet id 0', bytes`40 02 0000`, 'protocolError'),
  old('PUBREC without a packet id', bytes`50 00`, 'malformedPacket'),
  old('PUBREL with half a packet id', bytes`62 01 00`, 'malformedPacket'),
  old('PUBCOMP of 3.1.1 with a reason', bytes`70 03 0001 00`, 'malformedPacket'),
  five('PUBACK of 5.0 with packet id 0', bytes`40 04 0000 00 00`, 'protocolError'),
  five('PUBACK with a reason of DISCONNECT', bytes`40 03 0001 8d`, 'protocolError'),
  five('PUBREL with a reason of PUBREC', bytes`62 03 0001 97`, 'protocolError'),
  five('PUBCOMP with bytes behind its properties', bytes`70 05 0001 00 00 00`, 'malformedPacket'),
  five('PUBREC with a session expiry', bytes`50 09 0001 00 05 11 00000001`, 'malformedPacket'),
  five('PUBACK with two reason strings', bytes`40 0a 0001 00 06 1f 0000 1f 0000`, 'protocolError'),
]

const subscriptions: readonly MalformedPacket[] = [
  old('SUBSCRIBE with packet id 0', subscribe(bytes`0000 0001 ${'a'} 00`), 'protocolError'),
  old('[MQTT-3.8.3-3] SUBSCRIBE without filters', subscribe(bytes`0001`), 'protocolError'),
  old('SUBSCRIBE without a body', subscribe(bytes``), 'malformedPacket'),
  old('SUBSCRIBE without options', subscribe(bytes`0001 0001 ${'a'}`), 'malformedPacket'),
  old('SUBSCRIBE whose second filter is cut', subscribe(bytes`0001 0001 ${'a'} 00 0002 ${'b'}`), 'malformedPacket'),
  old('[MQTT-3.8.3-4] QoS 3 requested', subscribe(bytes`0001 0001 ${'a'} 03`), 'malformedPacket'),
  oldest('QoS 3 requested in 3.1', subscribe(bytes`0001 0001 ${'a'} 03`), 'malformedPacket'),
  old('No Local before 5.0', subscribe(bytes`0001 0001 ${'a'} 04`), 'malformedPacket'),
  old('[MQTT-4.7.3-1] an empty filter', subscribe(bytes`0001 0000 00`), 'malformedPacket'),
  old('[MQTT-4.7.1-2] # before the end', subscribe(bytes`0001 0003 ${'#/a'} 00`), 'malformedPacket'),
  old('[MQTT-4.7.1-2] # beside a letter', subscribe(bytes`0001 0002 ${'a#'} 00`), 'malformedPacket'),
  old('[MQTT-4.7.1-3] + beside a letter', subscribe(bytes`0001 0002 ${'a+'} 00`), 'malformedPacket'),
  old('a filter that is not UTF-8', subscribe(bytes`0001 0002 c328 00`), 'malformedPacket'),
  old('$share without a filter', subscribe(bytes`0001 0008 ${'$share/g'} 00`), 'malformedPacket'),
  old('$share with an empty filter', subscribe(bytes`0001 0009 ${'$share/g/'} 00`), 'malformedPacket'),
  five(
    '[MQTT5-4.8.2-1] $share with an empty group',
    subscribe(bytes`0001 00 0009 ${'$share//a'} 00`),
    'malformedPacket',
  ),
  five(
    '[MQTT5-4.8.2-2] $share with a wildcard for its group',
    subscribe(bytes`0001 00 000a ${'$share/+/a'} 00`),
    'malformedPacket',
  ),
  five(
    '[MQTT5-3.8.3-4] No Local on a shared filter',
    subscribe(bytes`0001 00 000a ${'$share/g/a'} 04`),
    'protocolError',
  ),
  five('[MQTT5-3.8.3-5] a reserved option', subscribe(bytes`0001 00 0001 ${'a'} 40`), 'malformedPacket'),
  five('the other reserved option', subscribe(bytes`0001 00 0001 ${'a'} 80`), 'malformedPacket'),
  five('retain handling 3', subscribe(bytes`0001 00 0001 ${'a'} 30`), 'protocolError'),
  five('a subscription identifier of 0', subscribe(bytes`0001 02 0b00 0001 ${'a'} 00`), 'protocolError'),
  five('two subscription identifiers', subscribe(bytes`0001 04 0b01 0b02 0001 ${'a'} 00`), 'protocolError'),
  five(
    'a subscription identifier of five bytes',
    subscribe(bytes`0001 06 0b8080808001 0001 ${'a'} 00`),
    'malformedPacket',
  ),
  five('[MQTT5-3.8.3-2] SUBSCRIBE of 5.0 without filters', subscribe(bytes`0001 00`), 'protocolError'),
  old('UNSUBSCRIBE with packet id 0', frame(0xa2, bytes`0000 0001 ${'a'}`), 'protocolError'),
  old('[MQTT-3.10.3-2] UNSUBSCRIBE without filters', frame(0xa2, bytes`0001`), 'protocolError'),
  old('UNSUBSCRIBE from what is not a filter', frame(0xa2, bytes`0001 0002 ${'a#'}`), 'malformedPacket'),
  five('UNSUBSCRIBE with a subscription identifier', frame(0xa2, bytes`0001 02 0b01 0001 ${'a'}`), 'malformedPacket'),
  server('SUBACK without codes', bytes`90 02 0001`, 'protocolError'),
  server('SUBACK of 3.1.1 with a reason of 5.0', bytes`90 03 0001 87`, 'protocolError'),
  serverFive('SUBACK with a code that it may not have', bytes`90 04 0001 00 03`, 'protocolError'),
  server('UNSUBACK of 3.1.1 with a code', bytes`b0 03 0001 00`, 'malformedPacket'),
]

const others: readonly MalformedPacket[] = [
  server('CONNACK with reserved flags', bytes`20 02 02 00`, 'malformedPacket'),
  server('CONNACK with return code 6', bytes`20 02 00 06`, 'protocolError'),
  server('CONNACK of 3.1.1 with properties', bytes`20 03 00 00 00`, 'malformedPacket'),
  serverFive('CONNACK of 5.0 without properties', bytes`20 02 00 00`, 'malformedPacket'),
  serverFive('CONNACK with maximum QoS 2', bytes`20 05 00 00 02 24 02`, 'protocolError'),
  serverFive('CONNACK with a reason of PUBACK', bytes`20 03 00 10 00`, 'protocolError'),
  five('DISCONNECT with a reason that it may not have', bytes`e0 01 01`, 'protocolError'),
  five('DISCONNECT with a user property cut short', bytes`e0 03 00 01 26`, 'malformedPacket'),
  serverFive(
    '[MQTT5-3.14.2-2] DISCONNECT from a server with a session expiry',
    bytes`e0 07 00 05 11 00000001`,
    'protocolError',
  ),
  five('AUTH with a reason of DISCONNECT', bytes`f0 02 04 00`, 'protocolError'),
  five('AUTH with a reason and no properties', bytes`f0 01 18`, 'malformedPacket'),
  five('DISCONNECT with bytes behind its properties', bytes`e0 03 00 00 00`, 'malformedPacket'),
  five('AUTH with bytes behind its properties', bytes`f0 03 18 00 00`, 'malformedPacket'),
  five('AUTH with flags', bytes`f1 00`, 'malformedPacket'),
]

/** The length of a property section, one byte more than the maximum: the properties are not read. */
const tooMany = bytes`81 80 04`
const sections: readonly MalformedPacket[] = [
  first('more properties than are taken in CONNECT', connect(bytes`0004 ${'MQTT'} 05 02 0000 ${tooMany}`), tooLarge),
  first(
    'more properties than are taken in a will',
    connect(bytes`0004 ${'MQTT'} 05 06 0000 00 0000 ${tooMany}`),
    tooLarge,
  ),
  five('more properties than are taken in PUBACK', frame(0x40, bytes`0001 00 ${tooMany}`), tooLarge),
  five('more properties than are taken in SUBSCRIBE', subscribe(bytes`0001 ${tooMany}`), tooLarge),
  five('more properties than are taken in UNSUBSCRIBE', frame(0xa2, bytes`0001 ${tooMany}`), tooLarge),
  five('more properties than are taken in DISCONNECT', frame(0xe0, bytes`00 ${tooMany}`), tooLarge),
  five('more properties than are taken in AUTH', frame(0xf0, bytes`18 ${tooMany}`), tooLarge),
  serverFive('more properties than are taken in CONNACK', frame(0x20, bytes`00 00 ${tooMany}`), tooLarge),
  serverFive('more properties than are taken in SUBACK', frame(0x90, bytes`0001 ${tooMany}`), tooLarge),
  serverFive('more properties than are taken in UNSUBACK', frame(0xb0, bytes`0001 ${tooMany}`), tooLarge),
]

export const malformedPackets: readonly MalformedPacket[] = [
  ...sections,
  ...framing,
  ...connects,
  ...publishes,
  ...acknowledgements,
  ...subscriptions,
  ...others,
]
