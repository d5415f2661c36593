// Properties of messages as JSON, under the names of `godwit/plugin`. Correlation data is base64.

import type { MessageProperties } from '../manifest/plugin-types.ts'

const none: MessageProperties = {}

/** In the process of a plugin: '' is no properties. */
export function parseProperties(json: string): MessageProperties {
  if (json === '') return none
  const { correlationData, ...others } = JSON.parse(json) as Omit<MessageProperties, 'correlationData'> & {
    readonly correlationData?: string
  }
  return correlationData === undefined ? others : { ...others, correlationData: Buffer.from(correlationData, 'base64') }
}

/** Returns '' for no properties. Values are checked by the shard. */
export function formatProperties(properties: MessageProperties): string {
  const { correlationData } = properties
  if (correlationData === undefined) {
    const json = JSON.stringify(properties)
    return json === '{}' ? '' : json
  }
  return JSON.stringify({ ...properties, correlationData: Buffer.from(correlationData).toString('base64') })
}
