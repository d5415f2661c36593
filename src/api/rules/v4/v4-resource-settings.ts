// Connectors as resources of EMQX 4.

import type { Resource } from '../../../actions/index.ts'
import type { ReplyOf } from '../../../contract/index.ts'
import type { v4ResourceEndpoints } from './resource-endpoints.ts'
import { type ApiError, refuse } from '../../../management/index.ts'
import { sinkTypes } from '../../../sinks/index.ts'
import type { ConfiguredRules } from '../configured-rules.ts'
import { findServiceNames, renameKeys, reverseNames, type ServiceNames } from './service-names.ts'

type Written = ReplyOf<typeof v4ResourceEndpoints.list_resources>['data'][number]

const idPrefix = 'resource:'
const nameForm = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/
/** Settings of `ssl` by their names in version 4. In version 4 they are not in a section of their own. */
const tlsNames: Readonly<Record<string, string>> = {
  ssl: 'enable',
  cacertfile: 'cacertfile',
  certfile: 'certfile',
  keyfile: 'keyfile',
  key_password: 'key_password',
  verify: 'verify_peer',
}

/** The connectors by their IDs in version 4. */
export class V4Resources {
  readonly #rules: ConfiguredRules

  constructor(rules: ConfiguredRules) {
    this.#rules = rules
  }

  listConnectors(): readonly Resource[] {
    return this.#rules.listResources('connectors')
  }

  /** Types of connectors. */
  listTypes(): readonly ServiceNames[] {
    return Object.keys(sinkTypes).map(findServiceNames)
  }

  findType(resourceType: string): ServiceNames | undefined {
    return this.listTypes().find(({ resource, type }) => resource === resourceType || type === resourceType)
  }

  formatId({ type, name }: Pick<Resource, 'type' | 'name'>): string {
    const isUnique = this.listConnectors().filter((other) => other.name === name).length <= 1
    return isUnique ? idPrefix + name : `${type}:${name}`
  }

  find(id: string): Resource | undefined {
    return this.listConnectors().find(
      (one) => this.formatId(one) === id || `${one.type}:${one.name}` === id || idPrefix + one.name === id,
    )
  }

  /** Returns the name of a connector with this ID, or why the ID is invalid. */
  parseName(id: string): string | ApiError {
    const name = id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id
    if (!nameForm.test(name))
      return refuse('invalidParameter', 'id is resource:NAME with up to 64 letters, digits, _ and - in NAME')
    const known = this.listConnectors().find((one) => one.name === name)
    return known === undefined
      ? name
      : refuse('invalidParameter', `there is a resource ${id} already: change it with PUT`)
  }

  toResponse(resource: Resource): Written {
    const { settings } = findServiceNames(resource.type)
    const { description = '', enable: _, ssl = {}, ...rest } = resource.settings
    const tls = Object.entries(reverseNames(tlsNames)).flatMap(([key, name]) => {
      const value = (ssl as Readonly<Record<string, unknown>>)[key]
      return value === undefined || value === null ? [] : [[name, value] as const]
    })
    return {
      id: this.formatId(resource),
      type: findServiceNames(resource.type).resource,
      description: String(description),
      config: { ...renameKeys(rest, reverseNames(settings)), ...Object.fromEntries(tls) },
    }
  }
}

/** Returns the settings of a connector from `config` of version 4. */
export function toSettings(
  { settings: names }: ServiceNames,
  config: Readonly<Record<string, unknown>>,
  description: string | undefined,
): Readonly<Record<string, unknown>> {
  const own: [string, unknown][] = []
  const ssl: [string, unknown][] = []
  for (const [key, value] of Object.entries(config)) {
    const inTls = Object.hasOwn(tlsNames, key) && !isObject(value) ? tlsNames[key] : undefined
    if (inTls === undefined) own.push([key, value])
    // Forms of version 4 send empty fields.
    else if (value !== '') ssl.push([inTls, value])
  }
  const descriptionField = description === undefined ? {} : { description }
  const tls = ssl.length === 0 ? {} : { ssl: Object.fromEntries(ssl) }
  return { ...renameKeys(Object.fromEntries(own), names), ...tls, ...descriptionField }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
