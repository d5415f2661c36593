// Parses the XML definition of an object in the registry of the Open Mobile Alliance: the types of its resources. Only
// the needed parts are read; nothing is included, and document entities are not expanded.

import type { ResourceType } from './resource-type.ts'

export interface ObjectDefinition {
  readonly id: number
  readonly name: string
  /** Executable resources have no type and are omitted. */
  readonly types: ReadonlyMap<number, ResourceType>
}

const maxResources = 4_096
const maxId = 65_535
const typeNames: Readonly<Record<string, ResourceType>> = {
  string: 'String',
  integer: 'Integer',
  'unsigned integer': 'Integer',
  float: 'Float',
  boolean: 'Boolean',
  opaque: 'Opaque',
  time: 'Time',
  objlnk: 'Objlnk',
  corelnk: 'String',
}

/** Returns a sentence if it is not a definition. */
export function parseObjectDefinition(xml: string): ObjectDefinition | string {
  const text = xml.replaceAll(/<!--[\s\S]*?-->/g, '')
  const [, object] = /<Object\b[^>]*>([\s\S]*)<\/Object>/.exec(text) ?? []
  if (object === undefined) return 'it has no element Object'
  const [head = ''] = object.split('<Resources', 1)
  const id = parseId(findElementText(head, 'ObjectID'))
  if (id === undefined) return `ObjectID is missing or no number from 0 to ${maxId}`
  const types = new Map<number, ResourceType>()
  for (const [, ownId, item = ''] of object.matchAll(/<Item\b[^>]*\bID\s*=\s*"([^"]*)"[^>]*>([\s\S]*?)<\/Item>/g)) {
    const resource = parseId(ownId)
    if (resource === undefined) return `the resource ${JSON.stringify(ownId)} is not a number from 0 to ${maxId}`
    if (types.size >= maxResources) return `it has more than ${maxResources} resources`
    const typeName = findElementText(item, 'Type')?.toLowerCase() ?? ''
    if (typeName === '') continue
    const type = typeNames[typeName]
    if (type === undefined) return `the resource ${resource} has the unknown type ${JSON.stringify(typeName)}`
    types.set(resource, type)
  }
  return { id, name: findElementText(head, 'Name') ?? '', types }
}

function findElementText(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}\\b[^>]*>([^<]*)</${name}>`).exec(xml)?.[1]?.trim()
}

function parseId(text: string | undefined): number | undefined {
  const id = text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : maxId + 1
  return id > maxId ? undefined : id
}
