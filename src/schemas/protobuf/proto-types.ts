// Message types of Protobuf, as a graph: a message may contain itself.

export const varintScalars = ['int32', 'int64', 'uint32', 'uint64', 'sint32', 'sint64', 'bool'] as const
export const fixedScalars = ['fixed32', 'sfixed32', 'float', 'fixed64', 'sfixed64', 'double'] as const
export const lengthScalars = ['string', 'bytes'] as const
export type ScalarName = (typeof varintScalars)[number] | (typeof fixedScalars)[number] | (typeof lengthScalars)[number]

export interface ProtoEnum {
  readonly kind: 'enum'
  readonly name: string
  readonly numbers: Map<string, number>
  /** The first name of each number. */
  readonly names: Map<number, string>
}

export interface ProtoMessage {
  readonly kind: 'message'
  readonly name: string
  readonly fields: Map<string, ProtoField>
  readonly byNumber: Map<number, ProtoField>
  /** Names of the fields of each oneof. */
  readonly oneofs: Map<string, string[]>
}

export type ProtoType = { readonly kind: 'scalar'; readonly name: ScalarName } | ProtoEnum | ProtoMessage

export interface ProtoField {
  readonly name: string
  readonly number: number
  /** `implicit`: of proto3, without presence: a value that is not sent is the default. */
  readonly label: 'required' | 'optional' | 'repeated' | 'implicit' | 'map'
  readonly type: ProtoType
  /** For a map: the type of its keys. `type` is the type of its values. */
  readonly keyType: ScalarName | undefined
  readonly isPacked: boolean
  readonly oneof: string | undefined
}

/** Numbers of the encodings of values. */
export const wireTypes = { varint: 0, fixed64: 1, length: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const

/** Returns the wire type of a single value. */
export function getWireType(type: ProtoType): number {
  if (type.kind === 'message') return wireTypes.length
  if (type.kind === 'enum') return wireTypes.varint
  switch (type.name) {
    case 'fixed32':
    case 'sfixed32':
    case 'float':
      return wireTypes.fixed32
    case 'fixed64':
    case 'sfixed64':
    case 'double':
      return wireTypes.fixed64
    case 'string':
    case 'bytes':
      return wireTypes.length
    default:
      return wireTypes.varint
  }
}

/** All message types of one source, by their names with and without the package. */
export type ProtoMessages = ReadonlyMap<string, ProtoMessage>
