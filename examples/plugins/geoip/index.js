// Adds the country of the publisher's address as a user property. The package contains the table of networks, so the plugin needs no permission.

import { readFileSync } from 'node:fs'

/** @type {import('godwit/plugin').Plugin} */
export default function createHooks({ metrics }) {
  const countries = readCountries(readFileSync(new URL('networks.csv', import.meta.url), 'utf8'))
  const unknown = metrics.counter('unknown_addresses')
  return {
    'message.publish': ({ client, message }) => {
      // Messages of rules, plugins and the API have no client.
      if (client === undefined) return undefined
      const country = findCountry(countries, client.peerhost)
      if (country === undefined) {
        unknown.inc()
        return undefined
      }
      const { userProperties = [], ...others } = message.properties
      return { properties: { ...others, userProperties: [...userProperties, ['country', country]] } }
    },
  }
}

/** Returns the country of each network, by the bits of its prefix. */
function readCountries(text) {
  const countries = new Map()
  for (const line of text.trim().split('\n').slice(1)) {
    const [network = '', country = ''] = line.split(',')
    const [address = '', prefix] = network.split('/')
    const { family, bits } = parseAddress(address)
    countries.set(family + bits.slice(0, Number(prefix)), country)
  }
  return countries
}

/** Returns the country of the smallest network with the address; undefined: no network has it. */
function findCountry(countries, address) {
  const { family, bits } = parseAddress(address)
  for (let length = bits.length; length >= 0; length--) {
    const country = countries.get(family + bits.slice(0, length))
    if (country !== undefined) return country
  }
  return undefined
}

/** Returns the bits of an address as text. The module `net` can do this as well, but needs the permission for the network. */
function parseAddress(address) {
  if (!address.includes(':')) return { family: 'ipv4:', bits: toBits(address.split('.'), 10, 8) }
  const [start = [], end] = address.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const groups = end === undefined ? start : [...start, ...Array(8 - start.length - end.length).fill('0'), ...end]
  return { family: 'ipv6:', bits: toBits(groups, 16, 16) }
}

function toBits(groups, radix, width) {
  return groups.map((group) => Number.parseInt(group, radix).toString(2).padStart(width, '0')).join('')
}
