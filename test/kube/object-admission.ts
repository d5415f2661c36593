// What the server does with each object before it stores it: names, unknown fields, defaults, checks.

import { addBuiltInDefaults, checkBuiltIn } from './built-in-rules.ts'
import { checkRules } from './cel-rules.ts'
import { checkDefinition, type CustomType } from './custom-types.ts'
import { createCause, createInvalidError, KubeError } from './kube-error.ts'
import { getPath, type JsonObject, type KubeObject } from './kube-object.ts'
import { formatApiVersion, type ResourceType } from './resource-types.ts'
import { addDefaults, checkValue, findUnknownFields, pruneFields } from './structural-schema.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const qualifiedName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/
const labelValue = /^([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?$/
const namesOfLabels = ['Namespace', 'Service']
/** Names of these types may have colons. */
const freeNames = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']

export function isCustomType(type: ResourceType): type is CustomType {
  return 'schema' in type
}

/** Checks that the body is of the type that its path names. */
export function checkTypeMeta(type: ResourceType, body: unknown): JsonObject {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new KubeError('BadRequest', 'the body is no object')
  const object = body as JsonObject
  const expected = formatApiVersion(type)
  const { apiVersion = expected, kind = type.kind } = object
  if (apiVersion !== expected || kind !== type.kind) {
    throw new KubeError(
      'BadRequest',
      `the API version or kind in the data (${String(apiVersion)}, ${String(kind)}) does not match the expected ${expected}, ${type.kind}`,
    )
  }
  return { ...object, apiVersion, kind }
}

export function checkMetadata(type: ResourceType, object: KubeObject): void {
  const { name, labels = {} } = object.metadata
  const pattern = namesOfLabels.includes(type.kind) ? dnsLabel : dnsSubdomain
  const maxLength = pattern === dnsLabel ? 63 : 253
  const isValid = freeNames.includes(type.kind) || (pattern.test(name) && name.length <= maxLength)
  const causes = [
    ...(isValid
      ? []
      : [
          createCause(
            'FieldValueInvalid',
            'metadata.name',
            `Invalid value: "${name}": a lowercase RFC 1123 name is required`,
          ),
        ]),
    ...Object.entries(labels)
      .filter(([key, value]) => !qualifiedName.test(key) || typeof value !== 'string' || !labelValue.test(value))
      .map(([key, value]) => createCause('FieldValueInvalid', 'metadata.labels', `Invalid value: "${key}=${value}"`)),
    ...Object.entries(object.metadata.annotations ?? {})
      .filter(([key, value]) => !qualifiedName.test(key) || typeof value !== 'string')
      .map(([key]) => createCause('FieldValueInvalid', 'metadata.annotations', `Invalid value: "${key}"`)),
  ]
  if (causes.length > 0) throw createInvalidError(type.kind, name, causes)
}

/** Returns the fields that are unknown; error 400 if the request is strict. */
export function checkUnknownFields(type: ResourceType, object: JsonObject, validation: FieldValidation): string[] {
  if (!isCustomType(type) || validation === 'Ignore') return []
  const warnings = findUnknownFields(object, type.schema).map((path) => `unknown field "${path}"`)
  if (validation === 'Strict' && warnings.length > 0) {
    throw new KubeError(
      'BadRequest',
      `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: strict decoding error: ${warnings.join(', ')}`,
    )
  }
  return warnings
}

/** Returns the object with its defaults, without unknown fields; error 422 if it is invalid. */
export function admitObject(type: ResourceType, object: KubeObject, previous?: KubeObject): KubeObject {
  if (!isCustomType(type)) {
    const complete = addBuiltInDefaults(object)
    checkBuiltIn(complete, previous)
    if (type.kind === 'CustomResourceDefinition') refuse(complete, checkDefinition(complete))
    return complete
  }
  const complete = addDefaults(pruneFields(object, type.schema), type.schema) as KubeObject
  const causes = checkValue(complete, type.schema)
  refuse(complete, causes.length > 0 ? causes : checkRules(complete, previous, type.schema))
  return complete
}

function refuse(object: KubeObject, causes: Parameters<typeof createInvalidError>[2]): void {
  if (causes.length > 0) throw createInvalidError(object.kind, String(getPath(object, '.metadata.name')), causes)
}
