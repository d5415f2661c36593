// Numbers of MQTT-SN 2.0 [Committee Specification Draft 01, figures 2-4, 2-7 and 2-8].

export const sn2PacketTypes = {
  connect: 0x01,
  connack: 0x02,
  publish: 0x03,
  puback: 0x04,
  pubrec: 0x05,
  pubrel: 0x06,
  pubcomp: 0x07,
  subscribe: 0x08,
  suback: 0x09,
  unsubscribe: 0x0a,
  unsuback: 0x0b,
  pingreq: 0x0c,
  pingresp: 0x0d,
  disconnect: 0x0e,
  register: 0x10,
  regack: 0x11,
  pubwos: 0x12,
  sleepreq: 0x13,
  sleepresp: 0x14,
  searchgw: 0x17,
  gwinfo: 0x18,
} as const

/** Reason codes that the gateway uses itself. All others have the numbers of MQTT 5.0. */
export const sn2ReasonCodes = {
  topicAliasExists: 0x1a,
  protocolError: 0x82,
  implementationSpecific: 0x83,
  badAuthenticationMethod: 0x8c,
  unknownTopicAlias: 0xf0,
  congestion: 0xf1,
  noVirtualConnection: 0xf4,
} as const

export const sn2TopicTypes = { session: 0, predefined: 1, name: 3 } as const
