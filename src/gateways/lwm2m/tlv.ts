// Decodes and encodes the TLV format (type, length, value) of LwM2M [LwM2M 1.1 Core 7.4.3].
//
//   2 bits kind | 1 bit: id of 2 octets | 2 bits: octets of the length | 3 bits length, where these are 0

import type { ObjectDefinitions } from './objects.ts'
import type { ObjectPath } from './lwm2m-path.ts'
import { type ResourceValue, decodeValue } from './lwm2m-values.ts'

const kinds = { objectInstance: 0, resourceInstance: 1, multipleResource: 2, resource: 3 } as const
const maxValues = 4_096

interface Tlv {
  readonly kind: number
  readonly id: number
  readonly value: Buffer
}

/** Undefined: truncated, or too large. */
export function decodeTlv(
  bytes: Buffer,
  base: ObjectPath,
  objects: ObjectDefinitions,
): readonly ResourceValue[] | undefined {
  const values: ResourceValue[] = []
  return collect(bytes, base, { values, objects }) ? values : undefined
}

interface Collected {
  readonly values: ResourceValue[]
  readonly objects: ObjectDefinitions
}

function collect(bytes: Buffer, base: ObjectPath, collected: Collected): boolean {
  const { values, objects } = collected
  let at = 0
  while (at < bytes.length) {
    const read = readTlv(bytes, at)
    if (read === undefined || values.length >= maxValues) return false
    at = read.next
    const { kind, id, value } = read.tlv
    const path = resolveEntryPath(base, kind, id)
    if (path === undefined) return false
    if (kind === kinds.objectInstance || kind === kinds.multipleResource) {
      if (!collect(value, path, collected)) return false
    } else values.push({ path, value: decodeValue(value, objects.findType(path)) })
  }
  return true
}

/** Returns the path of an entry. Its ID may repeat the last part of the request's path. Undefined: the entry is not allowed here. */
function resolveEntryPath(base: ObjectPath, kind: number, id: number): ObjectPath | undefined {
  const depth = kind === kinds.objectInstance ? 1 : kind === kinds.resourceInstance ? 3 : 2
  if (base.length === depth) return [...base, id]
  if (base.length === depth + 1 && base[depth] === id) return base
  // A resource in the response to a request for an object with one instance.
  if (base.length === 1 && depth === 2) return [...base, 0, id]
  return undefined
}

function readTlv(bytes: Buffer, start: number): { readonly tlv: Tlv; readonly next: number } | undefined {
  const type = bytes[start] ?? 0
  const idBytes = (type & 0x20) === 0 ? 1 : 2
  const lengthBytes = (type >> 3) & 3
  const valueAt = start + 1 + idBytes + lengthBytes
  if (valueAt > bytes.length) return undefined
  const id = bytes.readUIntBE(start + 1, idBytes)
  const length = lengthBytes === 0 ? type & 7 : bytes.readUIntBE(start + 1 + idBytes, lengthBytes)
  const next = valueAt + length
  return next > bytes.length ? undefined : { tlv: { kind: type >> 6, id, value: bytes.subarray(valueAt, next) }, next }
}

export interface TlvResource {
  /** Below the path of the request. */
  readonly path: ObjectPath
  readonly bytes: Buffer
}

/** Encodes resources for the object, instance or resource at `base`. */
export function encodeTlv(base: ObjectPath, resources: readonly TlvResource[]): Buffer {
  if (base.length !== 1) return encodeResources(base, resources)
  const instances = new Map<number, TlvResource[]>()
  for (const resource of resources) {
    const id = resource.path[1] ?? 0
    instances.set(id, [...(instances.get(id) ?? []), resource])
  }
  return Buffer.concat(
    [...instances].map(([id, own]) => writeTlv(kinds.objectInstance, id, encodeResources([...base, id], own))),
  )
}

function encodeResources(base: ObjectPath, resources: readonly TlvResource[]): Buffer {
  const parts: Buffer[] = []
  const multiple = new Map<number, Buffer[]>()
  for (const { path, bytes } of resources) {
    const [, , resource = 0, instance] = path
    if (instance === undefined) parts.push(writeTlv(kinds.resource, resource, bytes))
    else if (base.length === 4) parts.push(writeTlv(kinds.resourceInstance, instance, bytes))
    else multiple.set(resource, [...(multiple.get(resource) ?? []), writeTlv(kinds.resourceInstance, instance, bytes)])
  }
  for (const [id, instances] of multiple) parts.push(writeTlv(kinds.multipleResource, id, Buffer.concat(instances)))
  return Buffer.concat(parts)
}

function writeTlv(kind: number, id: number, value: Buffer): Buffer {
  const idBytes = id > 0xff ? 2 : 1
  const lengthBytes = value.length < 8 ? 0 : value.length <= 0xff ? 1 : value.length <= 0xffff ? 2 : 3
  const head = Buffer.alloc(1 + idBytes + lengthBytes)
  head[0] = (kind << 6) | ((idBytes - 1) << 5) | (lengthBytes << 3) | (lengthBytes === 0 ? value.length : 0)
  head.writeUIntBE(id, 1, idBytes)
  if (lengthBytes > 0) head.writeUIntBE(value.length, 1 + idBytes, lengthBytes)
  return Buffer.concat([head, value])
}
