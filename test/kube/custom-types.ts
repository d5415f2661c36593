// Custom resource definitions: their checks, and the resource types that they define.

import { compileRule } from './cel-rules.ts'
import { createCause, type ErrorCause } from './kube-error.ts'
import { getList, getObject, getPath, type JsonObject, type KubeObject } from './kube-object.ts'
import { metadataMerge, type ResourceType } from './resource-types.ts'
import { toMergeFields, type Schema } from './structural-schema.ts'

export interface CustomType extends ResourceType {
  readonly schema: Schema
}

/** Returns the type of the first version that is served. */
export function createCustomType(definition: KubeObject): CustomType | undefined {
  const spec = getObject(definition, 'spec')
  const version = getList(spec, 'versions').find(({ served }) => served === true)
  if (version === undefined) return undefined
  const names = getObject(spec, 'names')
  const subresources = getObject(version, 'subresources')
  const scale = subresources['scale'] as
    | { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }
    | undefined
  const schema = getPath(version, '.schema.openAPIV3Schema') as Schema
  return {
    group: String(spec['group']),
    version: String(version['name']),
    plural: String(names['plural']),
    singular: String(names['singular'] ?? names['kind']).toLowerCase(),
    kind: String(names['kind']),
    shortNames: (names['shortNames'] ?? []) as string[],
    isNamespaced: spec['scope'] === 'Namespaced',
    hasStatus: subresources['status'] !== undefined,
    ...(scale && {
      scale: {
        spec: scale.specReplicasPath,
        status: scale.statusReplicasPath,
        ...(scale.labelSelectorPath !== undefined && { selector: scale.labelSelectorPath }),
      },
    }),
    merge: { ...toMergeFields(schema), ...metadataMerge },
    schema,
  }
}

/** Checks the name, and that each schema is structural and each rule compiles. */
export function checkDefinition(definition: JsonObject): ErrorCause[] {
  const spec = getObject(definition, 'spec')
  const expectedName = `${String(getPath(spec, '.names.plural'))}.${String(spec['group'])}`
  const name = getPath(definition, '.metadata.name')
  const versions = getList(spec, 'versions')
  return [
    ...(name === expectedName
      ? []
      : [
          createCause(
            'FieldValueInvalid',
            'metadata.name',
            `must be spec.names.plural+"."+spec.group: ${expectedName}`,
          ),
        ]),
    ...versions.flatMap((version, index) => {
      const path = `spec.versions[${index}].schema.openAPIV3Schema`
      const schema = getPath(version, '.schema.openAPIV3Schema') as Schema | undefined
      return schema === undefined
        ? [createCause('FieldValueRequired', path, 'schemas are required')]
        : checkSchema(schema, path)
    }),
  ]
}

function checkSchema(schema: Schema, path: string): ErrorCause[] {
  const isTyped =
    schema.type !== undefined ||
    schema['x-kubernetes-int-or-string'] === true ||
    schema['x-kubernetes-preserve-unknown-fields'] === true
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const itemRequired = schema.items?.required ?? []
  return [
    ...(isTyped
      ? []
      : [createCause('FieldValueRequired', `${path}.type`, 'must not be empty for specified object fields')]),
    ...(schema['$ref'] === undefined
      ? []
      : [createCause('FieldValueForbidden', `${path}.$ref`, '$ref is not supported')]),
    ...(schema['additionalProperties'] !== undefined && schema.properties !== undefined
      ? [createCause('FieldValueForbidden', `${path}.additionalProperties`, 'mutual exclusive with properties')]
      : []),
    ...(schema.type === 'array' && schema.items === undefined
      ? [createCause('FieldValueRequired', `${path}.items`, 'must be specified')]
      : []),
    ...keys
      .filter((key) => !itemRequired.includes(key) && schema.items?.properties?.[key]?.default === undefined)
      .map((key) =>
        createCause(
          'FieldValueRequired',
          `${path}.items.properties[${key}].default`,
          `this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
        ),
      ),
    ...(schema['x-kubernetes-validations'] ?? []).flatMap(({ rule }) =>
      checkCompiles(rule, `${path}.x-kubernetes-validations`),
    ),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
      checkSchema(child, `${path}.properties[${key}]`),
    ),
    ...(schema.items === undefined ? [] : checkSchema(schema.items, `${path}.items`)),
    ...(typeof schema.additionalProperties === 'object'
      ? checkSchema(schema.additionalProperties, `${path}.additionalProperties`)
      : []),
  ]
}

function checkCompiles(rule: string, path: string): ErrorCause[] {
  try {
    compileRule(rule)
    return []
  } catch (error) {
    return [createCause('FieldValueInvalid', path, `compilation failed: ${String(error)}`)]
  }
}
