// Checks the records of an archive that have the right form: the broker must be able to use them.

import { parseAddressRange, readAclTopic } from '../config/index.ts'
import { isNamespaceName } from '../core/index.ts'
import { parseTopicName } from '../protocol/index.ts'
import {
  type CredentialRecord,
  type GatewayUserRecord,
  maxPbkdf2Iterations,
  pbkdf2HashBytes,
  type StoredPassword,
} from '../records/index.ts'
import type { TableRecord } from './tables.ts'

/** Returns why the API would not create this record; undefined: it would. */
export function findRecordProblem(record: TableRecord): string | undefined {
  if ('namespace' in record && record.namespace !== undefined && !isNamespaceName(record.namespace)) {
    return 'namespace is not a valid namespace name'
  }
  const invalidField = findInvalidText(record)
  return invalidField === undefined ? findKindProblem(record) : `${invalidField} contains U+0000`
}

const nameFields = ['name', 'chain', 'id', 'username', 'identity', 'who', 'topic'] as const

/** [MQTT-1.5.3-2] [MQTT5-1.5.4-2] U+0000 is not valid in MQTT strings, and separates parts of names inside the broker. */
function findInvalidText(record: TableRecord): string | undefined {
  if (record.kind === 'retained') return undefined
  return nameFields.find(
    (name) => (record as { readonly [Key in (typeof nameFields)[number]]?: string })[name]?.includes('\0') === true,
  )
}

function findKindProblem(record: TableRecord): string | undefined {
  switch (record.kind) {
    case 'retained': {
      const { topic, payload } = record.message
      if (parseTopicName(topic) === undefined) return 'topic is not a topic name'
      return payload.length === 0 ? 'payload is empty: an empty retained message is not stored' : undefined
    }
    case 'rule': {
      const topic = readAclTopic(record.topic)
      if ('problem' in topic) return `topic is not valid in a rule: ${topic.problem}`
      return (record.about === 'all') === (record.who === '')
        ? undefined
        : 'who must be empty if about is all, and must not be empty otherwise'
    }
    case 'ban':
      return record.as === 'peerhost' && parseAddressRange(record.who) === undefined
        ? 'who is not an address or an address range'
        : undefined
    case 'account':
      return findPasswordProblem(record.password)
    case 'api-key':
      return findPasswordProblem(record.secret)
    case 'namespace':
      return isNamespaceName(record.name) ? undefined : 'name is not a valid namespace name'
    case 'psk':
      return record.key.length < minKeyBytes ? `key is shorter than ${minKeyBytes} bytes` : undefined
    case 'scram': {
      const { storedKey, serverKey, algorithm } = record
      const isGood = [storedKey, serverKey].every((key) => key.length === hashBytes[algorithm])
      return isGood ? undefined : `storedKey or serverKey is not a ${algorithm} key`
    }
    case 'plugin':
      return isJsonObject(record.config) ? undefined : 'config is not a JSON object'
    case 'credential':
    case 'gateway-user':
      return record.algorithm === 'pbkdf2_sha512' ? findPbkdf2Problem(record) : undefined
    default:
      return record satisfies never
  }
}

function isJsonObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function findPbkdf2Problem({ salt, hash: digest }: CredentialRecord | GatewayUserRecord): string | undefined {
  const iterations = salt.length < 5 ? 0 : Buffer.from(salt).readUInt32BE(0)
  const isGood = iterations >= 1 && iterations <= maxPbkdf2Iterations && digest.length === pbkdf2HashBytes
  return isGood
    ? undefined
    : `salt or hash is not valid for pbkdf2_sha512: it needs a salt, 1 to ${maxPbkdf2Iterations} iterations and a hash of ${pbkdf2HashBytes} bytes`
}

const minKeyBytes = 8
const hashBytes = { 'SCRAM-SHA-256': 32, 'SCRAM-SHA-512': 64, sha256: 32 } as const

/** Returns why OpenSSL cannot check the password. */
function findPasswordProblem({
  algorithm,
  memory,
  passes,
  lanes,
  salt,
  hash: digest,
}: StoredPassword): string | undefined {
  if (algorithm === 'sha256') {
    return digest.length === hashBytes.sha256
      ? undefined
      : `password is not a SHA-256 hash: it must have ${hashBytes.sha256} bytes`
  }
  const isPower = memory > 1 && Number.isInteger(Math.log2(memory))
  const isScrypt = isPower && passes > 0 && lanes > 0 && memory * passes <= 1_048_576
  const isArgon = memory >= 8 * lanes && passes > 0 && lanes > 0 && salt.length >= 8
  const isGood = algorithm === 'scrypt' ? isScrypt : isArgon
  return isGood ? undefined : `password has cost parameters that are invalid for ${algorithm}`
}
